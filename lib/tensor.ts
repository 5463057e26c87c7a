/// <reference lib="esnext.disposable" preserve="true" />
import { failure, isHandle } from './call';
import { parseData, type DataOptions, type DTypeOfData, type TensorData } from './data-source';
import { DerivableTensor } from './derivable-tensor';
import type { DLPackDevice } from './device';
import type { DType } from './dtype';
import { exportTensor } from './export';
import { move } from './hot-calls';
import { inspectBase, inspectKey } from './inspect-base';
import { disposeTensor, entomb } from './lifetime';
import { makeOwned, registerTensor } from './make';
import { slot, type Metadata } from './metadata';
import { native, Slot, type Handle } from './native';
import type { OwnedTensor } from './owned-tensor';
import type { DLPackCapsule, DLPackExportOptions } from './protocol';
import { tensorFrom } from './source';
import { constructionKey, handleOf, liveHandle, metadataOf, State, stateOf } from './tensor-base';
import { claimShared, shareToken, type TokenOptions } from './token';

/**
 * A `Tensor` of any dtype, as a union: `is('float32')` or a test of `dtype` narrows it.
 *
 * ```ts
 * function mean(tensor: AnyTensor): number {
 *   if (tensor.is('float32')) return tensor.view().reduce((sum, value) => sum + value, 0) / tensor.size;
 *   return mean(tensor.to('float32').freeze()); // any other dtype
 * }
 * console.log(mean(Tensor.from([1, 2, 3]))); // -> 2
 * ```
 */
export type AnyTensor = { [D in DType]: Tensor<D> }[DType];

/**
 * A tensor over memory that others may hold too: slices, exports, other threads. Therefore it is read-only, unless it
 * is a writable loan.
 *
 * `Tensor.from`, `OwnedTensor.freeze` and `fromDLPack` make one. It leaves through two doors: `__dlpack__()`, as often
 * as wanted, read-only and without a copy (Door 1); `intoDLPack()`, once, writable and without a copy, if nobody else
 * holds the memory (Door 2).
 *
 * Memory lives as long as anything holds it: a tensor, an export that its consumer has not released, a view, a token.
 * `dispose()` (or `using`, or `scope`) drops this tensor's hold at once; the collector does eventually. Afterwards
 * metadata still answers, and everything else but `is` and `__dlpack_device__` throws `Tensor already consumed`
 * (`ERR_DLPACK_CONSUMED`) or `Tensor already disposed` (`ERR_DLPACK_DISPOSED`).
 *
 * ```ts
 * const tensor = Tensor.from([[1, 2], [3, 4]]);
 * const capsule = tensor.__dlpack__({ max_version: [1, 3] }); // Door 1: shared, read-only, as often as wanted
 * console.log(fromDLPack(capsule).transpose().toArray()); // -> [ [ 1, 3 ], [ 2, 4 ] ]
 * ```
 */
export class Tensor<D extends DType = DType> extends DerivableTensor<D> {
  static {
    registerTensor((handle, metadata) => new Tensor(constructionKey, handle, metadata));
  }

  private constructor(key: unknown, handle: Handle, metadata: Metadata<D>) {
    super(key, handle, metadata);
  }

  /**
   * A row-major copy of JavaScript data in native memory: the one copy, after which nothing needs another.
   *
   * ```ts
   * const image = Tensor.from(new Uint8Array(12), { shape: [2, 2, 3] });
   * const matrix = Tensor.from([[1, 2], [3, 4]]); // numbers become float64, bigints int64, booleans bool
   * const half = Tensor.from(new Uint16Array([0x3f80]), { dtype: 'bfloat16' }); // relabels bits, never converts
   * console.log(image.dtype, matrix.dtype, matrix.shape, half.at(0)); // -> uint8 float64 [ 2, 2 ] 1
   * ```
   *
   * @param data a typed array, Buffer, view of a SharedArrayBuffer, DataView, or nested arrays of one kind: numbers
   *   become float64, bigints int64, booleans bool. Changes made to it later are not seen
   * @param options see `DataOptions`; shape defaults to `[length]`, or that of the nested arrays
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for data or a dtype that cannot be; RangeError (`ERR_OUT_OF_RANGE`) for
   *   a shape, strides or an offset that do not fit the data; RangeError (`ERR_DLPACK_MEMORY`) without memory
   */
  static from<T extends TensorData>(
    data: T,
    options?: DataOptions & { readonly dtype?: undefined },
  ): Tensor<DTypeOfData<T>>;
  static from<D extends DType>(data: TensorData, options: DataOptions<D> & { readonly dtype: D }): Tensor<D>;
  static from(data: TensorData, options?: DataOptions): Tensor;
  static from(data: unknown, options?: unknown): Tensor {
    return tensorFrom(parseData(data, options), 'Tensor.from');
  }

  /**
   * The tensor that `share()` put in transit, in this thread or another of the process, or that native code offered. It
   * is read-only (but for a native offer of a writable loan), and the token is spent.
   *
   * ```ts
   * const token = Tensor.from([1, 2, 3]).share(); // a plain string: in a message to a worker, for instance
   * const shared = Tensor.fromShared(token); // there
   * if (shared.is('float64')) console.log(shared.at(2)); // -> 3
   * ```
   *
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when it is no string; DLPackStateError (`ERR_DLPACK_TOKEN`) when it is
   *   unknown in this process, was claimed, revoked or has expired, or is one of `transfer()` (which stays)
   */
  static fromShared(token: string): AnyTensor {
    return claimShared(token);
  }

  /**
   * May nobody write through it? false only for writable loans: of a foreign producer, or of `OwnedTensor.lend(fn, {
   * writable: true })`.
   *
   * ```ts
   * console.log(Tensor.from([1]).readOnly); // -> true
   * const owned = OwnedTensor.allocate([1], 'float32');
   * console.log(owned.lend((loan) => loan.readOnly, { writable: true })); // -> false
   * ```
   */
  get readOnly(): boolean {
    return metadataOf(this).readOnly;
  }

  /**
   * Would `intoDLPack()` succeed now? false on tombstones.
   *
   * ```ts
   * const tensor = Tensor.from([1, 2, 3]);
   * const part = tensor.slice([0, 2]);
   * console.log(tensor.isUnique); // -> false
   * part.dispose();
   * console.log(tensor.isUnique); // -> true
   * ```
   */
  get isUnique(): boolean {
    return stateOf(this) === State.Live && native.isUnique(handleOf(this));
  }

  /**
   * Is its dtype this one? Narrows the type. Answers on tombstones too.
   *
   * ```ts
   * const tensor = Tensor.fromShared(Tensor.from([1n, 2n]).share()); // AnyTensor: who knows what it is
   * if (tensor.is('int64')) console.log(tensor.at(0) + 1n); // -> 2n
   * ```
   */
  is<E extends DType>(dtype: E): this is Tensor<E> {
    const own: DType = metadataOf(this).dtype.name;
    return own === dtype;
  }

  // --- exchange ------------------------------------------------------------------------------------------------------

  /**
   * Door 1, the array API standard's export: a fresh DLPack struct in a fresh capsule at every call, without a copy
   * wherever that is honest.
   *
   * | request | read-only tensor | writable loan |
   * |---|---|---|
   * | versioned (`max_version` `[1, n]` or higher), `copy` null or false | no copy, READ_ONLY | no copy, no flag |
   * | versioned, `copy: true` | fresh memory, IS_COPIED | the same |
   * | legacy (`max_version` null or `[0, n]`), `copy: true` | legacy struct over fresh memory | the same |
   * | legacy, `copy` null | the same, and a `node-dlpack:copy` diagnostic: legacy cannot say read-only | no copy |
   * | legacy, `copy: false` | BufferError | no copy |
   *
   * ```ts
   * const tensor = Tensor.from(new Float32Array([1, 2, 3]));
   * const capsule = tensor.__dlpack__({ max_version: [1, 3] }); // for an addon, or for fromDLPack
   * console.log(capsuleName(capsule)); // -> dltensor_versioned
   * console.log(fromDLPack(capsule).at(2), capsuleName(capsule)); // -> 3 used_dltensor_versioned
   * ```
   *
   * @returns a capsule for one consumer; dropped unconsumed, it releases the memory when it is collected, or at
   *   `releaseCapsule`
   * @throws BufferError (`ERR_DLPACK_BUFFER`) for what cannot be (another device, a copy refused); TypeError
   *   (`ERR_INVALID_ARG_TYPE`) for a malformed option; RangeError (`ERR_OUT_OF_RANGE`) for a `stream`
   */
  __dlpack__(options?: DLPackExportOptions): DLPackCapsule {
    return exportTensor(this, options);
  }

  /**
   * `[device type, device id]`, as DLPack writes it. Answers on tombstones too.
   *
   * ```ts
   * console.log(Tensor.from([1]).__dlpack_device__()); // -> [ 1, 0 ]
   * ```
   */
  __dlpack_device__(): DLPackDevice {
    return metadataOf(this).device;
  }

  /**
   * Door 2, the only permanent way to a writable export without a copy: the memory moves into an `OwnedTensor`, and
   * this tensor is a tombstone. It takes that nobody else holds the memory: no other tensor over it (slices, dropped
   * but uncollected ones too), no export that its consumer has not released, no view (`releaseViews()` first), no token
   * that is out. Memory from outside must have come with IS_COPIED and without READ_ONLY.
   *
   * ```ts
   * const tensor = Tensor.from([1, 2, 3]);
   * const owned = tensor.intoDLPack(); // the memory moves, and may be written from here on
   * owned.data[0] = 10;
   * console.log(tensor.consumed, owned.at(0)); // -> true 10
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`), with `aliases` that count who else holds the memory; the tensor is
   *   exactly as before
   */
  intoDLPack(): OwnedTensor<D> {
    const operation = 'intoDLPack';
    const handle = liveHandle(this);
    const known = metadataOf(this); // before the call: of a Proxy, reading a property runs code
    const answer = move(handle);
    if (!isHandle(answer)) throw failure(answer, { operation, tensor: this });
    const owned = makeOwned(answer, known.withFlags(slot(Slot.Flags)));
    entomb(this, State.Consumed);
    return owned;
  }

  // --- lifetime ------------------------------------------------------------------------------------------------------

  /**
   * Puts a reference to this tensor in transit: a string that anything can carry (a message to a worker, an argument of
   * another language in this process), and that `Tensor.fromShared` claims once. Nothing is copied.
   *
   * Until it is claimed, revoked (`revokeToken`) or expired, the token keeps the memory alive and counts as an alias.
   * This tensor may be disposed, and its thread end, before the claim. What comes of a writable loan is read-only, and
   * keeps the loan from ending.
   *
   * ```ts
   * const tensor = Tensor.from([1, 2, 3]);
   * const token = tensor.share({ ttl: 5_000 }); // claimed within five seconds, or never
   * tensor.dispose(); // the token holds the memory
   * console.log(Tensor.fromShared(token).toArray()); // -> [ 1, 2, 3 ]
   * ```
   *
   * @param options `{ ttl }`: milliseconds, 60,000 by default; the first library call after that drops the reference
   * @throws BufferError (`ERR_DLPACK_BUFFER`) for memory that belongs to JavaScript (`adopt`, `fromPointer`), which
   *   cannot leave its thread; TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for a `ttl` that is
   *   none
   */
  share(options?: TokenOptions): string {
    return shareToken(this, options);
  }

  /**
   * Drops this tensor's hold on the memory now, and detaches its view. On a tombstone it does nothing.
   *
   * ```ts
   * const tensor = Tensor.from([1, 2, 3]);
   * tensor.dispose();
   * console.log(tensor.disposed, tensor.shape); // -> true [ 3 ]
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) while a `withView` is open
   */
  dispose(): void {
    disposeTensor(this);
  }

  /**
   * For `using`: as `dispose()`.
   *
   * ```ts
   * function sum(values: number[]): number {
   *   using tensor = Tensor.from(values); // disposed at the end of the block, whatever happens
   *   return tensor.view().reduce((total, value) => total + value, 0);
   * }
   * console.log(sum([1, 2, 3])); // -> 6
   * ```
   */
  [Symbol.dispose](): void {
    disposeTensor(this);
  }

  /** @internal */
  [inspectKey](depth: number, options: object): string {
    return inspectBase(this, 'Tensor', depth, options);
  }
}
