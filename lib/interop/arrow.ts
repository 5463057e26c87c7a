/**
 * apache-arrow columns: vectors of integers and floats, and FixedSizeList vectors of them, whose list sizes are the
 * axes after the first. A tensor has no nulls, so a column must have none. Booleans are bits there and dates are
 * numbers with a unit: both are refused by name, since what they are would be lost.
 */
import { compactBytes, DTYPES } from '../dtype';
import { bufferError, show, type DLPackBufferError } from '../errors';
import { OwnedTensor } from '../owned-tensor';
import { formatShape, isArray, parseInteger, parseShape, sizeOf } from '../shape';
import { metadataOf } from '../tensor-base';
import { isTypedArray, makeBits, type AnyTypedArray } from '../typed-arrays';
import { fieldsOf, hasFields, requireLibrary, type Fields } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import { parseToOptions, requireTensor, withCompact, type AnySource, type Elements, type ToOptions } from './outgoing';
import { copyNeeded, foreignDType, noSuchDType, notA } from './words';

/** The dtypes that both sides have. */
export type ArrowDType =
  'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64' | 'float16' | 'float32' | 'float64';

/** Arrow's own names of its types. */
const CLASS_OF: Readonly<Record<ArrowDType, ArrowClass>> = {
  int8: 'Int8',
  int16: 'Int16',
  int32: 'Int32',
  int64: 'Int64',
  uint8: 'Uint8',
  uint16: 'Uint16',
  uint32: 'Uint32',
  uint64: 'Uint64',
  float16: 'Float16',
  float32: 'Float32',
  float64: 'Float64',
};
type ArrowClass =
  'Int8' | 'Int16' | 'Int32' | 'Int64' | 'Uint8' | 'Uint16' | 'Uint32' | 'Uint64' | 'Float16' | 'Float32' | 'Float64';

/** What of the library makes a column, besides the class of the numbers. */
const NEEDED = ['makeData', 'Vector', 'FixedSizeList', 'Field'];

/** Type ids of the Arrow format, as the library numbers them. */
const TYPE = { int: 2, float: 3, bool: 6, fixedSizeList: 16 } as const;
/** By Arrow's Precision. */
const FLOATS: readonly ArrowDType[] = ['float16', 'float32', 'float64'];

/** A column, as far as it is read here: `table.getChild(name)`, `vectorFromArray(...)`. */
export interface ArrowVector<T = unknown> {
  /** Its DataType. */
  readonly type: T;
  /** Its chunks. */
  readonly data: readonly unknown[];
  /** Its rows. */
  readonly length: number;
}

/** The dtype of a column by the static type of its `TArray`; any of them where that is not known. */
export type DTypeOfArrow<T> = T extends { readonly TArray: infer A }
  ? A extends { readonly [Symbol.toStringTag]: infer Tag }
    ? Tag extends keyof ArrowTags
      ? ArrowTags[Tag]
      : ArrowDType
    : ArrowDType
  : ArrowDType;
interface ArrowTags {
  Int8Array: 'int8';
  Int16Array: 'int16';
  Int32Array: 'int32';
  BigInt64Array: 'int64';
  Uint8Array: 'uint8';
  Uint16Array: 'uint16' | 'float16';
  Uint32Array: 'uint32';
  BigUint64Array: 'uint64';
  Float32Array: 'float32';
  Float64Array: 'float64';
}

/** The library, as `import * as arrow` gives it. */
export interface ArrowLibrary<V> {
  /** Makes a chunk. */
  readonly makeData: (props: never) => unknown;
  /** Its class of columns. */
  readonly Vector: new (data: never) => V;
  /** Its classes of nested types and their fields; those of numbers are looked up by name. */
  readonly FixedSizeList: unknown;
  /** As above. */
  readonly Field: unknown;
}

/**
 * A column of numbers as `[rows]`, a FixedSizeList column as `[rows, list size, …]`.
 *
 * ```ts
 * import { vectorFromArray, Float32 } from 'apache-arrow';
 *
 * const column = vectorFromArray([1, 2, 3], new Float32()); // or table.getChild('price')
 * console.log(fromArrow(column).dtype, fromArrow(column).toArray()); // -> float32 [ 1, 2, 3 ]
 * ```
 *
 * @returns one row-major copy by default, of all chunks together; with `copy: false` a tensor over the values of the
 *   one chunk
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for what is no vector; BufferError (`ERR_DLPACK_BUFFER`) for any other
 *   type of column, for nulls, and with `copy: false` for several chunks and in a worker
 */
export function fromArrow<T, C extends boolean | null | undefined = null>(
  vector: ArrowVector<T>,
  options?: FromOptions<C>,
): Incoming<DTypeOfArrow<T>, C> {
  const operation = 'fromArrow';
  const { copy } = parseFromOptions(options, operation);
  const expected = 'a Vector of apache-arrow: { type, data, length }';
  const fields = fieldsOf(vector, operation, expected);
  const { type, data } = fields;
  if (!hasFields(type) || !isArray(data)) throw notA(operation, vector, expected);
  const rows = parseInteger(fields['length'], 'length');
  const { dtype, extents } = columnType(type, operation);
  const shape = parseShape([rows, ...extents]);
  const parts: AnyTypedArray[] = [];
  // By index, so that a hole is refused; an array may have billions.
  for (let index = 0; index < data.length; index++) parts.push(valuesOf(data[index], extents, operation));
  const only = parts.length === 1 ? parts[0] : undefined;
  if (only !== undefined) return incoming({ data: only, dtype, shape }, copy, operation);
  if (copy === false) {
    throw copyNeeded(operation, `the column has ${parts.length} chunks, and a tensor is one piece of memory`);
  }
  const owned = joined(parts, dtype, shape, operation);
  // Which of the two classes it is follows from `copy`, which C says to the compiler.
  return (copy === true ? owned : owned.freeze()) as Incoming<DTypeOfArrow<T>, C>;
}

/**
 * A column over the tensor's own memory: of 1 axis a column of numbers, of more a FixedSizeList column, each without
 * nulls.
 *
 * ```ts
 * import * as arrow from 'apache-arrow';
 *
 * const embeddings = Tensor.from(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] }); // a FixedSizeList of 2 in each row
 * const column = toArrow(embeddings, arrow);
 * console.log(column.length, String(column.type)); // -> 2 FixedSizeList[2]<Float32>
 * ```
 *
 * @param arrow the library
 * @returns its Vector; row-major elements are not copied
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for a dtype that Arrow's columns do not have here (bool, which is bits
 *   there, bfloat16, complex, smaller floats), for a 0-d tensor, and with `copy: false` where a copy would be needed
 */
export function toArrow<V>(tensor: AnySource, arrow: ArrowLibrary<V>, options?: ToOptions): V {
  const operation = 'toArrow';
  const copy = parseToOptions(options, operation);
  const source = requireTensor(tensor, operation);
  const { dtype, shape } = metadataOf(source);
  const { name } = dtype;
  if (!isArrowDType(name)) throw noSuchDType(operation, 'an Arrow column', name);
  const [rows, ...lists] = shape;
  if (rows === undefined)
    throw bufferError(`${operation}: the tensor has no axis, and a column has rows; use reshape([1])`);
  const library = requireLibrary(arrow, [...NEEDED, CLASS_OF[name]], operation, 'apache-arrow');
  const kit = library as unknown as ArrowKit<V>;
  return withCompact(source, { operation, copy, bits: name === 'float16' }, (data) => {
    return new kit.Vector([chunkOf(kit, name, rows, lists, data)]);
  });
}

/** The parts of the library that are used, whose types are too intricate to be asked of the caller's. */
type ArrowKit<V> = {
  readonly makeData: (props: object) => object;
  readonly Vector: new (data: readonly object[]) => V;
  readonly FixedSizeList: new (size: number, child: object) => { readonly children: readonly object[] };
  readonly Field: new (name: string, type: object, nullable: boolean) => object;
} & { readonly [Name in ArrowClass]: new () => object };

function chunkOf<V>(
  kit: ArrowKit<V>,
  dtype: ArrowDType,
  rows: number,
  lists: readonly number[],
  data: Elements,
): object {
  let type: object = new kit[CLASS_OF[dtype]]();
  let length = rows * sizeOf(lists);
  let chunk = kit.makeData({ type, length, nullCount: 0, data });
  for (let axis = lists.length - 1; axis >= 0; axis--) {
    const size = lists[axis] ?? 1;
    length = rows * sizeOf(lists.slice(0, axis));
    type = new kit.FixedSizeList(size, new kit.Field('item', type, false));
    chunk = kit.makeData({ type, length, nullCount: 0, child: chunk });
  }
  return chunk;
}

/** The dtype of the numbers in a column, and the sizes of the lists around them. */
function columnType(type: Fields, operation: string): { dtype: ArrowDType; extents: number[] } {
  const extents: number[] = [];
  let inner = type;
  while (inner['typeId'] === TYPE.fixedSizeList) {
    extents.push(parseInteger(inner['listSize'], 'listSize'));
    inner = fieldsOf(childType(inner), operation, 'FixedSizeList columns whose children have a type');
  }
  const dtype = numberType(inner);
  if (dtype === undefined) throw notNumbers(inner, operation);
  return { dtype, extents };
}

function childType(list: Fields): unknown {
  const { children } = list;
  const field: unknown = isArray(children) ? children[0] : undefined;
  return hasFields(field) ? field['type'] : undefined;
}

function numberType({ typeId, bitWidth, isSigned, precision }: Fields): ArrowDType | undefined {
  const name =
    typeId === TYPE.int
      ? `${isSigned === true ? '' : 'u'}int${String(bitWidth)}`
      : typeId === TYPE.float && typeof precision === 'number'
        ? FLOATS[precision]
        : undefined;
  return isArrowDType(name) ? name : undefined;
}

function notNumbers(type: Fields, operation: string): DLPackBufferError {
  // Arrow's types say their names: `Utf8`, `Timestamp<SECOND>`. What is no type of Arrow's is not asked.
  const describe = typeof type['typeId'] === 'number' ? type['toString'] : undefined;
  const named: unknown = typeof describe === 'function' ? Reflect.apply(describe, type, []) : undefined;
  const hint =
    type['typeId'] === TYPE.bool
      ? 'its booleans are packed bits; Tensor.from(vector.toArray()) reads them one by one'
      : 'it can be integers, floats, and FixedSizeLists of these';
  return foreignDType(operation, 'type', named, hint);
}

function isArrowDType(name: unknown): name is ArrowDType {
  return typeof name === 'string' && Object.hasOwn(CLASS_OF, name);
}

/** The numbers of one chunk. Arrow's slices have sliced them already; what comes after the last row is padding. */
function valuesOf(chunk: unknown, extents: readonly number[], operation: string): AnyTypedArray {
  let data = fieldsOf(chunk, operation, 'a Vector whose chunks are of class Data');
  let length = rowsWithoutNulls(data, operation);
  for (const extent of extents) {
    const { children } = data;
    data = fieldsOf(isArray(children) ? children[0] : undefined, operation, 'lists whose chunks have a child');
    const inner = rowsWithoutNulls(data, operation);
    length *= extent;
    if (inner < length)
      throw bufferError(`${operation}: a list chunk needs ${length} elements of its child, which has ${inner}`);
  }
  const { values } = data;
  if (!isTypedArray(values)) throw foreignDType(operation, 'values', values, 'they must be a typed array');
  return values.subarray(0, length);
}

function rowsWithoutNulls(data: Fields, operation: string): number {
  const nulls = data['nullCount'];
  if (nulls !== 0) {
    throw bufferError(
      `${operation}: the column has ${show(nulls)} nulls, and a tensor has no place for them; drop or fill them first`,
    );
  }
  return parseInteger(data['length'], 'length');
}

/** All chunks in one owned piece of memory: one copy of each. */
function joined(
  parts: readonly AnyTypedArray[],
  dtype: ArrowDType,
  shape: readonly number[],
  operation: string,
): OwnedTensor<ArrowDType> {
  const bytes = parts.map((part) => part.byteLength).reduce((sum, length) => sum + length, 0);
  if (bytes !== compactBytes(DTYPES[dtype], sizeOf(shape))) {
    throw bufferError(
      `${operation}: the chunks have ${bytes} bytes; a column of shape ${formatShape(shape)} has ` +
        `${compactBytes(DTYPES[dtype], sizeOf(shape))}`,
    );
  }
  // From one repeated element, so that the tensor says that it was made by copy.
  const element = makeBits(dtype, new ArrayBuffer(DTYPES[dtype].itemsize));
  const owned = OwnedTensor.from(element, { shape, strides: shape.map(() => 0), dtype });
  owned.withView(
    (bits) => {
      const target = new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength);
      let position = 0;
      for (const part of parts) {
        target.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), position);
        position += part.byteLength;
      }
    },
    { bits: true },
  );
  return owned;
}
