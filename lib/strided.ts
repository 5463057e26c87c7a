/** The memory as it lies: for code that walks strides by itself. */
import type { BitsOf, DataOf, DType } from './dtype';
import { bufferError } from './errors';
import type { Handle } from './native';
import { metadataOf, type TensorBase } from './tensor-base';
import { lookAtSpan, type Look } from './view';

/** A tensor's span, and where its elements are in it; everything in entries of `data`. */
export interface StridedView<A> {
  /** The whole span. */
  readonly data: A;
  /** The entry where the first element is. */
  readonly offset: number;
  /** The tensor's own. */
  readonly shape: readonly number[];
  /**
   * Entries from one index of an axis to the next. For complex dtypes an element is two entries, the real part first.
   */
  readonly strides: readonly number[];
}

export function strided<D extends DType>(
  tensor: TensorBase<D>,
  handle: Handle,
  request: Look,
): StridedView<DataOf<D> | BitsOf<D>> {
  const { dtype, spanOffset, shape, strides } = metadataOf(tensor);
  if (dtype.bitPacked) {
    throw bufferError(
      `strided() cannot show packed ${dtype.name}: its elements are no entries of any array. ` +
        `Use at(), or to('float32') first`,
    );
  }
  const data = lookAtSpan(tensor, handle, request);
  if (dtype.element !== 'complex') return { data, offset: spanOffset, shape, strides };
  return { data, offset: 2 * spanOffset, shape, strides: strides.map((stride) => 2 * stride) };
}
