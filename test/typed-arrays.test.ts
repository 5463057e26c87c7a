import vm from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { DTYPES, type DType } from '../dist/dtype.js';
import {
  dtypeOfTypedArray,
  hasFloat16Array,
  isDataView,
  isDetached,
  isTypedArray,
  makeBits,
  makeData,
  noDataReason,
  typedArrayName,
} from '../dist/typed-arrays.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

/** A value of another realm. */
function elsewhere(code: string): unknown {
  return vm.runInNewContext(code);
}

const CLASSES = [
  ['Int8Array', 'int8'],
  ['Int16Array', 'int16'],
  ['Int32Array', 'int32'],
  ['BigInt64Array', 'int64'],
  ['Uint8Array', 'uint8'],
  ['Uint8ClampedArray', 'uint8'],
  ['Uint16Array', 'uint16'],
  ['Uint32Array', 'uint32'],
  ['BigUint64Array', 'uint64'],
  ['Float32Array', 'float32'],
  ['Float64Array', 'float64'],
] as const;

describe('a typed array is known by what the engine says, not by its prototype', () => {
  test.each(CLASSES)('%s holds %s, in this realm and in another', (name, dtype) => {
    const there = elsewhere(`new ${name}(2)`);
    const here: unknown = Reflect.construct(Reflect.get(globalThis, name), [2]);
    for (const array of [here, there]) {
      expect(typedArrayName(array)).toBe(name);
      expect(isTypedArray(array)).toBe(true);
      expect(dtypeOfTypedArray(array)).toBe(DTYPES[dtype]);
    }
    expect(there).not.toBeInstanceOf(Reflect.get(globalThis, name));
  });

  test('a Buffer holds uint8', () => {
    expect(typedArrayName(Buffer.from('abc'))).toBe('Uint8Array');
    expect(dtypeOfTypedArray(Buffer.from('abc'))).toBe(DTYPES.uint8);
  });

  test('Float16Array is known where the runtime has it', () => {
    expect(hasFloat16Array).toBe(typeof Reflect.get(globalThis, 'Float16Array') === 'function');
    if (hasFloat16Array) expect(dtypeOfTypedArray(elsewhere('new Float16Array(2)'))).toBe(DTYPES.float16);
  });

  test('neither a changed prototype nor a false tag deceives', () => {
    const bare = new Float32Array(2);
    Object.setPrototypeOf(bare, null);
    expect(typedArrayName(bare)).toBe('Float32Array');
    expect(typedArrayName(Object.create(Float32Array.prototype))).toBeUndefined();
    expect(typedArrayName({ [Symbol.toStringTag]: 'Float32Array' })).toBeUndefined();
    expect(typedArrayName(new Proxy(new Float32Array(2), {}))).toBeUndefined();
  });

  test.each([
    [undefined],
    [null],
    [1],
    ['Uint8Array'],
    [{}],
    [[1, 2]],
    [new ArrayBuffer(8)],
    [new DataView(new ArrayBuffer(8))],
  ])('%p is none', (value) => {
    expect(isTypedArray(value)).toBe(false);
    expect(dtypeOfTypedArray(value)).toBeUndefined();
  });

  test('a DataView of any realm is one', () => {
    expect(isDataView(new DataView(new ArrayBuffer(8)))).toBe(true);
    expect(isDataView(elsewhere('new DataView(new ArrayBuffer(8))'))).toBe(true);
    expect(isDataView(new Uint8Array(8))).toBe(false);
    expect(isDataView({})).toBe(false);
  });
});

/** The view, after its memory has gone elsewhere. */
function transferred<View extends ArrayBufferView>(view: View): View {
  structuredClone(view.buffer, { transfer: [view.buffer as ArrayBuffer] });
  return view;
}

describe('memory that was taken away', () => {
  test('an attached view is attached, empty or not, also over shared memory', () => {
    for (const view of [
      new Uint8Array(0),
      new Float64Array(3),
      new DataView(new ArrayBuffer(0)),
      new Int8Array(new SharedArrayBuffer(4)),
    ]) {
      expect(isDetached(view)).toBe(false);
    }
  });

  test('a view of a transferred buffer is detached', () => {
    expect(isDetached(transferred(new Float32Array(4)))).toBe(true);
    expect(isDetached(transferred(new Uint8Array(0)))).toBe(true);
    expect(isDetached(transferred(new DataView(new ArrayBuffer(8))))).toBe(true);
    expect(isDetached(transferred(elsewhere('new Float32Array(4)') as Float32Array))).toBe(true);
  });

  test('a view beyond the end of a shrunken buffer is detached, and one within it is not', () => {
    const buffer: unknown = Reflect.construct(ArrayBuffer, [16, { maxByteLength: 16 }]);
    if (!(buffer instanceof ArrayBuffer) || typeof Reflect.get(buffer, 'resize') !== 'function')
      throw new Error('no resizable buffers here');
    const beyond = new Uint8Array(buffer, 8, 8);
    const tracking = new Uint8Array(buffer);
    const beyondView = new DataView(buffer, 8, 8);
    Reflect.apply(Reflect.get(buffer, 'resize'), buffer, [8]);
    expect([beyond, beyondView, tracking].map(isDetached)).toEqual([true, true, false]);
  });
});

// the class that shows the elements (undefined: none), the class that shows the bits
const FACES: readonly (readonly [DType, string | undefined, string])[] = [
  ['bool', 'Uint8Array', 'Uint8Array'],
  ['int8', 'Int8Array', 'Uint8Array'],
  ['int16', 'Int16Array', 'Uint16Array'],
  ['int32', 'Int32Array', 'Uint32Array'],
  ['int64', 'BigInt64Array', 'BigUint64Array'],
  ['uint8', 'Uint8Array', 'Uint8Array'],
  ['uint16', 'Uint16Array', 'Uint16Array'],
  ['uint32', 'Uint32Array', 'Uint32Array'],
  ['uint64', 'BigUint64Array', 'BigUint64Array'],
  ['float16', hasFloat16Array ? 'Float16Array' : undefined, 'Uint16Array'],
  ['float32', 'Float32Array', 'Uint32Array'],
  ['float64', 'Float64Array', 'BigUint64Array'],
  ['bfloat16', undefined, 'Uint16Array'],
  ['complex64', undefined, 'Float32Array'],
  ['complex128', undefined, 'Float64Array'],
  ...(
    [
      'float8_e3m4',
      'float8_e4m3',
      'float8_e4m3b11fnuz',
      'float8_e4m3fn',
      'float8_e4m3fnuz',
      'float8_e5m2',
      'float8_e5m2fnuz',
      'float8_e8m0fnu',
    ] as const
  ).map((dtype) => [dtype, undefined, 'Uint8Array'] as const),
  ...(
    [
      'float6_e2m3fn',
      'float6_e3m2fn',
      'float4_e2m1fn',
      'float6_e2m3fn_padded',
      'float6_e3m2fn_padded',
      'float4_e2m1fn_padded',
    ] as const
  ).map((dtype) => [dtype, undefined, 'Uint8Array'] as const),
];

describe('the faces of a dtype', () => {
  test('every dtype is in this table', () => {
    expect(FACES.map(([dtype]) => dtype)).toEqual(Object.keys(DTYPES));
  });

  test.each(FACES)('%s: elements as %s, bits as %s', (dtype, data, bits) => {
    const buffer = new ArrayBuffer(32);
    const shown = makeData(dtype, buffer);
    expect(typedArrayName(shown)).toBe(data);
    const bare = makeBits(dtype, buffer);
    expect(typedArrayName(bare)).toBe(bits);
    expect(bare.buffer).toBe(buffer);
    expect(bare.byteLength).toBe(32);
  });

  test('start and length can be given', () => {
    const buffer = new ArrayBuffer(32);
    expect(makeData('float32', buffer, 8, 3)).toMatchObject({ byteOffset: 8, length: 3 });
    expect(makeBits('complex64', buffer, 8, 2)).toMatchObject({ byteOffset: 8, length: 2 });
  });

  test('what has no elements to show says where its bits are', () => {
    expect(noDataReason('bfloat16', 'view({ bits: true })')).toBe(
      'JavaScript has no typed array of bfloat16; use view({ bits: true }) for its bits (Uint16Array)',
    );
    expect(noDataReason('float4_e2m1fn', 'bits')).toBe(
      'JavaScript has no typed array of float4_e2m1fn; use bits for its bits (Uint8Array)',
    );
    expect(noDataReason('complex64', 'bits')).toBe(
      'JavaScript has no typed array of complex64; use bits for the interleaved real and imaginary parts ' +
        '(Float32Array)',
    );
    expect(noDataReason('float16', 'bits')).toBe(
      'this runtime has no Float16Array to show float16; use bits for its bits (Uint16Array)',
    );
  });
});
