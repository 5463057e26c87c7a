/** Where memory is: DLPack 1.3's device table, and the device arguments of the protocol. */
import { bufferError, rangeError, show, typeError } from './errors';
import { eachIs, isArray } from './shape';

/** A device as the protocol writes it: DLPack's device type, and which of that kind (0 for host memory). */
export type DLPackDevice = readonly [type: number, id: number];

/** Device types by name. */
export const DEVICE_TYPES = Object.freeze({
  cpu: 1,
  cuda: 2,
  cuda_host: 3,
  opencl: 4,
  vulkan: 7,
  metal: 8,
  vpi: 9,
  rocm: 10,
  rocm_host: 11,
  ext_dev: 12,
  cuda_managed: 13,
  oneapi: 14,
  webgpu: 15,
  hexagon: 16,
  maia: 17,
  trn: 18,
} as const);

/** The name of a device type. */
export type DeviceName = keyof typeof DEVICE_TYPES;

/** `[1, 0]`, frozen. */
export const CPU: DLPackDevice = Object.freeze([DEVICE_TYPES.cpu, 0] as const);

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(DEVICE_TYPES).map(([name, type]) => [type, name]));
const HOST_READABLE: ReadonlySet<number> = new Set([DEVICE_TYPES.cpu, DEVICE_TYPES.cuda_host, DEVICE_TYPES.rocm_host]);

/** The name of a device type, or undefined for a code that DLPack 1.3 does not have. */
export function deviceName(type: number): string | undefined {
  return NAMES.get(type);
}

/** Can the CPU read it in place: CPU memory, and host memory pinned by CUDA or ROCm? */
export function isHostReadable(type: number): boolean {
  return HOST_READABLE.has(type);
}

/** As messages and `util.inspect` show a device: `cpu`, `cuda:0`, `device type 99:0`. */
export function formatDevice([type, id]: DLPackDevice): string {
  if (type === DEVICE_TYPES.cpu && id === 0) return 'cpu';
  return `${deviceName(type) ?? `device type ${type}`}:${id}`;
}

/** Are they the same type and id? */
export function sameDevice(a: DLPackDevice, b: DLPackDevice): boolean {
  return a[0] === b[0] && a[1] === b[1];
}

/**
 * A `dl_device` (or the pair form of `device`): two integers.
 * @throws TypeError when it is not an array of exactly two integers of 32 bits
 */
export function parseDevicePair(value: unknown, field = 'dl_device'): DLPackDevice {
  if (isArray(value) && value.length === 2) {
    const [type, id] = value;
    if (isInt32(type) && isInt32(id)) return [type, id];
  }
  throw typeError(
    `${field} is ${show(value)}; it must be [device type, device id], two integers, such as [1, 0] for the CPU`,
  );
}

/**
 * `fromDLPack`'s `device`: null or undefined (wherever the producer has it), `'cpu'`, or `[1, 0]`. Checked before the
 * producer is called.
 * @returns null, or the device to ask the producer for
 * @throws TypeError when malformed; RangeError for a name that is no device of this library; BufferError for a valid
 *   pair other than [1, 0]
 */
export function parseDeviceOption(value: unknown): DLPackDevice | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') {
    if (value === 'cpu') return CPU;
    throw rangeError(`device is ${show(value)}; it must be 'cpu', [1, 0], or null for the producer's own device`);
  }
  const pair = parseDevicePair(value, 'device');
  if (sameDevice(pair, CPU)) return CPU;
  throw bufferError(
    `device is ${show(value)} (${formatDevice(pair)}); tensors can only be brought to the CPU, [1, 0]. ` +
      `Use null for the producer's own device`,
  );
}

/**
 * What a producer's `__dlpack_device__()` answered. The struct's own device is what counts afterwards: this only finds
 * producers that do not speak the protocol.
 * @throws TypeError when it is not an array of integers; RangeError when it is one of another length than 2
 */
export function parseProducerDevice(value: unknown): DLPackDevice {
  if (isArray(value) && value.length !== 2 && eachIs(value, isInt32)) {
    throw rangeError(
      `__dlpack_device__() returned ${show(value)}, ${value.length} numbers; it must return [device type, device id]`,
    );
  }
  return parseDevicePair(value, '__dlpack_device__()');
}

function isInt32(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value;
}
