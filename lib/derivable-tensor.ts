/**
 * The part of a `Tensor` that makes others of it: other layouts over the same memory, which are new aliases that
 * inherit read-only, and copies.
 */
import { convert } from './assign';
import { failure, isHandle } from './call';
import type { DType, RealDType } from './dtype';
import * as layout from './layout';
import { makeOwned } from './make';
import { native } from './native';
import type { OwnedTensor } from './owned-tensor';
import { ReadableTensor } from './readable-tensor';
import type { ScalingOptions } from './scaling';
import type { SliceSpec } from './slicing';
import type { Tensor } from './tensor';
import { liveHandle, metadataOf } from './tensor-base';

/** Tensors made of a `Tensor`: parts, other layouts, copies, conversions. */
export abstract class DerivableTensor<D extends DType = DType> extends ReadableTensor<D> {
  // Without a copy: new tensors over the same memory.

  /**
   * A part of it, without a copy, as NumPy's basic indexing has it.
   *
   * ```ts
   * const matrix = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * console.log(matrix.slice(0).toArray()); // -> [ 1, 2, 3 ]
   * console.log(matrix.slice(null, [1, 3]).toArray()); // -> [ [ 2, 3 ], [ 5, 6 ] ]
   * console.log(matrix.slice(null, [null, null, -2]).toArray()); // -> [ [ 3, 1 ], [ 6, 4 ] ]
   * ```
   *
   * @param specs for each axis: an index (negative from the end), which drops the axis; `null`, the whole axis; or
   *   `[start, stop, step]`. Missing trailing axes are whole
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for a spec that cannot be; BufferError
   *   (`ERR_DLPACK_BUFFER`) where a packed sub-byte dtype would start within a byte
   */
  slice(...specs: SliceSpec[]): Tensor<D> {
    return layout.slice(this, specs);
  }

  /**
   * The axes in another order, without a copy.
   *
   * ```ts
   * const image = Tensor.from(new Uint8Array(24), { shape: [2, 4, 3] }); // height, width, channels
   * console.log(image.transpose([2, 0, 1]).shape, image.transpose().shape); // -> [ 3, 2, 4 ] [ 3, 4, 2 ]
   * ```
   *
   * @param axes a permutation of them; reversed by default
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) when it is none
   */
  transpose(axes?: readonly number[]): Tensor<D> {
    return layout.transpose(this, axes);
  }

  /**
   * Another shape over the same elements in row-major order, without a copy.
   *
   * ```ts
   * const tensor = Tensor.from([1, 2, 3, 4, 5, 6]);
   * console.log(tensor.reshape([2, -1]).toArray()); // -> [ [ 1, 2, 3 ], [ 4, 5, 6 ] ]
   * ```
   *
   * @param shape one extent may be -1: what is left
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for a shape of another size;
   *   BufferError (`ERR_DLPACK_BUFFER`) where only a copy could have it (`contiguous()` first)
   */
  reshape(shape: readonly number[]): Tensor<D> {
    return layout.reshape(this, shape);
  }

  /**
   * Without axes of extent 1, without a copy.
   *
   * ```ts
   * const batch = Tensor.from([[[1], [2]]]);
   * console.log(batch.shape, batch.squeeze().shape, batch.squeeze(0).shape); // -> [ 1, 2, 1 ] [ 2 ] [ 2, 1 ]
   * ```
   *
   * @param axis which of them; all by default
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`); RangeError (`ERR_OUT_OF_RANGE`) for an axis that is none or whose
   *   extent is not 1
   */
  squeeze(axis?: number | readonly number[]): Tensor<D> {
    return layout.squeeze(this, axis);
  }

  /**
   * With one more axis, of extent 1, without a copy.
   *
   * ```ts
   * const image = Tensor.from([[1, 2], [3, 4]]);
   * console.log(image.expandDims(0).shape, image.expandDims(-1).shape); // -> [ 1, 2, 2 ] [ 2, 2, 1 ]
   * ```
   *
   * @param axis where the new axis will be, negative ones from the end
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`), also at 64 axes
   */
  expandDims(axis: number): Tensor<D> {
    return layout.expandDims(this, axis);
  }

  /**
   * Repeated along axes of extent 1 and new leading axes, without a copy (strides 0). Such a tensor shows one element
   * under several indices, so it is always read-only and never passes Door 2.
   *
   * ```ts
   * const row = Tensor.from([1, 2, 3]).broadcastTo([2, 3]);
   * console.log(row.toArray(), row.strides); // -> [ [ 1, 2, 3 ], [ 1, 2, 3 ] ] [ 0, 1 ]
   * ```
   *
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for a shape that it cannot be broadcast
   *   to
   */
  broadcastTo(shape: readonly number[]): Tensor<D> {
    return layout.broadcastTo(this, shape);
  }

  /**
   * One axis in reverse order, without a copy (a negative stride, which some consumers refuse).
   *
   * ```ts
   * const rows = Tensor.from([[1, 2], [3, 4]]);
   * console.log(rows.flip(0).toArray(), rows.flip(-1).toArray()); // -> [ [ 3, 4 ], [ 1, 2 ] ] [ [ 2, 1 ], [ 4, 3 ] ]
   * ```
   *
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for an axis that is none
   */
  flip(axis: number): Tensor<D> {
    return layout.flip(this, axis);
  }

  // With a copy, or perhaps with one.

  /**
   * The same elements, row-major: a new alias when they are already, a copy otherwise.
   *
   * ```ts
   * const columns = Tensor.from([[1, 2], [3, 4]]).transpose();
   * const copied = columns.contiguous(); // row-major, so it has a view
   * console.log(columns.isContiguous, copied.view().join(' '), copied.zeroCopy); // -> false 1 3 2 4 false
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) when it would have to copy from a device that the host cannot read
   */
  contiguous(): Tensor<D> {
    return layout.contiguous(this);
  }

  /**
   * A row-major copy, writable and owned by the caller.
   *
   * ```ts
   * const tensor = Tensor.from([1, 2, 3]);
   * const mine = tensor.copy();
   * mine.data[0] = 10;
   * console.log(mine.at(0), tensor.at(0)); // -> 10 1
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) on a device that the host cannot read; RangeError (`ERR_DLPACK_MEMORY`)
   *   without memory
   */
  copy(): OwnedTensor<D> {
    const answer = native.copy(liveHandle(this), true);
    if (!isHandle(answer)) throw failure(answer, { operation: 'copy', tensor: this, shape: metadataOf(this).shape });
    return makeOwned<D>(answer);
  }

  /**
   * All elements in another dtype: x * scale, rounded, + offset, rounded, then one conversion (to integers: half to
   * even, saturating, NaN -> 0).
   *
   * ```ts
   * const pixels = Tensor.from(new Uint8Array([0, 51, 255, 102]), { shape: [2, 2] });
   * const input = pixels.to('float32', { scale: 1 / 255, offset: -0.5 });
   * console.log(input.dtype, input.at(0, 0), input.at(1, 0)); // -> float32 -0.5 0.5
   * console.log(pixels.to('float64', { scale: [1, 10], axis: 1 }).at(0, 1)); // -> 510
   * ```
   *
   * @param dtype any real dtype; its own for a scaled copy
   * @param options `scale` and `offset`: a number, or one for each index of `axis` (0 by default)
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for arguments that cannot be, and for
   *   complex dtypes; BufferError (`ERR_DLPACK_BUFFER`) on a device that the host cannot read
   */
  to<E extends RealDType>(dtype: E, options?: ScalingOptions): OwnedTensor<E> {
    return convert<E>(this, dtype, options);
  }
}
