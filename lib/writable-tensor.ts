/** The part of an `OwnedTensor` that reads and writes its elements, with `data` or natively. */
import { assign, parseAssignSource, parseAssignment, type SetOptions } from './assign';
import { check } from './call';
import type { TensorData } from './data-source';
import type { BitsOf, DataOf, DType, ElementOf, ScalarOf } from './dtype';
import { show, typeError } from './errors';
import { loanOf } from './lend';
import { native, ViewMode } from './native';
import type { OwnedTensor } from './owned-tensor';
import { freeHandle, readBack, writeBack } from './owner';
import { readElement } from './reading';
import { parseScalar, writeScalar } from './scalar';
import type { Tensor } from './tensor';
import { LoanState, metadataOf, surelyLiveHandle, TensorBase } from './tensor-base';
import type { Settled } from './thenable';
import { dataShown, look, parseViewOptions, type Look } from './view';
import { throughWindow } from './window';

/** The elements of an `OwnedTensor`, to read and to write. */
export abstract class WritableTensor<D extends DType = DType> extends TensorBase<D> {
  /**
   * All of the memory as a writable typed array, in elements; the same object at every call. It is detached (length 0)
   * when the memory moves on, and never by a loan. For `bool` a Uint8Array of 0 and 1.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([2, 2], 'float32');
   * owned.data.set([1, 2, 3, 4]); // a Float32Array straight over the memory
   * console.log(owned.at(1, 0)); // -> 3
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) when the layout is not contiguous, the dtype has no typed array here
   *   (`float16` before Node 24, `bfloat16` and smaller floats, complex: use `bits`), the memory is larger than the
   *   engine's largest ArrayBuffer, or it is lent
   */
  get data(): DataOf<D> {
    const shown = loanOf(this) === LoanState.None ? dataShown(this) : undefined;
    return shown ?? (look(this, freeHandle(this, 'data'), DATA) as DataOf<D>);
  }

  /**
   * The same bytes as unsigned integers of the element's size; for complex the interleaved real array, for packed
   * sub-byte types bytes.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([2], 'bfloat16'); // JavaScript has no array of it
   * owned.bits.set([0x3f80, 0x4000]);
   * console.log(owned.at(0), owned.at(1)); // -> 1 2
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) as `data` does, but for any dtype
   */
  get bits(): BitsOf<D> {
    return look(this, freeHandle(this, 'bits'), BITS);
  }

  /**
   * One element: a boolean, a bigint for 64-bit integers, `[re, im]` for complex, a number otherwise. Works while the
   * tensor is lent.
   *
   * ```ts
   * const owned = OwnedTensor.from([[1, 2], [3, 4]]);
   * console.log(owned.at(1, 0), owned.at(-1, -1)); // -> 3 4
   * ```
   *
   * @param index one integer for each axis, negative ones from the end
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for an index that is none
   */
  at(...index: number[]): ElementOf<D> {
    if (loanOf(this) === LoanState.None) writeBack(this, 'at');
    return readElement(this, index);
  }

  /**
   * Writes elements in one native pass: converts from any real dtype, broadcasts, and is safe where source and target
   * overlap. Numbers are multiplied by `scale`, then `offset` is added, then they are converted once: to integers by
   * rounding half to even and saturating.
   *
   * ```ts
   * const input = OwnedTensor.allocate([2, 3], 'float32');
   * const bytes = Tensor.from(new Uint8Array([0, 128, 255, 0, 0, 255]), { shape: [3, 2] });
   * input.set(bytes.transpose(), { scale: 2, offset: -1 }); // another layout and dtype, in one pass
   * input.set([7, 8], { at: [1, [1, 3]] }); // row 1, columns 1 and 2
   * console.log(input.data.join(' ')); // -> -1 509 -1 255 7 8
   * ```
   *
   * @param source a tensor of any layout, a typed array, nested arrays, or a single value
   * @returns this
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for arguments that cannot be;
   *   BufferError (`ERR_DLPACK_BUFFER`) while it is lent, or for a source that the host cannot read
   */
  set(source: Tensor | OwnedTensor | TensorData | ScalarOf<D>, options?: SetOptions): this {
    surelyLiveHandle(this);
    const assignment = parseAssignment(options, metadataOf(this).shape);
    const elements = parseAssignSource(source, this);
    freeHandle(this, 'set');
    if (elements instanceof WritableTensor) freeHandle(elements, 'set');
    assign(this, elements, assignment);
    readBack(this, 'set');
    return this;
  }

  /**
   * Sets every element to one value, converted as `set` converts.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([3], 'uint8').fill(300); // saturates, as set does
   * console.log(owned.data.join(' ')); // -> 255 255 255
   * ```
   *
   * @returns this
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for a value that is none; RangeError (`ERR_OUT_OF_RANGE`) for a bigint
   *   beyond 64 bits; BufferError (`ERR_DLPACK_BUFFER`) while it is lent
   */
  fill(value: ScalarOf<D>): this {
    surelyLiveHandle(this);
    const scalar = parseScalar(value, metadataOf(this).dtype);
    const handle = freeHandle(this, 'fill');
    check(native.fill(handle, writeScalar(scalar)), { operation: 'fill', tensor: this });
    readBack(this, 'fill');
    return this;
  }

  /**
   * Calls `fn` with a writable typed array of its own, which is detached when `fn` ends, or the promise that it
   * returns. Until then `dispose()` and every move throw a BufferError: this is what asynchronous and native work
   * should be given.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([3], 'uint8');
   * await owned.withView(async (bytes) => {
   *   await new Promise((done) => setTimeout(done, 1)); // native or asynchronous work, such as file.read(bytes)
   *   bytes[0] = 1;
   * });
   * console.log(owned.at(0)); // -> 1
   * ```
   *
   * @param options `{ bits: true }` for the bare bits, of any dtype
   * @returns what `fn` returned
   * @throws BufferError (`ERR_DLPACK_BUFFER`) as `data` does
   */
  withView<R>(fn: (data: DataOf<D>) => R, options?: { readonly bits?: false | undefined }): Settled<R>;
  withView<R>(fn: (bits: BitsOf<D>) => R, options: { readonly bits: true }): Settled<R>;
  withView<R>(fn: (array: DataOf<D> | BitsOf<D>) => R, options?: { readonly bits?: boolean | undefined }): Settled<R>;
  withView<R>(fn: (array: never) => R, options?: { readonly bits?: boolean | undefined }): Settled<R> {
    surelyLiveHandle(this);
    if (typeof fn !== 'function') throw typeError(`withView was called with ${show(fn)}; it takes a function`);
    const { bits } = parseViewOptions(options, 'withView');
    const handle = freeHandle(this, 'withView');
    const request: Look = {
      mode: ViewMode.Writable,
      bits,
      operation: 'withView',
      bitsHint: 'withView(fn, { bits: true })',
    };
    // The overloads say which of the two arrays fn takes.
    const use = fn as (array: DataOf<D> | BitsOf<D>) => R;
    return throughWindow(this, handle, request, use, () => readBack(this, 'withView'));
  }
}

const DATA: Look = { mode: ViewMode.Writable, bits: false, operation: 'data', bitsHint: 'bits' };
const BITS: Look & { readonly bits: true } = {
  mode: ViewMode.Writable,
  bits: true,
  operation: 'bits',
  bitsHint: 'bits',
};
