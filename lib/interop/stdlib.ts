/**
 * `@stdlib/ndarray`: strides, an offset and an order over a typed array, or over stdlib's own array classes
 * (BooleanArray, Complex64Array, Complex128Array), which lie over the same bytes as ours.
 */
import type { DType } from '../dtype';
import { DTYPES } from '../dtype';
import { isArray, parseInteger, parseShape, parseStrides } from '../shape';
import { metadataOf } from '../tensor-base';
import { hasFloat16Array } from '../typed-arrays';
import { elementsBehind, entriesPerElement, fieldsOf, requireLibrary } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import {
  isReadOnly,
  parseToOptions,
  requireTensor,
  withStrided,
  type AnySource,
  type Elements,
  type ToOptions,
} from './outgoing';
import { foreignDType, noSuchDType, notA } from './words';

/** The dtypes that both sides have, under the same names. */
export type StdlibDType =
  | 'bool'
  | 'complex64'
  | 'complex128'
  | 'float16'
  | 'float32'
  | 'float64'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'uint8'
  | 'uint16'
  | 'uint32';

/** Is it held in a class of stdlib's own? */
const NAMES: Readonly<Record<StdlibDType, { readonly ownClass: boolean }>> = {
  bool: { ownClass: true },
  complex64: { ownClass: true },
  complex128: { ownClass: true },
  float16: { ownClass: false },
  float32: { ownClass: false },
  float64: { ownClass: false },
  int8: { ownClass: false },
  int16: { ownClass: false },
  int32: { ownClass: false },
  uint8: { ownClass: false },
  uint16: { ownClass: false },
  uint32: { ownClass: false },
};

/** An ndarray of stdlib, as far as it is read here. */
export interface StdlibNdarray {
  /** Its dtype's name. */
  readonly dtype: unknown;
  /** A typed array, or one of stdlib's own array classes. */
  readonly data: unknown;
  /** Its extents. */
  readonly shape: unknown;
  /** In elements (a complex number is one), negative ones too. */
  readonly strides: unknown;
  /** Elements from the start of `data` to the first one. */
  readonly offset: number;
  /** row-major or column-major: how indices are counted, which strides say too. */
  readonly order: unknown;
}

/** The library: `@stdlib/ndarray`, as imported. */
export interface StdlibLibrary<R> {
  /** Its class of ndarrays. */
  readonly ndarray: new (...args: never) => R;
  /** Its inner functions, of which `bufferCtors` gives the array class of a dtype. */
  readonly base: object;
}

type Construct<R> = new (
  dtype: string,
  data: unknown,
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  order: string,
  options: { readonly readonly: boolean },
) => R;
type Over = new (buffer: ArrayBufferLike, byteOffset: number, length: number) => unknown;

/**
 * The elements of a stdlib ndarray of any layout and order.
 *
 * ```ts
 * import stdlib from '@stdlib/ndarray';
 *
 * const columns = stdlib.array(new Float64Array([1, 2, 3, 4]), { shape: [2, 2], order: 'column-major' });
 * console.log(fromStdlib(columns).toArray()); // -> [ [ 1, 3 ], [ 2, 4 ] ]
 * ```
 *
 * @returns one row-major copy by default; with `copy: false` a tensor over its buffer, with its strides and offset (see
 *   `fromNdarray` for what such a tensor can do)
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for what is no stdlib ndarray; RangeError (`ERR_OUT_OF_RANGE`) for a
 *   layout that leaves its buffer; BufferError (`ERR_DLPACK_BUFFER`) for a dtype without one here (generic, binary,
 *   complex32, structs), and for `copy: false` in a worker
 */
export function fromStdlib<C extends boolean | null | undefined = null>(
  array: StdlibNdarray,
  options?: FromOptions<C>,
): Incoming<StdlibDType, C> {
  const operation = 'fromStdlib';
  const { copy } = parseFromOptions(options, operation);
  const expected = 'an ndarray of @stdlib: { dtype, data, shape, strides, offset }';
  const fields = fieldsOf(array, operation, expected);
  const name = fields['dtype'] === 'uint8c' ? 'uint8' : fields['dtype'];
  if (name === undefined) throw notA(operation, array, expected);
  if (!isStdlibDType(name))
    throw foreignDType(operation, 'dtype', name, `it can be ${Object.keys(NAMES).join(', ')} and uint8c`);
  const shape = parseShape(fields['shape']);
  // A 0-d ndarray of stdlib has one stride, 0.
  const given = fields['strides'];
  const strides = parseStrides(shape.length === 0 && isArray(given) ? [] : given, shape.length);
  const offset = parseInteger(fields['offset'], 'offset');
  const data = elementsBehind(fields['data'], DTYPES[name]);
  return incoming({ data, dtype: name, shape, strides, offset }, copy, operation);
}

/**
 * A stdlib ndarray over the tensor's own memory, with its strides and offset; read-only (`set` throws) unless the
 * tensor may be written.
 *
 * ```ts
 * import stdlib from '@stdlib/ndarray';
 *
 * const tensor = Tensor.from(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] });
 * const array = toStdlib(tensor.transpose(), stdlib); // strides and all, over the same memory
 * console.log(array.get(0, 1)); // -> 3
 * ```
 *
 * @param stdlib the library
 * @returns what it made
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for a dtype that stdlib does not have (64-bit integers, bfloat16, smaller
 *   floats; float16 before Node 24), and with `copy: false` where a copy would be needed
 */
export function toStdlib<R>(tensor: AnySource, stdlib: StdlibLibrary<R>, options?: ToOptions): R {
  const operation = 'toStdlib';
  const copy = parseToOptions(options, operation);
  const source = requireTensor(tensor, operation);
  const dtype = metadataOf(source).dtype.name;
  if (!isStdlibDType(dtype) || (dtype === 'float16' && !hasFloat16Array))
    throw noSuchDType(operation, '@stdlib/ndarray', dtype);
  const { ndarray, base } = requireLibrary(stdlib, ['ndarray'], operation, '@stdlib/ndarray');
  const OwnClass = NAMES[dtype].ownClass ? arrayClass(base, dtype, operation) : undefined;
  // The arguments of a class that is only known by its shape.
  const Construct = ndarray as unknown as Construct<R>;
  const readOnly = copy !== true && isReadOnly(source);
  return withStrided(source, { operation, copy }, ({ data, shape, strides, offset }) => {
    const elements = OwnClass === undefined ? data : over(OwnClass, data, dtype);
    const steps = shape.length === 0 ? [0] : strides;
    const order = isColumnMajor(strides) ? 'column-major' : 'row-major';
    return new Construct(dtype, elements, shape, steps, offset, order, { readonly: readOnly });
  });
}

function isStdlibDType(name: unknown): name is StdlibDType {
  return typeof name === 'string' && Object.hasOwn(NAMES, name);
}

/** The class in which stdlib holds a dtype. @throws TypeError when the library does not give it */
function arrayClass(base: object, dtype: StdlibDType, operation: string): Over {
  const { bufferCtors } = requireLibrary<{ bufferCtors?: (dtype: string) => unknown }>(
    base,
    ['bufferCtors'],
    operation,
    'base of @stdlib/ndarray',
  );
  const found = bufferCtors?.(dtype);
  if (typeof found === 'function') return found as Over;
  throw noSuchDType(operation, 'this version of @stdlib/ndarray', dtype);
}

function over(ArrayClass: Over, data: Elements, dtype: DType): unknown {
  return new ArrayClass(data.buffer, data.byteOffset, data.length / entriesPerElement(dtype));
}

/** Do indices count up from the first axis? */
function isColumnMajor(strides: readonly number[]): boolean {
  const steps = strides.map(Math.abs);
  const ascending = steps.every((step, axis) => axis === 0 || step >= (steps[axis - 1] ?? 0));
  const descending = steps.every((step, axis) => axis === 0 || step <= (steps[axis - 1] ?? 0));
  return ascending && !descending;
}
