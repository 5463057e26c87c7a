/**
 * What `Tensor.from(data, { shape, strides, offset, dtype })` and `OwnedTensor.from` were given, turned into memory to
 * copy from.
 *
 * Flat memory (typed arrays of any realm, Buffers, views of SharedArrayBuffers, DataViews) is copied as it lies: a
 * `dtype` relabels its bits, and never converts. Nested arrays are read element by element (nested-array.ts).
 */
import { compactBytes, DTYPES, parseDType, type DType, type DTypeInfo } from './dtype';
import { rangeError, show, typeError } from './errors';
import { parseNested, type NestedData } from './nested-array';
import { isOptions } from './protocol';
import { formatShape, isArray, parseInteger, parseShape, parseStrides, sizeOf } from './shape';
import {
  byteLengthOf,
  dtypeOfTypedArray,
  isDataView,
  isDetached,
  isTypedArray,
  typedArrayName,
  type AnyTypedArray,
} from './typed-arrays';

/** What a tensor can be made from, by copy. */
export type TensorData = AnyTypedArray | DataView | NestedData;

/** The options of `Tensor.from`. */
export interface DataOptions<D extends DType = DType> {
  /** Extents; `[length]` by default, for nested arrays their own. */
  readonly shape?: readonly number[] | undefined;
  /**
   * Of `data`, in elements, one for each axis; row-major by default. The copy is row-major always. Not for nested
   * arrays.
   */
  readonly strides?: readonly number[] | undefined;
  /** Elements from the start of `data` to the first element; 0 by default. Not for nested arrays. */
  readonly offset?: number | undefined;
  /**
   * For typed arrays: relabels bits of equal size (Uint8 as bool, Uint16 as float16 or bfloat16), takes the numbers of
   * a float array in pairs as complex, or takes bytes as packed sub-byte elements (then `shape` is required). For a
   * DataView, where it is required: what its bytes are, in the machine's byte order. For nested arrays: the dtype to
   * make.
   */
  readonly dtype?: D | undefined;
}

/** Memory to copy from, and what is to come of it. */
export interface DataSource {
  /** Holds elements of `dtype`; its own class does not matter. */
  readonly source: ArrayBufferView;
  /** What the bytes are. */
  readonly dtype: DTypeInfo;
  /** The dtype to convert to, natively, after the copy; undefined where the bytes are what was asked for. */
  readonly convertTo: DTypeInfo | undefined;
  readonly shape: readonly number[];
  /** In elements; undefined for row-major. */
  readonly strides: readonly number[] | undefined;
  /** Elements from the start of `source`. */
  readonly offset: number;
}

interface TagToDType {
  Int8Array: 'int8';
  Int16Array: 'int16';
  Int32Array: 'int32';
  BigInt64Array: 'int64';
  Uint8Array: 'uint8';
  Uint8ClampedArray: 'uint8';
  Uint16Array: 'uint16';
  Uint32Array: 'uint32';
  BigUint64Array: 'uint64';
  Float16Array: 'float16';
  Float32Array: 'float32';
  Float64Array: 'float64';
}
// Data of unknown depth is asked for first: descending into the recursive NestedData itself would never end.
type DTypeOfElement<E> = [NestedData] extends [E]
  ? DType
  : [E] extends [never]
    ? DType
    : E extends number
      ? 'float64'
      : E extends bigint
        ? 'int64'
        : E extends boolean
          ? 'bool'
          : E extends readonly (infer Inner)[]
            ? DTypeOfElement<Inner>
            : DType;

/** The dtype that `Tensor.from(data)` makes when no `dtype` is given. */
export type DTypeOfData<T> = T extends { readonly [Symbol.toStringTag]: infer Tag }
  ? Tag extends keyof TagToDType
    ? TagToDType[Tag]
    : DType
  : DTypeOfElement<T>;

/**
 * Reads the arguments of `Tensor.from`. Nothing is copied yet, except out of nested arrays.
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for data that no tensor can be made from, a detached typed array, a dtype
 *   that its bits cannot be, ragged or mixed nested arrays; RangeError (`ERR_OUT_OF_RANGE`) for a shape, strides or an
 *   offset that do not fit the data; RangeError (`ERR_DLPACK_MEMORY`) when nested arrays are larger than memory
 */
export function parseData(data: unknown, options: unknown): DataSource {
  const { shape, strides, offset, dtype } = parseOptions(options);
  const asked = dtype === undefined ? undefined : parseDType(dtype);
  if (isArray(data)) {
    if (strides !== undefined)
      throw typeError('strides cannot be given for nested arrays; they are for typed arrays and DataViews');
    if (offset !== undefined)
      throw typeError('offset cannot be given for nested arrays; it is for typed arrays and DataViews');
    return { ...parseNested(data, asked, shape), strides: undefined, offset: 0 };
  }
  if (isTypedArray(data)) return flat(data, relabel(data, asked, shape), shape, strides, offset);
  if (isDataView(data)) {
    if (asked === undefined)
      throw typeError("dtype is missing; a DataView's bytes can be anything, so it is required for one");
    return flat(data, asked, shape, strides, offset);
  }
  throw typeError(
    `data is ${describeData(data)}; it must be a typed array, a Buffer, a DataView, or nested arrays of ` +
      'numbers, bigints or booleans',
  );
}

function parseOptions(options: unknown): Readonly<Record<'shape' | 'strides' | 'offset' | 'dtype', unknown>> {
  if (options === undefined) return { shape: undefined, strides: undefined, offset: undefined, dtype: undefined };
  if (!isOptions(options))
    throw typeError(`options is ${show(options)}; it must be an object: { shape, strides, offset, dtype }`);
  const { shape, strides, offset, dtype } = options;
  return { shape, strides, offset, dtype };
}

function describeData(data: unknown): string {
  const tag = Object.prototype.toString.call(data);
  if (tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]') return `a bare ${tag.slice(8, -1)}`;
  return show(data);
}

/** The dtype that a typed array's bits are to be taken as. */
function relabel(data: AnyTypedArray, asked: DTypeInfo | undefined, shape: unknown): DTypeInfo {
  const name = typedArrayName(data);
  const own = dtypeOfTypedArray(data);
  if (own === undefined) throw typeError(`data is a ${name}, a kind of typed array that is not known here`);
  if (asked === undefined || asked === own) return own;
  if (asked.kind === 'complex') {
    if (own === (asked.name === 'complex64' ? DTYPES.float32 : DTYPES.float64)) return asked;
    throw typeError(
      `dtype is '${asked.name}' and data is a ${name}; give the real and imaginary parts in turn in a ` +
        (asked.name === 'complex64' ? 'Float32Array' : 'Float64Array'),
    );
  }
  if (asked.bitPacked && own === DTYPES.uint8) {
    if (shape === undefined) {
      throw typeError(
        `shape is missing; the bytes of packed ${asked.name} do not say how many elements they hold, so it is required`,
      );
    }
    return asked;
  }
  if (asked.itemsize === own.itemsize) return asked;
  throw typeError(
    `dtype is '${asked.name}' and data is a ${name}, whose elements have ${own.itemsize * 8} bits, not ` +
      `${asked.strideBits}; dtype relabels bits of equal ` +
      `size. To convert numbers use Tensor.from(data).to('${asked.name}'); to relabel bytes give a DataView ` +
      'or a Uint8Array of the right size',
  );
}

/** Flat memory with the layout asked for, which must lie inside it. */
function flat(
  source: AnyTypedArray | DataView,
  dtype: DTypeInfo,
  shapeGiven: unknown,
  stridesGiven: unknown,
  offsetGiven: unknown,
): DataSource {
  if (isDetached(source))
    throw typeError('data is a view of an ArrayBuffer that is detached, or shorter than the view by now');
  const bytes = byteLengthOf(source);
  const available = Math.floor((bytes * 8) / dtype.strideBits);
  const offset = offsetGiven === undefined ? 0 : parseInteger(offsetGiven, 'offset');
  if (offset < 0) throw rangeError(`offset is ${offset}; it must be >= 0 elements`);
  if (offset > available) throw rangeError(`offset is ${offset}; data has ${available} elements of ${dtype.name}`);
  const shape =
    shapeGiven === undefined ? [defaultExtent(dtype, bytes, stridesGiven) - offset] : parseShape(shapeGiven);
  const strides = stridesGiven === undefined ? undefined : parseStrides(stridesGiven, shape.length);
  if (strides !== undefined) {
    checkSpan(shape, strides, offset, available, dtype);
  } else if (
    offsetGiven !== undefined ? offset + sizeOf(shape) > available : compactBytes(dtype, sizeOf(shape)) !== bytes
  ) {
    const from = offset === 0 ? '' : ` from offset ${offset}`;
    throw rangeError(
      `shape ${formatShape(shape)} has ${sizeOf(shape)} elements, ${compactBytes(dtype, sizeOf(shape))} ` +
        `bytes of ${dtype.name}${from}; data has ${bytes} bytes`,
    );
  }
  return { source, dtype, convertTo: undefined, shape, strides, offset };
}

function defaultExtent(dtype: DTypeInfo, bytes: number, strides: unknown): number {
  if (strides !== undefined) throw typeError('shape is missing; strides say nothing without it');
  if (dtype.bitPacked) {
    throw typeError(
      `shape is missing; the bytes of packed ${dtype.name} do not say how many elements they hold, so it is required`,
    );
  }
  if (bytes % dtype.itemsize !== 0) {
    throw rangeError(
      `data has ${bytes} bytes, which is not a whole number of ${dtype.name} elements (${dtype.itemsize} bytes each)`,
    );
  }
  return bytes / dtype.itemsize;
}

/**
 * Every element that shape and strides lead to lies in the data. Inexact beyond 2^53, where nothing lies in it anyway.
 */
function checkSpan(
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  available: number,
  dtype: DTypeInfo,
): void {
  if (sizeOf(shape) === 0) return;
  let lowest = offset;
  let highest = offset;
  for (const [axis, extent] of shape.entries()) {
    const reach = (extent - 1) * (strides[axis] ?? 0);
    if (reach < 0) lowest += reach;
    else highest += reach;
  }
  if (lowest < 0 || highest >= available) {
    throw rangeError(
      `shape ${formatShape(shape)}, strides ${formatShape(strides)} and offset ${offset} reach elements ` +
        `${lowest} to ${highest}; ` +
        `data has ${available} elements of ${dtype.name}`,
    );
  }
}
