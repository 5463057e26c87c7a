/**
 * From the arrays of JavaScript libraries to tensors. JavaScript memory cannot leave its environment, so by default it
 * is copied once, into native memory that anything may hold for as long as it likes. Whoever asks for `copy: false`
 * gets a tensor over the very array, with the limits of `adopt` (main thread, never unique, its owner's writes are
 * seen), or an error by name where that would not be sound; never a silent copy.
 */
import { parseData } from '../data-source';
import type { DType } from '../dtype';
import { show, typeError } from '../errors';
import type { OwnedTensor } from '../owned-tensor';
import { isOptions, parseCopy } from '../protocol';
import { ownedFrom, tensorFrom } from '../source';
import type { Tensor } from '../tensor';
import { adopted } from './adopted';

/** The options of every function that takes something in. */
export interface FromOptions<C extends boolean | null | undefined = boolean | null | undefined> {
  /**
   * null, the default: one copy, a read-only `Tensor`. true: one copy, an `OwnedTensor`. false: no copy, a read-only
   * `Tensor` over the array itself, as `adopt` of node-dlpack/unsafe makes it, or a BufferError. Not for an array over
   * WebAssembly memory, which moves when it grows.
   */
  readonly copy?: C;
}

/**
 * What comes in: an `OwnedTensor` with `copy: true`, a `Tensor` otherwise. A union of dtypes gives a union of tensors.
 */
export type Incoming<D extends DType, C> = D extends DType ? (C extends true ? OwnedTensor<D> : Tensor<D>) : never;

/** Elements as another library holds them. Nothing of it is validated yet. */
export interface ForeignArray {
  /** A typed array, or a DataView. */
  readonly data: unknown;
  /** What the bits are, where that differs from the typed array's own dtype. */
  readonly dtype?: unknown;
  readonly shape: unknown;
  /** In elements; row-major by default. */
  readonly strides?: unknown;
  /** Elements before the first one; where it is not given, the data must be exactly as long as the shape says. */
  readonly offset?: unknown;
}

/** The options, each read once. @throws TypeError */
export function parseFromOptions(options: unknown, operation: string): { copy: boolean | null; given: Given } {
  if (options === undefined) return { copy: null, given: {} };
  if (!isOptions(options))
    throw typeError(`${operation} was given ${show(options)} as options; it takes an object: { copy }`);
  return { copy: parseCopy(options['copy']), given: options };
}
type Given = Readonly<Record<string, unknown>>;

/**
 * The tensor that was asked for, after every check of layout against data.
 * @throws TypeError, RangeError for data and layouts that do not fit each other; BufferError for `copy: false` where
 *   the array cannot be shared
 */
export function incoming<D extends DType, C>(
  array: ForeignArray,
  copy: boolean | null,
  operation: string,
): Incoming<D, C> {
  const { data, dtype, shape, strides, offset } = array;
  const source = parseData(data, { dtype, shape, strides, offset });
  const made =
    copy === false
      ? adopted<D>(source, operation)
      : copy === true
        ? ownedFrom<D>(source, operation)
        : tensorFrom<D>(source, operation);
  // Which of the two classes it is follows from `copy`, which C says to the compiler.
  return made as Incoming<D, C>;
}
