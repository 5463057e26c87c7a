import { describe, expect, test } from '@jest/globals';
import { parseInteger, parseShape, parseStrides, resolveShape, rowMajorStrides, sizeOf } from '../dist/shape.js';
import { errorOf, rangeErrorWith, typeErrorWith } from './support/error-of.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

describe('a shape argument', () => {
  test.each([
    [[]],
    [[0]],
    [[2, 3]],
    [[1, 0, 9007199254740991]],
    [[9007199254740991]],
    [Array.from({ length: 64 }, () => 1)],
  ])('%j is a shape', (shape) => {
    expect(parseShape(shape)).toEqual(shape);
  });

  test('is copied, so that what the caller does to the array later does not matter', () => {
    const given = [2, 3];
    const shape = parseShape(given);
    given[0] = 9;
    expect(shape).toEqual([2, 3]);
  });

  test('-0 is 0', () => {
    expect(Object.is(parseShape([-0])[0], 0)).toBe(true);
  });

  test.each([
    [undefined, 'shape is undefined; it must be an array of integers'],
    [null, 'shape is null; it must be an array of integers'],
    [6, 'shape is 6; it must be an array of integers'],
    ['23', "shape is '23'; it must be an array of integers"],
    [{ length: 1, 0: 2 }, 'shape is an object; it must be an array of integers'],
    [new Int32Array([2, 3]), 'shape is an object; it must be an array of integers'],
    [[2, '3'], "shape[1] is '3'; it must be an integer"],
    [[2n], 'shape[0] is 2n; it must be an integer'],
    [[2, null], 'shape[1] is null; it must be an integer'],
    [[2, [3]], 'shape[1] is [3]; it must be an integer'],
    [Array(1), 'shape[0] is undefined; it must be an integer'],
  ])('%j: TypeError', (value, message) => {
    expect(errorOf(() => parseShape(value))).toMatchObject(typeErrorWith(message));
  });

  test.each([
    [[2, -3], 'shape[1] is -3; extents must be >= 0'],
    [[1.5], 'shape[0] is 1.5; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
    [[NaN], 'shape[0] is NaN; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
    [[Infinity], 'shape[0] is Infinity; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
    [[2 ** 53], 'shape[0] is 9007199254740992; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
    [Array.from({ length: 65 }, () => 1), 'shape has 65 axes; a tensor has at most 64'],
    [[2 ** 30, 2 ** 30], 'shape is [1073741824, 1073741824]; its extents multiply to more elements than 2^53 - 1'],
  ])('%j: RangeError', (value, message) => {
    expect(errorOf(() => parseShape(value))).toMatchObject(rangeErrorWith(message));
  });

  test('an empty shape is no overflow, however large its other extents are', () => {
    expect(sizeOf(parseShape([2 ** 52, 2 ** 52, 0]))).toBe(0);
  });
});

describe('a reshape may leave one extent open', () => {
  test.each([
    [[2, 3], 6, [2, 3]],
    [[-1], 6, [6]],
    [[2, -1], 6, [2, 3]],
    [[-1, 1, 6], 6, [1, 1, 6]],
    [[-1, 3], 0, [0, 3]],
    [[], 1, []],
    [[0, 5], 0, [0, 5]],
  ])('%j of %i elements is %j', (asked, size, shape) => {
    expect(resolveShape(asked, size)).toEqual(shape);
  });

  test.each([
    [[2, 2], 6, 'shape is [2, 2], 4 elements; the tensor has 6'],
    [[4, -1], 6, "shape is [4, -1]; the tensor's 6 elements do not divide by the 4 of the other axes"],
    [[0, -1], 0, "shape is [0, -1]; the tensor's 0 elements do not divide by the 0 of the other axes"],
    [[-1, 2, -1], 6, 'shape[2] is -1, and shape[0] is too; only one extent can be left open'],
    [[-2, 3], 6, 'shape[0] is -2; extents must be >= 0'],
    [[-1, -3], 6, 'shape[1] is -3; extents must be >= 0'],
    [Array.from({ length: 65 }, () => 1), 1, 'shape has 65 axes; a tensor has at most 64'],
  ])('%j of %i elements: RangeError', (asked, size, message) => {
    expect(errorOf(() => resolveShape(asked, size))).toMatchObject(rangeErrorWith(message));
  });

  test('what is no array of numbers is a TypeError', () => {
    expect(errorOf(() => resolveShape('x', 1))).toMatchObject(
      typeErrorWith("shape is 'x'; it must be an array of integers"),
    );
  });
});

describe('strides', () => {
  test.each([
    [
      [2, 3, 4],
      [12, 4, 1],
    ],
    [[], []],
    [[5], [1]],
    [
      [1, 77],
      [77, 1],
    ],
    [
      [2, 0, 3],
      [3, 3, 1],
    ],
  ])('row-major %j is %j', (shape, strides) => {
    expect(rowMajorStrides(shape)).toEqual(strides);
  });

  test('may be negative and 0, one for each axis', () => {
    expect(parseStrides([-3, 0], 2)).toEqual([-3, 0]);
  });

  test('one too few is a RangeError', () => {
    expect(errorOf(() => parseStrides([1], 2))).toMatchObject(
      rangeErrorWith('strides has 1 entries; shape has 2, and each axis needs one stride (in elements)'),
    );
  });

  test.each([
    [null, 'strides is null; it must be an array of integers'],
    [['1'], "strides[0] is '1'; it must be an integer"],
  ])('%j: TypeError', (value, message) => {
    expect(errorOf(() => parseStrides(value, 1))).toMatchObject(typeErrorWith(message));
  });
});

test('an integer argument names its field', () => {
  expect(parseInteger(-7, 'offset')).toBe(-7);
  expect(errorOf(() => parseInteger('7', 'offset'))).toMatchObject(
    typeErrorWith("offset is '7'; it must be an integer"),
  );
  expect(errorOf(() => parseInteger(0.5, 'offset'))).toMatchObject(
    rangeErrorWith(/^offset is 0.5; it must be an integer/),
  );
});
