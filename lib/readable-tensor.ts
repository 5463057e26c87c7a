/**
 * The part of a `Tensor` that looks at its elements: one by one, in place, or as a copy. What it means that they are
 * seen in place, and for how long, is the business of view.ts and window.ts.
 */
import type { BitsOf, DataOf, DType, ElementOf, NestedArray, ReadonlyBitsOf, ReadonlyDataOf } from './dtype';
import { show, typeError } from './errors';
import { ViewMode } from './native';
import { readElement, toNestedArray, toTypedArray } from './reading';
import { strided, type StridedView } from './strided';
import { surelyLiveHandle, TensorBase } from './tensor-base';
import type { Settled } from './thenable';
import { dataShown, look, parseViewOptions, releaseView, type Look, type ViewOptions } from './view';
import { throughWindow } from './window';

/** Reading the elements of a `Tensor`. */
export abstract class ReadableTensor<D extends DType = DType> extends TensorBase<D> {
  /**
   * One element: a boolean, a bigint for 64-bit integers, `[re, im]` for complex, a number for every other dtype
   * (bfloat16 and smaller floats too).
   *
   * ```ts
   * const tensor = Tensor.from([[1, 2], [3, 4]]);
   * console.log(tensor.at(1, 0), tensor.at(-1, -1)); // -> 3 4
   * ```
   *
   * @param index one integer for each axis, negative ones from the end; none for a 0-d tensor
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for an index that is none; BufferError
   *   (`ERR_DLPACK_BUFFER`) on a device that the host cannot read
   */
  at(...index: number[]): ElementOf<D> {
    return readElement(this, index);
  }

  /**
   * The elements as a typed array over the memory itself, row-major; the same object at every call until
   * `releaseViews()`. It counts as an alias (`intoDLPack()` refuses), and its type is read-only: JavaScript cannot
   * enforce that, but writing breaks the promise made to all others.
   *
   * `dispose()` and `releaseViews()` detach it (its length becomes 0). Collecting the tensor does not: the typed array
   * alone keeps its bytes alive. Native or asynchronous work that outlives a release reads freed memory: give it
   * `withView` instead.
   *
   * With `{ writable: true }`, of a writable loan only, a typed array to write through. With `{ bits: true }`, for any
   * dtype, the bare bits.
   *
   * ```ts
   * const tensor = Tensor.from(new Float32Array([1, 2, 3]));
   * const view = tensor.view(); // a read-only Float32Array over the memory itself
   * console.log(view[2], view.length); // -> 3 3
   * console.log(tensor.view({ bits: true })[0]?.toString(16)); // -> 3f800000
   * tensor.dispose();
   * console.log(view.length); // -> 0
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) when the layout is not contiguous; when the dtype has no typed array here
   *   (`float16` before Node 24, `bfloat16` and smaller floats, complex: use `bits`); for memory from outside that was
   *   not lent writable, since its pages may be protected (`toTypedArray()` copies); for more bytes than the engine's
   *   largest ArrayBuffer (`slice()` first); on a device that the host cannot read
   */
  view(options?: { readonly writable?: false | undefined; readonly bits?: false | undefined }): ReadonlyDataOf<D>;
  view(options: { readonly writable: true; readonly bits?: false | undefined }): DataOf<D>;
  view(options: { readonly writable?: false | undefined; readonly bits: true }): ReadonlyBitsOf<D>;
  view(options: { readonly writable: true; readonly bits: true }): BitsOf<D>;
  view(options?: ViewOptions): ReadonlyDataOf<D> | ReadonlyBitsOf<D>;
  view(options?: ViewOptions): unknown {
    const shown = options === undefined ? dataShown(this) : undefined;
    if (shown !== undefined) return shown;
    surelyLiveHandle(this);
    const request = readLook(options, 'view', 'view({ bits: true })');
    return look(this, surelyLiveHandle(this), request);
  }

  /**
   * Calls `fn` with a view of its own, which is detached when `fn` ends, or the promise that it returns. Until then
   * `dispose()` and every move throw a BufferError: this is what asynchronous and native work should be given.
   *
   * ```ts
   * import { writeFile } from 'node:fs/promises';
   *
   * const tensor = Tensor.from(new Float32Array([1, 2, 3]));
   * const written = await tensor.withView(async ({ buffer, byteOffset, byteLength }) => {
   *   // The types of writeFile ask for an array that may be written, which a read-only view is not.
   *   await writeFile('numbers.bin', new Uint8Array(buffer, byteOffset, byteLength));
   *   return byteLength;
   * });
   * console.log(written); // -> 12
   * ```
   *
   * @param options as of `view`
   * @returns what `fn` returned
   * @throws BufferError (`ERR_DLPACK_BUFFER`) as `view` does; what `fn` throws
   */
  withView<R>(
    fn: (data: ReadonlyDataOf<D>) => R,
    options?: { readonly writable?: false | undefined; readonly bits?: false | undefined },
  ): Settled<R>;
  withView<R>(
    fn: (data: DataOf<D>) => R,
    options: { readonly writable: true; readonly bits?: false | undefined },
  ): Settled<R>;
  withView<R>(
    fn: (bits: ReadonlyBitsOf<D>) => R,
    options: { readonly writable?: false | undefined; readonly bits: true },
  ): Settled<R>;
  withView<R>(fn: (bits: BitsOf<D>) => R, options: { readonly writable: true; readonly bits: true }): Settled<R>;
  withView<R>(fn: (array: ReadonlyDataOf<D> | ReadonlyBitsOf<D>) => R, options?: ViewOptions): Settled<R>;
  withView<R>(fn: (array: never) => R, options?: ViewOptions): Settled<R> {
    surelyLiveHandle(this);
    if (typeof fn !== 'function') throw typeError(`withView was called with ${show(fn)}; it takes a function`);
    const request = readLook(options, 'withView', 'withView(fn, { bits: true })');
    // The overloads say which of the arrays fn takes.
    const use = fn as (array: DataOf<D> | BitsOf<D>) => R;
    return throughWindow(this, surelyLiveHandle(this), request, use);
  }

  /**
   * All elements as a typed array of their own, row-major: always a copy, of any layout.
   *
   * ```ts
   * const columns = Tensor.from([[1, 2], [3, 4]]).transpose(); // not contiguous: view() would refuse
   * console.log(columns.toTypedArray().join(' ')); // -> 1 3 2 4
   * ```
   *
   * @param options `{ bits: true }` for the bare bits, of any dtype
   * @throws BufferError (`ERR_DLPACK_BUFFER`) when the dtype has no typed array here, or on a device that the host
   *   cannot read
   */
  toTypedArray(options?: { readonly bits?: false | undefined }): DataOf<D>;
  toTypedArray(options: { readonly bits: true }): BitsOf<D>;
  toTypedArray(options?: { readonly bits?: boolean | undefined }): DataOf<D> | BitsOf<D>;
  toTypedArray(options?: { readonly bits?: boolean | undefined }): DataOf<D> | BitsOf<D> {
    surelyLiveHandle(this);
    return toTypedArray(this, parseViewOptions(options, 'toTypedArray').bits);
  }

  /**
   * All elements as nested arrays, as deep as the tensor has axes, with elements as `at` gives them; the element itself
   * for a 0-d tensor.
   *
   * ```ts
   * console.log(Tensor.from([[1, 2], [3, 4]]).slice(1).toArray()); // -> [ 3, 4 ]
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) on a device that the host cannot read
   */
  toArray(): NestedArray<ElementOf<D>> {
    return toNestedArray(this);
  }

  /**
   * The memory as it lies, for code that walks strides by itself: a typed array over the whole span, the place of the
   * first element in it, shape and strides, all counted in entries of `data`. The array is the one that `view()` shows,
   * with the same rules but for contiguity.
   *
   * ```ts
   * const right = Tensor.from([[1, 2, 3], [4, 5, 6]]).slice(null, [1, 3]); // the last two columns
   * const { data, offset, shape, strides } = right.strided();
   * console.log(data.join(' '), offset, shape, strides); // -> 2 3 4 5 6 0 [ 2, 2 ] [ 3, 1 ]
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) as `view` does, and for packed sub-byte dtypes, whose elements are no
   *   entries of any array
   */
  strided(options?: {
    readonly writable?: false | undefined;
    readonly bits?: false | undefined;
  }): StridedView<ReadonlyDataOf<D>>;
  strided(options: { readonly writable: true; readonly bits?: false | undefined }): StridedView<DataOf<D>>;
  strided(options: { readonly writable?: false | undefined; readonly bits: true }): StridedView<ReadonlyBitsOf<D>>;
  strided(options: { readonly writable: true; readonly bits: true }): StridedView<BitsOf<D>>;
  strided(options?: ViewOptions): StridedView<ReadonlyDataOf<D> | ReadonlyBitsOf<D>>;
  strided(options?: ViewOptions): StridedView<unknown> {
    surelyLiveHandle(this);
    const request = readLook(options, 'strided', 'strided({ bits: true })');
    return strided(this, surelyLiveHandle(this), request);
  }

  /**
   * Detaches what `view()` and `strided()` gave (their length becomes 0) and drops that alias. Other tensors' views are
   * untouched.
   *
   * ```ts
   * const tensor = Tensor.from([1, 2, 3]);
   * const view = tensor.view();
   * tensor.releaseViews();
   * console.log(view.length, tensor.at(2)); // -> 0 3
   * ```
   */
  releaseViews(): void {
    releaseView(this, surelyLiveHandle(this));
  }
}

function readLook(options: unknown, operation: string, bitsHint: string): Look {
  const { writable, bits } = parseViewOptions(options, operation);
  return { mode: writable ? ViewMode.Writable : ViewMode.Read, bits, operation, bitsHint };
}
