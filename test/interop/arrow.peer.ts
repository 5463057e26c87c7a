/** apache-arrow: columns of numbers and FixedSizeLists. */
import { describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, type DType } from '../../dist/index.js';
import { fromArrow, toArrow, type ArrowVector } from '../../dist/interop/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectTypeError } from '../support/refusals.js';
import { expectCopyOut, expectNoCopyIn, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { peer, versionOf } from './peers.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

interface Data {
  readonly values: Uint8Array;
  readonly children: readonly Data[];
}
interface Vector extends ArrowVector {
  readonly data: readonly Data[];
  readonly nullCount: number;
  get(index: number): unknown;
  slice(start?: number, end?: number): Vector;
  concat(...others: Vector[]): Vector;
  toArray(): unknown;
}
type Class = new (...args: unknown[]) => object;
interface Arrow {
  vectorFromArray(values: unknown, type?: object): Vector;
  makeData(props: object): object;
  readonly Vector: new (data: readonly object[]) => Vector;
  readonly Table: new (columns: object) => { getChild(name: string): Vector };
  tableToIPC(table: object): Uint8Array;
  tableFromIPC(bytes: Uint8Array): { getChild(name: string): Vector };
  readonly FixedSizeList: Class;
  readonly Field: Class;
  readonly Float32: Class;
  readonly Bool: Class;
  readonly Utf8: Class;
  readonly TimestampSecond: Class;
}

const arrow = peer<Arrow & Record<string, Class>>('apache-arrow');
const kit = arrow as never;
const ROW = { library: 'apache-arrow', version: versionOf('apache-arrow'), struct: 'typed array' } as const;

const SAMPLES: readonly (readonly [DType, string, readonly (number | bigint)[]])[] = [
  ['float32', 'Float32', [1.5, -2, 3, 4, 5, 6]],
  ['float64', 'Float64', [1.5, -2, 3, 4, 5, 6]],
  ['float16', 'Float16', [1.5, -2, 3, 4, 5, 6]],
  ['int8', 'Int8', [1, -2, 3, 4, 5, 127]],
  ['int16', 'Int16', [1, -2, 3, 4, 5, 32767]],
  ['int32', 'Int32', [1, -2, 3, 4, 5, 6]],
  ['int64', 'Int64', [1n, -2n, 3n, 4n, 5n, 2n ** 63n - 1n]],
  ['uint8', 'Uint8', [1, 2, 3, 4, 5, 255]],
  ['uint16', 'Uint16', [1, 2, 3, 4, 5, 65535]],
  ['uint32', 'Uint32', [1, 2, 3, 4, 5, 2 ** 32 - 1]],
  ['uint64', 'Uint64', [1n, 2n, 3n, 4n, 5n, 2n ** 64n - 1n]],
];

function column(type: string, values: readonly unknown[]): Vector {
  const Type = arrow[type];
  if (Type === undefined) throw new Error(`arrow has no ${type}`);
  return arrow.vectorFromArray(values, new Type());
}

/** Lists of `size` float32 around a child of values. */
function lists(values: Float32Array, size: number): Vector {
  const inner = new arrow.Float32();
  const child = arrow.makeData({ type: inner, length: values.length, nullCount: 0, data: values });
  const type = new arrow.FixedSizeList(size, new arrow.Field('item', inner, false));
  return new arrow.Vector([arrow.makeData({ type, length: values.length / size, nullCount: 0, child })]);
}

function valuesOf(vector: Vector): Uint8Array {
  let [data] = vector.data;
  while (data !== undefined && data.children.length > 0) [data] = data.children;
  if (data === undefined) throw new Error('no data');
  return data.values;
}

/** What a column's rows are, by the library's own reading. */
function rows(vector: Vector): unknown[] {
  return Array.from({ length: vector.length }, (_, i) => {
    const row = vector.get(i);
    return typeof row === 'object' && row !== null ? [...(row as Iterable<unknown>)] : row;
  });
}

describe('a column comes in', () => {
  test.each(SAMPLES)('%s: by one copy, with its dtype and values', (dtype, type, values) => {
    const theirs = column(type, values);
    using ours = expectOneCopyIn(() => fromArrow(theirs) as Tensor, valuesOf(theirs));
    expect({ dtype: ours.dtype, shape: ours.shape, values: ours.toArray() }).toEqual({ dtype, shape: [6], values });
    recordRow({
      ...ROW,
      direction: 'in',
      copies: 1,
      writable: 'no',
      remarks: 'numbers and FixedSizeLists without nulls; several chunks become one',
    });
  });

  test.each(SAMPLES)('%s with copy: false: over its values', (dtype, type, values) => {
    const theirs = column(type, values);
    using ours = expectNoCopyIn(() => fromArrow(theirs, { copy: false }) as Tensor, valuesOf(theirs));
    expect({ dtype: ours.dtype, values: ours.toArray() }).toEqual({ dtype, values });
    recordRow({ ...ROW, direction: 'in', copies: 0, writable: 'no', remarks: 'copy: false, of one chunk' });
  });

  test('of lists: an axis more for each list', () => {
    const theirs = lists(new Float32Array([1, 2, 3, 4, 5, 6]), 3);
    using ours = fromArrow(theirs) as Tensor;
    expect({ shape: ours.shape, values: ours.toArray() }).toEqual({ shape: [2, 3], values: rows(theirs) });
    using shared = expectNoCopyIn(() => fromArrow(theirs, { copy: false }) as Tensor, valuesOf(theirs));
    expect(shared.toArray()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    using deep = Tensor.from(
      Int16Array.from({ length: 24 }, (_, i) => i),
      { shape: [2, 3, 4] },
    );
    using back = fromArrow(toArrow<Vector>(deep, kit)) as Tensor;
    expect({ shape: back.shape, values: back.toArray() }).toEqual({ shape: [2, 3, 4], values: deep.toArray() });
  });

  test('a slice, and what was written and read again with padding: only the rows themselves', () => {
    const sliced = column('Int32', [1, 2, 3, 4, 5]).slice(1, 4);
    using part = expectOneCopyIn(() => fromArrow(sliced) as Tensor, valuesOf(sliced));
    expect(part.toArray()).toEqual([2, 3, 4]);
    const slicedLists = lists(new Float32Array([1, 2, 3, 4, 5, 6]), 2).slice(1, 3);
    using partOfLists = fromArrow(slicedLists, { copy: false }) as Tensor;
    expect({ values: partOfLists.toArray(), read: rows(slicedLists) }).toEqual({
      values: [
        [3, 4],
        [5, 6],
      ],
      read: [
        [3, 4],
        [5, 6],
      ],
    });
    const table = new arrow.Table({
      x: column('Float32', [1, 2, 3]),
      y: lists(new Float32Array([1, 2, 3, 4, 5, 6]), 2),
    });
    const read = arrow.tableFromIPC(arrow.tableToIPC(table));
    for (const copy of [null, false] as const) {
      using x = fromArrow(read.getChild('x'), { copy }) as Tensor;
      using y = fromArrow(read.getChild('y'), { copy }) as Tensor;
      expect([x.toArray(), y.toArray()]).toEqual([
        [1, 2, 3],
        [
          [1, 2],
          [3, 4],
          [5, 6],
        ],
      ]);
    }
  });

  test('of several chunks: joined into one by a copy, or an error with copy: false', () => {
    for (const [, type, values] of SAMPLES) {
      const theirs = column(type, values.slice(0, 2)).concat(column(type, values.slice(2)));
      expect(theirs.data.length).toBe(2);
      using ours = fromArrow(theirs) as Tensor;
      expect({ zeroCopy: ours.zeroCopy, readOnly: ours.readOnly, values: ours.toArray() }).toEqual({
        zeroCopy: false,
        readOnly: true,
        values,
      });
      using owned = fromArrow(theirs, { copy: true });
      expect(owned).toBeInstanceOf(OwnedTensor);
      expect(owned.at(5)).toEqual(values[5]);
      unmoved(() =>
        expectBufferError(
          () => fromArrow(theirs, { copy: false }),
          /^fromArrow: copy: false cannot be kept: the column has 2 chunks/,
        ),
      );
    }
    const pairs = lists(new Float32Array([1, 2, 3, 4]), 2).concat(lists(new Float32Array([5, 6]), 2));
    using ours = fromArrow(pairs) as Tensor;
    expect(ours.toArray()).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
  });

  test('empty columns', () => {
    using none = fromArrow(column('Float32', [])) as Tensor;
    expect([none.shape, none.dtype]).toEqual([[0], 'float32']);
    using noLists = fromArrow(lists(new Float32Array(0), 3)) as Tensor;
    expect(noLists.shape).toEqual([0, 3]);
  });

  test('what cannot come in is an error by name, and leaves nothing', () => {
    const nulls = column('Float32', [1, null, 3]);
    const bools = column('Bool', [true, false]);
    const texts = column('Utf8', ['a', 'b']);
    const times = arrow.vectorFromArray([new Date(0)], new arrow.TimestampSecond());
    const words = arrow.vectorFromArray(['a', 'b', 'a']);
    const inner = new arrow.Float32();
    const short = new arrow.Vector([
      arrow.makeData({
        type: new arrow.FixedSizeList(3, new arrow.Field('item', inner, false)),
        length: 2,
        nullCount: 0,
        child: arrow.makeData({ type: inner, length: 4, nullCount: 0, data: new Float32Array(4) }),
      }),
    ]);
    unmoved(() => {
      for (const copy of [null, true, false]) {
        expectBufferError(
          () => fromArrow(nulls, { copy }),
          /^fromArrow: the column has 1 nulls, and a tensor has no place for them/,
        );
        expectBufferError(() => fromArrow(bools, { copy }), /^fromArrow: type is 'Bool'.*packed bits/);
        expectBufferError(() => fromArrow(texts, { copy }), /^fromArrow: type is 'Utf8'.*integers, floats/);
        expectBufferError(() => fromArrow(times, { copy }), /^fromArrow: type is 'Timestamp<SECOND>'/);
        expectBufferError(() => fromArrow(words, { copy }), /^fromArrow: type is 'Dictionary/);
        expectBufferError(
          () => fromArrow(short, { copy }),
          /^fromArrow: a list chunk needs 6 elements of its child, which has 4/,
        );
      }
      expectTypeError(
        () => fromArrow({} as Vector),
        /^fromArrow was given an object; it takes a Vector of apache-arrow/,
      );
      expectTypeError(() => fromArrow([1, 2] as unknown as Vector), /^fromArrow was given \[1, 2\]/);
    });
  });
});

describe('a tensor goes out as a column', () => {
  test.each(SAMPLES)('%s: over its own memory', (_, type, values) => {
    using ours = fromArrow(column(type, values)) as Tensor;
    const theirs = toArrow<Vector>(ours, kit);
    expect(String(theirs.type)).toBe(type);
    expect(theirs.nullCount).toBe(0);
    expectNoCopyOut(ours, valuesOf(theirs));
    expect(rows(theirs)).toEqual(values);
    recordRow({
      ...ROW,
      direction: 'out',
      copies: 0,
      writable: 'no',
      remarks: 'row-major; more than one axis as FixedSizeLists',
    });
  });

  test('of three axes: lists of lists, which survive a file', () => {
    using ours = Tensor.from(
      Float32Array.from({ length: 24 }, (_, i) => i),
      { shape: [2, 3, 4] },
    );
    const theirs = toArrow<Vector>(ours, kit);
    expect(String(theirs.type)).toBe('FixedSizeList[3]<FixedSizeList[4]<Float32>>');
    expect(theirs.length).toBe(2);
    expectNoCopyOut(ours, valuesOf(theirs));
    const read = arrow.tableFromIPC(arrow.tableToIPC(new arrow.Table({ x: theirs }))).getChild('x');
    using back = fromArrow(read) as Tensor;
    expect({ shape: back.shape, values: back.toArray() }).toEqual({ shape: [2, 3, 4], values: ours.toArray() });
  });

  test('of another layout by a copy, or an error with copy: false', () => {
    using base = Tensor.from(Float32Array.from([1, 2, 3, 4]), { shape: [2, 2] });
    using ours = base.transpose();
    const theirs = unmoved(() => toArrow<Vector>(ours, kit));
    expectCopyOut(base, valuesOf(theirs));
    expect(rows(theirs)).toEqual([
      [1, 3],
      [2, 4],
    ]);
    unmoved(() => expectBufferError(() => toArrow(ours, kit, { copy: false }), /^toArrow needs a contiguous tensor/));
    recordRow({ ...ROW, direction: 'out', copies: 1, writable: 'yes', remarks: 'other layouts; copy: true' });
  });

  test('of an owner it can be written', () => {
    using ours = OwnedTensor.allocate([2], 'float32');
    const theirs = toArrow<Vector & { set(index: number, value: number): void }>(ours, kit);
    theirs.set(1, 5);
    expect([ours.at(1), dataAddress(ours)]).toEqual([5, dataAddress(ours)]);
    expectNoCopyOut(ours, valuesOf(theirs));
    recordRow({ ...ROW, direction: 'out', copies: 0, writable: 'yes', remarks: 'of an OwnedTensor' });
  });

  test('empty tensors', () => {
    using none = Tensor.from(new Float32Array(0), { shape: [0, 3] });
    const theirs = toArrow<Vector>(none, kit);
    expect([theirs.length, String(theirs.type)]).toEqual([0, 'FixedSizeList[3]<Float32>']);
    using hollow = Tensor.from(new Float32Array(0), { shape: [2, 0] });
    using back = fromArrow(toArrow<Vector>(hollow, kit));
    expect(back.shape).toEqual([2, 0]);
  });

  test('a dtype or shape that it does not have is refused by name, and bad arguments too', () => {
    for (const dtype of ['bool', 'bfloat16', 'complex64', 'float8_e4m3fn', 'float6_e3m2fn'] as const) {
      using ours: OwnedTensor = OwnedTensor.allocate([2], dtype);
      unmoved(() =>
        expectBufferError(() => toArrow(ours, kit), new RegExp(`^toArrow: an Arrow column has no ${dtype}; `)),
      );
    }
    using scalar = Tensor.from(new Float32Array(1), { shape: [] });
    using numbers = Tensor.from(new Float32Array(1));
    unmoved(() => {
      expectBufferError(
        () => toArrow(scalar, kit),
        /^toArrow: the tensor has no axis, and a column has rows; use reshape/,
      );
      expectTypeError(() => toArrow({} as Tensor, kit), /^toArrow was given an object/);
      expectTypeError(
        () => toArrow(numbers, {} as never),
        /^toArrow was given an object as the library; it takes apache-arrow/,
      );
    });
  });
});
