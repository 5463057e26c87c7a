/**
 * The dtypes: DLPack 1.3's type table by name, what an element weighs, and what it is in JavaScript, at run time and at
 * compile time.
 *
 * A sub-byte float exists in two storages of different size and address arithmetic, so in two dtypes: packed by bit
 * (DLPack's default, `float4_e2m1fn`) and with a byte for each element (the flag IS_SUBBYTE_TYPE_PADDED,
 * `float4_e2m1fn_padded`).
 */
import { rangeError, show, typeError } from './errors';

/** A complex number as this library reads and takes it: real part, imaginary part. */
export type Complex = readonly [re: number, im: number];

/** What `toArray()` gives: arrays as deep as the tensor has axes, or the element itself for a 0-d tensor. */
export type NestedArray<E> = E | NestedArray<E>[];

/**
 * `Float16Array` where the program's `lib` knows it (es2025), else its shape in our words: the runtime may have it all
 * the same.
 */
export type Float16ArrayType = typeof globalThis extends { Float16Array: { prototype: infer A } }
  ? A
  : Float16ArrayShape;
type Float16ArrayShape = Omit<Float32Array<ArrayBuffer>, typeof Symbol.toStringTag | 'subarray' | 'slice'> & {
  readonly [Symbol.toStringTag]: 'Float16Array';
  subarray(begin?: number, end?: number): Float16ArrayShape;
  slice(start?: number, end?: number): Float16ArrayShape;
};

interface Row<Element, View, Bits> {
  /** What `at()` gives. */
  element: Element;
  /** What `view()` and `data` give; never: the dtype has no typed array, only bits. */
  view: View;
  /**
   * What `view({ bits: true })` and `bits` give: unsigned integers of the element's size, for complex the interleaved
   * real array.
   */
  bits: Bits;
}
type U8 = Uint8Array<ArrayBuffer>;
type U16 = Uint16Array<ArrayBuffer>;
type U32 = Uint32Array<ArrayBuffer>;
type U64 = BigUint64Array<ArrayBuffer>;
/** A float narrower than 16 bits, or bfloat16: JavaScript has no typed array of it. */
type BitsOnly<Bits> = Row<number, never, Bits>;

/** From the name of a dtype to its JavaScript types. */
export interface DTypeMap {
  bool: Row<boolean, U8, U8>;
  int8: Row<number, Int8Array<ArrayBuffer>, U8>;
  int16: Row<number, Int16Array<ArrayBuffer>, U16>;
  int32: Row<number, Int32Array<ArrayBuffer>, U32>;
  int64: Row<bigint, BigInt64Array<ArrayBuffer>, U64>;
  uint8: Row<number, U8, U8>;
  uint16: Row<number, U16, U16>;
  uint32: Row<number, U32, U32>;
  uint64: Row<bigint, U64, U64>;
  float16: Row<number, Float16ArrayType, U16>;
  float32: Row<number, Float32Array<ArrayBuffer>, U32>;
  float64: Row<number, Float64Array<ArrayBuffer>, U64>;
  bfloat16: BitsOnly<U16>;
  complex64: Row<Complex, never, Float32Array<ArrayBuffer>>;
  complex128: Row<Complex, never, Float64Array<ArrayBuffer>>;
  float8_e3m4: BitsOnly<U8>;
  float8_e4m3: BitsOnly<U8>;
  float8_e4m3b11fnuz: BitsOnly<U8>;
  float8_e4m3fn: BitsOnly<U8>;
  float8_e4m3fnuz: BitsOnly<U8>;
  float8_e5m2: BitsOnly<U8>;
  float8_e5m2fnuz: BitsOnly<U8>;
  float8_e8m0fnu: BitsOnly<U8>;
  float6_e2m3fn: BitsOnly<U8>;
  float6_e3m2fn: BitsOnly<U8>;
  float4_e2m1fn: BitsOnly<U8>;
  float6_e2m3fn_padded: BitsOnly<U8>;
  float6_e3m2fn_padded: BitsOnly<U8>;
  float4_e2m1fn_padded: BitsOnly<U8>;
}

/** The name of a dtype. */
export type DType = keyof DTypeMap;
/** The dtypes whose elements are real numbers, booleans included: everything that converts. */
export type RealDType = Exclude<DType, 'complex64' | 'complex128'>;

/** What `at()` reads of a dtype. */
export type ElementOf<D extends DType> = DTypeMap[D]['element'];
/**
 * What `set` and `fill` take for one element of a dtype: 64-bit integers also as (safe) numbers, others also as bigints
 * and booleans.
 */
export type ScalarOf<D extends DType> = D extends 'complex64' | 'complex128'
  ? Complex | number
  : number | bigint | boolean;
/** The writable typed array over memory of a dtype; never for a dtype without one. */
export type DataOf<D extends DType> = DTypeMap[D]['view'];
/** The array over the bare bits of a dtype. */
export type BitsOf<D extends DType> = DTypeMap[D]['bits'];
/** The read-only face of `DataOf`. */
export type ReadonlyDataOf<D extends DType> = ReadonlyTypedArray<DataOf<D>>;
/** The read-only face of `BitsOf`. */
export type ReadonlyBitsOf<D extends DType> = ReadonlyTypedArray<BitsOf<D>>;

type Mutator = 'set' | 'fill' | 'sort' | 'reverse' | 'copyWithin';

/**
 * A typed array through which TypeScript does not let you write: no index assignment, none of the methods that write.
 * JavaScript itself cannot enforce it. Distributes over unions; `never` stays `never`.
 */
export type ReadonlyTypedArray<A> = A extends {
  readonly [index: number]: unknown;
  subarray(begin?: number, end?: number): unknown;
}
  ? { readonly [K in Exclude<keyof A, Mutator | 'subarray' | number>]: A[K] } & {
      readonly [index: number]: A[number];
      /** The same memory from `begin` up to `end`, read-only too. */
      subarray(begin?: number, end?: number): ReadonlyTypedArray<A>;
    }
  : never;

/** Which of DLPack's families a dtype belongs to; bfloat16 and the small floats are `float`. */
export type DTypeKind = 'bool' | 'int' | 'uint' | 'float' | 'complex';
/** What one element is in JavaScript. */
export type ElementKind = 'boolean' | 'number' | 'bigint' | 'complex';

/** A row of the table. */
export interface DTypeInfo<D extends DType = DType> {
  readonly name: D;
  readonly kind: DTypeKind;
  readonly element: ElementKind;
  /** DLDataType.code. */
  readonly code: number;
  /** DLDataType.bits: of one element, the whole of a complex number. */
  readonly bits: number;
  /** A sub-byte type with a byte for each element. */
  readonly padded: boolean;
  /** A sub-byte type whose elements do not all start on a byte. */
  readonly bitPacked: boolean;
  /** Bits from one element to the next in compact memory. */
  readonly strideBits: number;
  /** Bytes of one element; 0 for bit-packed types. */
  readonly itemsize: number;
  /** The number under which native knows it: code | bits << 8 | padded << 16. */
  readonly packed: number;
}

/** Codes of DLPack's type table. Not public: a program speaks of dtypes by name. */
const CODE = { int: 0, uint: 1, float: 2, bfloat: 4, complex: 5, bool: 6 } as const;

function row<D extends DType>(name: D, kind: DTypeKind, code: number, bits: number, padded = false): DTypeInfo<D> {
  const bitPacked = bits < 8 && !padded;
  const strideBits = padded ? 8 : bits;
  return Object.freeze({
    name,
    kind,
    element:
      kind === 'bool'
        ? 'boolean'
        : kind === 'complex'
          ? 'complex'
          : bits === 64 && kind !== 'float'
            ? 'bigint'
            : 'number',
    code,
    bits,
    padded,
    bitPacked,
    strideBits,
    itemsize: bitPacked ? 0 : strideBits / 8,
    packed: code | (bits << 8) | (padded ? 1 << 16 : 0),
  });
}

/** The table, by name. */
export const DTYPES: { readonly [D in DType]: DTypeInfo<D> } = Object.freeze({
  bool: row('bool', 'bool', CODE.bool, 8),
  int8: row('int8', 'int', CODE.int, 8),
  int16: row('int16', 'int', CODE.int, 16),
  int32: row('int32', 'int', CODE.int, 32),
  int64: row('int64', 'int', CODE.int, 64),
  uint8: row('uint8', 'uint', CODE.uint, 8),
  uint16: row('uint16', 'uint', CODE.uint, 16),
  uint32: row('uint32', 'uint', CODE.uint, 32),
  uint64: row('uint64', 'uint', CODE.uint, 64),
  float16: row('float16', 'float', CODE.float, 16),
  float32: row('float32', 'float', CODE.float, 32),
  float64: row('float64', 'float', CODE.float, 64),
  bfloat16: row('bfloat16', 'float', CODE.bfloat, 16),
  complex64: row('complex64', 'complex', CODE.complex, 64),
  complex128: row('complex128', 'complex', CODE.complex, 128),
  float8_e3m4: row('float8_e3m4', 'float', 7, 8),
  float8_e4m3: row('float8_e4m3', 'float', 8, 8),
  float8_e4m3b11fnuz: row('float8_e4m3b11fnuz', 'float', 9, 8),
  float8_e4m3fn: row('float8_e4m3fn', 'float', 10, 8),
  float8_e4m3fnuz: row('float8_e4m3fnuz', 'float', 11, 8),
  float8_e5m2: row('float8_e5m2', 'float', 12, 8),
  float8_e5m2fnuz: row('float8_e5m2fnuz', 'float', 13, 8),
  float8_e8m0fnu: row('float8_e8m0fnu', 'float', 14, 8),
  float6_e2m3fn: row('float6_e2m3fn', 'float', 15, 6),
  float6_e3m2fn: row('float6_e3m2fn', 'float', 16, 6),
  float4_e2m1fn: row('float4_e2m1fn', 'float', 17, 4),
  float6_e2m3fn_padded: row('float6_e2m3fn_padded', 'float', 15, 6, true),
  float6_e3m2fn_padded: row('float6_e3m2fn_padded', 'float', 16, 6, true),
  float4_e2m1fn_padded: row('float4_e2m1fn_padded', 'float', 17, 4, true),
});

const BY_PACKED: ReadonlyMap<number, DTypeInfo> = new Map(
  Object.values(DTYPES).map((info: DTypeInfo) => [info.packed, info]),
);

/** The row of the dtype that native knows under this number (Slot.DType); undefined for a number that is none. */
export function dtypeFromPacked(packed: number): DTypeInfo | undefined {
  return BY_PACKED.get(packed);
}

const BY_NAME: ReadonlyMap<unknown, DTypeInfo> = new Map(Object.entries<DTypeInfo>(DTYPES));

/** What was asked for last, and most likely is again: a comparison where the map is a search. */
let latest: DTypeInfo = DTYPES.float32;

/** Is this the name of a dtype? */
export function isDType(value: unknown): value is DType {
  return BY_NAME.has(value);
}

/** Does a dtype hold real numbers (or booleans)? Those convert. */
export function isRealDType(dtype: DType): dtype is RealDType {
  return DTYPES[dtype].kind !== 'complex';
}

/**
 * The row that a `dtype` argument names.
 * @param field the argument's name, for the message
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when it is not a string; RangeError (`ERR_OUT_OF_RANGE`) when it names no
 *   dtype
 */
export function parseDType(value: unknown, field = 'dtype'): DTypeInfo {
  if (value === latest.name) return latest;
  const info = BY_NAME.get(value);
  if (info !== undefined) return (latest = info);
  if (typeof value !== 'string')
    throw typeError(`${field} is ${show(value)}; it must be the name of a dtype, such as 'float32'`);
  throw rangeError(`${field} is ${show(value)}; the dtypes are ${Object.keys(DTYPES).join(', ')}`);
}

/**
 * Bytes of `size` elements stored compactly: the bits of all elements together rounded up to a byte (which differs from
 * rounding each for packed sub-byte types).
 */
export function compactBytes(info: DTypeInfo, size: number): number {
  return info.bitPacked ? Math.ceil((size * info.strideBits) / 8) : size * info.itemsize;
}
