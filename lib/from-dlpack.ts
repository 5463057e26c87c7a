/**
 * The consumer: whatever speaks the protocol becomes a tensor here.
 *
 * Each member of a producer is looked up once and called once; all of its code has run before native takes the capsule,
 * in one step that owns the deleter from then on. Between two tensors of this library no capsule is made at all,
 * provided that both protocol members are the library's own: flags, counts, states and errors are those of the long
 * way.
 */
import { failure, isHandle } from './call';
import { CPU, formatDevice, parseDeviceOption, parseProducerDevice, sameDevice, type DLPackDevice } from './device';
import { publishCopy } from './diagnostics';
import type { DType } from './dtype';
import { bufferError, show, typeError } from './errors';
import { FAULT_CODES } from './faults';
import { importCapsule, share } from './hot-calls';
import { disposeTensor } from './lifetime';
import { makeOwned, makeTensor } from './make';
import { readMetadata, slot, type Metadata } from './metadata';
import { ImportMode, native, Slot, TensorFlag, type Handle } from './native';
import type { AnyOwnedTensor, OwnedTensor } from './owned-tensor';
import { planTensorExport } from './negotiation';
import {
  DLPACK_VERSION,
  isOptions,
  parseCopy,
  type DLPackCapsule,
  type DLPackExportOptions,
  type DLPackProducer,
} from './protocol';
import { Tensor, type AnyTensor } from './tensor';
import { liveHandle, metadataOf, type TensorBase } from './tensor-base';

const OPERATION = 'fromDLPack';

/** The options of `fromDLPack`. */
export interface ImportOptions {
  /** Where to: null, wherever the producer has it; `'cpu'` or `[1, 0]`, memory that the CPU reads. */
  readonly device?: 'cpu' | DLPackDevice | null | undefined;
  /**
   * true: memory of the caller's own, writable. false: never a copy. null: a copy only where the memory cannot be read
   * in place.
   */
  readonly copy?: boolean | null | undefined;
}

interface ImportRequest {
  readonly device: DLPackDevice | null;
  readonly copy: boolean | null;
  readonly mode: ImportMode;
}

const PLAIN: ImportRequest = Object.freeze({ device: null, copy: null, mode: ImportMode.Any });

/** The two members of the protocol, of whatever kind they turn out to be. */
interface Members {
  readonly __dlpack__: unknown;
  readonly __dlpack_device__: unknown;
}

// A tensor's members, unless somebody replaced them: on the instance, in a subclass, or on the prototype.
const own: Members = Tensor.prototype;
const ownProduce = own.__dlpack__;
const ownLocate = own.__dlpack_device__;

/**
 * A tensor over what a producer hands out, without a copy wherever the memory can be read in place.
 *
 * ```ts
 * const producer = Tensor.from([1, 2, 3]); // or whatever an addon gives: it has the protocol's two members
 * const tensor = fromDLPack(producer); // no copy, read-only unless it is lent writable
 * const mine = fromDLPack(producer, { copy: true }); // an OwnedTensor: a copy that I may write
 * mine.data[0] = 10;
 * console.log(tensor.at(0), mine.at(0)); // -> 1 10
 * ```
 *
 * @param x anything with `__dlpack__` and `__dlpack_device__`, or a raw capsule
 * @returns a `Tensor`; an `OwnedTensor` with `copy: true`. The caller owns it; the producer's deleter runs when its
 *   memory is no longer held
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for something else, or a producer that breaks the protocol; whatever the
 *   producer throws, as it is; BufferError (`ERR_DLPACK_BUFFER`) for every fault in its struct (its deleter has run),
 *   or where `copy: false` or `device` cannot be met; DLPackStateError (`ERR_DLPACK_CONSUMED`) for a capsule that was
 *   used; RangeError (`ERR_OUT_OF_RANGE`) for an unknown device name
 */
export function fromDLPack<D extends DType>(
  x: Tensor<D> | OwnedTensor<D>,
  options: ImportOptions & { readonly copy: true },
): OwnedTensor<D>;
export function fromDLPack<D extends DType>(
  x: Tensor<D> | OwnedTensor<D>,
  options?: ImportOptions & { readonly copy?: false | null | undefined },
): Tensor<D>;
export function fromDLPack<D extends DType>(
  x: Tensor<D> | OwnedTensor<D>,
  options?: ImportOptions,
): Tensor<D> | OwnedTensor<D>;
export function fromDLPack(
  x: DLPackProducer | DLPackCapsule,
  options: ImportOptions & { readonly copy: true },
): AnyOwnedTensor;
export function fromDLPack(
  x: DLPackProducer | DLPackCapsule,
  options?: ImportOptions & { readonly copy?: false | null | undefined },
): AnyTensor;
export function fromDLPack(x: DLPackProducer | DLPackCapsule, options?: ImportOptions): AnyTensor | AnyOwnedTensor;
export function fromDLPack(x: unknown, options?: unknown): TensorBase {
  const request = options === undefined ? PLAIN : parseImportOptions(options);
  if (x instanceof Tensor) {
    const members: Members = x;
    const produce = members.__dlpack__;
    const locate = members.__dlpack_device__;
    if (
      produce === ownProduce &&
      locate === ownLocate &&
      (request.device === null || sameDevice(metadataOf(x).device, CPU))
    ) {
      return exchangeOwn(x, request.mode);
    }
    return importFromProducer(x, produce, locate, request);
  }
  if ((typeof x !== 'object' && typeof x !== 'function') || x === null) throw noProducer(x);
  const imported = tryCapsule(x, request);
  if (imported !== undefined) return imported;
  const produce: unknown = Reflect.get(x, '__dlpack__');
  const locate: unknown = Reflect.get(x, '__dlpack_device__');
  return importFromProducer(x, produce, locate, request);
}

/** @throws TypeError, RangeError, BufferError: before the producer is called */
function parseImportOptions(options: unknown): ImportRequest {
  if (!isOptions(options))
    throw typeError(`fromDLPack was given ${show(options)} as options; it takes an object: { device, copy }`);
  const { device, copy: copyGiven } = options;
  const copy = parseCopy(copyGiven);
  const mode = copy === null ? ImportMode.Any : copy ? ImportMode.Owned : ImportMode.NoCopy;
  return { device: parseDeviceOption(device), copy, mode };
}

/** What Door 1 and the consumer would make of our own tensor between them. */
function exchangeOwn(tensor: Tensor, mode: ImportMode): TensorBase {
  const known = metadataOf(tensor); // before the call: of a Proxy, reading a property runs code
  if (mode === ImportMode.Owned) return copyOwn(tensor, known);
  const answer = share(liveHandle(tensor));
  if (!isHandle(answer)) throw failure(answer, { operation: OPERATION, tensor });
  return makeTensor(answer, slot(Slot.Flags) === known.flags ? known : readMetadata());
}

function copyOwn(tensor: Tensor, known: Metadata): TensorBase {
  // The one request that the export itself refuses: in its words.
  if (known.has(TensorFlag.Opaque)) planTensorExport({ versioned: true, copy: true, device: null }, known);
  const answer = native.importTensor(liveHandle(tensor), ImportMode.Owned);
  if (!isHandle(answer)) throw failure(answer, { operation: OPERATION, tensor });
  return makeOwned(answer);
}

function importFromProducer(producer: object, produce: unknown, locate: unknown, request: ImportRequest): TensorBase {
  if (typeof produce !== 'function' && typeof locate !== 'function') throw noProducer(producer);
  if (typeof produce !== 'function')
    throw typeError(`__dlpack__ of the producer is ${show(produce)}; it must be a function`);
  if (typeof locate !== 'function')
    throw typeError(`__dlpack_device__ of the producer is ${show(locate)}; it must be a function`);
  parseProducerDevice(Reflect.apply(locate, producer, []));
  const capsule: unknown = Reflect.apply(produce, producer, [exportOptions(request)]);
  return importAnswer(capsule, request);
}

function exportOptions({ device, copy }: ImportRequest): DLPackExportOptions {
  return {
    max_version: DLPACK_VERSION,
    ...(device === null ? undefined : { dl_device: device }),
    ...(copy === null ? undefined : { copy }),
  };
}

/** What the caller gave, if it is a capsule. */
function tryCapsule(x: object, request: ImportRequest): TensorBase | undefined {
  const answer = importCapsule(x, request.mode);
  if (isHandle(answer)) return finishImport(answer, request);
  // Whatever is no capsule of this contract may still be a producer.
  if (-answer === FAULT_CODES.kNotACapsule || -answer === FAULT_CODES.kCapsuleAbi) return undefined;
  throw failure(answer, { operation: OPERATION, about: 'struct' });
}

/** What a producer gave, which must be a capsule. */
function importAnswer(capsule: unknown, request: ImportRequest): TensorBase {
  const answer = importCapsule(capsule, request.mode);
  if (isHandle(answer)) return finishImport(answer, request);
  if (-answer === FAULT_CODES.kNotACapsule)
    throw typeError(`__dlpack__() returned ${show(capsule)}; it must return a DLPack capsule`);
  throw failure(answer, { operation: OPERATION, about: 'struct' });
}

function finishImport(answer: Handle, { device, mode }: ImportRequest): TensorBase {
  const reason = slot(Slot.FaultIndex);
  const copied = reason === 0 ? undefined : COPY_REASONS[reason]; // hardly ever: a look-up by a double is slow
  const tensor = mode === ImportMode.Owned ? makeOwned(answer) : makeTensor(answer);
  if (device !== null) requireHost(tensor);
  if (copied !== undefined) publishImportCopy(tensor, copied);
  return tensor;
}

/** By the number that importCapsule leaves in Slot.FaultIndex: why it copied. */
const COPY_REASONS = [undefined, 'misaligned', 'not-copied'] as const;

function publishImportCopy(tensor: TensorBase, reason: 'misaligned' | 'not-copied'): void {
  publishCopy(() => ({
    reason,
    operation: OPERATION,
    dtype: tensor.dtype,
    shape: tensor.shape,
    byteLength: tensor.byteLength,
  }));
}

/** The CPU was asked for: the struct, not the producer's word, says where the memory is. */
function requireHost(tensor: TensorBase): void {
  const metadata = metadataOf(tensor);
  if (!metadata.has(TensorFlag.Opaque)) return;
  disposeTensor(tensor);
  throw bufferError(
    `device is the CPU, and the struct is on ${formatDevice(metadata.device)}, which the host cannot read; ` +
      'bring it to the CPU first',
  );
}

function noProducer(x: unknown): TypeError {
  return typeError(
    `fromDLPack was given ${show(x)}; it takes an object with __dlpack__ and __dlpack_device__, or a DLPack capsule`,
  );
}
