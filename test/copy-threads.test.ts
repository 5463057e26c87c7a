/** How many threads a large copy may take, and that none of them stays. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { copyThreads, OwnedTensor, scope } from '../dist/index.js';
import { runChild } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';
import { labPath } from './support/lab-addon.js';
import { expectRangeError, expectTypeError } from './support/refusals.js';
import { SANITIZED } from './support/sanitized.js';

expectCountersAtZero();

const allocator = path.join(path.dirname(labPath), 'failing_allocator.node');
// It stands before GNU's library; a sanitizer stands there itself.
const refusing = process.platform === 'linux' && !SANITIZED && existsSync(allocator);

afterEach(() => void copyThreads(1));

test('is 1 unless somebody says otherwise, and answers what is in force', () => {
  expect(copyThreads()).toBe(1);
  expect(copyThreads(3)).toBe(3);
  expect(copyThreads()).toBe(3);
  expect(copyThreads(undefined)).toBe(3);
});

test('is one number for all threads of the process', async () => {
  copyThreads(5);
  const file = JSON.stringify(path.join(__dirname, '../dist/index.js'));
  const worker = new Worker(
    `const { copyThreads } = require(${file});
    require('node:worker_threads').parentPort.postMessage(copyThreads());
    copyThreads(6);`,
    { eval: true, env: { NODE_DLPACK_THREADS: '2' } },
  );
  const told = await new Promise((resolve) => void worker.once('message', resolve));
  await new Promise((resolve) => void worker.once('exit', resolve));
  expect([told, copyThreads()]).toEqual([5, 6]);
});

test.each([0, 65, -1, 2 ** 32 + 1])('%d: RangeError that tells the limits', (count) => {
  expectRangeError(() => copyThreads(count), `count is ${count}; it must be from 1 to 64`);
  expect(copyThreads()).toBe(1);
});

test.each([1.5, Number.NaN, '2', null, 2n])('%p: TypeError', (count) => {
  expectTypeError(() => copyThreads(count as number), /^count is .*; it must be an integer from 1 to 64$/);
});

test('copies and conversions give the same on any number of threads', () => {
  using plain = OwnedTensor.allocate([1023, 1025, 3], 'uint8');
  plain.data.forEach((_, index, data) => (data[index] = (index * 7919) % 251));
  using picture = plain.freeze();
  using channels = picture.transpose([2, 0, 1]);
  const options = { scale: [0.5, 2, 3], offset: [1, -1, 0.25], axis: 0 };
  const results = [1, 2, 7].map((count) => {
    copyThreads(count);
    return scope(() => {
      const converted = channels.to('float32', options).freeze();
      return [converted.toTypedArray(), converted.transpose([1, 2, 0]).contiguous().toTypedArray()];
    });
  });
  expect(results[0]?.[1]?.slice(0, 4)).toEqual(Float32Array.of(1, 138 * 2 - 1, 25 * 3 + 0.25, 163 * 0.5 + 1));
  const bytes = results.map((arrays) => arrays.map(({ buffer }) => Buffer.from(buffer)));
  expect(bytes[1]?.map((array, index) => array.equals(bytes[0]?.[index] ?? Buffer.alloc(0)))).toEqual([true, true]);
  expect(bytes[2]?.map((array, index) => array.equals(bytes[0]?.[index] ?? Buffer.alloc(0)))).toEqual([true, true]);
});

describe('in a process of its own', () => {
  test('NODE_DLPACK_THREADS is what it begins with', async () => {
    const { code, output } = await runChild('copy-threads', ['say'], { NODE_DLPACK_THREADS: '4' });
    expect([code, output]).toEqual([0, '4\n']);
  });

  test.each(['0', '65', 'two', '1.5'])('NODE_DLPACK_THREADS=%s gets a warning and changes nothing', async (value) => {
    const { code, output } = await runChild('copy-threads', ['say'], { NODE_DLPACK_THREADS: value });
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(
        new RegExp(`^1\\n[^]*NODE_DLPACK_THREADS is '${value}'; it must be an integer from 1 to 64`),
      ),
    ]);
  });

  test('no thread is left when a copy has returned, and the process ends by itself', async () => {
    const { code, hung, output } = await runChild('copy-threads', ['copy']);
    expect([code, hung, output]).toEqual([0, false, 'true 0\n']);
  });

  test('a worker that is terminated in the middle of its copies does no harm', async () => {
    const { code, signal, output } = await runChild('copy-threads', ['end-worker']);
    expect([code, signal, output]).toEqual([0, null, 'true\n']);
  });

  (refusing ? test : test.skip)('a system that has no thread left is slower, and no more', async () => {
    const { code, signal, output } = await runChild('copy-threads', ['no-threads'], { LD_PRELOAD: allocator });
    expect([code, signal]).toEqual([0, null]);
    expect(output).toBe('true true 1\nError: the system has no thread to spare 1 2\n');
  });

  test('nor does the end of the process in the middle of them', async () => {
    const { code, signal, output } = await runChild('copy-threads', ['exit']);
    expect([code, signal, output]).toEqual([0, null, '']);
  });
});
