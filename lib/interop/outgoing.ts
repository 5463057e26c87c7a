/**
 * From tensors to the arrays of JavaScript libraries: a typed array over the tensor's own memory wherever the other
 * side takes typed arrays, and one copy where that cannot be (another layout than it understands, protected foreign
 * memory). `copy: false` makes an error of that copy, `copy: true` makes it always.
 *
 * What is handed over without a copy is what `view()` and `data` give: it keeps the bytes alive by itself, counts as an
 * alias, and is detached by `dispose()` and `releaseViews()`. Native work that outlives a release would read freed
 * memory; for it there are `withOrt` and `withSharp`.
 */
import { check } from '../call';
import { type BitsOf, type DataOf, type DType } from '../dtype';
import { show, typeError, DLPackBufferError } from '../errors';
import { native, TensorFlag, ViewMode, type Handle } from '../native';
import { OwnedTensor, type AnyOwnedTensor } from '../owned-tensor';
import { freeHandle } from '../owner';
import { isOptions, parseCopy } from '../protocol';
import { toTypedArray } from '../reading';
import { rowMajorStrides } from '../shape';
import { mustStage } from '../staging';
import { Tensor, type AnyTensor } from '../tensor';
import { metadataOf, surelyLiveHandle, type TensorBase } from '../tensor-base';
import type { Settled } from '../thenable';
import { hasData } from '../typed-arrays';
import { look, lookAtSpan, refuseOpaque, releaseView, viewOf, type Look } from '../view';
import { throughWindow } from '../window';
import { copyNeeded, notA } from './words';

/** What every function that hands something out takes. */
export type AnySource = AnyTensor | AnyOwnedTensor | Tensor | OwnedTensor;

/** The same, of one dtype. */
export type Source<D extends DType> = Tensor<D> | OwnedTensor<D>;

/** The options of every function that hands something out. */
export interface ToOptions {
  /**
   * null, the default: the tensor's own memory, or a copy where the other side cannot have that. false: a BufferError
   * instead of a copy. true: always a copy, which nothing detaches.
   */
  readonly copy?: boolean | null | undefined;
}

/** A typed array with the elements. */
export type Elements<D extends DType = DType> = DataOf<D> | BitsOf<D>;

/** Elements as they lie, in elements of the dtype (a complex number is one). */
export interface Shown<D extends DType = DType> {
  readonly data: Elements<D>;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** How a library wants its elements. */
export interface Wish {
  readonly operation: string;
  readonly copy: boolean | null;
  /** The bare bits, even where there is a typed array of the dtype. */
  readonly bits?: boolean | undefined;
}

/** @throws TypeError */
export function requireTensor(tensor: unknown, operation: string): TensorBase {
  if (tensor instanceof Tensor || tensor instanceof OwnedTensor) return tensor;
  throw notA(operation, tensor, 'a Tensor or OwnedTensor');
}

/** @throws TypeError */
export function parseToOptions(options: unknown, operation: string): boolean | null {
  if (options === undefined) return null;
  if (!isOptions(options))
    throw typeError(`${operation} was given ${show(options)} as options; it takes an object: { copy }`);
  return parseCopy(options['copy']);
}

/**
 * Calls `use` with the elements in row-major order without gaps. When it throws, what was shown for it is taken back.
 * @throws BufferError where they cannot be shown, or not without a copy; what `use` throws
 */
export function withCompact<R>(tensor: TensorBase, wish: Wish, use: (data: Elements) => R): R {
  return shownTo(tensor, () => use(zeroCopyElements(tensor, wish, look) ?? copied(tensor, wish)));
}

/** The same with the elements as they lie. A copy is row-major. */
export function withStrided<R>(tensor: TensorBase, wish: Wish, use: (shown: Shown) => R): R {
  return shownTo(tensor, () => {
    const { spanOffset, shape, strides } = metadataOf(tensor);
    const data = zeroCopyElements(tensor, wish, lookAtSpan);
    if (data !== undefined) return use({ data, offset: spanOffset, shape, strides });
    return use({ data: copied(tensor, wish), offset: 0, shape, strides: rowMajorStrides(shape) });
  });
}

/** One row-major copy, of any layout, into memory of exactly the tensor's bytes. */
export function copyInto(tensor: TensorBase, target: Uint8Array, operation: string): void {
  check(native.copyOut(freeOrLive(tensor, operation), target), { operation, tensor });
}

function freeOrLive(tensor: TensorBase, operation: string): Handle {
  return tensor instanceof OwnedTensor ? freeHandle(tensor, operation) : surelyLiveHandle(tensor);
}

/** A view that a failed call opened would stay an alias that nobody knows of. */
function shownTo<R>(tensor: TensorBase, use: () => R): R {
  const before = viewOf(tensor);
  try {
    return use();
  } catch (error) {
    if (before === undefined && viewOf(tensor) !== undefined) releaseView(tensor, surelyLiveHandle(tensor));
    throw error;
  }
}

/**
 * Calls `use` with the row-major elements, without a copy, and keeps the memory in place until that ends, or the
 * promise that it returns.
 * @returns what `use` returned
 */
export function throughWithView<R>(
  tensor: TensorBase,
  wish: Omit<Wish, 'copy'>,
  use: (data: Elements) => R,
): Settled<R> {
  const bits = wantsBits(tensor, wish);
  const { operation } = wish;
  if (tensor instanceof OwnedTensor) return bits ? tensor.withView(use, { bits }) : tensor.withView(use);
  return throughWindow(tensor, surelyLiveHandle(tensor), { mode: ViewMode.Read, bits, operation, bitsHint: '' }, use);
}

function zeroCopyElements(
  tensor: TensorBase,
  wish: Wish,
  open: (tensor: TensorBase, handle: Handle, request: Look) => Elements,
): Elements | undefined {
  const { operation, copy } = wish;
  const handle = freeOrLive(tensor, operation);
  refuseOpaque(metadataOf(tensor), operation);
  if (copy === true) return undefined;
  if (copy === false && mustStage()) throw copyNeeded(operation, 'this runtime forbids external ArrayBuffers');
  const mode = tensor instanceof OwnedTensor ? ViewMode.Writable : ViewMode.Read;
  const request = { mode, bits: wantsBits(tensor, wish), operation, bitsHint: '' };
  try {
    return open(tensor, handle, request);
  } catch (error) {
    if (copy === false || !(error instanceof DLPackBufferError)) throw error;
    return undefined;
  }
}

function copied(tensor: TensorBase, wish: Wish): Elements {
  return toTypedArray(tensor, wantsBits(tensor, wish));
}

function wantsBits(tensor: TensorBase, { bits }: Pick<Wish, 'bits'>): boolean {
  return bits === true || !hasData(metadataOf(tensor).dtype.name);
}

/** May nobody write through it? Owners may. */
export function isReadOnly(tensor: TensorBase): boolean {
  const metadata = metadataOf(tensor);
  return metadata.has(TensorFlag.ReadOnly) && !metadata.has(TensorFlag.Owned);
}
