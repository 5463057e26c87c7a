/**
 * A managed tensor of ours with anything in its fields, handed to an addon as a stranger's would be, that counts what
 * becomes of it. Offsets are those of DLPack 1.3 on 64-bit machines.
 */
import { failure } from '../../call';
import { native, ProbeBit, scratch, scratchBits, Slot, StructKind } from '../../native';
import type { DLPackProducer } from '../../protocol';
import { makeCapsule } from '../../unsafe';

/** What takeTensor works on: a dtype as DLPack writes it, and a shape. */
export interface Form {
  readonly dtype: readonly [code: number, bits: number, lanes: number];
  readonly shape: readonly number[];
}

/** The fields of a struct; what is missing is that of a versioned, writable, row-major tensor of the form. */
export interface Fields {
  readonly versioned?: boolean;
  readonly version?: readonly [major: number, minor: number];
  readonly flags?: bigint;
  readonly deleter?: boolean;
  readonly device?: readonly [type: number, id: number];
  readonly dtype?: readonly [code: number, bits: number, lanes: number];
  readonly ndim?: number;
  /** null: NULL. */
  readonly shape?: readonly bigint[] | null;
  /** null: NULL. In elements. */
  readonly strides?: readonly bigint[] | null;
  readonly byteOffset?: bigint;
  readonly elements?: Uint8Array;
  /** Where `data` points, in bytes from the start of `elements`; 'null': NULL; 'wild': where nothing may be read. */
  readonly data?: number | 'null' | 'wild';
  /** Every field after the deleter is nonsense. */
  readonly poisoned?: boolean;
}

const VERSIONED_BYTES = 80;
const LEGACY_BYTES = 64;
const FLAGS_OFFSET = 24;
const WILD_ADDRESS = 64n;

/** Steps in elements of a compact row-major layout. */
export function rowMajor(shape: readonly number[]): bigint[] {
  const strides: bigint[] = [];
  let step = 1n;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides.unshift(step);
    step *= BigInt(shape[axis] ?? 0);
  }
  return strides;
}

/** The same with the first axis as the one that moves by single elements. */
export function columnMajor(shape: readonly number[]): bigint[] {
  let step = 1n;
  return shape.map((extent) => {
    const stride = step;
    step *= BigInt(extent);
    return stride;
  });
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, extent) => size * extent, 1);
}

/** Small numbers 0, 1, 2, ... (0 and 1 for bool) in a dtype; zeros for one that has no typed array here. */
export function ramp(form: Form, from = 0): Uint8Array {
  const count = sizeOf(form.shape);
  const [code, bits] = form.dtype;
  const numbers = Array.from({ length: count }, (_, i) => (code === BOOL ? (i + from) % 2 : (i + from) % 100));
  return bytesOf(code, bits, numbers) ?? new Uint8Array(Math.ceil((count * bits) / 8));
}

/** The numbers that `ramp` wrote, or undefined for a dtype without. */
export function rampSum(form: Form, from = 0): number | undefined {
  const [code, bits] = form.dtype;
  if (bytesOf(code, bits, []) === undefined) return undefined;
  let sum = 0;
  for (let i = 0; i < sizeOf(form.shape); i++) sum += code === BOOL ? (i + from) % 2 : (i + from) % 100;
  return sum;
}

const [INT, UINT, FLOAT, BOOL] = [0, 1, 2, 6];

function bytesUnder(array: NodeJS.TypedArray): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function bytesOf(code: number, bits: number, numbers: readonly number[]): Uint8Array | undefined {
  const big = (): bigint[] => numbers.map(BigInt);
  switch (`${code}:${bits}`) {
    case `${BOOL}:8`:
    case `${UINT}:8`:
    case `${INT}:8`:
      return Uint8Array.from(numbers);
    case `${UINT}:16`:
    case `${INT}:16`:
      return bytesUnder(Uint16Array.from(numbers));
    case `${UINT}:32`:
    case `${INT}:32`:
      return bytesUnder(Uint32Array.from(numbers));
    case `${UINT}:64`:
    case `${INT}:64`:
      return bytesUnder(BigUint64Array.from(big()));
    case `${FLOAT}:32`:
      return bytesUnder(Float32Array.from(numbers));
    case `${FLOAT}:64`:
      return bytesUnder(Float64Array.from(numbers));
    default:
      return undefined;
  }
}

/** One of them. It is kept until the process ends. */
export class Probe {
  readonly versioned: boolean;
  readonly #id: number;
  readonly #device: readonly [number, number];

  constructor(form: Form, fields: Fields = {}) {
    this.versioned = fields.versioned ?? true;
    this.#device = fields.device ?? [1, 0];
    const elements = fields.elements ?? ramp(form);
    const shape = fields.shape === undefined ? form.shape.map(BigInt) : fields.shape;
    const strides = fields.strides === undefined ? rowMajor(form.shape) : fields.strides;
    const dims = dimsOf(shape, strides);
    let bits = 0;
    if (fields.data !== 'null' && fields.data !== 'wild') bits |= ProbeBit.Data;
    if (shape !== null && shape.length > 0) bits |= ProbeBit.Shape;
    if (strides !== null && strides.length > 0) bits |= ProbeBit.Strides;
    if (fields.deleter !== false) bits |= ProbeBit.Deleter;
    const image = this.#image(form, fields, shape?.length ?? 0);
    if (fields.poisoned === true) {
      bits &= ProbeBit.Deleter;
      image.fill(0xa5, FLAGS_OFFSET);
    }
    const kind = this.versioned ? StructKind.Versioned : StructKind.Legacy;
    const answer = native.makeProbe(kind, image, dims, elements, bits);
    if (answer <= 0) throw failure(answer, { operation: 'makeProbe' });
    this.#id = answer;
  }

  #image(form: Form, fields: Fields, axes: number): Uint8Array {
    const image = new Uint8Array(this.versioned ? VERSIONED_BYTES : LEGACY_BYTES);
    const view = new DataView(image.buffer);
    const tensor = this.versioned ? 32 : 0;
    if (this.versioned) {
      const [major, minor] = fields.version ?? [1, 3];
      view.setUint32(0, major, true);
      view.setUint32(4, minor, true);
      view.setBigUint64(FLAGS_OFFSET, fields.flags ?? 0n, true);
    }
    const { data = 0 } = fields;
    view.setBigUint64(tensor, data === 'wild' ? WILD_ADDRESS : data === 'null' ? 0n : BigInt(data), true);
    view.setInt32(tensor + 8, this.#device[0], true);
    view.setInt32(tensor + 12, this.#device[1], true);
    view.setInt32(tensor + 16, fields.ndim ?? axes, true);
    const [code, width, lanes] = fields.dtype ?? form.dtype;
    view.setUint8(tensor + 20, code);
    view.setUint8(tensor + 21, width);
    view.setUint16(tensor + 22, lanes, true);
    view.setBigUint64(tensor + 40, fields.byteOffset ?? 0n, true);
    return image;
  }

  /** In a fresh capsule, which owns it. */
  capsule(): object {
    return makeCapsule({ address: this.#state().address, versioned: this.versioned });
  }

  /** As the answer of a stranger's object, which tells what it was asked. */
  producer(): DLPackProducer & { readonly exports: unknown[][]; readonly devices: unknown[][] } {
    const exports: unknown[][] = [];
    const devices: unknown[][] = [];
    return {
      exports,
      devices,
      __dlpack__: (...asked: unknown[]) => {
        exports.push(asked);
        return this.capsule();
      },
      __dlpack_device__: (...asked: unknown[]) => {
        devices.push(asked);
        return this.#device;
      },
    };
  }

  get deleterCalls(): number {
    return this.#state().deleterCalls;
  }

  /** Did anybody write to struct, shape or strides before the deleter ran? */
  get structChanged(): boolean {
    return this.#state().structChanged;
  }

  get elementsChanged(): boolean {
    return this.#state().elementsChanged;
  }

  #state(): { deleterCalls: number; structChanged: boolean; elementsChanged: boolean; address: bigint } {
    const status = native.probeState(this.#id);
    if (status < 0) throw failure(status, { operation: 'probeState' });
    return {
      deleterCalls: scratch[Slot.Element] ?? 0,
      structChanged: scratch[Slot.Element + 1] === 1,
      elementsChanged: scratch[Slot.Element + 2] === 1,
      address: BigInt.asUintN(64, scratchBits[Slot.Element + 3] ?? 0n),
    };
  }
}

/** Shape, then strides, of one length: native finds the strides in the middle. */
function dimsOf(shape: readonly bigint[] | null, strides: readonly bigint[] | null): Uint8Array {
  const axes = Math.max(shape?.length ?? 0, strides?.length ?? 0);
  const dims = new BigInt64Array(2 * axes);
  dims.set(shape ?? [], 0);
  dims.set(strides ?? [], axes);
  return new Uint8Array(dims.buffer);
}
