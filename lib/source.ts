/** From JavaScript memory into native memory: the one copy of `Tensor.from`, `OwnedTensor.from` and `set`. */
import { failure, isHandle } from './call';
import type { DataSource } from './data-source';
import type { DType } from './dtype';
import { makeOwned, makeTensor, withTemporary } from './make';
import { writeInput } from './metadata';
import { native, type Handle } from './native';
import type { OwnedTensor } from './owned-tensor';
import type { Tensor } from './tensor';

/** Copies into a fresh row-major block. The handle is owned by nobody yet. `owned`: what kind of handle. */
export function copyIn(data: DataSource, owned: boolean, operation: string): Handle {
  const { source, dtype, shape, strides, offset } = data;
  writeInput(shape);
  if (strides !== undefined) writeInput(strides, shape.length);
  writeInput([offset], strides === undefined ? shape.length : 2 * shape.length);
  const handle = native.fromBytes(source, shape.length, dtype.packed, strides !== undefined, owned);
  if (!isHandle(handle)) throw failure(handle, { operation, dtype: dtype.name, shape });
  return handle;
}

export function tensorFrom<D extends DType>(data: DataSource, operation: string): Tensor<D> {
  if (data.convertTo === undefined) return makeTensor<D>(copyIn(data, false, operation));
  const owned = convertedFrom<D>(data, operation);
  return owned.freeze();
}

export function ownedFrom<D extends DType>(data: DataSource, operation: string): OwnedTensor<D> {
  if (data.convertTo === undefined) return makeOwned<D>(copyIn(data, true, operation));
  return convertedFrom<D>(data, operation);
}

function convertedFrom<D extends DType>(data: DataSource, operation: string): OwnedTensor<D> {
  const target = data.convertTo ?? data.dtype;
  return withTemporary(copyIn(data, false, operation), (temporary) => {
    const converted = native.convert(temporary, target.packed, 0, undefined, undefined);
    if (!isHandle(converted)) throw failure(converted, { operation, dtype: target.name, shape: data.shape });
    return makeOwned<D>(converted);
  });
}
