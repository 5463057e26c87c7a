/// <reference lib="esnext.disposable" preserve="true" />
/**
 * What `Tensor` and `OwnedTensor` have in common: one handle, the metadata, a state, and at most one record of what
 * they show of their bytes.
 *
 * The fields are symbol-keyed properties that the constructor assigns. Private fields and a base class together cost
 * twice the construction, which is a third of a hand-off (measured on Node 20). Nothing is at stake: native checks the
 * handle at every crossing, so an object that was forged, copied or tampered with gets an error. Handles are read
 * before arguments are written to the scratch memory, never between that and the call, since reading a property of a
 * Proxy runs code.
 */
import type { DLPackDevice } from './device';
import type { DType } from './dtype';
import { consumedError, disposedError, show, typeError, type DLPackStateError } from './errors';
import { fieldsOf } from './fields';
import { isLive } from './hot-calls';
import type { Metadata } from './metadata';
import { native, TensorFlag, type Handle } from './native';
import { mustStage } from './staging';
import type { ViewRecord } from './view';

const handleKey: typeof native.handleSymbol = native.handleSymbol;
const metadataKey: unique symbol = Symbol('node-dlpack.metadata');
const stateKey: typeof native.stateSymbol = native.stateSymbol;
const viewKey: unique symbol = Symbol('node-dlpack.view');
/** Of owners only: is it lent? */
const loanKey: unique symbol = Symbol('node-dlpack.loan');
/** Who knows it may construct. It never leaves the library. */
const constructionKey: unique symbol = Symbol('node-dlpack.construct');

export { constructionKey, handleKey, loanKey, metadataKey, stateKey, viewKey };

/**
 * What became of an object. A tensor that was released behind its back (the end of a loan) is Live here and dead
 * natively: it reads as disposed.
 */
export const enum State {
  Live = 0,
  /**
   * Its memory moved on: into another object, or to the consumer of a one-shot export. Native writes this number when
   * that consumer came through the exchange table.
   */
  Consumed = 1,
  Disposed = 2,
}

/** Is an owner lent? */
export const enum LoanState {
  None = 0,
  /** The function runs. */
  Running = 1,
  /** The function has ended, and somebody else still holds the memory. */
  Ending = 2,
}

export abstract class TensorBase<D extends DType = DType> {
  /** @internal */
  declare readonly [handleKey]: Handle;
  /** @internal */
  declare readonly [metadataKey]: Metadata<D>;
  /** @internal */
  declare [stateKey]: State;
  /** @internal The cached view, or the staging buffer that stands in for it. */
  declare [viewKey]: ViewRecord | undefined;
  /** @internal Of owners only. */
  declare [loanKey]: LoanState | undefined;

  /**
   * DLPack's C exchange table for this class, in Node's terms: an External for other addons, which reach the memory of
   * a tensor through it without a call into JavaScript (`include/node_dlpack/exchange.h`). It has no use here.
   *
   * ```ts
   * console.log(typeof Tensor.__dlpack_c_exchange_api__); // -> object
   * ```
   */
  static readonly __dlpack_c_exchange_api__: object = native.exchangeApi;

  protected constructor(key: unknown, handle: Handle, metadata: Metadata<D>) {
    if (key !== constructionKey) {
      throw typeError(
        'Tensors are not constructed with new: use Tensor.from, OwnedTensor.allocate, OwnedTensor.from or fromDLPack',
      );
    }
    this[handleKey] = handle;
    this[metadataKey] = metadata;
    this[stateKey] = State.Live;
    this[viewKey] = undefined;
  }

  /**
   * The extent of each axis; empty for a 0-d tensor. Frozen. Answers on tombstones too, as all metadata does.
   *
   * ```ts
   * console.log(Tensor.from([[1, 2, 3]]).shape); // -> [ 1, 3 ]
   * ```
   */
  get shape(): readonly number[] {
    return metadataOf(this).shape;
  }

  /**
   * For each axis, the elements (not bytes) from one index to the next; negative and 0 are possible. Frozen.
   *
   * ```ts
   * const matrix = Tensor.from([[1, 2, 3], [4, 5, 6]]);
   * console.log(matrix.strides, matrix.transpose().strides, matrix.flip(1).strides); // -> [ 3, 1 ] [ 1, 3 ] [ 3, -1 ]
   * ```
   */
  get strides(): readonly number[] {
    return metadataOf(this).strides;
  }

  /**
   * The number of axes, 0 to 64.
   *
   * ```ts
   * console.log(Tensor.from([[1, 2, 3]]).ndim); // -> 2
   * ```
   */
  get ndim(): number {
    return metadataOf(this).ndim;
  }

  /**
   * The number of elements; 1 for a 0-d tensor.
   *
   * ```ts
   * console.log(OwnedTensor.allocate([2, 3], 'int8').size); // -> 6
   * ```
   */
  get size(): number {
    return metadataOf(this).size;
  }

  /**
   * The name of the dtype, such as `'float32'`.
   *
   * ```ts
   * console.log(Tensor.from(new Float32Array(2)).dtype); // -> float32
   * ```
   */
  get dtype(): D {
    return metadataOf(this).dtype.name;
  }

  /**
   * Bytes of the elements stored compactly; the bits of packed sub-byte types are counted together and rounded up once.
   *
   * ```ts
   * console.log(OwnedTensor.allocate([2, 3], 'float32').byteLength); // -> 24
   * ```
   */
  get byteLength(): number {
    return metadataOf(this).byteLength;
  }

  /**
   * Where the memory is, as DLPack writes it: `[1, 0]` for the CPU. Frozen.
   *
   * ```ts
   * console.log(Tensor.from([1]).device); // -> [ 1, 0 ]
   * ```
   */
  get device(): DLPackDevice {
    return metadataOf(this).device;
  }

  /**
   * Are the elements in row-major order without gaps? Axes of extent 1 do not matter; an empty tensor is contiguous.
   *
   * ```ts
   * const matrix = Tensor.from([[1, 2], [3, 4]]);
   * console.log(matrix.slice(0).isContiguous, matrix.slice(null, 0).isContiguous); // -> true false
   * ```
   */
  get isContiguous(): boolean {
    return metadataOf(this).has(TensorFlag.Contiguous);
  }

  /**
   * False when this library copied bytes to make it, or when the runtime forbids external ArrayBuffers, so that looking
   * at it copies.
   *
   * ```ts
   * const owned = OwnedTensor.allocate([2], 'float32');
   * console.log(owned.freeze().zeroCopy, Tensor.from([1, 2]).zeroCopy); // -> true false
   * ```
   */
  get zeroCopy(): boolean {
    return !metadataOf(this).has(TensorFlag.MadeByCopy) && !mustStage();
  }

  /**
   * Did its memory move on: by `intoDLPack()`, `freeze()`, or the one export of an owner?
   *
   * ```ts
   * const owned = OwnedTensor.allocate([2], 'float32');
   * const tensor = owned.freeze();
   * console.log(owned.consumed, tensor.consumed); // -> true false
   * ```
   */
  get consumed(): boolean {
    return stateOf(this) === State.Consumed;
  }

  /**
   * Was it disposed: by `dispose()`, the end of a `using` block or a `scope`, or the end of the loan that it came from?
   *
   * ```ts
   * const tensor = Tensor.from([1, 2]);
   * tensor.dispose();
   * console.log(tensor.disposed); // -> true
   * ```
   */
  get disposed(): boolean {
    const state = stateOf(this);
    return state === State.Disposed || (state === State.Live && !isLive(handleOf(this)));
  }
}

/** Is it a tensor of this copy of the package (or something that passes for one as far as JavaScript can see)? */
export function isTensorBase(value: unknown): value is TensorBase {
  return value instanceof TensorBase;
}

/** Was it made by this library, rather than given the prototype? */
export function hasMetadata(tensor: TensorBase): boolean {
  return tensor[metadataKey] !== undefined;
}

/** @throws TypeError when a method was called on something else */
export function metadataOf<D extends DType>(tensor: TensorBase<D>): Metadata<D> {
  const metadata: Metadata<D> | undefined = tensor[metadataKey];
  if (metadata === undefined) throw foreignReceiver(tensor);
  return metadata;
}

/** What JavaScript knows of its state. */
export function stateOf(tensor: TensorBase): State {
  return fieldsOf(tensor)[stateKey];
}

/** The handle whatever the state: for what answers on tombstones, or where native finds the state out by itself. */
export function handleOf(tensor: TensorBase): Handle {
  const handle: Handle | undefined = tensor[handleKey];
  if (typeof handle !== 'number') throw foreignReceiver(tensor);
  return handle;
}

/**
 * The handle of a tensor that JavaScript holds for live. Enough where a native call follows that checks it, with no
 * argument checked before.
 * @throws DLPackStateError (`ERR_DLPACK_CONSUMED`, `ERR_DLPACK_DISPOSED`) on a tombstone; TypeError
 *   (`ERR_INVALID_ARG_TYPE`) when a method was called on something else
 */
export function liveHandle(tensor: TensorBase): Handle {
  const handle = handleOf(tensor);
  if (stateOf(tensor) !== State.Live) throw stateError(tensor);
  return handle;
}

/** The same, and native agrees: for methods that check arguments first, or that may have nothing to ask of native. */
export function surelyLiveHandle(tensor: TensorBase): Handle {
  const handle = liveHandle(tensor);
  if (!isLive(handle)) throw disposedError();
  return handle;
}

/** What a tombstone answers. */
export function stateError(tensor: TensorBase): DLPackStateError {
  return stateOf(tensor) === State.Consumed ? consumedError() : disposedError();
}

function foreignReceiver(receiver: unknown): TypeError {
  return typeError(`A tensor's method was called on ${show(receiver)}; it must be called on a Tensor or OwnedTensor`);
}
