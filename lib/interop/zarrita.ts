/**
 * zarrita chunks: `{ data, shape, stride }` as `zarr.get` gives and `zarr.set` takes them, strided typed arrays without
 * an offset. Booleans are in zarrita's BoolArray, which lies over bytes of 0 and 1 like ours.
 */
import type { DTypeOfData } from '../data-source';
import { DTYPES, type DataOf, type DType } from '../dtype';
import { show, typeError } from '../errors';
import { parseShape, parseStrides } from '../shape';
import { metadataOf } from '../tensor-base';
import { hasFloat16Array, isTypedArray } from '../typed-arrays';
import { elementsBehind, fieldsOf, hasFields } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import { parseToOptions, requireTensor, withStrided, type Elements, type Source, type ToOptions } from './outgoing';
import { copyNeeded, foreignDType, noSuchDType } from './words';

/** A chunk. */
export interface ZarritaChunk<A = unknown> {
  /** A typed array, or a BoolArray. Strings and objects are refused. */
  readonly data: A;
  /** Its extents. */
  readonly shape: readonly number[];
  /** In elements. */
  readonly stride: readonly number[];
}

/** The chunk that `zarr.set` takes, in its own mutable arrays. */
export interface ZarritaSource<A> {
  /** The elements. */
  readonly data: A;
  /** Extents. */
  readonly shape: number[];
  /** In elements. */
  readonly stride: number[];
}

/** The library, as `import * as zarr` gives it; only a bool tensor needs it. */
export interface ZarritaLibrary<B = unknown> {
  /** Its class of booleans. */
  readonly BoolArray: new (buffer: ArrayBuffer, byteOffset: number, length: number) => B;
}

/** The dtype of a chunk's elements. */
export type DTypeOfZarrita<A> = A extends { readonly [Symbol.toStringTag]: string }
  ? DTypeOfData<A>
  : unknown extends A
    ? DType
    : A extends { get(index: number): boolean }
      ? 'bool'
      : DType;

/** What `zarr.set` takes for a dtype. */
export type ZarritaData<D extends DType, B> = D extends 'bool' ? B : DataOf<D>;

/**
 * The elements of a chunk, in whatever order it is stored.
 *
 * ```ts
 * import * as zarr from 'zarrita';
 *
 * const array = await zarr.create(zarr.root(), { shape: [4, 6], chunkShape: [2, 3], dtype: 'float32', fillValue: 7 });
 * const region = fromZarrita(await zarr.get(array, [zarr.slice(1, 3), null]));
 * console.log(region.shape, region.at(1, 5)); // -> [ 2, 6 ] 7
 * ```
 *
 * @returns one row-major copy by default; with `copy: false` a tensor over its data, with its strides (see
 *   `fromNdarray` for what such a tensor can do)
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for what is no chunk (a single element, which `zarr.get` gives for a
 *   selection of indices); RangeError (`ERR_OUT_OF_RANGE`) for a layout that leaves the data; BufferError
 *   (`ERR_DLPACK_BUFFER`) for strings and objects, and for `copy: false` in a worker
 */
export function fromZarrita<A, C extends boolean | null | undefined = null>(
  chunk: ZarritaChunk<A>,
  options?: FromOptions<C>,
): Incoming<DTypeOfZarrita<A>, C> {
  const operation = 'fromZarrita';
  const { copy } = parseFromOptions(options, operation);
  const fields = fieldsOf(chunk, operation, 'a chunk of zarrita: { data, shape, stride }');
  const { data } = fields;
  const shape = parseShape(fields['shape']);
  const strides = parseStrides(fields['stride'], shape.length, 'stride');
  if (isTypedArray(data)) return incoming({ data, shape, strides }, copy, operation);
  if (isBoolArray(data))
    return incoming({ data: elementsBehind(data, DTYPES.bool), dtype: 'bool', shape, strides }, copy, operation);
  throw foreignDType(operation, 'data', data, 'it can be a typed array or a BoolArray');
}

/**
 * A chunk over the tensor's own memory, for `zarr.set`, which copies out of it.
 *
 * ```ts
 * import * as zarr from 'zarrita';
 *
 * const array = await zarr.create(zarr.root(), { shape: [2, 2], chunkShape: [2, 2], dtype: 'int32' });
 * const tensor = Tensor.from(new Int32Array([1, 2, 3, 4]), { shape: [2, 2] });
 * await zarr.set(array, null, toZarrita(tensor.transpose(), zarr));
 * console.log((await zarr.get(array)).data.join(' ')); // -> 1 3 2 4
 * ```
 *
 * @param zarr the library
 * @returns the chunk. A layout with a negative stride, which a chunk cannot express, is copied
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for a dtype that zarrita does not have (complex, bfloat16 and smaller
 *   floats; float16 before Node 24), and with `copy: false` where a copy would be needed
 */
export function toZarrita<D extends DType, B>(
  tensor: Source<D>,
  zarr: ZarritaLibrary<B>,
  options?: ToOptions,
): ZarritaSource<ZarritaData<D, B>> {
  const operation = 'toZarrita';
  const copy = parseToOptions(options, operation);
  const source = requireTensor(tensor, operation);
  const { shape, strides, dtype } = metadataOf(source);
  if (!isZarritaDType(dtype.name)) throw noSuchDType(operation, 'zarrita', dtype.name);
  const reversed = strides.findIndex((stride, axis) => stride < 0 && shape[axis] !== 1);
  if (reversed >= 0 && copy === false) {
    throw copyNeeded(
      operation,
      `strides[${reversed}] is ${strides[reversed]}, and a chunk has no offset to count down from`,
    );
  }
  const wrap = dtype.name === 'bool' ? boolArrayOf(zarr, operation) : (data: Elements): unknown => data;
  const wish = { operation, copy: reversed >= 0 ? true : copy };
  return withStrided(source, wish, (shown) => ({
    // The elements are what the type says, by the dtype.
    data: wrap(shown.data) as ZarritaData<D, B>,
    shape: [...shown.shape],
    stride: [...shown.strides],
  }));
}

/** Makes a BoolArray over bytes. @throws TypeError when the library has none */
function boolArrayOf(zarr: unknown, operation: string): (data: Elements) => unknown {
  const BoolArray = hasFields(zarr) ? zarr['BoolArray'] : undefined;
  if (typeof BoolArray !== 'function')
    throw typeError(
      `${operation} was given ${show(zarr)} as the library; it takes zarrita as imported, for its BoolArray`,
    );
  return (data): unknown => Reflect.construct(BoolArray, [data.buffer, data.byteOffset, data.length]);
}

function isZarritaDType(dtype: DType): boolean {
  const { kind } = DTYPES[dtype];
  if (dtype === 'float16') return hasFloat16Array;
  return kind === 'bool' || kind === 'int' || kind === 'uint' || dtype === 'float32' || dtype === 'float64';
}

/** Bytes of 0 and 1 with get and set; ByteStringArray and UnicodeStringArray have `chars` besides. */
function isBoolArray(data: unknown): boolean {
  if (!hasFields(data) || 'chars' in data) return false;
  return typeof data['get'] === 'function' && data['BYTES_PER_ELEMENT'] === 1;
}
