/** scijs ndarray: strides and offset kept. */
import { describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, type DType } from '../../dist/index.js';
import { fromNdarray, toNdarray, type Ndarray } from '../../dist/interop/index.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectRangeError, expectTypeError } from '../support/refusals.js';
import { expectCopyOut, expectNoCopyIn, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { peer, versionOf } from './peers.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

interface Array2 extends Ndarray<ArrayBufferView> {
  readonly shape: number[];
  readonly stride: number[];
  readonly dtype: string;
  get(...index: number[]): number | bigint;
  set(...indexAndValue: (number | bigint)[]): unknown;
  transpose(...axes: number[]): Array2;
  step(...steps: number[]): Array2;
  lo(...start: number[]): Array2;
  hi(...end: number[]): Array2;
}

const ndarray = peer<(data: unknown, shape?: number[], stride?: number[], offset?: number) => Array2>('ndarray');
const ROW = { library: 'ndarray', version: versionOf('ndarray'), struct: 'typed array' } as const;

const SAMPLES: readonly (readonly [DType, string, Uint8Array | Float32Array | BigInt64Array])[] = [
  ['float32', 'float32', new Float32Array(12)],
  ['float64', 'float64', new Float64Array(12) as unknown as Float32Array],
  ['int8', 'int8', new Int8Array(12) as unknown as Uint8Array],
  ['int16', 'int16', new Int16Array(12) as unknown as Uint8Array],
  ['int32', 'int32', new Int32Array(12) as unknown as Uint8Array],
  ['int64', 'bigint64', new BigInt64Array(12)],
  ['uint8', 'uint8', new Uint8Array(12)],
  ['uint8', 'uint8_clamped', new Uint8ClampedArray(12) as unknown as Uint8Array],
  ['uint8', 'buffer', Buffer.alloc(12)],
  ['uint16', 'uint16', new Uint16Array(12) as unknown as Uint8Array],
  ['uint32', 'uint32', new Uint32Array(12) as unknown as Uint8Array],
  ['uint64', 'biguint64', new BigUint64Array(12) as unknown as BigInt64Array],
];
for (const [, , data] of SAMPLES) {
  for (let i = 0; i < 12; i++)
    data[i] = data instanceof BigInt64Array || data instanceof BigUint64Array ? BigInt(i) : i;
}

/** Every element of a matrix, by the library's own indexing. */
function rows(array: Array2): unknown[][] {
  const [height = 0, width = 0] = array.shape;
  return Array.from({ length: height }, (_, i) => Array.from({ length: width }, (__, j) => array.get(i, j)));
}

const LAYOUTS: readonly (readonly [string, (array: Array2) => Array2])[] = [
  ['row-major', (array) => array],
  ['transposed', (array) => array.transpose(1, 0)],
  ['every second column', (array) => array.step(1, 2)],
  ['reversed', (array) => array.step(-1, -1)],
  ['a part, reversed and transposed', (array) => array.lo(1, 1).hi(2, 2).step(-1, 1).transpose(1, 0)],
];

describe('an ndarray comes in', () => {
  test.each(SAMPLES)('%s (%s): by one copy', (dtype, name, data) => {
    const theirs = ndarray(data, [3, 4]);
    expect(theirs.dtype).toBe(name);
    using ours = expectOneCopyIn(() => fromNdarray(theirs) as Tensor, data);
    expect({ dtype: ours.dtype, shape: ours.shape, strides: ours.strides }).toEqual({
      dtype,
      shape: [3, 4],
      strides: [4, 1],
    });
    expect(ours.toArray()).toEqual(rows(theirs));
  });

  test.each(LAYOUTS)('%s: by one copy, which is row-major', (_, layout) => {
    const theirs = layout(
      ndarray(
        Float32Array.from({ length: 12 }, (__, i) => i),
        [3, 4],
      ),
    );
    using ours = expectOneCopyIn(() => fromNdarray(theirs) as Tensor, theirs.data);
    expect(ours.shape).toEqual(theirs.shape);
    expect(ours.toArray()).toEqual(rows(theirs));
    recordRow({ ...ROW, direction: 'in', copies: 1, writable: 'no', remarks: 'any layout; arrives row-major' });
  });

  test.each(LAYOUTS)('%s with copy: false: over its data, strides and offset kept', (_, layout) => {
    const theirs = layout(
      ndarray(
        Float32Array.from({ length: 12 }, (__, i) => i),
        [3, 4],
      ),
    );
    using ours = expectNoCopyIn(() => fromNdarray(theirs, { copy: false }) as Tensor, theirs.data, theirs.offset);
    expect({ shape: ours.shape, strides: ours.strides }).toEqual({ shape: theirs.shape, strides: theirs.stride });
    expect(ours.toArray()).toEqual(rows(theirs));
    theirs.set(1, 0, 77);
    expect(ours.at(1, 0)).toBe(77);
    using turned = ours.transpose();
    expect(turned.at(0, 1)).toBe(77);
    recordRow({
      ...ROW,
      direction: 'in',
      copies: 0,
      writable: 'no',
      remarks: 'copy: false; strides and offset kept, negative too',
    });
  });

  test('with copy: true it is ours alone', () => {
    const theirs = ndarray(Float32Array.from([1, 2, 3, 4]), [2, 2]);
    using ours = expectOneCopyIn(() => fromNdarray(theirs, { copy: true }) as OwnedTensor<'float32'>, theirs.data);
    ours.data[0] = 9;
    expect(theirs.get(0, 0)).toBe(1);
  });

  test('0-d and empty arrays', () => {
    using scalar = fromNdarray(ndarray(new Float32Array([7]), []));
    expect([scalar.shape, scalar.toArray()]).toEqual([[], 7]);
    for (const copy of [null, false] as const) {
      using empty = fromNdarray(ndarray(new Float32Array(0), [0, 3]), { copy });
      expect(empty.shape).toEqual([0, 3]);
    }
  });

  test('what cannot come in is an error by name, and leaves nothing', () => {
    unmoved(() => {
      expectBufferError(() => fromNdarray(ndarray([1, 2, 3])), /^fromNdarray: data is \[1, 2, 3\].*typed array/);
      expectBufferError(
        () => fromNdarray({ data: { get: () => 1 }, shape: [1], stride: [1], offset: 0 }),
        /^fromNdarray: data is an object/,
      );
      expectTypeError(() => fromNdarray({} as Ndarray), /^shape is undefined/);
      expectTypeError(() => fromNdarray(7 as unknown as Ndarray), /^fromNdarray was given 7; it takes an ndarray/);
      const data = new Float32Array(4);
      for (const copy of [null, false, true]) {
        expectRangeError(
          () => fromNdarray({ data, shape: [5], stride: [1], offset: 0 }, { copy }),
          /reach elements 0 to 4; data has 4/,
        );
        expectRangeError(
          () => fromNdarray({ data, shape: [2], stride: [-2], offset: 1 }, { copy }),
          /reach elements -1 to 1/,
        );
        expectRangeError(
          () => fromNdarray({ data, shape: [2], stride: [1, 1], offset: 0 }, { copy }),
          /^stride has 2 entries/,
        );
        expectRangeError(() => fromNdarray({ data, shape: [2], stride: [1], offset: 9 }, { copy }), /^offset is 9/);
        expectTypeError(
          () => fromNdarray({ data, shape: [2], stride: [1], offset: undefined as unknown as number }, { copy }),
          /^offset is undefined/,
        );
      }
    });
  });
});

describe('a tensor goes out as an ndarray', () => {
  test.each(SAMPLES)('%s (%s): over its own memory', (dtype, name, data) => {
    using ours: Tensor = Tensor.from(data, { shape: [3, 4] });
    const theirs = toNdarray(ours, ndarray);
    expect(theirs.dtype).toBe(dtype === 'uint8' ? 'uint8' : name);
    expectNoCopyOut(ours, theirs.data);
    expect(rows(theirs)).toEqual(ours.toArray());
    recordRow({
      ...ROW,
      direction: 'out',
      copies: 0,
      writable: 'no',
      remarks: 'any layout: strides and offset kept, negative too',
    });
  });

  test('of every layout: strides and offset kept', () => {
    using base = Tensor.from(
      Float32Array.from({ length: 24 }, (_, i) => i),
      { shape: [4, 6] },
    );
    const layouts = [
      base.transpose(),
      base.slice([null, null, -1], [null, null, 2]),
      base.slice([1, 3], [4, 1, -1]).transpose(),
      base.slice(1).broadcastTo([2, 6]),
      base.slice(1).expandDims(0).flip(1),
    ];
    for (const ours of layouts) {
      const theirs = toNdarray(ours, ndarray);
      expect({ shape: theirs.shape, stride: theirs.stride }).toEqual({ shape: ours.shape, stride: ours.strides });
      expectNoCopyOut(ours, theirs.data, theirs.offset);
      expect(rows(theirs)).toEqual(ours.toArray());
      ours.dispose();
    }
  });

  test('of an owner it can be written', () => {
    using ours = OwnedTensor.allocate([2, 2], 'float32');
    const theirs = toNdarray(ours, ndarray);
    theirs.set(1, 0, 5);
    expect(ours.at(1, 0)).toBe(5);
    expectNoCopyOut(ours, theirs.data);
    recordRow({ ...ROW, direction: 'out', copies: 0, writable: 'yes', remarks: 'of an OwnedTensor' });
  });

  test('and back again, with its strides', () => {
    using base = Tensor.from(
      Int32Array.from({ length: 6 }, (_, i) => i),
      { shape: [2, 3] },
    );
    using ours = base.transpose().flip(0);
    using back = fromNdarray(toNdarray(ours, ndarray)) as Tensor;
    expect({ dtype: back.dtype, values: back.toArray() }).toEqual({ dtype: 'int32', values: ours.toArray() });
  });

  test('with copy: true nothing can take its data away', () => {
    const base = Tensor.from(Float32Array.from([1, 2, 3, 4]), { shape: [2, 2] });
    const ours = base.transpose();
    const theirs = unmoved(() => toNdarray(ours, ndarray, { copy: true }));
    expectCopyOut(ours, theirs.data);
    ours.dispose();
    base.dispose();
    expect({ stride: theirs.stride, values: rows(theirs) }).toEqual({
      stride: [2, 1],
      values: [
        [1, 3],
        [2, 4],
      ],
    });
    recordRow({ ...ROW, direction: 'out', copies: 1, writable: 'yes', remarks: 'copy: true' });
  });

  test('a dtype that it does not have is refused by name', () => {
    const refused = [
      ...('Float16Array' in globalThis ? [] : (['float16'] as const)),
      'bool',
      'bfloat16',
      'complex64',
      'float8_e5m2',
      'float6_e2m3fn',
    ] as const;
    for (const dtype of refused) {
      using ours: OwnedTensor = OwnedTensor.allocate([2], dtype);
      unmoved(() =>
        expectBufferError(() => toNdarray(ours, ndarray as never), new RegExp(`^toNdarray: ndarray has no ${dtype}; `)),
      );
    }
  });

  test('bad arguments are named errors, and leave nothing', () => {
    using ours = Tensor.from(new Float32Array(2));
    unmoved(() => {
      expectTypeError(
        () => toNdarray(ndarray(new Float32Array(1)) as unknown as Tensor, ndarray),
        /^toNdarray was given an object/,
      );
      expectTypeError(
        () => toNdarray(ours, {} as typeof ndarray),
        /^toNdarray was given an object as the library; it takes ndarray as imported, a function/,
      );
      expectTypeError(() => toNdarray(ours, ndarray, 3 as unknown as object), /^toNdarray was given 3 as options/);
    });
  });
});
