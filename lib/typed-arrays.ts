/**
 * Which typed array shows which dtype, and what a value from JavaScript is.
 *
 * Never by `instanceof`: every realm has typed arrays of its own (a vm context, a jest sandbox), and a value can be
 * given any prototype. The engine's internal slots say what something is: the @@toStringTag getter of
 * %TypedArray%.prototype reads one, and answers undefined for everything that is no typed array.
 */
import { types } from 'node:util';
import { DTYPES, type BitsOf, type DataOf, type DType, type DTypeInfo, type Float16ArrayType } from './dtype';

/** The typed arrays that this library reads and makes; a Buffer is a Uint8Array. */
export type AnyTypedArray =
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float16ArrayType
  | Float32Array
  | Float64Array;

/** %TypedArray%.prototype. */
const shared: object = Reflect.getPrototypeOf(Uint8Array.prototype) ?? {};
const tag = Reflect.getOwnPropertyDescriptor(shared, Symbol.toStringTag);
const keys: unknown = Reflect.get(shared, 'keys');
const arrayBytes = Reflect.getOwnPropertyDescriptor(shared, 'byteLength');
const arrayBuffer = Reflect.getOwnPropertyDescriptor(shared, 'buffer');
const arrayOffset = Reflect.getOwnPropertyDescriptor(shared, 'byteOffset');
const dataViewBytes = Reflect.getOwnPropertyDescriptor(DataView.prototype, 'byteLength');
const dataViewBuffer = Reflect.getOwnPropertyDescriptor(DataView.prototype, 'buffer');
const dataViewOffset = Reflect.getOwnPropertyDescriptor(DataView.prototype, 'byteOffset');

/**
 * Name of the class of a typed array of any realm (`'Uint8Array'` for a Buffer), or undefined for anything else. Runs
 * no code of the value's.
 */
export function typedArrayName(value: unknown): string | undefined {
  const name: unknown = tag?.get?.call(value);
  return typeof name === 'string' ? name : undefined;
}

/** A typed array of any realm. */
export function isTypedArray(value: unknown): value is AnyTypedArray {
  return typedArrayName(value) !== undefined;
}

/** A DataView of any realm. */
export function isDataView(value: unknown): value is DataView {
  return types.isDataView(value);
}

const DTYPE_OF: ReadonlyMap<string, DTypeInfo> = new Map<string, DTypeInfo>([
  ['Int8Array', DTYPES.int8],
  ['Int16Array', DTYPES.int16],
  ['Int32Array', DTYPES.int32],
  ['BigInt64Array', DTYPES.int64],
  ['Uint8Array', DTYPES.uint8],
  ['Uint8ClampedArray', DTYPES.uint8],
  ['Uint16Array', DTYPES.uint16],
  ['Uint32Array', DTYPES.uint32],
  ['BigUint64Array', DTYPES.uint64],
  ['Float16Array', DTYPES.float16],
  ['Float32Array', DTYPES.float32],
  ['Float64Array', DTYPES.float64],
]);

/**
 * The dtype of a typed array's elements: Buffer and Uint8ClampedArray are uint8, Float16Array float16. Undefined for
 * anything else, a typed array of a kind that is not known here included.
 */
export function dtypeOfTypedArray(value: unknown): DTypeInfo | undefined {
  const name = typedArrayName(value);
  return name === undefined ? undefined : DTYPE_OF.get(name);
}

/**
 * Was its memory taken away: the buffer transferred or detached, or a resizable buffer shrunk below the view? Such a
 * view reads as empty, but is not an empty one.
 */
export function isDetached(view: ArrayBufferView): boolean {
  try {
    // Both throw a TypeError exactly then, in every runtime (`ArrayBuffer.prototype.detached` is missing before Node
    // 21).
    if (types.isDataView(view)) return byteLengthOf(view) < 0;
    if (typeof keys === 'function') Reflect.apply(keys, view, []);
    return false;
  } catch {
    return true;
  }
}

/** The length in bytes, whatever the view's own properties say. 0 when it is detached. */
export function byteLengthOf(view: AnyTypedArray | DataView): number {
  const bytes: unknown = (types.isDataView(view) ? dataViewBytes : arrayBytes)?.get?.call(view);
  return typeof bytes === 'number' ? bytes : 0;
}

/** Where it begins in its buffer, in bytes, whatever the view's own properties say. Not for a detached one. */
export function byteOffsetOf(view: AnyTypedArray | DataView): number {
  const offset: unknown = (types.isDataView(view) ? dataViewOffset : arrayOffset)?.get?.call(view);
  return typeof offset === 'number' ? offset : 0;
}

/** The buffer, whatever the view's own properties say. */
export function bufferOf(view: AnyTypedArray | DataView): ArrayBufferLike {
  const buffer: unknown = (types.isDataView(view) ? dataViewBuffer : arrayBuffer)?.get?.call(view);
  return types.isAnyArrayBuffer(buffer) ? buffer : view.buffer;
}

/** A class of typed arrays over a buffer. */
type Over<A> = new (buffer: ArrayBuffer, byteOffset?: number, length?: number) => A;

function float16Array(): Over<Float16ArrayType> | undefined {
  const found: unknown = Reflect.get(globalThis, 'Float16Array');
  return isFloat16ArrayClass(found) ? found : undefined;
}

function isFloat16ArrayClass(value: unknown): value is Over<Float16ArrayType> {
  return typeof value === 'function' && value.name === 'Float16Array';
}

const FLOAT16 = float16Array();

/** True where the runtime has Float16Array. */
export const hasFloat16Array = FLOAT16 !== undefined;

const DATA: { readonly [D in DType]?: Over<DataOf<D>> | undefined } = {
  bool: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float16: FLOAT16,
  float32: Float32Array,
  float64: Float64Array,
};

const BITS: { readonly [D in DType]: Over<BitsOf<D>> } = {
  bool: Uint8Array,
  int8: Uint8Array,
  int16: Uint16Array,
  int32: Uint32Array,
  int64: BigUint64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float16: Uint16Array,
  float32: Uint32Array,
  float64: BigUint64Array,
  bfloat16: Uint16Array,
  complex64: Float32Array,
  complex128: Float64Array,
  float8_e3m4: Uint8Array,
  float8_e4m3: Uint8Array,
  float8_e4m3b11fnuz: Uint8Array,
  float8_e4m3fn: Uint8Array,
  float8_e4m3fnuz: Uint8Array,
  float8_e5m2: Uint8Array,
  float8_e5m2fnuz: Uint8Array,
  float8_e8m0fnu: Uint8Array,
  float6_e2m3fn: Uint8Array,
  float6_e3m2fn: Uint8Array,
  float4_e2m1fn: Uint8Array,
  float6_e2m3fn_padded: Uint8Array,
  float6_e3m2fn_padded: Uint8Array,
  float4_e2m1fn_padded: Uint8Array,
};

/** Is there a typed array of this dtype in this runtime? */
export function hasData(dtype: DType): boolean {
  return DATA[dtype] !== undefined;
}

/**
 * A typed array over `buffer`, as `view()` and `data` give it; all of the buffer by default, `byteOffset` in bytes and
 * `length` in elements. Undefined for a dtype that has none in this runtime: see `noDataReason`.
 */
export function makeData<D extends DType>(
  dtype: D,
  buffer: ArrayBuffer,
  byteOffset?: number,
  length?: number,
): DataOf<D> | undefined {
  const Data = DATA[dtype];
  return Data === undefined ? undefined : new Data(buffer, byteOffset, length);
}

/**
 * The array of bare bits over `buffer`, all of it by default. `length` is in the array's own elements: two for a
 * complex number, bytes for packed types.
 */
export function makeBits<D extends DType>(
  dtype: D,
  buffer: ArrayBuffer,
  byteOffset?: number,
  length?: number,
): BitsOf<D> {
  return new BITS[dtype](buffer, byteOffset, length);
}

/**
 * Why `makeData` has nothing for a dtype, as an error's text. `bits` is the way out: `view({ bits: true })` or `bits`.
 */
export function noDataReason(dtype: DType, bits: string): string {
  if (dtype === 'float16')
    return `this runtime has no Float16Array to show float16; use ${bits} for its bits (Uint16Array)`;
  const shown = DTYPES[dtype].kind === 'complex' ? 'the interleaved real and imaginary parts' : 'its bits';
  return `JavaScript has no typed array of ${dtype}; use ${bits} for ${shown} (${BITS[dtype].name})`;
}
