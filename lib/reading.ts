/** Reading elements: one by one, or all of them as a copy. */
import { check, failure, isHandle } from './call';
import {
  DTYPES,
  type BitsOf,
  type Complex,
  type DataOf,
  type DType,
  type DTypeInfo,
  type ElementOf,
  type NestedArray,
} from './dtype';
import { checkHeap, makeBuffer } from './engine-memory';
import { bufferError } from './errors';
import { withTemporary } from './make';
import { slot, writeInput, type Metadata } from './metadata';
import { native, scratch, scratchBits, Slot, type Handle } from './native';
import { normalizeIndex } from './slicing';
import { liveHandle, metadataOf, surelyLiveHandle, type TensorBase } from './tensor-base';
import { hasData, makeBits, makeData, noDataReason } from './typed-arrays';
import { refuseOpaque } from './view';

type Element = number | bigint | boolean | Complex;

/** One element. `index`: as many integers as there are axes, negative ones from the end. */
export function readElement<D extends DType>(tensor: TensorBase<D>, index: readonly unknown[]): ElementOf<D> {
  const handle = liveHandle(tensor);
  const metadata = metadataOf(tensor);
  const { dims, ndim } = metadata;
  if (index.length !== ndim || !writeIndex(index, dims)) {
    surelyLiveHandle(tensor); // a tombstone says so whatever the arguments are
    writeInput(normalizeIndex(index, metadata.shape));
  }
  check(native.readElement(handle, ndim), { operation: 'at', tensor });
  return elementValue(metadata.dtype);
}

/** The usual case, without an allocation: integers within bounds. False for anything else. */
function writeIndex(index: readonly unknown[], dims: readonly number[]): boolean {
  for (let axis = 0; axis < index.length; axis++) {
    const i = index[axis];
    if (typeof i !== 'number' || !(i >= 0) || i >= (dims[axis] ?? 0) || Math.floor(i) !== i) return false;
    scratch[Slot.Input + axis] = i;
  }
  return true;
}

function elementValue({ element, kind }: DTypeInfo): Element {
  if (element === 'boolean') return slot(Slot.Element) !== 0;
  if (element === 'complex') return [slot(Slot.Element), slot(Slot.Element + 1)];
  if (element === 'number') return slot(Slot.Element);
  const bits = scratchBits[Slot.Element] ?? 0n;
  return kind === 'uint' ? BigInt.asUintN(64, bits) : bits;
}

/** A row-major copy in a typed array of the dtype, or of its bits. */
export function toTypedArray<D extends DType>(tensor: TensorBase<D>, bits: boolean): DataOf<D> | BitsOf<D> {
  const operation = 'toTypedArray';
  const handle = surelyLiveHandle(tensor);
  const metadata = metadataOf(tensor);
  const dtype = metadata.dtype.name;
  refuseOpaque(metadata, operation);
  if (bits) return makeBits(dtype, copyOut(tensor, handle, metadata.byteLength, operation));
  const reason = bufferError(noDataReason(dtype, 'toTypedArray({ bits: true })'));
  if (!hasData(dtype)) throw reason;
  const data = makeData(dtype, copyOut(tensor, handle, metadata.byteLength, operation));
  if (data === undefined) throw reason;
  return data;
}

/** All elements as nested arrays, as deep as there are axes; the element itself for a 0-d tensor. */
export function toNestedArray<D extends DType>(tensor: TensorBase<D>): NestedArray<ElementOf<D>> {
  const metadata = metadataOf(tensor);
  const handle = surelyLiveHandle(tensor);
  refuseOpaque(metadata, 'toArray');
  checkHeap(countNested(metadata), 'toArray');
  const read = elementReader(tensor, handle, metadata);
  let position = 0;
  const nest = (axis: number): NestedArray<Element> => {
    const extent = metadata.dims[axis];
    if (axis === metadata.ndim || extent === undefined) return read(position++);
    const items: NestedArray<Element>[] = [];
    for (let i = 0; i < extent; i++) items.push(nest(axis + 1));
    return items;
  };
  return nest(0);
}

/** Elements and arrays of the nested arrays. A tensor without elements may have any number of arrays. */
function countNested({ dims, ndim }: Metadata): number {
  let level = 1;
  let count = 1;
  for (let axis = 0; axis < ndim; axis++) {
    level *= dims[axis] ?? 1;
    count += level;
  }
  return count;
}

/** Reads the element at a row-major position out of a copy of all. */
function elementReader(tensor: TensorBase, handle: Handle, metadata: Metadata): (position: number) => Element {
  const { name, element } = metadata.dtype;
  const operation = 'toArray';
  if (element === 'complex') {
    const buffer = copyOut(tensor, handle, metadata.byteLength, operation);
    const parts = name === 'complex64' ? new Float32Array(buffer) : new Float64Array(buffer);
    return (position) => [parts[2 * position] ?? 0, parts[2 * position + 1] ?? 0];
  }
  if (!hasData(name)) return convertedReader(tensor, handle, metadata);
  const values = makeData(name, copyOut(tensor, handle, metadata.byteLength, operation));
  if (element === 'boolean') return (position) => values?.[position] !== 0;
  return (position) => values?.[position] ?? 0;
}

/** float16 where the runtime has no array of it, bfloat16, and everything smaller: all exact in float32. */
function convertedReader(tensor: TensorBase, handle: Handle, metadata: Metadata): (position: number) => number {
  const operation = 'toArray';
  const { float32 } = DTYPES;
  const converted = native.convert(handle, float32.packed, 0, undefined, undefined);
  if (!isHandle(converted)) throw failure(converted, { operation, tensor });
  const values = withTemporary(
    converted,
    (copy) => new Float32Array(copyOut(tensor, copy, metadata.size * float32.itemsize, operation)),
  );
  return (position) => values[position] ?? 0;
}

/** A row-major copy of the elements' bytes. */
function copyOut(tensor: TensorBase, handle: Handle, byteLength: number, operation: string): ArrayBuffer {
  const buffer = makeBuffer(byteLength, operation);
  check(native.copyOut(handle, new Uint8Array(buffer)), { operation, tensor });
  return buffer;
}
