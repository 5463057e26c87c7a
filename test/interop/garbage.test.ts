/** Whatever the adapters are given, they answer with a named error, and leave every counter where it was. */
import { expect, test } from '@jest/globals';
import { fromDLPack, OwnedTensor, stats, Tensor } from '../../dist/index.js';
import * as interop from '../../dist/interop/index.js';
import { expectCountersAtZero } from '../support/counters.js';
import { makeStruct, ramp, READ_ONLY } from '../support/lab.js';
import { expectBufferError, expectStateError, leavingNothing, thrownBy } from '../support/refusals.js';
import { runChild } from '../support/children.js';

expectCountersAtZero();

type Function_ = (...args: unknown[]) => unknown;

function isFunction(value: unknown): value is Function_ {
  return typeof value === 'function';
}

function named(prefix: string): (readonly [name: string, call: Function_])[] {
  const all: Readonly<Record<string, unknown>> = interop;
  return Object.keys(all).flatMap((name) => {
    const found = all[name];
    return name.startsWith(prefix) && isFunction(found) ? [[name, found] as const] : [];
  });
}

const IN = named('from');
const OUT = named('to');
const CODES = ['ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE', 'ERR_DLPACK_BUFFER'];

/** Nothing of this is an array of any library, though some of it nearly is. */
const GARBAGE: readonly unknown[] = [
  undefined,
  null,
  0,
  NaN,
  'text',
  true,
  5n,
  Symbol('s'),
  [],
  [1, 2],
  {},
  () => undefined,
  new Map(),
  new ArrayBuffer(8),
  Object.create(null),
  new Proxy({}, {}),
  { data: null, shape: null, stride: null, strides: null, offset: null, dtype: null, type: null, dims: null },
  {
    data: new Float32Array(2),
    shape: ['2'],
    stride: ['1'],
    strides: ['1'],
    offset: '0',
    dtype: 'float32',
    type: 'float32',
    dims: ['2'],
  },
  {
    data: new Float32Array(2),
    shape: [NaN],
    stride: [1],
    strides: [1],
    offset: 0,
    dtype: 'float32',
    type: 'float32',
    dims: [NaN],
  },
  {
    data: new Float32Array(2),
    shape: [2.5],
    stride: [1],
    strides: [1],
    offset: 0,
    dtype: 'float32',
    type: 'float32',
    dims: [2.5],
  },
  {
    data: new Float32Array(2),
    shape: [2 ** 52, 2 ** 52],
    stride: [1, 1],
    strides: [1, 1],
    offset: 0,
    dtype: 'float32',
    type: 'float32',
    dims: [2 ** 52, 2 ** 52],
  },
  {
    data: new Float32Array(2),
    shape: [2],
    stride: [2 ** 60],
    strides: [2 ** 60],
    offset: 0,
    dtype: 'float32',
    type: 'float32',
    dims: [3],
  },
  {
    data: new Float32Array(1),
    shape: [2],
    stride: [1],
    strides: [1],
    offset: 2 ** 53,
    dtype: '__proto__',
    type: '__proto__',
    dims: [2],
  },
  {
    data: { buffer: {}, byteOffset: 0, length: 2, BYTES_PER_ELEMENT: 1, get: () => 0 },
    shape: [2],
    stride: [1],
    strides: [1],
    offset: 0,
    dtype: 'bool',
    type: 'bool',
    dims: [2],
  },
  {
    data: { buffer: new ArrayBuffer(2), byteOffset: 0, length: -1, BYTES_PER_ELEMENT: 1, get: () => 0 },
    shape: [2],
    stride: [1],
    strides: [1],
    offset: 0,
    dtype: 'bool',
  },
  { data: [{}], type: { typeId: 2, bitWidth: 32, isSigned: true }, length: 3 },
  { data: [{ nullCount: 0, length: 3, values: 'x' }], type: { typeId: 3, precision: 7 }, length: 3 },
  { data: [{ nullCount: 0, length: 3, values: 'x' }], type: { typeId: 3, precision: 1 }, length: 3 },
  { data: [{ nullCount: 0, length: 1, values: new Float32Array(1) }], type: { typeId: 3, precision: 1 }, length: 3 },
  { data: [{ nullCount: 0, length: 1, values: new Float64Array(1) }], type: { typeId: 3, precision: 1 }, length: 1 },
  { data: [], type: { typeId: 3, precision: 1 }, length: 3 },
  { data: new Uint8Array(4), width: 1e300, height: 1 },
  { data: new Uint8Array(4), info: { width: NaN, height: 1, channels: 1 } },
  { data: new Uint8Array(4), info: null },
  { dtype: 'float32', shape: [2], dataSync: () => undefined },
  { dtype: 'float32', shape: [-2], dataSync: () => new Float32Array(2) },
  { buffer: new ArrayBuffer(8), grow: 1 },
];

test.each(IN)('%s answers garbage with a named error, whatever the copy', (name, call) => {
  for (const garbage of GARBAGE) {
    for (const copy of [undefined, null, true, false]) {
      // A ready dtype, where one is asked for: the first argument is the one under test.
      const options = copy === undefined ? undefined : { copy, dtype: 'uint8' };
      leavingNothing(() => {
        const error = thrownBy(() => call(garbage, options));
        expect(CODES).toContain(Reflect.get(Object(error), 'code'));
      });
    }
  }
  expect(name).toMatch(/^from/);
});

test.each(IN)('%s answers bad options with a named error', (_, call) => {
  for (const options of [null, 5, 'x', [], () => undefined, { copy: 1 }, { copy: 'true' }, { copy: {} }]) {
    leavingNothing(() => {
      expect(thrownBy(() => call({}, options))).toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
    });
  }
});

test('an error of the array’s own getters reaches the caller as it is', () => {
  const thrown = new Error('mine');
  const trap = new Proxy(
    {},
    {
      get: () => {
        throw thrown;
      },
    },
  );
  for (const [name, call] of IN) {
    if (['fromBuffer', 'fromDataView'].includes(name)) continue; // a Proxy is no view
    leavingNothing(() => expect(thrownBy(() => call(trap, { dtype: 'uint8' }))).toBe(thrown));
  }
});

/** Stands for any function or class of any library: what is made with it fails. */
const FAILURE = new Error('the library failed');
function fail(): never {
  throw FAILURE;
}
const LIBRARY = Object.assign(fail, {
  Tensor: fail,
  ndarray: fail,
  base: { bufferCtors: (): unknown => Uint8Array },
  BoolArray: fail,
  Vector: fail,
  makeData: fail,
  FixedSizeList: fail,
  Field: fail,
  Float32: fail,
  ImageData: fail,
  tensor: fail,
  complex: fail,
});

test.each(OUT)('%s answers what is no tensor, or no longer one, with a named error', (_, call) => {
  for (const garbage of [...GARBAGE, Tensor.prototype, OwnedTensor.prototype]) {
    leavingNothing(() => {
      expect(thrownBy(() => call(garbage, LIBRARY))).toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
    });
  }
});

/** What each of them takes: a picture of bytes, or of float32 for the others. */
function suited(name: string): OwnedTensor {
  if (name === 'toImageData' || name === 'toSharp') return OwnedTensor.allocate([1, 2, 4], 'uint8');
  if (name === 'toZarrita') return OwnedTensor.allocate([1, 2, 4], 'bool');
  return OwnedTensor.allocate([1, 2, 4], 'float32');
}

test.each(OUT.filter(([name]) => !/Buffer|DataView|Wasm/.test(name)))(
  '%s: a library that fails, or is none, leaves no view behind',
  (name, call) => {
    using owned = suited(name);
    using tensor = suited(name).freeze();
    using turned = suited(name).freeze().transpose();
    leavingNothing(() => {
      for (const source of [owned, tensor]) expect(thrownBy(() => call(source, LIBRARY))).toBe(FAILURE);
      if (!/ImageData|Sharp/.test(name)) expect(thrownBy(() => call(turned, LIBRARY))).toBe(FAILURE);
      for (const library of [5, 'x', {}, []]) {
        expect(thrownBy(() => call(tensor, library))).toMatchObject({
          name: 'TypeError',
          code: 'ERR_INVALID_ARG_TYPE',
        });
      }
    });
    expect(tensor.isUnique).toBe(true);
  },
);

test.each(OUT)('%s answers tombstones and lent owners in their own words', (name, call) => {
  const memory = { buffer: new ArrayBuffer(64), grow: (): number => 0 };
  const give = (tensor: OwnedTensor): unknown =>
    call(tensor, ...(/Buffer|DataView/.test(name) ? [] : [name === 'toWasm' ? memory : LIBRARY]));
  const gone = suited(name);
  gone.dispose();
  expectStateError(() => give(gone), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
  const moved = suited(name);
  moved.freeze().dispose();
  expectStateError(() => give(moved), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
  using lent = suited(name);
  lent.lend(() => expectBufferError(() => give(lent), /while the OwnedTensor is lent/));
});

test('with a failed function, withOrt and withSharp close every window they opened', () => {
  using first = Tensor.from(ramp(2));
  using second = Tensor.from(ramp(2));
  using picture = OwnedTensor.allocate([1, 2], 'uint8');
  class OrtTensor {
    constructor(readonly type: string) {}
  }
  const ort = { Tensor: OrtTensor };
  const before = stats();
  expect(thrownBy(() => interop.withOrt({ first, second }, ort, fail))).toBe(FAILURE);
  expect(thrownBy(() => interop.withOrt({ first, second: {} as Tensor }, ort, fail))).toMatchObject({
    name: 'TypeError',
  });
  expect(thrownBy(() => interop.withSharp(picture, () => 1, fail))).toBe(FAILURE);
  expect(interop.withOrt({ first, second }, ort, ({ first: a, second: b }) => [a.type, b.type])).toEqual([
    'float32',
    'float32',
  ]);
  expect(interop.withOrt({}, ort, (none) => Object.keys(none))).toEqual([]);
  expect(stats()).toEqual(before);
});

/** A library whose objects are what it was given. */
function make(data: unknown, shape: number[], stride: number[], offset: number): object {
  return { data, shape, stride, offset };
}

test('foreign memory that may be protected goes out by a copy, or an error with copy: false', () => {
  const struct = makeStruct({ flags: READ_ONLY, shape: [2, 3], readOnlyPages: true });
  using ours = fromDLPack(struct.producer());
  expect(leavingNothing(() => interop.toNdarray(ours as Tensor<'float32'>, make))).toEqual({
    data: Float32Array.of(0, 1, 2, 3, 4, 5),
    shape: [2, 3],
    stride: [3, 1],
    offset: 0,
  });
  leavingNothing(() => {
    expectBufferError(
      () => interop.toNdarray(ours as Tensor<'float32'>, make, { copy: false }),
      /^toNdarray is refused: this memory came from outside/,
    );
    expectBufferError(() => interop.toBuffer(ours, { copy: false }), /^toBuffer is refused/);
  });
  expect(interop.toBuffer(ours).readFloatLE(20)).toBe(5);
});

test('memory that the host cannot read is refused by name, whatever the copy', () => {
  using ours = fromDLPack(makeStruct({ device: [2, 0] }).producer());
  leavingNothing(() => {
    for (const copy of [null, true, false]) {
      expectBufferError(
        () => interop.toOrt(ours, { Tensor: fail as never }, { copy }),
        /^toOrt needs the bytes, and the host cannot read cuda:0/,
      );
    }
  });
});

test('where the runtime forbids views of native memory, copy: false is an error and the rest works', async () => {
  const ending = await runChild('../interop/staged', [], { NODE_DLPACK_DEBUG: 'no-external-buffers' });
  expect(ending).toMatchObject({ code: 0, signal: null, output: 'ok\n' });
});
