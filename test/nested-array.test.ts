import { describe, expect, test } from '@jest/globals';
import { DTYPES, type DType } from '../dist/dtype.js';
import { parseNested } from '../dist/nested-array.js';
import { errorOf, rangeErrorWith, typeErrorWith } from './support/error-of.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

function read(data: readonly unknown[], dtype?: DType, shape?: unknown): ReturnType<typeof parseNested> {
  return parseNested(data, dtype === undefined ? undefined : DTYPES[dtype], shape);
}

describe('the kind of the elements gives the dtype', () => {
  test.each([
    [
      'numbers',
      [
        [1, 2.5],
        [3, NaN],
      ],
      'float64',
      new Float64Array([1, 2.5, 3, NaN]),
    ],
    [
      'bigints',
      [
        [1n, -2n],
        [3n, 4n],
      ],
      'int64',
      new BigInt64Array([1n, -2n, 3n, 4n]),
    ],
    [
      'booleans',
      [
        [true, false],
        [false, true],
      ],
      'bool',
      new Uint8Array([1, 0, 0, 1]),
    ],
  ] as const)('%s', (_, data, dtype, source) => {
    expect(read(data)).toEqual({ source, dtype: DTYPES[dtype], convertTo: undefined, shape: [2, 2] });
  });

  test('and there is none in empty arrays: TypeError without a dtype', () => {
    for (const data of [[], [[], []], [[[]]]]) {
      expect(errorOf(() => read(data))).toMatchObject(
        typeErrorWith("data is empty, so its elements do not tell the dtype; give one: { dtype: 'float64' }"),
      );
    }
    expect(read([[], []], 'int8')).toEqual({
      source: new Int8Array(0),
      dtype: DTYPES.int8,
      convertTo: undefined,
      shape: [2, 0],
    });
  });
});

describe('the shape', () => {
  test('follows the arrays, row-major', () => {
    expect(read([[[1, 2, 3]], [[4, 5, 6]]])).toMatchObject({
      shape: [2, 1, 3],
      source: new Float64Array([1, 2, 3, 4, 5, 6]),
    });
  });

  test('may be given, of as many elements', () => {
    expect(read([1, 2, 3, 4, 5, 6], undefined, [2, 3]).shape).toEqual([2, 3]);
    expect(read([[[5]]], undefined, []).shape).toEqual([]);
    expect(errorOf(() => read([[1, 2, 3]], undefined, [2, 2]))).toMatchObject(
      rangeErrorWith('shape [2, 2] has 4 elements; data has 3 (shape [1, 3])'),
    );
    expect(errorOf(() => read([1], undefined, 1))).toMatchObject(
      typeErrorWith('shape is 1; it must be an array of integers'),
    );
  });

  test('has at most 64 axes', () => {
    let deep: unknown[] = [1];
    for (let level = 1; level < 64; level++) deep = [deep];
    expect(read(deep).shape.length).toBe(64);
    expect(errorOf(() => read([deep]))).toMatchObject(
      rangeErrorWith('data has more than 64 levels of arrays (or contains itself); a tensor has at most 64 axes'),
    );
  });

  test('of an array that contains itself is an error, whichever way it does', () => {
    const first: unknown[] = [];
    first.push(first);
    expect(errorOf(() => read(first))).toMatchObject(rangeErrorWith(/contains itself/));
    const later: unknown[] = [[1, 2]];
    later.push(later);
    expect(errorOf(() => read(later))).toMatchObject(
      typeErrorWith('data[1][0] is an array; the first entry of that depth is a number, so all must be'),
    );
  });

  test('of shared arrays that multiply beyond counting is an error, at once', () => {
    let wide: unknown[] = [1, 2];
    for (let level = 1; level < 60; level++) wide = [wide, wide];
    expect(errorOf(() => read(wide))).toMatchObject(rangeErrorWith(/more elements than 2\^53 - 1$/));
    let large: unknown[] = [1, 2];
    for (let level = 1; level < 50; level++) large = [large, large];
    expect(errorOf(() => read(large))).toEqual({
      name: 'RangeError',
      code: 'ERR_DLPACK_MEMORY',
      message: `no memory for ${2 ** 50} elements of float64; give them in parts`,
    });
  });
});

describe('arrays that are no tensor: TypeError with the path', () => {
  const holed = [1];
  holed[2] = 3;

  test.each([
    [
      'ragged, too short',
      [[1, 2], [3]],
      'data[1] has length 1; the first array of that depth has 2. All must be equally long',
    ],
    [
      'ragged, too long',
      [[1], [2, 3]],
      'data[1] has length 2; the first array of that depth has 1. All must be equally long',
    ],
    [
      'ragged, empty',
      [[[1]], [[]]],
      'data[1][0] has length 0; the first array of that depth has 1. All must be equally long',
    ],
    ['shallower', [[1, 2], 3], 'data[1] is 3; the first entry of that depth is an array, so all must be arrays'],
    ['deeper', [1, [2]], 'data[1] is an array; the first entry of that depth is a number, so all must be'],
    [
      'number and bigint',
      [
        [1, 2],
        [3, 4n],
      ],
      'data[1][1] is 4n, a bigint; the first element is a number, and all must be of one kind',
    ],
    [
      'bigint and number',
      [1n, 2],
      'data[1] is 2, a number; the first element is a bigint, and all must be of one kind',
    ],
    [
      'boolean and number',
      [true, 1],
      'data[1] is 1, a number; the first element is a boolean, and all must be of one kind',
    ],
    ['a hole', holed, 'data[1] is a hole in its array; every element must be there'],
    ['undefined', [1, undefined], 'data[1] is undefined; elements must be numbers, bigints or booleans'],
    ['null', [null], 'data[0] is null; elements must be numbers, bigints or booleans'],
    ['a string', [['a']], "data[0][0] is 'a'; elements must be numbers, bigints or booleans"],
    ['an object', [[1, {}]], 'data[0][1] is an object; elements must be numbers, bigints or booleans'],
    ['a typed array', [new Float32Array(2)], 'data[0] is an object; elements must be numbers, bigints or booleans'],
    [
      'undefined for an array',
      [[1], undefined],
      'data[1] is undefined; the first entry of that depth is an array, so all must be arrays',
    ],
  ])('%s', (_, data, message) => {
    expect(errorOf(() => read(data))).toMatchObject(typeErrorWith(message));
  });
});

test('an empty array makes the others ragged, if the dtype is known', () => {
  expect(errorOf(() => read([[], [1]], 'int8'))).toMatchObject(
    typeErrorWith('data[1] has length 1; the first array of that depth has 0. All must be equally long'),
  );
});

describe('the dtype to make', () => {
  test.each([
    ['bool', [0, 2, NaN, -0], new Uint8Array([0, 1, 1, 0])],
    ['bool', [0n, 5n], new Uint8Array([0, 1])],
    ['int8', [-128, 127, -0], new Int8Array([-128, 127, 0])],
    ['int16', [-32768, 32767], new Int16Array([-32768, 32767])],
    ['int32', [-(2 ** 31), 2 ** 31 - 1], new Int32Array([-(2 ** 31), 2 ** 31 - 1])],
    ['uint8', [0, 255], new Uint8Array([0, 255])],
    ['uint8', [true, false], new Uint8Array([1, 0])],
    ['uint16', [65535n], new Uint16Array([65535])],
    ['uint32', [2 ** 32 - 1], new Uint32Array([2 ** 32 - 1])],
    ['int64', [2 ** 53 - 1, -1], new BigInt64Array([2n ** 53n - 1n, -1n])],
    ['int64', [-(2n ** 63n), 2n ** 63n - 1n], new BigInt64Array([-(2n ** 63n), 2n ** 63n - 1n])],
    ['uint64', [2n ** 64n - 1n, 0n], new BigUint64Array([2n ** 64n - 1n, 0n])],
    ['uint64', [true], new BigUint64Array([1n])],
    ['float32', [0.1, Infinity], new Float32Array([0.1, Infinity])],
    ['float64', [1n, 2n], new Float64Array([1, 2])],
    ['float64', [true], new Float64Array([1])],
  ] as const)('%s of %p', (dtype, data, source) => {
    expect(read(data, dtype)).toEqual({ source, dtype: DTYPES[dtype], convertTo: undefined, shape: [data.length] });
  });

  test.each([
    'float16',
    'bfloat16',
    'float8_e4m3fn',
    'float8_e8m0fnu',
    'float6_e2m3fn',
    'float4_e2m1fn',
    'float4_e2m1fn_padded',
  ] as const)('%s is rounded natively, from float64 at once', (dtype) => {
    expect(read([1, 2.5], dtype)).toEqual({
      source: new Float64Array([1, 2.5]),
      dtype: DTYPES.float64,
      convertTo: DTYPES[dtype],
      shape: [2],
    });
  });

  test.each([
    ['int8', [[0, 128]], 'data[0][1] is 128; int8 holds integers from -128 to 127'],
    ['uint8', [-1], 'data[0] is -1; uint8 holds integers from 0 to 255'],
    ['uint8', [300n], 'data[0] is 300n; uint8 holds integers from 0 to 255'],
    ['int32', [1.5], 'data[0] is 1.5; int32 holds integers from -2147483648 to 2147483647'],
    ['uint32', [NaN], 'data[0] is NaN; uint32 holds integers from 0 to 4294967295'],
    [
      'int64',
      [2n ** 63n],
      'data[0] is 9223372036854775808n; int64 holds integers from -9223372036854775808 to 9223372036854775807',
    ],
    ['uint64', [-1n], 'data[0] is -1n; uint64 holds integers from 0 to 18446744073709551615'],
    ['uint64', [-1], 'data[0] is -1; uint64 holds integers from 0 to 18446744073709551615'],
  ] as const)('%s does not hold %p: RangeError with the path and the way out', (dtype, data, start) => {
    expect(errorOf(() => read(data, dtype))).toMatchObject(
      rangeErrorWith(`${start}. To round and saturate, make it float64 and use to('${dtype}')`),
    );
  });

  test.each([[2 ** 53], [0.5], [NaN]])('64-bit integers take no number that is not safe: %p', (value) => {
    expect(errorOf(() => read([value], 'int64'))).toMatchObject(
      rangeErrorWith(`data[0] is ${value}; int64 takes bigints, and numbers only where they are safe integers`),
    );
  });
});

describe('complex numbers', () => {
  test.each([
    ['complex64', new Float32Array([1, 2, 3, -4])],
    ['complex128', new Float64Array([1, 2, 3, -4])],
  ] as const)('%s takes pairs, as toArray() gives them', (dtype, source) => {
    expect(
      read(
        [
          [1, 2],
          [3, -4],
        ],
        dtype,
      ),
    ).toEqual({ source, dtype: DTYPES[dtype], convertTo: undefined, shape: [2] });
    expect(read([1, 2], dtype)).toMatchObject({ shape: [] });
    expect(
      read(
        [
          [1, 2],
          [3, -4],
        ],
        dtype,
        [2, 1],
      ),
    ).toMatchObject({ shape: [2, 1] });
  });

  test.each([[[1, 2, 3]], [[[1], [2]]], [[]]])('%j holds no pairs: TypeError', (data) => {
    expect(errorOf(() => read(data, 'complex64'))).toMatchObject(
      typeErrorWith(/^data has shape \[.*\]; for complex64 the last axis must hold \[re, im\] pairs$/),
    );
  });
});
