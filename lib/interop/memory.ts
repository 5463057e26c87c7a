/**
 * Bare bytes: Node's Buffers, DataViews and WebAssembly memory. They say neither dtype nor shape, so the caller does.
 *
 * What comes in is always copied, and `copy: false` is refused by name: a Buffer may lie in the pool that Node reuses,
 * a WebAssembly memory moves when it grows, a DataView's bytes need not be aligned.
 */
import type { DType } from '../dtype';
import { rangeError } from '../errors';
import { parseInteger } from '../shape';
import { metadataOf } from '../tensor-base';
import { bufferOf as bufferBehind, byteLengthOf, byteOffsetOf, isDataView, isTypedArray } from '../typed-arrays';
import { bytesAt, bytesOfView, fieldsOf, isArrayBuffer } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import { copyInto, parseToOptions, requireTensor, withCompact, type AnySource, type ToOptions } from './outgoing';
import { copyNeeded, notA } from './words';

/** What the bytes are. */
export interface BytesOptions<D extends DType, C extends boolean | null | undefined> extends FromOptions<C> {
  /** What the bytes are, in the machine's byte order. */
  readonly dtype: D;
  /** Extents; by default one axis, of as many elements as there are. */
  readonly shape?: readonly number[] | undefined;
  /** In elements; row-major by default. */
  readonly strides?: readonly number[] | undefined;
  /** Bytes from the start to the first element, aligned or not; 0 by default. */
  readonly byteOffset?: number | undefined;
}

/** A WebAssembly.Memory, as far as it is read here. */
export interface WasmMemory {
  /** All of it, until it grows. */
  readonly buffer: ArrayBufferLike;
  /** Adds pages. */
  grow(pages: number): number;
}

/**
 * A tensor of the bytes in a Buffer or Uint8Array, copied once.
 *
 * ```ts
 * const file = Buffer.from([0, 1, 0, 2, 0, 3]); // one byte of something else, then 16-bit integers
 * const tensor = fromBuffer(file, { dtype: 'uint16', byteOffset: 1, shape: [2] });
 * console.log(tensor.toArray()); // -> [ 1, 2 ]
 * ```
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for a dtype, shape or offset that do not
 *   fit the bytes; BufferError (`ERR_DLPACK_BUFFER`) for `copy: false`
 */
export function fromBuffer<D extends DType, C extends boolean | null | undefined = null>(
  buffer: Uint8Array,
  options: BytesOptions<D, C>,
): Incoming<D, C> {
  const operation = 'fromBuffer';
  if (!isTypedArray(buffer)) throw notA(operation, buffer, 'a Buffer or another typed array');
  return fromBytes(bytesOfView(buffer, operation), options, operation);
}

/**
 * A tensor of the bytes in a DataView, copied once.
 *
 * ```ts
 * const bytes = new DataView(new Float32Array([1, 2, 3, 4]).buffer, 4);
 * console.log(fromDataView(bytes, { dtype: 'float32' }).toArray()); // -> [ 2, 3, 4 ]
 * ```
 *
 * @throws as `fromBuffer`
 */
export function fromDataView<D extends DType, C extends boolean | null | undefined = null>(
  view: DataView,
  options: BytesOptions<D, C>,
): Incoming<D, C> {
  const operation = 'fromDataView';
  if (!isDataView(view)) throw notA(operation, view, 'a DataView');
  return fromBytes(bytesOfView(view, operation), options, operation);
}

/**
 * A tensor of elements in a WebAssembly memory, copied once. Without a shape it is all that comes after `byteOffset`.
 *
 * ```ts
 * const memory = new WebAssembly.Memory({ initial: 1 }); // what a module exports
 * new Float32Array(memory.buffer, 1024, 2).set([1, 2]); // what it computed
 * console.log(fromWasm(memory, { dtype: 'float32', byteOffset: 1024, shape: [2] }).toArray()); // -> [ 1, 2 ]
 * ```
 *
 * @throws as `fromBuffer`
 */
export function fromWasm<D extends DType, C extends boolean | null | undefined = null>(
  memory: WasmMemory,
  options: BytesOptions<D, C>,
): Incoming<D, C> {
  const operation = 'fromWasm';
  const buffer = bufferOf(memory, operation);
  return fromBytes(bytesAt(buffer, 0, buffer.byteLength, operation), options, operation);
}

/**
 * A Buffer over the tensor's own memory, row-major.
 *
 * ```ts
 * const tensor = Tensor.from(new Uint16Array([1, 2]));
 * const bytes = toBuffer(tensor); // over the tensor's own memory
 * console.log(bytes.length, bytes.readUInt16LE(2)); // -> 4 2
 * ```
 *
 * @returns the bytes; a layout that is not row-major is copied
 * @throws BufferError (`ERR_DLPACK_BUFFER`) with `copy: false` where a copy would be needed
 */
export function toBuffer(tensor: AnySource, options?: ToOptions): Buffer<ArrayBuffer> {
  return bytesOf(tensor, options, 'toBuffer', (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

/**
 * A DataView over the tensor's own memory, row-major, in the machine's byte order.
 *
 * ```ts
 * const view = toDataView(Tensor.from(new Float32Array([1, 2]))); // over the tensor's own memory
 * console.log(view.byteLength, view.getFloat32(4, true)); // -> 8 2
 * ```
 *
 * @returns the bytes; a layout that is not row-major is copied
 * @throws BufferError (`ERR_DLPACK_BUFFER`) with `copy: false` where a copy would be needed
 */
export function toDataView(tensor: AnySource, options?: ToOptions): DataView<ArrayBuffer> {
  return bytesOf(tensor, options, 'toDataView', (bytes) => {
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  });
}

/** Where `toWasm` writes. */
export interface ToWasmOptions {
  /** Bytes from the start of the memory; 0 by default. */
  readonly byteOffset?: number | undefined;
}

/**
 * Copies the elements, of any layout, row-major into a WebAssembly memory: one copy.
 *
 * ```ts
 * const memory = new WebAssembly.Memory({ initial: 1 }); // what a module exports
 * const columns = Tensor.from(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] }).transpose();
 * console.log(toWasm(columns, memory, { byteOffset: 1024 })); // -> 16
 * console.log(new Float32Array(memory.buffer, 1024, 4).join(' ')); // -> 1 3 2 4
 * ```
 *
 * @returns the number of bytes written
 * @throws RangeError (`ERR_OUT_OF_RANGE`) where they do not fit; TypeError (`ERR_INVALID_ARG_TYPE`) for what is no
 *   memory
 */
export function toWasm(tensor: AnySource, memory: WasmMemory, options?: ToWasmOptions): number {
  const operation = 'toWasm';
  const source = requireTensor(tensor, operation);
  const buffer = bufferOf(memory, operation);
  const { byteOffset = 0 } = options === undefined ? {} : fieldsOf(options, operation, 'options: { byteOffset }');
  const start = parseInteger(byteOffset, 'byteOffset');
  const { byteLength: needed } = metadataOf(source);
  if (start < 0 || start + needed > buffer.byteLength) {
    throw rangeError(
      `byteOffset is ${start} and the tensor has ${needed} bytes; the memory has ${buffer.byteLength}: grow it first`,
    );
  }
  const { buffer: target, byteOffset: first } = bytesAt(buffer, start, needed, operation);
  copyInto(source, new Uint8Array(target, first, needed), operation);
  return needed;
}

function bytesOf<R>(
  tensor: AnySource,
  options: ToOptions | undefined,
  operation: string,
  use: (bytes: ArrayBufferView<ArrayBuffer>) => R,
): R {
  const copy = parseToOptions(options, operation);
  return withCompact(requireTensor(tensor, operation), { operation, copy, bits: true }, use);
}

function fromBytes<D extends DType, C>(bytes: DataView, options: unknown, operation: string): Incoming<D, C> {
  const { copy, given } = parseFromOptions(options, operation);
  if (copy === false) {
    throw copyNeeded(
      operation,
      'these bytes may be reused, move or lie unaligned (adopt() of node-dlpack/unsafe pins a typed array that you keep)',
    );
  }
  const { dtype, shape, strides, byteOffset = 0 } = given;
  const skipped = parseInteger(byteOffset, 'byteOffset');
  // Only now: reading an option may have run code.
  const length = byteLengthOf(bytes);
  if (skipped < 0 || skipped > length) throw rangeError(`byteOffset is ${skipped}; there are ${length} bytes`);
  const data = bytesAt(bufferBehind(bytes), byteOffsetOf(bytes) + skipped, length - skipped, operation);
  // An offset, 0 too, says that a shape may take less than all of it.
  return incoming({ data, dtype, shape, strides, offset: shape === undefined ? undefined : 0 }, copy, operation);
}

function bufferOf(memory: unknown, operation: string): ArrayBuffer {
  const expected = 'a WebAssembly.Memory';
  const { buffer, grow } = fieldsOf(memory, operation, expected);
  if (typeof grow !== 'function' || !isArrayBuffer(buffer)) throw notA(operation, memory, expected);
  return buffer;
}
