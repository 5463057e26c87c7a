import vm from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { parseData } from '../dist/data-source.js';
import { DTYPES, type DType } from '../dist/dtype.js';
import { errorOf, rangeErrorWith, typeErrorWith } from './support/error-of.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

function elsewhere(code: string): unknown {
  return vm.runInNewContext(code);
}

describe('a typed array', () => {
  test('becomes a tensor of its own dtype and length, without being copied here', () => {
    const data = new Float32Array(6);
    expect(parseData(data, undefined)).toEqual({
      source: data,
      dtype: DTYPES.float32,
      convertTo: undefined,
      shape: [6],
      strides: undefined,
      offset: 0,
    });
    expect(parseData(data, {}).source).toBe(data);
  });

  test.each([
    [new Int8Array(2), 'int8'],
    [new BigInt64Array(2), 'int64'],
    [new BigUint64Array(2), 'uint64'],
    [new Uint8ClampedArray(2), 'uint8'],
    [Buffer.alloc(2), 'uint8'],
    [new Uint16Array(new SharedArrayBuffer(4)), 'uint16'],
    [new Float64Array(0), 'float64'],
  ] as const)('%p is %s', (data, dtype) => {
    expect(parseData(data, undefined)).toMatchObject({ dtype: DTYPES[dtype], shape: [data.length] });
  });

  test('of another realm is one', () => {
    expect(parseData(elsewhere('new Int32Array(3)'), { shape: [3, 1] })).toMatchObject({
      dtype: DTYPES.int32,
      shape: [3, 1],
    });
  });

  test('a Buffer from the pool stands for its own bytes alone', () => {
    const pooled = Buffer.from('pooled');
    expect(pooled.buffer.byteLength).toBeGreaterThan(pooled.byteLength);
    expect(parseData(pooled, undefined)).toMatchObject({ source: pooled, shape: [6], offset: 0 });
  });

  test('takes a shape of as many elements', () => {
    expect(parseData(new Float32Array(6), { shape: [2, 3] }).shape).toEqual([2, 3]);
    expect(parseData(new Float32Array(1), { shape: [] }).shape).toEqual([]);
    expect(parseData(new Float32Array(0), { shape: [0, 7] }).shape).toEqual([0, 7]);
  });

  test.each([
    [{ shape: [2, 2] }, 'shape [2, 2] has 4 elements, 16 bytes of float32; data has 24 bytes'],
    [{ shape: [7] }, 'shape [7] has 7 elements, 28 bytes of float32; data has 24 bytes'],
    [{ shape: [] }, 'shape [] has 1 elements, 4 bytes of float32; data has 24 bytes'],
    [{ shape: [4], offset: 3 }, 'shape [4] has 4 elements, 16 bytes of float32 from offset 3; data has 24 bytes'],
    [{ shape: [2, -3] }, 'shape[1] is -3; extents must be >= 0'],
    [{ offset: -1 }, 'offset is -1; it must be >= 0 elements'],
    [{ offset: 7 }, 'offset is 7; data has 6 elements of float32'],
    [{ offset: 1.5 }, 'offset is 1.5; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
    [
      { shape: [2], strides: [1, 1] },
      'strides has 2 entries; shape has 1, and each axis needs one stride (in elements)',
    ],
    [
      { shape: [2, 2], strides: [4, 2] },
      'shape [2, 2], strides [4, 2] and offset 0 reach elements 0 to 6; data has 6 elements of float32',
    ],
    [
      { shape: [3], strides: [-1], offset: 1 },
      'shape [3], strides [-1] and offset 1 reach elements -1 to 1; data has 6 elements of float32',
    ],
    [
      { shape: [1], strides: [1], offset: 6 },
      'shape [1], strides [1] and offset 6 reach elements 6 to 6; data has 6 elements of float32',
    ],
    [
      { shape: [2], strides: [2 ** 53 - 1] },
      'shape [2], strides [9007199254740991] and offset 0 reach elements 0 to 9007199254740991; data has 6 ' +
        'elements of float32',
    ],
  ])('%j of six elements: RangeError', (options, message) => {
    expect(errorOf(() => parseData(new Float32Array(6), options))).toMatchObject(rangeErrorWith(message));
  });

  test('strides and an offset choose elements anywhere in it, backwards and repeatedly too', () => {
    expect(parseData(new Float32Array(6), { shape: [2, 2], strides: [3, 2], offset: 0 })).toMatchObject({
      shape: [2, 2],
      strides: [3, 2],
      offset: 0,
    });
    expect(parseData(new Float32Array(6), { shape: [6], strides: [-1], offset: 5 })).toMatchObject({
      strides: [-1],
      offset: 5,
    });
    expect(parseData(new Float32Array(6), { shape: [1000], strides: [0], offset: 5 })).toMatchObject({
      strides: [0],
      offset: 5,
    });
    expect(parseData(new Float32Array(6), { shape: [0, 9], strides: [100, 100] })).toMatchObject({ shape: [0, 9] });
  });

  test('with an offset alone gives the rest, or a shape that lies in it', () => {
    expect(parseData(new Float32Array(6), { offset: 4 })).toMatchObject({ shape: [2], offset: 4 });
    expect(parseData(new Float32Array(6), { offset: 6 })).toMatchObject({ shape: [0], offset: 6 });
    expect(parseData(new Float32Array(6), { offset: 1, shape: [2, 2] })).toMatchObject({ shape: [2, 2], offset: 1 });
    expect(parseData(new Float32Array(6), { offset: 0, shape: [2] })).toMatchObject({ shape: [2], offset: 0 });
  });

  test.each([
    [{ shape: 6 }, 'shape is 6; it must be an array of integers'],
    [{ shape: null }, 'shape is null; it must be an array of integers'],
    [{ shape: ['6'] }, "shape[0] is '6'; it must be an integer"],
    [{ strides: [1] }, 'shape is missing; strides say nothing without it'],
    [{ shape: [6], strides: 1 }, 'strides is 1; it must be an array of integers'],
    [{ offset: '1' }, "offset is '1'; it must be an integer"],
    [{ dtype: 5 }, "dtype is 5; it must be the name of a dtype, such as 'float32'"],
  ])('%j: TypeError', (options, message) => {
    expect(errorOf(() => parseData(new Float32Array(6), options))).toMatchObject(typeErrorWith(message));
  });

  test.each([
    [null, 'null'],
    [7, '7'],
    ['float32', "'float32'"],
    [[2, 3], '[2, 3]'],
  ])('options %j: TypeError', (options, shown) => {
    expect(errorOf(() => parseData(new Float32Array(6), options))).toMatchObject(
      typeErrorWith(`options is ${shown}; it must be an object: { shape, strides, offset, dtype }`),
    );
  });

  test('whose buffer is detached, or too short for it by now: TypeError', () => {
    const data = new Float32Array(4);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    expect(errorOf(() => parseData(data, undefined))).toMatchObject(
      typeErrorWith('data is a view of an ArrayBuffer that is detached, or shorter than the view by now'),
    );
  });
});

describe('dtype relabels bits of equal size', () => {
  test.each([
    [new Uint8Array(2), 'bool'],
    [new Uint8Array(2), 'int8'],
    [Buffer.alloc(2), 'float8_e4m3fn'],
    [new Uint8Array(2), 'float6_e2m3fn_padded'],
    [new Uint8Array(2), 'float4_e2m1fn_padded'],
    [new Uint16Array(2), 'float16'],
    [new Uint16Array(2), 'bfloat16'],
    [new Float32Array(2), 'uint32'],
    [new BigUint64Array(2), 'float64'],
    [new Float32Array(2), 'float32'],
  ] as const)('%p as %s', (data, dtype) => {
    expect(parseData(data, { dtype })).toMatchObject({
      source: data,
      dtype: DTYPES[dtype],
      convertTo: undefined,
      shape: [2],
    });
  });

  test.each([
    [new Float32Array(2), 'float64', 'Float32Array', 32, 64],
    [new Float64Array(2), 'float32', 'Float64Array', 64, 32],
    [Buffer.alloc(8), 'float32', 'Uint8Array', 8, 32],
    [new Uint16Array(2), 'float4_e2m1fn', 'Uint16Array', 16, 4],
    [new Int8Array(2), 'float6_e2m3fn', 'Int8Array', 8, 6],
  ] as const)('%p cannot be %s: TypeError', (data, dtype, name, has, needs) => {
    expect(errorOf(() => parseData(data, { dtype, shape: [2] }))).toMatchObject(
      typeErrorWith(
        `dtype is '${dtype}' and data is a ${name}, whose elements have ${has} bits, not ${needs}; dtype ` +
          'relabels bits of equal size. ' +
          `To convert numbers use Tensor.from(data).to('${dtype}'); to relabel bytes give a DataView or a ` +
          'Uint8Array of the right size',
      ),
    );
  });

  test('a name that is no dtype: RangeError', () => {
    expect(errorOf(() => parseData(new Uint8Array(1), { dtype: 'boolean' }))).toMatchObject(
      rangeErrorWith(/^dtype is 'boolean'; the dtypes are bool, /),
    );
  });
});

describe('complex numbers come from interleaved floats', () => {
  test.each([
    [new Float32Array(6), 'complex64'],
    [new Float64Array(6), 'complex128'],
  ] as const)('%p as %s has half as many elements', (data, dtype) => {
    expect(parseData(data, { dtype })).toMatchObject({ source: data, dtype: DTYPES[dtype], shape: [3], offset: 0 });
    expect(parseData(data, { dtype, offset: 1 })).toMatchObject({ shape: [2], offset: 1 });
  });

  test('half a number is left over: RangeError', () => {
    expect(errorOf(() => parseData(new Float32Array(5), { dtype: 'complex64' }))).toMatchObject(
      rangeErrorWith('data has 20 bytes, which is not a whole number of complex64 elements (8 bytes each)'),
    );
  });

  test.each([
    [new Float64Array(4), 'complex64', 'Float64Array', 'Float32Array'],
    [new Float32Array(4), 'complex128', 'Float32Array', 'Float64Array'],
    [new BigUint64Array(4), 'complex64', 'BigUint64Array', 'Float32Array'],
  ] as const)('%p as %s: TypeError', (data, dtype, name, right) => {
    expect(errorOf(() => parseData(data, { dtype }))).toMatchObject(
      typeErrorWith(
        `dtype is '${dtype}' and data is a ${name}; give the real and imaginary parts in turn in a ${right}`,
      ),
    );
  });
});

describe('packed sub-byte elements come from bytes', () => {
  test.each([
    ['float4_e2m1fn', 2, [4]],
    ['float4_e2m1fn', 2, [3]],
    ['float6_e2m3fn', 3, [2, 2]],
    ['float6_e3m2fn', 4, [5]],
  ] as const)('%s in %i bytes: %j', (dtype, bytes, shape) => {
    const data = new Uint8Array(bytes);
    expect(parseData(data, { dtype, shape })).toMatchObject({ source: data, dtype: DTYPES[dtype], shape });
    expect(parseData(new DataView(data.buffer), { dtype, shape })).toMatchObject({ shape });
  });

  test('the bytes do not say how many they are: TypeError without a shape', () => {
    const message =
      'shape is missing; the bytes of packed float4_e2m1fn do not say how many elements they hold, so it is ' +
      'required';
    expect(errorOf(() => parseData(new Uint8Array(2), { dtype: 'float4_e2m1fn' }))).toMatchObject(
      typeErrorWith(message),
    );
    expect(errorOf(() => parseData(new DataView(new ArrayBuffer(2)), { dtype: 'float4_e2m1fn' }))).toMatchObject(
      typeErrorWith(message),
    );
  });

  test.each([[5], [1], [2]])('%i elements are not what two bytes hold: RangeError', (size) => {
    expect(errorOf(() => parseData(new Uint8Array(2), { dtype: 'float4_e2m1fn', shape: [size] }))).toMatchObject(
      rangeErrorWith(
        `shape [${size}] has ${size} elements, ${Math.ceil(size / 2)} bytes of float4_e2m1fn; data has 2 bytes`,
      ),
    );
  });

  test('strides and offset count elements, not bytes', () => {
    expect(
      parseData(new Uint8Array(2), { dtype: 'float4_e2m1fn', shape: [4], strides: [-1], offset: 3 }),
    ).toMatchObject({ strides: [-1], offset: 3 });
    expect(
      errorOf(() => parseData(new Uint8Array(2), { dtype: 'float4_e2m1fn', shape: [4], strides: [1], offset: 1 })),
    ).toMatchObject(
      rangeErrorWith('shape [4], strides [1] and offset 1 reach elements 1 to 4; data has 4 elements of float4_e2m1fn'),
    );
  });
});

describe('a DataView', () => {
  test('can be any dtype, and must be told which', () => {
    const data = new DataView(new ArrayBuffer(16), 3, 12);
    expect(parseData(data, { dtype: 'float32' })).toMatchObject({ source: data, dtype: DTYPES.float32, shape: [3] });
    expect(parseData(data, { dtype: 'uint8', shape: [3, 4] })).toMatchObject({ shape: [3, 4] });
    expect(errorOf(() => parseData(data, undefined))).toMatchObject(
      typeErrorWith("dtype is missing; a DataView's bytes can be anything, so it is required for one"),
    );
  });

  test('must hold whole elements', () => {
    expect(errorOf(() => parseData(new DataView(new ArrayBuffer(7)), { dtype: 'float32' }))).toMatchObject(
      rangeErrorWith('data has 7 bytes, which is not a whole number of float32 elements (4 bytes each)'),
    );
  });
});

describe('nothing else', () => {
  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [5, '5'],
    [5n, '5n'],
    ['abc', "'abc'"],
    [true, 'true'],
    [{}, 'an object'],
    [{ length: 2, 0: 1, 1: 2 }, 'an object'],
    [new ArrayBuffer(8), 'a bare ArrayBuffer'],
    [new SharedArrayBuffer(8), 'a bare SharedArrayBuffer'],
    [new Map(), 'an object'],
  ])('%p: TypeError', (data, shown) => {
    expect(errorOf(() => parseData(data, undefined))).toMatchObject(
      typeErrorWith(
        `data is ${shown}; it must be a typed array, a Buffer, a DataView, or nested arrays of numbers, ` +
          'bigints or booleans',
      ),
    );
  });
});

describe('nested arrays', () => {
  test('are read, so strides and an offset mean nothing', () => {
    expect(errorOf(() => parseData([1, 2], { strides: [1] }))).toMatchObject(
      typeErrorWith('strides cannot be given for nested arrays; they are for typed arrays and DataViews'),
    );
    expect(errorOf(() => parseData([1, 2], { offset: 0 }))).toMatchObject(
      typeErrorWith('offset cannot be given for nested arrays; it is for typed arrays and DataViews'),
    );
  });

  test('of another realm are read like any', () => {
    expect(parseData(elsewhere('[[1, 2], [3, 4]]'), { dtype: 'int8' })).toEqual({
      source: new Int8Array([1, 2, 3, 4]),
      dtype: DTYPES.int8,
      convertTo: undefined,
      shape: [2, 2],
      strides: undefined,
      offset: 0,
    });
  });

  test.each(Object.keys(DTYPES) as DType[])('can be made %s', (dtype) => {
    const data =
      DTYPES[dtype].kind === 'complex'
        ? [
            [1, 0],
            [0, 1],
          ]
        : [1, 0];
    expect(parseData(data, { dtype })).toMatchObject({ shape: [2] });
  });
});
