/**
 * Arrays of arrays of numbers, bigints or booleans, read into flat memory.
 *
 * The first element of each level gives the shape, and everything else must agree with it, so that a cycle or a stray
 * array is an error with a path (`data[1][0]`) and never an endless walk. Numbers are not squeezed into an integer
 * dtype that does not hold them: that is conversion, and `to()` does it in the open.
 */
import { types } from 'node:util';
import { DTYPES, type DType, type DTypeInfo } from './dtype';
import { memoryError, rangeError, show, typeError } from './errors';
import { formatShape, isArray, MAX_NDIM, parseShape, sizeOf } from './shape';

type Element = number | bigint | boolean;

/** Numbers, bigints or booleans (one kind throughout) in arrays of arrays of equal lengths. */
export type NestedData = readonly (Element | NestedData)[];

/** Nested arrays as flat row-major memory. */
export interface NestedSource {
  readonly source: ArrayBufferView;
  /** What `source` holds. */
  readonly dtype: DTypeInfo;
  /** The dtype asked for, where JavaScript cannot write it itself; native converts. */
  readonly convertTo: DTypeInfo | undefined;
  readonly shape: readonly number[];
}

/**
 * Numbers become float64, bigints int64, booleans bool, unless `asked` names the dtype to make. A complex dtype takes a
 * last axis of `[re, im]` pairs, as `toArray()` gives them.
 * @param asked the dtype to make
 * @param shape the shape to give the elements instead of their own; it must have as many
 * @throws TypeError for ragged or mixed arrays, holes, and empty arrays without a dtype; RangeError for numbers that an
 *   integer dtype does not hold, more than 64 levels, or a shape of another size
 */
export function parseNested(data: readonly unknown[], asked: DTypeInfo | undefined, shape: unknown): NestedSource {
  const { extents, first } = survey(data);
  const dtype = asked ?? defaultDType(first);
  const own = dtype.kind === 'complex' ? dropPairs(extents, dtype) : extents;
  const given = shape === undefined ? own : parseShape(shape);
  if (sizeOf(given) !== sizeOf(own)) {
    throw rangeError(
      `shape ${formatShape(given)} has ${sizeOf(given)} elements; data has ${sizeOf(own)} (shape ${formatShape(own)})`,
    );
  }
  const sink = makeSink(dtype, sizeOf(extents));
  new Reader(extents, sink, typeof first).read(data, 0);
  return { source: sink.array, dtype: sink.dtype, convertTo: sink.dtype === dtype ? undefined : dtype, shape: given };
}

/** The extents along the first elements, and the first element that is no array (undefined when there is none). */
function survey(data: readonly unknown[]): { extents: number[]; first: unknown } {
  const extents: number[] = [];
  let level: unknown = data;
  while (isArray(level)) {
    if (extents.length === MAX_NDIM) {
      throw rangeError(
        `data has more than ${MAX_NDIM} levels of arrays (or contains itself); a tensor has at most ${MAX_NDIM} axes`,
      );
    }
    extents.push(level.length);
    if (level.length === 0) return { extents: checkSize(extents), first: undefined };
    level = level[0];
  }
  if (!isElement(level)) {
    throw typeError(
      `data${'[0]'.repeat(extents.length)} is ${show(level)}; elements must be numbers, bigints or booleans`,
    );
  }
  return { extents: checkSize(extents), first: level };
}

function checkSize(extents: number[]): number[] {
  if (!Number.isSafeInteger(sizeOf(extents)))
    throw rangeError(`data has shape ${formatShape(extents)}, more elements than 2^53 - 1`);
  return extents;
}

function isElement(value: unknown): value is Element {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
}

function defaultDType(first: unknown): DTypeInfo {
  if (typeof first === 'number') return DTYPES.float64;
  if (typeof first === 'bigint') return DTYPES.int64;
  if (typeof first === 'boolean') return DTYPES.bool;
  throw typeError("data is empty, so its elements do not tell the dtype; give one: { dtype: 'float64' }");
}

function dropPairs(extents: readonly number[], dtype: DTypeInfo): number[] {
  if (extents.at(-1) !== 2) {
    throw typeError(`data has shape ${formatShape(extents)}; for ${dtype.name} the last axis must hold [re, im] pairs`);
  }
  return extents.slice(0, -1);
}

/** Walks all arrays and puts every element; an error names its path. */
class Reader {
  readonly #path: number[] = [];
  #position = 0;

  constructor(
    private readonly extents: readonly number[],
    private readonly sink: Sink,
    private readonly kind: string,
  ) {}

  read(level: readonly unknown[], axis: number): void {
    const extent = this.extents[axis];
    if (level.length !== extent) {
      throw typeError(
        `${this.#where(axis)} has length ${level.length}; the first array of that depth has ${extent}. All ` +
          'must be equally long',
      );
    }
    const leaves = axis === this.extents.length - 1;
    for (let index = 0; index < extent; index++) {
      this.#path[axis] = index;
      const entry = level[index];
      if (leaves) this.#put(entry, axis, Object.hasOwn(level, index));
      else if (isArray(entry)) this.read(entry, axis + 1);
      else
        throw typeError(
          `${this.#where(axis + 1)} is ${show(entry)}; the first entry of that depth is an array, so all must ` +
            'be arrays',
        );
    }
  }

  #put(entry: unknown, axis: number, present: boolean): void {
    if (typeof entry !== this.kind || !isElement(entry)) throw this.#stranger(entry, axis, present);
    const complaint = this.sink.put(this.#position++, entry);
    if (complaint !== undefined) throw rangeError(`${this.#where(axis + 1)} is ${show(entry)}; ${complaint}`);
  }

  #stranger(entry: unknown, axis: number, present: boolean): Error {
    const where = this.#where(axis + 1);
    if (!present) return typeError(`${where} is a hole in its array; every element must be there`);
    if (isArray(entry))
      return typeError(`${where} is an array; the first entry of that depth is a ${this.kind}, so all must be`);
    if (isElement(entry))
      return typeError(
        `${where} is ${show(entry)}, a ${typeof entry}; the first element is a ${this.kind}, and all must be ` +
          'of one kind',
      );
    return typeError(`${where} is ${show(entry)}; elements must be numbers, bigints or booleans`);
  }

  #where(depth: number): string {
    return `data${this.#path
      .slice(0, depth)
      .map((index) => `[${index}]`)
      .join('')}`;
  }
}

/** Typed memory of a dtype that takes one element after the other. */
interface Sink {
  readonly array: ArrayBufferView;
  readonly dtype: DTypeInfo;
  /** @returns what is wrong with the value, if it does not fit */
  put(position: number, value: Element): string | undefined;
}

/** Memory that JavaScript can write: of the dtype itself, or of float64 where only native can narrow to it. */
function makeSink(dtype: DTypeInfo, length: number): Sink {
  try {
    return (SINKS[dtype.name] ?? wideSink)(length);
  } catch (cause) {
    if (types.isNativeError(cause) && cause.name === 'RangeError') {
      throw memoryError(`no memory for ${length} elements of ${dtype.name}; give them in parts`);
    }
    throw cause;
  }
}

const SINKS: { readonly [D in DType]?: (length: number) => Sink } = {
  bool: (length) => boolSink(new Uint8Array(length)),
  int8: (length) => integerSink(DTYPES.int8, new Int8Array(length)),
  int16: (length) => integerSink(DTYPES.int16, new Int16Array(length)),
  int32: (length) => integerSink(DTYPES.int32, new Int32Array(length)),
  int64: (length) => bigintSink(DTYPES.int64, new BigInt64Array(length)),
  uint8: (length) => integerSink(DTYPES.uint8, new Uint8Array(length)),
  uint16: (length) => integerSink(DTYPES.uint16, new Uint16Array(length)),
  uint32: (length) => integerSink(DTYPES.uint32, new Uint32Array(length)),
  uint64: (length) => bigintSink(DTYPES.uint64, new BigUint64Array(length)),
  float32: (length) => floatSink(DTYPES.float32, new Float32Array(length)),
  complex64: (length) => floatSink(DTYPES.complex64, new Float32Array(length)),
  complex128: (length) => floatSink(DTYPES.complex128, new Float64Array(length)),
};

function wideSink(length: number): Sink {
  return floatSink(DTYPES.float64, new Float64Array(length));
}

function floatSink(dtype: DTypeInfo, array: Float32Array | Float64Array): Sink {
  return {
    array,
    dtype,
    put(position, value) {
      array[position] = Number(value);
      return undefined;
    },
  };
}

function boolSink(array: Uint8Array): Sink {
  return {
    array,
    dtype: DTYPES.bool,
    put(position, value) {
      array[position] = value ? 1 : Number.isNaN(value) ? 1 : 0; // not zero is true, and NaN is not zero
      return undefined;
    },
  };
}

function integerSink(
  dtype: DTypeInfo,
  array: Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array,
): Sink {
  const [lowest, highest] = [Number(integerRange(dtype)[0]), Number(integerRange(dtype)[1])];
  return {
    array,
    dtype,
    put(position, value) {
      const number = Number(value);
      if (!Number.isInteger(number) || number < lowest || number > highest) return outside(dtype);
      array[position] = number;
      return undefined;
    },
  };
}

function bigintSink(dtype: DTypeInfo, array: BigInt64Array | BigUint64Array): Sink {
  const [lowest, highest] = integerRange(dtype);
  return {
    array,
    dtype,
    put(position, value) {
      if (typeof value === 'number' && !Number.isSafeInteger(value)) {
        return `${dtype.name} takes bigints, and numbers only where they are safe integers`;
      }
      const integer = BigInt(value);
      if (integer < lowest || integer > highest) return outside(dtype);
      array[position] = integer;
      return undefined;
    },
  };
}

function integerRange({ kind, bits }: DTypeInfo): [lowest: bigint, highest: bigint] {
  return kind === 'int' ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n] : [0n, 2n ** BigInt(bits) - 1n];
}

function outside(dtype: DTypeInfo): string {
  const [lowest, highest] = integerRange(dtype);
  return (
    `${dtype.name} holds integers from ${lowest} to ${highest}. To round and saturate, make it float64 ` +
    `and use to('${dtype.name}')`
  );
}
