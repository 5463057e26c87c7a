/**
 * Looking at the bytes without copying them: one ArrayBuffer for each tensor, over exactly its span, cached until it is
 * released.
 *
 * Two typed arrays can lie over it, the dtype's own and the bare bits; both are made at first use and kept, so `view()`
 * in a loop costs nothing. A buffer that the user moved away (`buffer.transfer()`, `postMessage`) is length 0 here: the
 * next look asks native for another one.
 */
import { check, failure, faultOf } from './call';
import { publishCopy } from './diagnostics';
import type { BitsOf, DataOf, DType } from './dtype';
import { makeBuffer } from './engine-memory';
import { bufferError, show, typeError } from './errors';
import { FAULT_CODES } from './faults';
import { fieldsOf, setField } from './fields';
import type { Metadata } from './metadata';
import { native, TensorFlag, ViewMode, type Handle } from './native';
import { isOptions } from './protocol';
import { detach, isRefusal } from './staging';
import { metadataOf, viewKey, type TensorBase } from './tensor-base';
import { hasData, makeBits, makeData, noDataReason } from './typed-arrays';

/** What a tensor shows of its bytes. */
export interface ViewRecord<D extends DType = DType> {
  readonly buffer: ArrayBuffer;
  /** A JavaScript copy that stands in for a view, where the runtime forbids views. */
  readonly staged: boolean;
  data: DataOf<D> | undefined;
  bits: BitsOf<D> | undefined;
}

/** What is looked at, for whom, and how. */
export interface Look {
  readonly mode: ViewMode;
  /** Bare bits instead of the dtype's own array. */
  readonly bits: boolean;
  /** The public function, for messages. */
  readonly operation: string;
  /** How the caller writes that he wants bits, for messages. */
  readonly bitsHint: string;
}

/** `view()` and its relatives read these, each once. */
export interface ViewOptions {
  /** true: a view to write through, only of a writable loan. Default false. */
  readonly writable?: boolean | undefined;
  /**
   * true: the bits of the elements as unsigned integers (the interleaved real array for complex), for any dtype.
   * Default false.
   */
  readonly bits?: boolean | undefined;
}

/** @throws TypeError for options that are no object, or a flag that is not a boolean */
export function parseViewOptions(options: unknown, operation: string): { writable: boolean; bits: boolean } {
  if (options === undefined) return { writable: false, bits: false };
  if (!isOptions(options))
    throw typeError(`${operation} was called with ${show(options)}; it takes an object of options: { writable, bits }`);
  const { writable, bits } = options;
  return { writable: parseFlag(writable, 'writable'), bits: parseFlag(bits, 'bits') };
}

/** @throws TypeError for anything but a boolean or undefined */
export function parseFlag(value: unknown, field: string): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw typeError(`${field} is ${show(value)}; it must be true or false`);
  return value;
}

/**
 * The array over a tensor's bytes, cached.
 * @throws BufferError where there can be none: see the callers
 */
export function look<D extends DType>(
  tensor: TensorBase<D>,
  handle: Handle,
  request: Look & { readonly bits: true },
): BitsOf<D>;
export function look<D extends DType>(tensor: TensorBase<D>, handle: Handle, request: Look): DataOf<D> | BitsOf<D>;
export function look<D extends DType>(tensor: TensorBase<D>, handle: Handle, request: Look): DataOf<D> | BitsOf<D> {
  const metadata = metadataOf(tensor);
  if (!metadata.has(TensorFlag.Contiguous)) throw faultOf(FAULT_CODES.kNotContiguous, { operation: request.operation });
  return lookAtSpan(tensor, handle, request);
}

/** The same for any layout: the array covers the whole span, in which the elements lie as the strides say. */
export function lookAtSpan<D extends DType>(
  tensor: TensorBase<D>,
  handle: Handle,
  request: Look,
): DataOf<D> | BitsOf<D> {
  const metadata = metadataOf(tensor);
  refuse(metadata, request);
  const known = viewOf(tensor);
  if (known !== undefined && !wasMovedAway(known.buffer, metadata)) return faceOf(known, metadata, request);
  const record = open(tensor, handle, metadata, request);
  const face = faceOf(record, metadata, request);
  if (!record.staged || keepsStaging(metadata)) setField(tensor, viewKey, record);
  // Not over an open window: that is what native code must see until it closes.
  if (record.staged && metadata.has(TensorFlag.Owned) && standIn(tensor) === record) {
    check(native.setStaging(handle, record.buffer), { operation: request.operation, tensor });
  }
  return face;
}

/** Of an owner whose bytes are shown by a copy: what its open windows show, all of them the same. */
interface CopiedWindow {
  readonly record: ViewRecord;
  open: number;
}

const copiedWindows = new WeakMap<TensorBase, CopiedWindow>();
let openCopies = 0;

/**
 * The copy that stands for an owner's bytes where views are copies: that of its windows, or of `data`. Every method
 * writes it back first, and other native code is shown it.
 */
export function standIn(owned: TensorBase): ViewRecord | undefined {
  const record = (openCopies === 0 ? undefined : copiedWindows.get(owned)?.record) ?? viewOf(owned);
  return record?.staged === true ? record : undefined;
}

/** One more window over the copy that `make` makes, unless there is one. */
export function openCopy<D extends DType>(
  owned: TensorBase<D>,
  handle: Handle,
  make: () => ViewRecord<D>,
): ViewRecord<D> {
  const known = copiedWindows.get(owned);
  if (known !== undefined) {
    known.open += 1;
    return known.record as ViewRecord<D>; // of the tensor's own dtype
  }
  const record = make();
  copiedWindows.set(owned, { record, open: 1 });
  openCopies += 1;
  check(native.setStaging(handle, record.buffer), { operation: 'withView', tensor: owned });
  return record;
}

/** @throws BufferError while windows over a copy are open: what others write meanwhile would be lost when they close */
export function refuseOverCopy(owned: TensorBase, operation: string): void {
  const count = openCopies === 0 ? 0 : (copiedWindows.get(owned)?.open ?? 0);
  if (count > 0) throw faultOf(FAULT_CODES.kInUse, { operation }, { value: BigInt(count) });
}

/** One less. Answers whether it was the last: what was there before stands in again. */
export function closeCopy(owned: TensorBase, handle: Handle): boolean {
  const known = copiedWindows.get(owned);
  if (known === undefined || --known.open > 0) return false;
  copiedWindows.delete(owned);
  openCopies -= 1;
  check(native.setStaging(handle, standIn(owned)?.buffer), { operation: 'withView', tensor: owned });
  return true;
}

/**
 * What `view()` and `data` answer a second time: the array that is there already, or undefined, and the long way must be
 * gone. Views end with their tensor, and nothing attached outlives a loan: an array that still has elements says by
 * itself that its tensor lives, without a call to native. (Not what is asked for with options, a copy that stands in
 * for a view, or what was only shown by `strided` or `unsafeView`.)
 */
export function dataShown<D extends DType>(tensor: TensorBase<D>): DataOf<D> | undefined {
  const record = viewOf(tensor);
  if (record === undefined || record.staged) return undefined;
  const { data } = record;
  if (data === undefined || data.length === 0) return undefined;
  const metadata = metadataOf(tensor);
  return metadata.has(TensorFlag.Contiguous) && !metadata.has(TensorFlag.Protected) ? data : undefined;
}

/** Detaches what was shown. Does nothing where nothing was. */
export function releaseView(tensor: TensorBase, handle: Handle): void {
  dropView(tensor);
  const status = native.releaseViews(handle);
  if (status < 0) throw failure(status, { operation: 'releaseViews', tensor });
}

/** The record of its view, if one was made. */
export function viewOf<D extends DType>(tensor: TensorBase<D>): ViewRecord<D> | undefined {
  // What lies beside a tensor is of the tensor's own dtype.
  return fieldsOf(tensor)[viewKey] as ViewRecord<D> | undefined;
}

/** Forgets the record of a view that native has ended, or that was JavaScript's alone. */
export function dropView(tensor: TensorBase): void {
  const record = viewOf(tensor);
  if (record === undefined) return;
  setField(tensor, viewKey, undefined);
  if (record.staged) detach(record.buffer);
}

/** Everything that can be refused before an ArrayBuffer exists: a refused look leaves no alias behind. */
export function refuse(metadata: Metadata, request: Look): void {
  const { operation } = request;
  if (metadata.has(TensorFlag.Opaque)) refuseOpaque(metadata, operation);
  if (request.mode === ViewMode.Writable && metadata.has(TensorFlag.ReadOnly))
    throw faultOf(FAULT_CODES.kReadOnly, { operation });
  // Native asks this too, but not where an unsafe view is cached already. Where there are no elements, no page is shown.
  if (request.mode !== ViewMode.Unsafe && metadata.has(TensorFlag.Protected) && metadata.size > 0)
    throw faultOf(FAULT_CODES.kProtectedMemory, { operation });
  const dtype = metadata.dtype.name;
  if (!request.bits && !hasData(dtype)) throw bufferError(noDataReason(dtype, request.bitsHint));
}

/** @throws BufferError that names the device */
export function refuseOpaque(metadata: Metadata, operation: string): void {
  if (!metadata.has(TensorFlag.Opaque)) return;
  const [type, id] = metadata.device;
  throw faultOf(FAULT_CODES.kOpaqueDevice, { operation }, { index: id, value: BigInt(type) });
}

/** One of the two arrays over a buffer, as asked for. */
export function faceOf<D extends DType>(
  record: ViewRecord<D>,
  metadata: Metadata<D>,
  request: Look,
): DataOf<D> | BitsOf<D> {
  if (request.bits) return (record.bits ??= makeBits(metadata.dtype.name, record.buffer));
  const data = (record.data ??= makeData(metadata.dtype.name, record.buffer));
  if (data === undefined) throw bufferError(noDataReason(metadata.dtype.name, request.bitsHint));
  return data;
}

/** Did the user move the bytes of a buffer elsewhere? */
export function wasMovedAway(buffer: ArrayBuffer, metadata: Metadata): boolean {
  return buffer.byteLength === 0 && metadata.size !== 0;
}

/** A record around an ArrayBuffer. */
export function recordOf<D extends DType>(buffer: ArrayBuffer, staged: boolean): ViewRecord<D> {
  return { buffer, staged, data: undefined, bits: undefined };
}

/** A JavaScript copy of the span. @throws the error of a fault */
export function stage<D extends DType>(
  tensor: TensorBase<D>,
  handle: Handle,
  metadata: Metadata<D>,
  operation: string,
): ViewRecord<D> {
  const buffer = makeBuffer(metadata.spanBytes, operation);
  const status = native.readSpan(handle, new Uint8Array(buffer));
  if (status < 0) throw failure(status, { operation, tensor });
  publishCopy(() => ({
    reason: 'no-external-buffers',
    operation,
    dtype: metadata.dtype.name,
    shape: metadata.shape,
    byteLength: metadata.spanBytes,
  }));
  return recordOf(buffer, true);
}

function open<D extends DType>(
  tensor: TensorBase<D>,
  handle: Handle,
  metadata: Metadata<D>,
  request: Look,
): ViewRecord<D> {
  if (metadata.size === 0) return recordOf(new ArrayBuffer(0), false);
  const { mode, operation } = request;
  const answer = native.view(handle, mode);
  if (typeof answer !== 'number') return recordOf(answer, false);
  if (isRefusal(answer) && canStage(metadata, mode)) return stage(tensor, handle, metadata, operation);
  throw failure(answer, { operation, tensor });
}

/**
 * A copy can stand in for reading, and for an owner's data, which is written back; not for a write that others must see
 * at once.
 */
export function canStage(metadata: Metadata, mode: ViewMode): boolean {
  return mode === ViewMode.Read || (mode === ViewMode.Writable && metadata.has(TensorFlag.Owned));
}

/**
 * A copy stays true only where nobody may write meanwhile: an owner's own staging buffer, or memory of ours that is not
 * lent.
 */
function keepsStaging(metadata: Metadata): boolean {
  return (
    metadata.has(TensorFlag.Owned) ||
    (metadata.has(TensorFlag.ReadOnly) && !metadata.has(TensorFlag.Loan) && !metadata.has(TensorFlag.Foreign))
  );
}
