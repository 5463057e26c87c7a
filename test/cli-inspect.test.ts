/** What `node-dlpack inspect` finds out of a tensor's elements, and how it draws them. */
import { describe, expect, test } from '@jest/globals';
import { drawPicture } from '../dist/cli/inspect/picture.js';
import { summarize, type Summary } from '../dist/cli/inspect/summary.js';
import { hasColours, formatBytes } from '../dist/cli/output.js';
import { stats, Tensor, type DataOptions, type TensorData } from '../dist/index.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

function summaryOf(data: TensorData, options?: DataOptions): Summary {
  const before = stats();
  const tensor = Tensor.from(data, options);
  const summary = summarize(tensor);
  tensor.dispose();
  expect(stats()).toEqual(before);
  return summary;
}

const counts = ({ histogram }: Summary): number[] => histogram.map(({ count }) => count);

describe('a summary', () => {
  test('counts what is not finite, and leaves it out of the rest', () => {
    expect(summaryOf(Float32Array.of(NaN, 1, Infinity, -Infinity, 3, NaN))).toEqual({
      min: 1,
      max: 3,
      mean: 2,
      nan: 2,
      positiveInfinity: 1,
      negativeInfinity: 1,
      histogram: [1, 0, 0, 0, 0, 0, 0, 0, 0, 1].map((count, bin) => ({ from: 1 + bin * 0.2, count })),
    });
  });

  test.each<[string, TensorData]>([
    ['no elements', new Float32Array(0)],
    ['none that is finite', [NaN, Infinity]],
  ])('of %s has no extremes', (_, data) => {
    const { min, max, mean, histogram } = summaryOf(data);
    expect([min, max, mean, histogram]).toEqual([undefined, undefined, undefined, []]);
  });

  test('of few integers has a bin for each value, of equal elements one', () => {
    expect(summaryOf(Int8Array.of(-1, 2, 2)).histogram).toEqual([
      { from: -1, count: 1 },
      { from: 0, count: 0 },
      { from: 1, count: 0 },
      { from: 2, count: 2 },
    ]);
    expect(summaryOf(Float64Array.of(0.5, 0.5)).histogram).toEqual([{ from: 0.5, count: 2 }]);
    expect(summaryOf([true, false, true]).histogram).toEqual([
      { from: 0, count: 1 },
      { from: 1, count: 2 },
    ]);
  });

  test('of 64-bit integers has exact extremes', () => {
    const { min, max, mean } = summaryOf(BigUint64Array.of(2n ** 63n + 1n, 2n ** 64n - 1n, 5n));
    expect([min, max]).toEqual([5n, 2n ** 64n - 1n]);
    expect(mean).toBeCloseTo(Number((2n ** 63n + 2n ** 64n + 5n) / 3n), -5);
    expect(summaryOf(BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n)).min).toBe(-(2n ** 63n));
  });

  test('of complex numbers has means of both parts and no order', () => {
    const summary = summaryOf(Float32Array.of(1, 2, 3, -4, NaN, 0), { dtype: 'complex64' });
    expect(summary).toEqual({
      min: undefined,
      max: undefined,
      mean: [2, -2 / 3],
      nan: 1,
      positiveInfinity: 0,
      negativeInfinity: 0,
      histogram: [],
    });
  });

  test('of the largest and the smallest numbers does not overflow', () => {
    const summary = summaryOf(Float64Array.of(-Number.MAX_VALUE, 0, Number.MAX_VALUE));
    expect([summary.mean, counts(summary)]).toEqual([0, [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]]);
  });

  test('does not lose small numbers beside large ones', () => {
    expect(summaryOf(Float64Array.of(1e100, 1, -1e100, 1)).mean).toBe(0.5);
  });

  test('of any layout, and of more elements than one part holds', () => {
    using tensor = Tensor.from(
      Float32Array.from({ length: 600_000 }, (_, i) => i % 1000),
      { shape: [600, 1000] },
    );
    using steps = tensor.slice(null, [null, null, 2]);
    const { min, max, mean, nan } = summarize(steps);
    expect([min, max, mean, nan]).toEqual([0, 998, 499, 0]);
    expect(counts(summarize(tensor)).reduce((sum, count) => sum + count)).toBe(600_000);
    using packed = Tensor.from([0.5, 6, 1.5], { dtype: 'float4_e2m1fn' });
    expect(summarize(packed)).toMatchObject({ min: 0.5, max: 6 });
  });
});

function draw(tensor: Tensor, colours = false, columns = 80): string | undefined {
  const before = stats();
  const drawn = drawPicture(tensor, summarize(tensor), { colours, columns });
  expect(stats()).toEqual(before);
  tensor.dispose();
  return drawn;
}

const bytes = (shape: readonly number[], valueAt: (i: number) => number): Tensor<'uint8'> =>
  Tensor.from(
    Uint8Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => valueAt(i)),
    { shape },
  );

describe('a picture', () => {
  test.each([
    [[8, 9], true],
    [[8, 9, 1], true],
    [[8, 9, 3], true],
    [[8, 9, 4], true],
    [[1, 8, 9], true],
    [[3, 8, 9], true],
    [[1, 3, 8, 9], true],
    [[1, 1, 8, 9, 3], true],
    [[7, 9], false],
    [[8, 7], false],
    [[8, 9, 2], false],
    [[2, 8, 9], false],
    [[2, 3, 8, 9], false],
    [[100], false],
    [[0, 8], false],
  ])('may have the shape %j: %p', (shape, drawn) => {
    expect(draw(bytes(shape, () => 255)) !== undefined).toBe(drawn);
  });

  test('of complex numbers there is none', () => {
    expect(draw(Tensor.from(new Float32Array(200), { shape: [10, 10], dtype: 'complex64' }))).toBeUndefined();
  });

  test('in colour: two pixels a character, and the colours are reset at the end of a line', () => {
    const lines = draw(
      bytes([8, 8, 3], (i) => [255, 128, 0][i % 3] ?? 0),
      true,
    )?.split('\n');
    expect(lines).toHaveLength(4);
    expect(lines?.[0]).toBe(`${'\u001b[38;2;255;128;0;48;2;255;128;0m\u2580'.repeat(8)}\u001b[0m`);
    const rows = draw(
      bytes([8, 8], (i) => (Math.floor(i / 8) % 2) * 255),
      true,
    );
    expect(rows).toContain('\u001b[38;2;0;0;0;48;2;255;255;255m\u2580');
  });

  test('channels first and last draw the same; what is transparent is black', () => {
    const last = bytes([8, 8, 3], (i) => (i * 7) % 256);
    using first = last.transpose([2, 0, 1]);
    const copy = first.contiguous();
    expect(draw(copy, true)).toBe(draw(last, true));
    expect(draw(bytes([8, 8, 4], (i) => (i % 4 === 3 ? 0 : 255)))?.trim()).toBe('');
  });

  test('is never wider than the terminal, nor higher than 40 lines', () => {
    const wide = draw(
      bytes([100, 1000], () => 255),
      false,
      50,
    )?.split('\n');
    expect([wide?.length, wide?.[0]?.length]).toEqual([3, 50]);
    const high = draw(bytes([1000, 500], () => 255))?.split('\n');
    expect([high?.length, high?.[0]?.length]).toEqual([40, 40]);
  });

  test('is scaled between its extremes, or between 0 and 1 where all lie there', () => {
    const floats = (values: readonly number[]): Tensor =>
      Tensor.from(
        Float32Array.from({ length: 64 }, (_, i) => values[i % values.length] ?? 0),
        { shape: [8, 8] },
      );
    expect(draw(floats([-3, 5]))?.split('\n')[0]).toBe(' @ @ @ @');
    expect(draw(floats([0.5, 1]))?.split('\n')[0]).toBe('+@+@+@+@');
    expect(draw(floats([7]))?.split('\n')[0]).toBe('@@@@@@@@');
    expect(draw(floats([NaN, 1]))?.split('\n')[0]).toBe('?@?@?@?@');
    expect(draw(floats([NaN, 1]), true)).toContain('38;2;255;0;255');
    expect(draw(floats([NaN]))).toBeUndefined();
  });

  test('of many pixels is their mean', () => {
    const chess = draw(
      bytes([800, 800], (i) => ((i + Math.floor(i / 800)) % 2) * 255),
      true,
    );
    expect(new Set(chess?.match(/38;2;\d+/g))).toEqual(new Set(['38;2;128']));
  });
});

test('sizes are told in bytes, and in units where these are large', () => {
  expect([0, 1, 1023, 1024, 1536, 5 * 2 ** 30, 2 ** 52].map(formatBytes)).toEqual([
    '0 bytes',
    '1 byte',
    '1023 bytes',
    '1024 bytes (1.00 KiB)',
    '1536 bytes (1.50 KiB)',
    '5368709120 bytes (5.00 GiB)',
    '4503599627370496 bytes (4.10e+3 TiB)',
  ]);
});

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
])('colours on a terminal (%p) with %j: %p', (isTTY, env, expected) => {
  const terminal = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY');
  const saved = { NO_COLOR: process.env['NO_COLOR'], TERM: process.env['TERM'] };
  try {
    Object.defineProperty(process.stdout, 'isTTY', { value: isTTY, configurable: true });
    delete process.env['NO_COLOR'];
    process.env['TERM'] = 'xterm';
    Object.assign(process.env, env);
    expect(hasColours()).toBe(expected);
  } finally {
    if (terminal === undefined) Reflect.deleteProperty(process.stdout, 'isTTY');
    else Object.defineProperty(process.stdout, 'isTTY', terminal);
    for (const [name, value] of Object.entries(saved)) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  }
});
