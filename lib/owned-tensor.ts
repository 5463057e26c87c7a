/// <reference lib="esnext.disposable" preserve="true" />
import { failure, isHandle } from './call';
import { parseData, type DataOptions, type DTypeOfData, type TensorData } from './data-source';
import type { DLPackDevice } from './device';
import { parseDType, type DType } from './dtype';
import { show, typeError } from './errors';
import { exportOwned } from './export';
import { allocate, freeze, isLive } from './hot-calls';
import { inspectBase, inspectKey } from './inspect-base';
import { lendTo, loanOf, parseLendOptions, tryEndLoan, type LendOptions } from './lend';
import { disposeTensor, entomb } from './lifetime';
import { makeOwned, makeTensor, registerOwned } from './make';
import { slot, writeInput, type Metadata } from './metadata';
import { Slot, type Handle } from './native';
import { freeHandle, movableHandle, readBack } from './owner';
import type { DLPackCapsule, DLPackExportOptions } from './protocol';
import { parseShape } from './shape';
import { ownedFrom } from './source';
import type { Tensor } from './tensor';
import {
  constructionKey,
  handleOf,
  loanKey,
  LoanState,
  metadataOf,
  State,
  stateOf,
  surelyLiveHandle,
} from './tensor-base';
import type { Settled } from './thenable';
import { claimTransfer, transferToken, type TokenOptions } from './token';
import { refuseOverCopy } from './view';
import { WritableTensor } from './writable-tensor';

/** An `OwnedTensor` of any dtype, as a union: `is('float32')` or a test of `dtype` narrows it. */
export type AnyOwnedTensor = { [D in DType]: OwnedTensor<D> }[DType];

/**
 * Memory with one owner: writable, and good for one move. The unique half of the library's one rule, that zero-copy and
 * writable together need unique ownership.
 *
 * It ends in one of four ways: `freeze()` makes it a `Tensor`; `__dlpack__()`, one shot, hands it to a consumer for
 * good; `transfer()` sends it to another thread; `dispose()` frees it. Afterwards metadata still answers and everything
 * else throws `Tensor already consumed` (`ERR_DLPACK_CONSUMED`) or `Tensor already disposed` (`ERR_DLPACK_DISPOSED`).
 * While it is lent, everything but metadata and `at` throws a BufferError.
 *
 * ```ts
 * const owned = OwnedTensor.allocate([2, 3], 'float32');
 * owned.data.set([1, 2, 3, 4, 5, 6]);
 * const tensor = owned.freeze(); // shared and read-only from now on, nothing copied
 * console.log(tensor.at(1, 2), owned.consumed); // -> 6 true
 * ```
 */
export class OwnedTensor<D extends DType = DType> extends WritableTensor<D> {
  static {
    registerOwned((handle, metadata) => new OwnedTensor(constructionKey, handle, metadata));
  }

  /** @internal */
  declare [loanKey]: LoanState;

  private constructor(key: unknown, handle: Handle, metadata: Metadata<D>) {
    super(key, handle, metadata);
    this[loanKey] = LoanState.None;
  }

  /**
   * Zero-filled native memory, row-major, aligned to 256 bytes; large sizes cost nothing until they are touched.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([2, 3], 'float32');
   * console.log(owned.data.length, owned.byteLength, owned.at(0, 0)); // -> 6 24 0
   * ```
   *
   * @param shape extents >= 0; `[]` for a single element
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for a shape or dtype that cannot be;
   *   RangeError (`ERR_DLPACK_MEMORY`) without memory
   */
  static allocate<D extends DType>(shape: readonly number[], dtype: D): OwnedTensor<D> {
    const extents = parseShape(shape);
    const { packed, name } = parseDType(dtype);
    writeInput(extents);
    const handle = allocate(extents.length, packed);
    if (!isHandle(handle)) throw failure(handle, { operation: 'OwnedTensor.allocate', dtype: name, shape: extents });
    return makeOwned<D>(handle);
  }

  /**
   * A copy of JavaScript data in native memory, writable. The arguments are those of `Tensor.from`.
   *
   * ```ts
   * const owned = OwnedTensor.from(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] });
   * owned.data[0] = 10;
   * console.log(owned.at(0, 0), owned.isUnique); // -> 10 true
   * ```
   *
   * @throws as `Tensor.from`
   */
  static from<T extends TensorData>(
    data: T,
    options?: DataOptions & { readonly dtype?: undefined },
  ): OwnedTensor<DTypeOfData<T>>;
  static from<D extends DType>(data: TensorData, options: DataOptions<D> & { readonly dtype: D }): OwnedTensor<D>;
  static from(data: TensorData, options?: DataOptions): OwnedTensor;
  static from(data: unknown, options?: unknown): OwnedTensor {
    return ownedFrom(parseData(data, options), 'OwnedTensor.from');
  }

  /**
   * The memory that `transfer()` put in transit, in this thread or another of the process. The token is spent.
   *
   * ```ts
   * const token = OwnedTensor.from([1, 2, 3]).transfer(); // a plain string: in a message to a worker, for instance
   * const owned = OwnedTensor.fromTransfer(token); // there
   * if (owned.is('float64')) owned.data[0] = 10;
   * console.log(owned.at(0)); // -> 10
   * ```
   *
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when it is no string; DLPackStateError (`ERR_DLPACK_TOKEN`) when it is
   *   unknown in this process, was claimed, revoked or has expired, or is one of `share()` (which stays)
   */
  static fromTransfer(token: string): AnyOwnedTensor {
    return claimTransfer(token);
  }

  /**
   * false: what is owned may be written.
   *
   * ```ts
   * console.log(OwnedTensor.allocate([2], 'int8').readOnly); // -> false
   * ```
   */
  get readOnly(): false {
    metadataOf(this);
    return false;
  }

  /**
   * true while it lives and is not lent.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([2], 'int8');
   * console.log(owned.isUnique, owned.lend(() => owned.isUnique)); // -> true false
   * ```
   */
  get isUnique(): boolean {
    const handle = handleOf(this);
    if (stateOf(this) !== State.Live || !isLive(handle)) return false;
    if (loanOf(this) === LoanState.Ending && tryEndLoan(this, handle)) readBack(this, 'isUnique');
    return loanOf(this) === LoanState.None;
  }

  /**
   * Is its dtype this one? Narrows the type. Answers on tombstones too.
   *
   * ```ts
   * const owned = OwnedTensor.fromTransfer(OwnedTensor.from([1n, 2n]).transfer()); // AnyOwnedTensor
   * if (owned.is('int64')) owned.data[0] = 5n;
   * console.log(owned.at(0)); // -> 5n
   * ```
   */
  is<E extends DType>(dtype: E): this is OwnedTensor<E> {
    const own: DType = metadataOf(this).dtype.name;
    return own === dtype;
  }

  /**
   * Lends the memory to `fn` as a `Tensor`, for as long as `fn` runs, or the promise that it returns is pending. What
   * is exported from the loan is READ_ONLY, or writable with `{ writable: true }`. Memory never moves and `data` is
   * never detached by a loan: frames can be reused for ever.
   *
   * Meanwhile everything on this object but metadata and `at` throws a BufferError. When `fn` ends, the loan, every
   * tensor made from it on this thread (slices, what `fromDLPack` made of it) and its unconsumed capsules are disposed.
   *
   * ```ts
   * const frame = OwnedTensor.allocate([2], 'float32'); // made once, reused for every frame
   * const sum = frame.fill(2).lend((loan) => loan.at(0) + loan.at(1)); // hand the loan to an addon, a model
   * console.log(sum, frame.fill(3).at(0)); // -> 4 3
   * ```
   *
   * @returns what `fn` returned
   * @throws what `fn` throws; BufferError (`ERR_DLPACK_BUFFER`), with `aliases`, when a consumer still holds the memory
   *   after `fn` has ended: this object then stays locked until that ends
   */
  lend<R>(fn: (loan: Tensor<D>) => R, options?: LendOptions): Settled<R> {
    surelyLiveHandle(this);
    if (typeof fn !== 'function') throw typeError(`lend was called with ${show(fn)}; it takes a function`);
    const writable = parseLendOptions(options);
    const handle = freeHandle(this, 'lend');
    if (writable) refuseOverCopy(this, 'lend');
    return lendTo(this, handle, writable, fn, () => readBack(this, 'lend'));
  }

  /**
   * Gives up writing: the memory moves, without copying, into a read-only `Tensor`, which may be shared. This object is
   * a tombstone, its `data` detached.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([2], 'float32').fill(1);
   * const tensor = owned.freeze();
   * console.log(tensor.readOnly, tensor.at(1), owned.consumed); // -> true 1 true
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) while a `withView` or a loan is open, or when the ArrayBuffer of `data`
   *   was transferred elsewhere; nothing has changed then
   */
  freeze(): Tensor<D> {
    const handle = movableHandle(this, 'freeze');
    const known = metadataOf(this); // before the call: of a Proxy, reading a property runs code
    const answer = freeze(handle);
    if (!isHandle(answer)) throw failure(answer, { operation: 'freeze', tensor: this });
    const tensor = makeTensor(answer, known.withFlags(slot(Slot.Flags)));
    entomb(this, State.Consumed);
    return tensor;
  }

  /**
   * Puts the memory itself in transit, writable, without copying: a string that anything can carry, and that
   * `OwnedTensor.fromTransfer` claims once, in any thread of the process. This object is a tombstone, its `data`
   * detached. A token that nobody claims keeps the memory until it is revoked (`revokeToken`) or has expired, and takes
   * it along then.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([2], 'float32');
   * const token = owned.transfer(); // worker.postMessage(token)
   * console.log(owned.consumed, OwnedTensor.fromTransfer(token).shape); // -> true [ 2 ]
   * ```
   *
   * @param options `{ ttl }`: milliseconds, 60,000 by default
   * @throws BufferError (`ERR_DLPACK_BUFFER`) as `freeze` does; TypeError (`ERR_INVALID_ARG_TYPE`), RangeError
   *   (`ERR_OUT_OF_RANGE`) for a `ttl` that is none. Nothing has changed then
   */
  transfer(options?: TokenOptions): string {
    surelyLiveHandle(this);
    return transferToken(this, options, () => movableHandle(this, 'transfer'));
  }

  /**
   * Hands the memory to a consumer for good: one shot, never a copy. The struct says IS_COPIED, that the consumer is
   * the sole owner (`copy: false`: no flag), or is the legacy one where no version was asked for. The capsule owns the
   * memory now.
   *
   * ```ts
   * const owned = OwnedTensor.from([1, 2, 3]);
   * const capsule = owned.__dlpack__({ max_version: [1, 3] }); // for an addon, which may write; or for fromDLPack
   * console.log(owned.consumed, fromDLPack(capsule).intoDLPack().data.length); // -> true 3
   * ```
   *
   * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`), BufferError (`ERR_DLPACK_BUFFER`) for
   *   options that cannot be met; nothing has changed then. BufferError (`ERR_DLPACK_BUFFER`) as `freeze` does
   */
  __dlpack__(options?: DLPackExportOptions): DLPackCapsule {
    return exportOwned(this, options, movableHandle);
  }

  /**
   * `[device type, device id]`, as DLPack writes it. Answers on tombstones too.
   *
   * ```ts
   * console.log(OwnedTensor.allocate([2], 'int8').__dlpack_device__()); // -> [ 1, 0 ]
   * ```
   */
  __dlpack_device__(): DLPackDevice {
    return metadataOf(this).device;
  }

  /**
   * Frees the memory now and detaches `data`. On a tombstone it does nothing.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([1024], 'float32');
   * const { data } = owned;
   * owned.dispose();
   * console.log(owned.disposed, data.length); // -> true 0
   * ```
   *
   * @throws BufferError (`ERR_DLPACK_BUFFER`) while a `withView` or a loan is open
   */
  dispose(): void {
    disposeTensor(this);
  }

  /**
   * For `using`: as `dispose()`.
   *
   * ```ts
   * function squared(values: number[]): number[] {
   *   using owned = OwnedTensor.from(values); // freed at the end of the block, whatever happens
   *   return [...owned.data.map((value) => value * value)];
   * }
   * console.log(squared([1, 2, 3])); // -> [ 1, 4, 9 ]
   * ```
   */
  [Symbol.dispose](): void {
    disposeTensor(this);
  }

  /** @internal */
  [inspectKey](depth: number, options: object): string {
    return inspectBase(this, 'OwnedTensor', depth, options);
  }
}
