import { describe, expect, test } from '@jest/globals';
import {
  normalizeAxis,
  normalizeIndex,
  normalizeNewAxis,
  normalizePermutation,
  normalizeSlices,
  normalizeSqueeze,
  slicedShape,
  type AxisSlice,
} from '../dist/slicing.js';
import { errorOf, rangeErrorWith, typeErrorWith } from './support/error-of.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

function elements({ start, extent, step }: AxisSlice): number[] {
  return Array.from({ length: extent }, (_, position) => start + position * step);
}

/** Python's slice.indices, by walking instead of by formula. */
function walk(bounds: readonly (number | null)[], extent: number): number[] {
  const [start = null, stop = null, step = null] = bounds;
  const by = step ?? 1;
  const from = (bound: number): number => (bound < 0 ? bound + extent : bound);
  const first = start === null ? (by > 0 ? 0 : extent - 1) : from(start);
  const inside = (position: number): boolean =>
    stop === null ? true : by > 0 ? position < from(stop) : position > (stop < -extent ? -1 : from(stop));
  const found: number[] = [];
  let position = by > 0 ? Math.max(first, 0) : Math.min(first, extent - 1);
  for (; position >= 0 && position < extent && inside(position); position += by) found.push(position);
  return found;
}

describe('slices, as NumPy means them', () => {
  test.each([
    [[1, 3, 1], 5, [1, 2]],
    [[1, 3], 5, [1, 2]],
    [[1, 3, null], 5, [1, 2]],
    [[null, null, null], 3, [0, 1, 2]],
    [[null, null, -1], 3, [2, 1, 0]],
    [[null, null, 2], 5, [0, 2, 4]],
    [[-2, null], 5, [3, 4]],
    [[null, -2], 5, [0, 1, 2]],
    [[4, 1, -1], 5, [4, 3, 2]],
    [[4, null, -2], 5, [4, 2, 0]],
    [[-1, -4, -1], 5, [4, 3, 2]],
    [[3, 1], 5, []],
    [[1, 3, -1], 5, []],
    [[7, 9], 5, []],
    [[-9, 2], 5, [0, 1]],
    [[3, 99], 5, [3, 4]],
    [[99, null, -1], 5, [4, 3, 2, 1, 0]],
    [[null, null, 9], 5, [0]],
    [[null, null], 0, []],
    [[null, null, -1], 0, []],
    [[0, 5, 2 ** 53 - 1], 5, [0]],
  ])('%j of extent %i takes %j', (spec, extent, taken) => {
    const [slice] = normalizeSlices([spec], [extent]);
    expect(slice?.isIndex).toBe(false);
    expect(elements(slice ?? { isIndex: false, start: 0, extent: -1, step: 1 })).toEqual(taken);
  });

  test('every small start, stop and step of every small extent takes what walking takes', () => {
    const bounds = [null, -7, -5, -4, -3, -1, 0, 1, 2, 3, 4, 5, 7];
    for (const extent of [0, 1, 4, 5]) {
      for (const start of bounds) {
        for (const stop of bounds) {
          for (const step of [null, -3, -2, -1, 1, 2, 3, 9, -9]) {
            const [slice] = normalizeSlices([[start, stop, step]], [extent]);
            const label = JSON.stringify([start, stop, step, extent]);
            expect([label, slice && elements(slice)]).toEqual([label, walk([start, stop, step], extent)]);
          }
        }
      }
    }
  });

  test('an empty range starts at 0, so that it stays inside the axis', () => {
    expect(normalizeSlices([[9, 99, 1]], [5])).toEqual([{ isIndex: false, start: 0, extent: 0, step: 1 }]);
    expect(normalizeSlices([[null, null, -1]], [0])).toEqual([{ isIndex: false, start: 0, extent: 0, step: -1 }]);
  });

  test.each([
    [0, 0],
    [4, 4],
    [-1, 4],
    [-5, 0],
  ])('index %i of extent 5 is element %i and drops the axis', (index, start) => {
    expect(normalizeSlices([index], [5])).toEqual([{ isIndex: true, start, extent: 1, step: 1 }]);
  });

  test('null is the whole axis', () => {
    expect(normalizeSlices([null], [5])).toEqual([{ isIndex: false, start: 0, extent: 5, step: 1 }]);
  });

  test('missing trailing axes are whole, indexed ones are gone', () => {
    const slices = normalizeSlices([1, null, [0, 3, 2]], [4, 5, 6, 7]);
    expect(slices.length).toBe(3);
    expect(slicedShape(slices, [4, 5, 6, 7])).toEqual([5, 2, 7]);
    expect(slicedShape(normalizeSlices([], [4, 5]), [4, 5])).toEqual([4, 5]);
    expect(slicedShape([], [])).toEqual([]);
  });

  test.each([
    [[5], [5], 'spec 0 is 5; axis 0 has extent 5, so it must be from -5 to 4'],
    [[null, -4], [5, 3], 'spec 1 is -4; axis 1 has extent 3, so it must be from -3 to 2'],
    [[0], [0], 'spec 0 is 0; axis 0 is empty'],
    [[0.5], [5], 'spec 0 is 0.5; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
    [[[0, 5, 0]], [5], 'spec 0[2] is 0; a step must not be 0'],
    [[[0.5, 5]], [5], 'spec 0[0] is 0.5; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
    [[[0, Infinity]], [5], 'spec 0[1] is Infinity; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
    [[null, null], [5], 'slice was given 2 specs; the tensor has 1 axis (shape [5])'],
    [[0], [], 'slice was given 1 specs; the tensor has 0 axes (shape [])'],
  ])('%j of %j: RangeError', (specs, shape, message) => {
    expect(errorOf(() => normalizeSlices(specs, shape))).toMatchObject(rangeErrorWith(message));
  });

  test.each([
    ['1', "'1'"],
    [undefined, 'undefined'],
    [1n, '1n'],
    [{}, 'an object'],
    [[], '[]'],
    [[1], '[1]'],
    [[1, 2, 3, 4], '[1, 2, 3, 4]'],
  ])('%p is no spec: TypeError', (spec, shown) => {
    expect(errorOf(() => normalizeSlices([spec], [5]))).toMatchObject(
      typeErrorWith(`spec 0 is ${shown}; it must be an index, null for the whole axis, or [start, stop, step]`),
    );
  });

  test('a bound that is no number is a TypeError', () => {
    expect(errorOf(() => normalizeSlices([['0', 1]], [5]))).toMatchObject(
      typeErrorWith("spec 0[0] is '0'; it must be an integer or null"),
    );
    expect(errorOf(() => normalizeSlices([[0, 1n]], [5]))).toMatchObject(
      typeErrorWith('spec 0[1] is 1n; it must be an integer or null'),
    );
  });
});

describe('an element index', () => {
  test('counts from the end where negative', () => {
    expect(normalizeIndex([0, -1, 2], [1, 4, 3])).toEqual([0, 3, 2]);
    expect(normalizeIndex([], [])).toEqual([]);
  });

  test.each([
    [[0], [2, 3], '1 index given; the tensor has 2 axes (shape [2, 3])'],
    [[0, 0], [], '2 indices given; the tensor has 0 axes (shape [])'],
    [[0, 3], [2, 3], 'index[1] is 3; axis 1 has extent 3, so it must be from -3 to 2'],
    [[-3, 0], [2, 3], 'index[0] is -3; axis 0 has extent 2, so it must be from -2 to 1'],
    [[0], [0], 'index[0] is 0; axis 0 is empty'],
    [[NaN], [3], 'index[0] is NaN; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
  ])('%j of %j: RangeError', (index, shape, message) => {
    expect(errorOf(() => normalizeIndex(index, shape))).toMatchObject(rangeErrorWith(message));
  });

  test.each([['0'], [null], [0n], [[0]]])('%j is no number: TypeError', (entry) => {
    expect(errorOf(() => normalizeIndex([entry], [3]))).toMatchObject(
      typeErrorWith(/^index\[0\] is .*; it must be an integer$/),
    );
  });
});

describe('an axis', () => {
  test('counts from the end where negative', () => {
    expect([0, 2, -1, -3].map((axis) => normalizeAxis(axis, 3))).toEqual([0, 2, 2, 0]);
  });

  test.each([
    [3, 3, 'axis is 3; the tensor has 3 axes, so it must be from -3 to 2'],
    [-4, 3, 'axis is -4; the tensor has 3 axes, so it must be from -3 to 2'],
    [1, 1, 'axis is 1; the tensor has 1 axis, so it must be from -1 to 0'],
    [0, 0, 'axis is 0; a 0-d tensor has no axes'],
    [0.5, 2, 'axis is 0.5; it must be an integer from -(2^53 - 1) to 2^53 - 1'],
  ])('%p of %i: RangeError', (axis, ndim, message) => {
    expect(errorOf(() => normalizeAxis(axis, ndim))).toMatchObject(rangeErrorWith(message));
  });

  test.each([undefined, null, '0', 0n])('%p is no number: TypeError', (axis) => {
    expect(errorOf(() => normalizeAxis(axis, 3))).toMatchObject(typeErrorWith(/^axis is .*; it must be an integer$/));
  });
});

describe('a new axis', () => {
  test('goes before the axis named, or at the end', () => {
    expect([0, 1, 2, -1, -3].map((axis) => normalizeNewAxis(axis, 2))).toEqual([0, 1, 2, 2, 0]);
    expect(normalizeNewAxis(0, 0)).toBe(0);
  });

  test.each([
    [3, 2, 'axis is 3; the tensor has 2 axes, so the new one must be from -3 to 2'],
    [-4, 2, 'axis is -4; the tensor has 2 axes, so the new one must be from -3 to 2'],
    [0, 64, 'the tensor has 64 axes already; a tensor has at most 64'],
  ])('%i of %i: RangeError', (axis, ndim, message) => {
    expect(errorOf(() => normalizeNewAxis(axis, ndim))).toMatchObject(rangeErrorWith(message));
  });

  test('what is no number is a TypeError', () => {
    expect(errorOf(() => normalizeNewAxis(undefined, 2))).toMatchObject(
      typeErrorWith('axis is undefined; it must be an integer'),
    );
  });
});

describe('a permutation', () => {
  test('reverses by default, and may be given with negative axes', () => {
    expect(normalizePermutation(undefined, 3)).toEqual([2, 1, 0]);
    expect(normalizePermutation([2, 0, 1], 3)).toEqual([2, 0, 1]);
    expect(normalizePermutation([-1, 0, 1], 3)).toEqual([2, 0, 1]);
    expect(normalizePermutation([], 0)).toEqual([]);
  });

  test.each([
    [[0, 1], 3, 'axes has 2 entries; the tensor has 3 axes, and each must be named once'],
    [[0, 0, 1], 3, 'axes[1] is axis 0, and axes[0] is too; an axis can be named once'],
    [[0, 1, -2], 3, 'axes[2] is axis 1, and axes[1] is too; an axis can be named once'],
    [[0, 3, 1], 3, 'axes[1] is 3; the tensor has 3 axes, so it must be from -3 to 2'],
  ])('%j of %i: RangeError', (order, ndim, message) => {
    expect(errorOf(() => normalizePermutation(order, ndim))).toMatchObject(rangeErrorWith(message));
  });

  test.each([
    [null, 'axes is null; it must be an array of axes, or left out to reverse them'],
    [1, 'axes is 1; it must be an array of axes, or left out to reverse them'],
    [['0', 1], "axes[0] is '0'; it must be an integer"],
  ])('%j: TypeError', (order, message) => {
    expect(errorOf(() => normalizePermutation(order, 2))).toMatchObject(typeErrorWith(message));
  });
});

describe('squeeze', () => {
  test.each([
    [undefined, [1, 2, 1], [0, 2]],
    [undefined, [2, 3], []],
    [0, [1, 2, 1], [0]],
    [-1, [1, 2, 1], [2]],
    [
      [2, 0],
      [1, 2, 1],
      [0, 2],
    ],
    [[], [1, 2, 1], []],
  ])('%j of %j drops %j', (axis, shape, dropped) => {
    expect(normalizeSqueeze(axis, shape)).toEqual(dropped);
  });

  test.each([
    [1, [1, 2, 1], 'axis 1 has extent 2; only axes of extent 1 can be squeezed'],
    [[0, 1], [1, 0], 'axis 1 has extent 0; only axes of extent 1 can be squeezed'],
    [[0, -3], [1, 2, 1], 'axis[1] is axis 0, and axis[0] is too; an axis can be named once'],
    [3, [1, 2, 1], 'axis is 3; the tensor has 3 axes, so it must be from -3 to 2'],
  ])('%j of %j: RangeError', (axis, shape, message) => {
    expect(errorOf(() => normalizeSqueeze(axis, shape))).toMatchObject(rangeErrorWith(message));
  });

  test('what is no axis is a TypeError', () => {
    expect(errorOf(() => normalizeSqueeze(null, [1]))).toMatchObject(
      typeErrorWith('axis is null; it must be an integer'),
    );
    expect(errorOf(() => normalizeSqueeze(['0'], [1]))).toMatchObject(
      typeErrorWith("axis[0] is '0'; it must be an integer"),
    );
  });
});
