import { inspect, stripVTControlCharacters, type InspectOptions, type InspectOptionsStylized } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path = require('node:path');
import type { Complex, DType } from '../dist/dtype.js';
import { inspectTensor, type Inspected } from '../dist/inspect.js';
import { expectedOf, parsePrinted, printOf } from './support/printed.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

type Value = number | bigint | boolean | Complex;

/** A thing that util.inspect shows as a tensor: its value at each index comes from its row-major position. */
function thing(
  dtype: DType,
  shape: readonly number[],
  valueAt: (position: number) => Value,
  more: Partial<Inspected> = {},
) {
  const reads: string[] = [];
  const inspected: Inspected = {
    className: 'Tensor',
    dtype,
    shape,
    flags: [],
    noValues: undefined,
    read(index) {
      reads.push(index.join());
      return valueAt(index.reduce((position, at, axis) => position * (shape[axis] ?? 1) + at, 0));
    },
    ...more,
  };
  return {
    reads,
    [inspect.custom]: (depth: number, options: InspectOptionsStylized): string =>
      inspectTensor(inspected, depth, options),
  };
}

function text(
  dtype: DType,
  shape: readonly number[],
  valueAt: (position: number) => Value,
  options: InspectOptions = {},
): string {
  return inspect(thing(dtype, shape, valueAt), options);
}

/** How one element looks, in brackets. */
const one = (dtype: DType, value: Value): string => text(dtype, [1], () => value).replace(/^.* \[1\] /, '');

describe('values in nested brackets', () => {
  test('0-d: the value', () => {
    expect(text('float64', [], () => 2.5)).toBe('Tensor<float64> [] 2.5');
  });

  test('one axis: on one line where it fits', () => {
    expect(text('uint8', [3], (i) => i)).toBe('Tensor<uint8> [3] [0, 1, 2]');
  });

  test('two axes: a line for each row, aligned', () => {
    expect(text('float32', [2, 3], (i) => i * 4.5)).toBe(
      'Tensor<float32> [2, 3]\n[[ 0. ,  4.5,  9. ],\n [13.5, 18. , 22.5]]',
    );
  });

  test('three axes: a blank line between blocks', () => {
    expect(text('int8', [2, 2, 2], (i) => i)).toBe(
      'Tensor<int8> [2, 2, 2]\n[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]',
    );
  });

  test('a row that is longer than a line goes on below its start', () => {
    expect(text('int32', [1, 30], (i) => 1000 + i, { breakLength: 40 }).split('\n')).toEqual([
      'Tensor<int32> [1, 30]',
      '[[1000, 1001, 1002, 1003, 1004, 1005,',
      '  1006, 1007, 1008, 1009, 1010, 1011,',
      '  1012, 1013, 1014, 1015, 1016, 1017,',
      '  1018, 1019, 1020, 1021, 1022, 1023,',
      '  1024, 1025, 1026, 1027, 1028, 1029]]',
    ]);
  });

  test('nothing: empty brackets, and no element is read', () => {
    const empty = thing('float32', [2, 0, 3], () => {
      throw new Error('read');
    });
    expect(inspect(empty)).toBe('Tensor<float32> [2, 0, 3]\n[]');
    expect(inspect(thing('float32', [0], () => 0))).toBe('Tensor<float32> [0] []');
  });
});

describe('one element', () => {
  test.each([
    ['bool', true, '[ true]'],
    ['int64', -5n, '[-5]'],
    ['uint64', 18446744073709551615n, '[18446744073709551615]'],
    ['float64', 2, '[2.]'],
    ['float64', -0, '[-0.]'],
    ['float64', NaN, '[nan]'],
    ['float64', -Infinity, '[-inf]'],
    ['float64', 0.1 + 0.2, '[0.3]'],
    ['float64', 1 / 3, '[0.33333333]'],
    ['float64', 2 ** -9, '[0.00195312]'],
    ['float64', 3 * 2 ** -9, '[0.00585938]'],
    ['float64', 1e-10, '[1.e-10]'],
    ['float64', 1.23456789012e-7, '[1.23456789e-07]'],
    ['float64', 12345678.125, '[12345678.125]'],
    ['float64', 123456789.125, '[1.23456789e+08]'],
    ['float64', 1e300, '[1.e+300]'],
    ['float64', 5e-324, '[5.e-324]'],
    ['float32', Math.fround(0.1), '[0.1]'],
    ['float32', Math.fround(3.14), '[3.14]'],
    ['float32', Math.fround(16777.217), '[16777.217]'],
    ['float32', 999_999, '[999999.]'],
    ['float32', 1e6, '[1.e+06]'],
    ['float32', Math.fround(1e-45), '[1.e-45]'],
    ['float32', Math.fround(3.4028234663852886e38), '[3.4028235e+38]'],
    ['float16', 0.0999755859375, '[0.1]'],
    ['float16', 65504, '[6.55e+04]'],
    ['float16', 2 ** -24, '[6.e-08]'],
    ['bfloat16', 0.10009765625, '[0.1]'],
    ['bfloat16', 3.140625, '[3.14]'],
    ['bfloat16', 2 ** -133, '[9.e-41]'],
    ['float8_e4m3fn', 448, '[450.]'],
    ['float8_e8m0fnu', 2 ** -127, '[6.e-39]'],
    ['float4_e2m1fn', 1.5, '[1.5]'],
    ['complex64', [Math.fround(0.1), -2], '[0.1-2.i]'],
    ['complex128', [0, 0.5], '[0.+0.5i]'],
    ['complex128', [NaN, -0], '[nan-0.i]'],
    ['complex128', [-Infinity, NaN], '[-inf+nani]'],
  ] as const)('%s %p is %s', (dtype, value, shown) => {
    expect(one(dtype, value)).toBe(shown);
  });

  test('what is shown of a coarse float is that float and no neighbour', () => {
    for (let bits = 1; bits < 5000; bits += 7) {
      const value = Math.fround(bits * 1.37e-3);
      const shown = Number(one('float32', value).slice(1, -1).trim());
      expect(Math.fround(shown)).toBe(value);
    }
  });
});

describe('the head', () => {
  test('names class, dtype, shape and flags', () => {
    const flagged = thing('uint8', [2], (i) => i, { className: 'OwnedTensor', flags: ['lent', 'overlapping'] });
    expect(inspect(flagged)).toBe('OwnedTensor<uint8> [2] lent, overlapping [0, 1]');
  });

  test('is all there is of a tombstone, or of memory that the host cannot read', () => {
    const gone = thing('uint8', [2], (i) => i, { flags: ['read-only'], noValues: 'consumed' });
    expect(inspect(gone)).toBe('Tensor<uint8> [2] read-only, consumed');
    expect(gone.reads).toEqual([]);
  });

  test('is all there is where reading fails, with the reason', () => {
    const failing = thing('uint8', [2], () => {
      throw new Error('Tensor already disposed');
    });
    expect(inspect(failing)).toBe('Tensor<uint8> [2] (Tensor already disposed)');
  });
});

describe('large tensors show their edges', () => {
  test('1,000 elements are shown in full', () => {
    const full = thing('int32', [1000], (i) => i);
    expect(inspect(full)).not.toContain('...');
    expect(full.reads.length).toBe(1000);
  });

  test('1,001 elements show three at each end, and only those are read', () => {
    const long = thing('int32', [1001], (i) => i);
    expect(inspect(long)).toBe('Tensor<int32> [1001] [   0,    1,    2, ...,  998,  999, 1000]');
    expect(long.reads).toEqual(['0', '1', '2', '998', '999', '1000']);
  });

  test('each axis is elided by itself', () => {
    expect(text('int32', [100, 100], (i) => i).split('\n')).toEqual([
      'Tensor<int32> [100, 100]',
      '[[   0,    1,    2, ...,   97,   98,   99],',
      ' [ 100,  101,  102, ...,  197,  198,  199],',
      ' [ 200,  201,  202, ...,  297,  298,  299],',
      ' ...,',
      ' [9700, 9701, 9702, ..., 9797, 9798, 9799],',
      ' [9800, 9801, 9802, ..., 9897, 9898, 9899],',
      ' [9900, 9901, 9902, ..., 9997, 9998, 9999]]',
    ]);
  });

  test('axes of up to six are whole', () => {
    expect(text('int32', [6, 1000], (i) => i).match(/\.\.\./g)?.length).toBe(6);
  });

  test('however many axes there are, few elements are read', () => {
    for (const shape of [
      Array.from({ length: 20 }, () => 7),
      Array.from({ length: 40 }, () => 2),
      Array.from({ length: 52 }, () => 2),
    ]) {
      const deep = thing('uint8', shape, () => 1);
      expect(inspect(deep)).toContain('...');
      expect(deep.reads.length).toBeLessThanOrEqual(10_000);
    }
  });

  test('five axes of seven show six of each, as NumPy would', () => {
    const deep = thing('uint8', [7, 7, 7, 7, 7], () => 1);
    inspect(deep);
    expect(deep.reads.length).toBe(6 ** 5);
  });
});

describe('the options of util.inspect', () => {
  test('deeper than depth: the head in brackets', () => {
    expect(inspect({ a: { b: thing('uint8', [2], (i) => i) } }, { depth: 1 })).toBe(
      '{ a: { b: [Tensor<uint8> [2]] } }',
    );
  });

  test('within an object: its lines are indented', () => {
    expect(inspect({ t: thing('uint8', [2, 2], (i) => i) })).toBe(
      '{\n  t: Tensor<uint8> [2, 2]\n  [[0, 1],\n   [2, 3]]\n}',
    );
  });

  test.each([{ compact: true }, { breakLength: Infinity }])('%p: all on one line', (options) => {
    expect(text('uint8', [2, 2], (i) => i, options)).toBe('Tensor<uint8> [2, 2] [[0, 1], [2, 3]]');
  });

  test('colours: of the values alone, and they do not disturb the layout', () => {
    const coloured = text('float32', [2, 2], (i) => i * 10, { colors: true });
    expect(coloured).toContain('\u001b[33m20.\u001b[39m');
    expect(stripVTControlCharacters(coloured)).toBe(text('float32', [2, 2], (i) => i * 10));
  });
});

describe('NumPy prints the same', () => {
  const printed = parsePrinted(readFileSync(path.resolve(__dirname, '../test/vectors/printed.jsonl'), 'utf8'));

  test.each(printed.map((record) => [record.kind, record.shape, record] as const))('%s %j', (_kind, _shape, record) => {
    expect(printOf(record)).toBe(expectedOf(record));
  });
});

test("Node's default for the length of a line is that of most terminals here", () => {
  const wide = thing('int32', [1, 100], () => 1000);
  const lengths = inspect(wide)
    .split('\n')
    .map((line) => line.length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(80);
  expect(inspect(wide, { breakLength: 200 }).split('\n').length).toBeLessThan(lengths.length);
});
