/** @stdlib/ndarray: dtypes, orders, strides, and its own array classes. */
import { describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, type DType } from '../../dist/index.js';
import { fromStdlib, toStdlib, type StdlibNdarray } from '../../dist/interop/index.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectRangeError, expectTypeError } from '../support/refusals.js';
import { addressOf, expectNoCopyIn, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { peer, versionOf } from './peers.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

interface Std extends StdlibNdarray {
  readonly dtype: string;
  readonly shape: number[];
  readonly strides: number[];
  readonly data: { readonly buffer: ArrayBuffer; readonly byteOffset: number; readonly byteLength: number };
  get(...index: number[]): unknown;
  set(...indexAndValue: unknown[]): unknown;
}
interface StdClass {
  new (dtype: string, data: unknown, shape: number[], strides: number[], offset: number, order: string): Std;
}
interface Stdlib {
  readonly ndarray: StdClass;
  readonly base: { bufferCtors(dtype: string): new (source: unknown) => Std['data'] };
  array(data: unknown, options: object): Std;
  slice(array: Std, ...rest: unknown[]): Std;
  empty(shape: number[], options: object): Std;
}

const stdlib = peer<Stdlib>('@stdlib/ndarray');
const ROW = { library: '@stdlib/ndarray', version: versionOf('@stdlib/ndarray'), struct: 'typed array' } as const;

/** dtype, and six values as the dtype's stdlib class takes them. */
const SAMPLES: readonly (readonly [DType, readonly unknown[]])[] = [
  ['float32', [1.5, -2, 3, 4, 5, 6]],
  ['float64', [1.5, -2, 3, 4, 5, 6]],
  ...('Float16Array' in globalThis ? ([['float16', [1.5, -2, 3, 4, 5, 6]]] as const) : []),
  ['int8', [1, -2, 3, 4, 5, 127]],
  ['int16', [1, -2, 3, 4, 5, 32767]],
  ['int32', [1, -2, 3, 4, 5, 6]],
  ['uint8', [1, 2, 3, 4, 5, 255]],
  ['uint16', [1, 2, 3, 4, 5, 65535]],
  ['uint32', [1, 2, 3, 4, 5, 2 ** 32 - 1]],
  ['bool', [true, false, true, true, false, false]],
  ['complex64', [1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60]],
  ['complex128', [1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60]],
];

function make(dtype: DType, values: readonly unknown[], strides = [3, 1], offset = 0, order = 'row-major'): Std {
  const Class = dtype === 'float16' ? float16Array() : stdlib.base.bufferCtors(dtype);
  return new stdlib.ndarray(dtype, new Class([...values]), [2, 3], strides, offset, order);
}

/** Stdlib takes the runtime's own, and makes none by itself yet. */
function float16Array(): new (source: unknown) => Std['data'] {
  return Reflect.get(globalThis, 'Float16Array') as ReturnType<typeof float16Array>;
}

/** What an element is here. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return [Reflect.get(value, 're'), Reflect.get(value, 'im')];
}

function rows(array: Std): unknown[][] {
  const [height = 0, width = 0] = array.shape;
  return Array.from({ length: height }, (_, i) => Array.from({ length: width }, (__, j) => plain(array.get(i, j))));
}

/** The bytes of an array of whichever class. */
function bytesOf(array: Std): Uint8Array {
  return new Uint8Array(array.data.buffer, array.data.byteOffset, array.data.byteLength);
}

/** A good ndarray, to be spoilt. */
function blank(): StdlibNdarray {
  return { dtype: 'float32', data: new Float32Array(2), shape: [2], strides: [1], offset: 0, order: 'row-major' };
}

describe('a stdlib ndarray comes in', () => {
  test.each(SAMPLES)('%s: by one copy, with its dtype and values', (dtype, values) => {
    const theirs = make(dtype, values);
    using ours = expectOneCopyIn(() => fromStdlib(theirs) as Tensor, bytesOf(theirs));
    expect({ dtype: ours.dtype, shape: ours.shape, strides: ours.strides }).toEqual({
      dtype,
      shape: [2, 3],
      strides: [3, 1],
    });
    expect(ours.toArray()).toEqual(rows(theirs));
    recordRow({
      ...ROW,
      direction: 'in',
      copies: 1,
      writable: 'no',
      remarks: 'any layout and order; bool and complex too; arrives row-major',
    });
  });

  test.each(SAMPLES)('%s with copy: false: over its buffer', (dtype, values) => {
    const theirs = make(dtype, values);
    using ours = expectNoCopyIn(() => fromStdlib(theirs, { copy: false }) as Tensor, bytesOf(theirs));
    expect({ dtype: ours.dtype, values: ours.toArray() }).toEqual({ dtype, values: rows(theirs) });
    theirs.set(1, 1, theirs.get(0, 0));
    expect(ours.at(1, 1)).toEqual(ours.at(0, 0));
  });

  test.each([
    ['column-major', [1, 2], 0, 'column-major'],
    ['reversed', [-3, -1], 5, 'row-major'],
    ['reversed columns, column-major', [1, -2], 4, 'column-major'],
  ] as const)('%s: strides and offset kept with copy: false, in order with a copy', (_, strides, offset, order) => {
    for (const dtype of ['float32', 'complex64'] as const) {
      const theirs = make(dtype, SAMPLES.find(([name]) => name === dtype)?.[1] ?? [], [...strides], offset, order);
      using shared = expectNoCopyIn(() => fromStdlib(theirs, { copy: false }) as Tensor, bytesOf(theirs), offset);
      expect({ shape: shared.shape, strides: shared.strides }).toEqual({ shape: [2, 3], strides });
      using ours = expectOneCopyIn(() => fromStdlib(theirs) as Tensor, bytesOf(theirs));
      expect([shared.toArray(), ours.toArray()]).toEqual([rows(theirs), rows(theirs)]);
    }
    recordRow({
      ...ROW,
      direction: 'in',
      copies: 0,
      writable: 'no',
      remarks: 'copy: false; strides and offset kept, negative too',
    });
  });

  test('what its own functions make: arrays, clamped bytes, 0-d and empty ones', () => {
    using made = fromStdlib(
      stdlib.array(new Float64Array([1, 3, 2, 4]), { shape: [2, 2], order: 'column-major' }),
    ) as Tensor;
    expect({ dtype: made.dtype, values: made.toArray() }).toEqual({
      dtype: 'float64',
      values: [
        [1, 2],
        [3, 4],
      ],
    });
    using clamped = fromStdlib(stdlib.array(new Uint8ClampedArray([1, 300]), {})) as Tensor;
    expect({ dtype: clamped.dtype, values: clamped.toArray() }).toEqual({ dtype: 'uint8', values: [1, 255] });
    using scalar = fromStdlib(stdlib.empty([], { dtype: 'complex128' }));
    expect([scalar.dtype, scalar.shape]).toEqual(['complex128', []]);
    for (const copy of [null, false] as const) {
      using empty = fromStdlib(stdlib.empty([0, 4], { dtype: 'float64' }), { copy });
      expect(empty.shape).toEqual([0, 4]);
    }
  });

  test('what cannot come in is an error by name, and leaves nothing', () => {
    const generic = stdlib.array([1, 2, 3], { dtype: 'generic' });
    unmoved(() => {
      expectBufferError(() => fromStdlib(generic), /^fromStdlib: dtype is 'generic'/);
      expectBufferError(() => fromStdlib({ ...blank(), dtype: 'complex32' }), /^fromStdlib: dtype is 'complex32'/);
      expectBufferError(() => fromStdlib({ ...blank(), dtype: {} }), /^fromStdlib: dtype is an object/);
      expectTypeError(
        () => fromStdlib({} as StdlibNdarray),
        /^fromStdlib was given an object; it takes an ndarray of @stdlib/,
      );
      expectTypeError(() => fromStdlib({ ...blank(), data: [1, 2] }), /^data is undefined/);
      expectRangeError(() => fromStdlib({ ...blank(), strides: [2] }), /reach elements 0 to 2; data has 2/);
      expectRangeError(
        () => fromStdlib({ ...blank(), strides: [2] }, { copy: false }),
        /reach elements 0 to 2; data has 2/,
      );
      expectRangeError(() => fromStdlib({ ...blank(), offset: -1 }), /^offset is -1/);
    });
  });
});

describe('a tensor goes out as a stdlib ndarray', () => {
  test.each(SAMPLES)('%s: over its own memory', (dtype, values) => {
    using ours = fromStdlib(make(dtype, values)) as Tensor;
    const theirs = toStdlib<Std>(ours, stdlib);
    expect({ dtype: theirs.dtype, shape: theirs.shape, strides: theirs.strides, order: theirs.order }).toEqual({
      dtype,
      shape: [2, 3],
      strides: [3, 1],
      order: 'row-major',
    });
    expectNoCopyOut(ours, bytesOf(theirs));
    expect(rows(theirs)).toEqual(ours.toArray());
    // Read-only, which stdlib enforces itself.
    expect(() => theirs.set(0, 0, theirs.get(1, 1))).toThrow(/read-only/);
    recordRow({
      ...ROW,
      direction: 'out',
      copies: 0,
      writable: 'no',
      remarks: 'any layout: strides and offset kept, negative too; set() throws',
    });
  });

  test('of every layout: strides, offset and order', () => {
    using base = Tensor.from(
      Float32Array.from({ length: 24 }, (_, i) => i),
      { shape: [4, 6] },
    );
    const layouts = [
      [base.transpose(), 'column-major'],
      [base.slice([null, null, -1], [null, null, 2]), 'row-major'],
      [base.slice([1, 3], [4, 1, -1]).transpose(), 'column-major'],
    ] as const;
    for (const [ours, order] of layouts) {
      const theirs = toStdlib<Std & { readonly offset: number }>(ours, stdlib);
      expect({ shape: theirs.shape, strides: theirs.strides, order: theirs.order }).toEqual({
        shape: ours.shape,
        strides: ours.strides,
        order,
      });
      expectNoCopyOut(ours, bytesOf(theirs), theirs.offset);
      expect(rows(theirs)).toEqual(ours.toArray());
      ours.dispose();
    }
  });

  test('complex, of every layout: strides are of complex elements', () => {
    using base = Tensor.from(
      Float64Array.from({ length: 24 }, (_, i) => i),
      { shape: [3, 4], dtype: 'complex128' },
    );
    using ours = base.slice([null, null, -1], [3, 0, -2]);
    const theirs = toStdlib<Std & { readonly offset: number }>(ours, stdlib);
    expect({ strides: theirs.strides, offset: theirs.offset }).toEqual({ strides: [-4, -2], offset: 10 });
    expectNoCopyOut(ours, bytesOf(theirs), 10);
    expect(rows(theirs)).toEqual(ours.toArray());
  });

  test('of an owner it can be written, and a copy too', () => {
    using ours = OwnedTensor.allocate([2, 3], 'complex64');
    const theirs = toStdlib<Std>(ours, stdlib);
    const one = make('complex64', [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).get(0, 0);
    theirs.set(1, 2, one);
    expect(ours.at(1, 2)).toEqual([1, 2]);
    recordRow({ ...ROW, direction: 'out', copies: 0, writable: 'yes', remarks: 'of an OwnedTensor' });
    using tensor = ours.freeze();
    const copy = toStdlib<Std>(tensor, stdlib, { copy: true });
    expect(addressOf(bytesOf(copy))).not.toBe(addressOf(bytesOf(toStdlib<Std>(tensor, stdlib))));
    copy.set(0, 0, one);
    expect([plain(copy.get(0, 0)), tensor.at(0, 0)]).toEqual([
      [1, 2],
      [0, 0],
    ]);
    recordRow({ ...ROW, direction: 'out', copies: 1, writable: 'yes', remarks: 'copy: true' });
  });

  test('0-d and empty tensors', () => {
    using scalar = Tensor.from(new Float32Array([7]), { shape: [] });
    const theirs = toStdlib<Std>(scalar, stdlib);
    expect([theirs.shape, theirs.get()]).toEqual([[], 7]);
    using empty = Tensor.from(new Float32Array(0), { shape: [0, 3] });
    expect(toStdlib<Std>(empty, stdlib).shape).toEqual([0, 3]);
  });

  test('a dtype that it does not have is refused by name, and bad arguments too', () => {
    const without = 'Float16Array' in globalThis ? [] : (['float16'] as const);
    for (const dtype of [...without, 'int64', 'uint64', 'bfloat16', 'float8_e4m3', 'float4_e2m1fn_padded'] as const) {
      using ours: OwnedTensor = OwnedTensor.allocate([2], dtype);
      unmoved(() =>
        expectBufferError(() => toStdlib(ours, stdlib), new RegExp(`^toStdlib: @stdlib/ndarray has no ${dtype}; `)),
      );
    }
    using ours = Tensor.from(new Float32Array(2));
    using complex = Tensor.from(new Float32Array(2), { dtype: 'complex64' });
    unmoved(() => {
      expectTypeError(() => toStdlib(undefined as unknown as Tensor, stdlib), /^toStdlib was given undefined/);
      expectTypeError(() => toStdlib(ours, {} as never), /it takes @stdlib\/ndarray as imported, which has ndarray/);
      expectTypeError(
        () => toStdlib(complex, { ndarray: stdlib.ndarray } as never),
        /it takes base of @stdlib\/ndarray as imported, which has bufferCtors/,
      );
    });
  });
});
