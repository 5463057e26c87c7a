/**
 * Other layouts over the same memory: a new tensor, no copy. The new alias inherits read-only and counts as an alias
 * like any other.
 */
import { failure, isHandle } from './call';
import type { DType } from './dtype';
import { rangeError } from './errors';
import { makeTensor } from './make';
import { metadataOf, surelyLiveHandle, type TensorBase } from './tensor-base';
import { writeInput } from './metadata';
import { native, TensorFlag, type Handle, type Status } from './native';
import { formatShape, parseShape, resolveShape } from './shape';
import {
  normalizeAxis,
  normalizeNewAxis,
  normalizePermutation,
  normalizeSlices,
  normalizeSqueeze,
  type AxisSlice,
} from './slicing';
import type { Tensor } from './tensor';

/** Slices as arguments of a call: four numbers an axis. Nothing may run between this and the call. */
export function writeSlices(slices: readonly AxisSlice[]): number {
  let at = 0;
  for (const { isIndex, start, extent, step } of slices) {
    writeInput([isIndex ? 1 : 0, start, extent, step], at);
    at += 4;
  }
  return slices.length;
}

export function slice<D extends DType>(tensor: TensorBase<D>, specs: readonly unknown[]): Tensor<D> {
  surelyLiveHandle(tensor);
  const slices = normalizeSlices(specs, metadataOf(tensor).shape);
  const handle = surelyLiveHandle(tensor);
  return derived(tensor, native.slice(handle, writeSlices(slices)), 'slice');
}

export function transpose<D extends DType>(tensor: TensorBase<D>, axes: unknown): Tensor<D> {
  surelyLiveHandle(tensor);
  const permutation = normalizePermutation(axes, metadataOf(tensor).ndim);
  const handle = surelyLiveHandle(tensor);
  writeInput(permutation);
  return derived(tensor, native.permute(handle, permutation.length), 'transpose');
}

export function reshape<D extends DType>(tensor: TensorBase<D>, shape: unknown): Tensor<D> {
  surelyLiveHandle(tensor);
  const extents = resolveShape(shape, metadataOf(tensor).size);
  const handle = surelyLiveHandle(tensor);
  writeInput(extents);
  return derived(tensor, native.reshape(handle, extents.length), 'reshape', extents);
}

export function squeeze<D extends DType>(tensor: TensorBase<D>, axis: unknown): Tensor<D> {
  surelyLiveHandle(tensor);
  const axes = normalizeSqueeze(axis, metadataOf(tensor).shape);
  const handle = surelyLiveHandle(tensor);
  writeInput(axes);
  return derived(tensor, native.squeeze(handle, axes.length), 'squeeze');
}

export function expandDims<D extends DType>(tensor: TensorBase<D>, axis: unknown): Tensor<D> {
  const handle = surelyLiveHandle(tensor);
  const position = normalizeNewAxis(axis, metadataOf(tensor).ndim);
  return derived(tensor, native.expandDims(handle, position), 'expandDims');
}

export function broadcastTo<D extends DType>(tensor: TensorBase<D>, shape: unknown): Tensor<D> {
  surelyLiveHandle(tensor);
  const extents = parseShape(shape);
  const { ndim } = metadataOf(tensor);
  if (extents.length < ndim) {
    throw rangeError(
      `shape ${formatShape(extents)} has fewer axes than the tensor, which has ${ndim}; broadcasting drops none`,
    );
  }
  const handle = surelyLiveHandle(tensor);
  writeInput(extents);
  return derived(tensor, native.broadcastTo(handle, extents.length), 'broadcastTo', extents);
}

export function flip<D extends DType>(tensor: TensorBase<D>, axis: unknown): Tensor<D> {
  const handle = surelyLiveHandle(tensor);
  const position = normalizeAxis(axis, metadataOf(tensor).ndim);
  return derived(tensor, native.flip(handle, position), 'flip');
}

/** A new alias when it is row-major already, else a copy that is. */
export function contiguous<D extends DType>(tensor: TensorBase<D>): Tensor<D> {
  const handle = surelyLiveHandle(tensor);
  const already = metadataOf(tensor).has(TensorFlag.Contiguous);
  return derived(tensor, already ? native.alias(handle) : native.copy(handle, false), 'contiguous');
}

function derived<D extends DType>(
  tensor: TensorBase<D>,
  result: Handle | Status,
  operation: string,
  shape?: readonly number[],
): Tensor<D> {
  if (isHandle(result)) return makeTensor<D>(result);
  throw failure(result, { operation, tensor, dtype: metadataOf(tensor).dtype.name, shape });
}
