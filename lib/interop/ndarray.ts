/**
 * scijs `ndarray`: strides and an offset over a typed array, which is what a tensor is. Strided tensors go out as they
 * lie, reversed and transposed ones too.
 */
import type { DTypeOfData } from '../data-source';
import { DTYPES, type DataOf, type DType } from '../dtype';
import { parseInteger, parseShape, parseStrides } from '../shape';
import { metadataOf } from '../tensor-base';
import { hasFloat16Array, isTypedArray } from '../typed-arrays';
import { fieldsOf, requireLibrary } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import { parseToOptions, requireTensor, withStrided, type Source, type ToOptions } from './outgoing';
import { foreignDType, noSuchDType } from './words';

/** The dtypes that an ndarray can hold; 64-bit integers under the names bigint64 and biguint64. */
export type NdarrayDType =
  'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64' | 'float16' | 'float32' | 'float64';

/** An `ndarray`, as far as it is read here. */
export interface Ndarray<A = unknown> {
  /** A typed array; plain arrays and objects with get and set are refused. */
  readonly data: A;
  /** Its extents. */
  readonly shape: readonly number[];
  /** In elements, negative ones too. */
  readonly stride: readonly number[];
  /** Elements from the start of `data` to the first one. */
  readonly offset: number;
}

/**
 * The library, which is one function: `import ndarray from 'ndarray'`.
 */
export type NdarrayLibrary<A, R> = (data: A, shape: number[], stride: number[], offset: number) => R;

/**
 * The elements of an `ndarray` of any layout.
 *
 * ```ts
 * import ndarray from 'ndarray';
 *
 * const grid = ndarray(new Float64Array([1, 2, 3, 4]), [2, 2]).transpose(1, 0);
 * console.log(fromNdarray(grid).toArray()); // -> [ [ 1, 3 ], [ 2, 4 ] ]
 * ```
 *
 * @returns one row-major copy by default; with `copy: false` a tensor over its typed array, with its strides and
 *   offset. `view()` and `strided()` refuse such a tensor unless it is row-major (`unsafeView` does not), `at`,
 *   `toTypedArray` and exports work
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for what is no ndarray; RangeError (`ERR_OUT_OF_RANGE`) for a layout that
 *   leaves the typed array; BufferError (`ERR_DLPACK_BUFFER`) for one over a plain array, and for `copy: false` in a
 *   worker
 */
export function fromNdarray<A, C extends boolean | null | undefined = null>(
  array: Ndarray<A>,
  options?: FromOptions<C>,
): Incoming<DTypeOfData<A>, C> {
  const operation = 'fromNdarray';
  const { copy } = parseFromOptions(options, operation);
  const fields = fieldsOf(array, operation, 'an ndarray: { data, shape, stride, offset }');
  const shape = parseShape(fields['shape']);
  const strides = parseStrides(fields['stride'], shape.length, 'stride');
  const offset = parseInteger(fields['offset'], 'offset');
  const data = fields['data'];
  if (!isTypedArray(data))
    throw foreignDType(
      operation,
      'data',
      data,
      'make the ndarray over a typed array, or use Tensor.from(nested arrays)',
    );
  return incoming({ data, shape, strides, offset }, copy, operation);
}

/**
 * An `ndarray` over the tensor's own memory, with its strides and offset.
 *
 * ```ts
 * import ndarray from 'ndarray';
 *
 * const tensor = Tensor.from(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] });
 * const grid = toNdarray(tensor.transpose(), ndarray); // strides and all, over the same memory
 * console.log(grid.stride, grid.get(0, 1)); // -> [ 1, 2 ] 3
 * ```
 *
 * @param ndarray the library
 * @returns what it made. It can be written as far as JavaScript is concerned: of a `Tensor`, do not
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for a dtype that ndarray does not have (bool, bfloat16, complex and smaller
 *   floats; float16 before Node 24), and with `copy: false` where a copy would be needed (foreign memory that was not
 *   lent writable)
 */
export function toNdarray<D extends DType, R>(
  tensor: Source<D>,
  ndarray: NdarrayLibrary<DataOf<D>, R>,
  options?: ToOptions,
): R {
  const operation = 'toNdarray';
  const copy = parseToOptions(options, operation);
  const source = requireTensor(tensor, operation);
  const dtype = metadataOf(source).dtype.name;
  if (!isNdarrayDType(dtype)) throw noSuchDType(operation, 'ndarray', dtype);
  const make = requireLibrary(ndarray, [], operation, 'ndarray');
  return withStrided(source, { operation, copy }, ({ data, shape, strides, offset }) =>
    make(data as DataOf<D>, [...shape], [...strides], offset),
  );
}

function isNdarrayDType(dtype: DType): dtype is NdarrayDType {
  const { kind } = DTYPES[dtype];
  if (dtype === 'float16') return hasFloat16Array;
  return kind === 'int' || kind === 'uint' || dtype === 'float32' || dtype === 'float64';
}
