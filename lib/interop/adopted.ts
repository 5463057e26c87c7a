/**
 * `copy: false`: a tensor over JavaScript memory itself, of any dtype and layout that lie in it.
 *
 * What `adopt` pins is a row-major array. Strides, a reversed axis or an offset within them are shown by a tensor over
 * the address of the pinned one, which it releases when its own memory is no longer held. The pinned one is in no
 * scope: a scope that ended would otherwise take the memory from under the tensor that it returns.
 */
import workerThreads = require('node:worker_threads');
import { failure, faultOf, isHandle } from '../call';
import type { DataSource } from '../data-source';
import { compactBytes, type DType } from '../dtype';
import { FAULT_CODES } from '../faults';
import { keepInPlace } from '../keep-in-place';
import { disposeTensor } from '../lifetime';
import { makeTensor, makeUntrackedTensor } from '../make';
import { writeInput } from '../metadata';
import { native, type Handle } from '../native';
import { rowMajorStrides, sizeOf } from '../shape';
import type { Tensor } from '../tensor';
import { dataAddress, fromPointer } from '../unsafe';
import { copyNeeded } from './words';

/** A read-only tensor over the array that `data` describes, which was checked to hold all of its elements. */
export function adopted<D extends DType>(data: DataSource, operation: string): Tensor<D> {
  const { source, dtype, shape, strides, offset } = data;
  if (!workerThreads.isMainThread) throw faultOf(FAULT_CODES.kWrongThread, { operation });
  refuseResizable(source.buffer, operation);
  if (strides === undefined || sizeOf(shape) === 0 || isRowMajor(shape, strides)) {
    const start = source.byteOffset + offset * dtype.itemsize;
    const part = new Uint8Array(source.buffer, start, compactBytes(dtype, sizeOf(shape)));
    const tensor = makeTensor<D>(pin(part, data, shape, operation));
    keepInPlace(source.buffer);
    return tensor;
  }
  const whole = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  const pinned = makeUntrackedTensor<D>(pin(whole, data, [Math.floor(source.byteLength / dtype.itemsize)], operation));
  keepInPlace(source.buffer);
  try {
    return fromPointer<D>({
      address: dataAddress(pinned) + BigInt(offset * dtype.itemsize),
      shape,
      strides,
      dtype: pinned.dtype,
      release: () => disposeTensor(pinned),
    });
  } catch (error) {
    disposeTensor(pinned);
    throw error;
  }
}

/** @throws BufferError in a worker, and for memory that is not aligned to its element */
function pin(bytes: Uint8Array, { dtype }: DataSource, shape: readonly number[], operation: string): Handle {
  writeInput(shape);
  const handle = native.adopt(bytes, shape.length, dtype.packed, false);
  // What cannot be shared as it lies is a BufferError, as for memory from outside: the caller's numbers are all right.
  if (!isHandle(handle)) throw failure(handle, { operation, about: 'struct', dtype: dtype.name, shape });
  return handle;
}

function isRowMajor(shape: readonly number[], strides: readonly number[]): boolean {
  const compact = rowMajorStrides(shape);
  return strides.every((stride, axis) => stride === compact[axis]); // of extents of 1 too: they are never normalised
}

/** @throws BufferError for a buffer whose memory may move or shrink under an address that others keep */
function refuseResizable(buffer: ArrayBufferLike, operation: string): void {
  if (Reflect.get(buffer, 'resizable') !== true && Reflect.get(buffer, 'growable') !== true) return;
  throw copyNeeded(operation, 'the array lies in a resizable or growable buffer, whose memory may move');
}
