/**
 * `copy: false`: JavaScript memory itself, pinned for exactly as long as anything holds it, and only where that is
 * sound.
 */
import { expect, test } from '@jest/globals';
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { scope, stats, Tensor } from '../../dist/index.js';
import { fromImageData, fromNdarray, fromOrt, fromSharp } from '../../dist/interop/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import { runChild } from '../support/children.js';
import { collect, collectUntil, expectCountersAtZero } from '../support/counters.js';
import { Holder, lab, ramp, READ_ONLY } from '../support/lab.js';
import { expectBufferError, expectTypeError, leavingNothing } from '../support/refusals.js';
import { resizable } from '../support/resizable.js';
import { detachedArray } from '../support/values.js';

expectCountersAtZero();

/** Twelve numbers as a matrix, turned and reversed: strides [1, -4]. */
function turned(data = ramp(12)): { data: Float32Array; shape: number[]; stride: number[]; offset: number } {
  return { data, shape: [4, 3], stride: [1, -4], offset: 8 };
}

const TURNED = [
  [8, 4, 0],
  [9, 5, 1],
  [10, 6, 2],
  [11, 7, 3],
];

test('a strided array keeps its strides, and exports them as READ_ONLY without a copy', () => {
  const array = turned();
  using tensor = fromNdarray(array, { copy: false });
  expect([tensor.strides, tensor.toArray()]).toEqual([[1, -4], TURNED]);
  const address = lab.addressOf(array.data) + 32n;
  expect(dataAddress(tensor)).toBe(address);
  const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
  const picture = holder.picture();
  expect({ flags: picture.flags, strides: picture.strides }).toEqual({ flags: READ_ONLY, strides: [1, -4] });
  expect(holder.elements()).toEqual(TURNED.flat());
  holder.release();
});

test('what comes of a scope stays over its memory when the scope has ended', () => {
  const array = turned();
  using tensor = scope(() => fromNdarray(array, { copy: false }));
  array.data[8] = 80;
  expect(tensor.at(0, 0)).toBe(80);
  expect(dataAddress(tensor)).toBe(lab.addressOf(array.data) + 32n);
});

test('the array lives as long as an export does, and its memory is given back with the last holder', async () => {
  await collect(3);
  const before = stats();
  const holders = ((): Holder[] => {
    using strided = fromNdarray(turned(), { copy: false });
    using plain = fromOrt({ type: 'float32', dims: [12], data: ramp(12) }, { copy: false });
    return [strided, plain].map((tensor) => new Holder(tensor.__dlpack__({ max_version: [1, 0] })));
  })();
  await collect(5);
  expect(holders.map((holder) => holder.elements())).toEqual([TURNED.flat(), [...ramp(12)]]);
  for (const holder of holders) holder.release();
  expect(await collectUntil(() => stats().blocks === before.blocks)).toBe(true);
  expect(stats()).toEqual(before);
});

test('it is collected without a dispose', async () => {
  await collect(3);
  const before = stats();
  ((): void => {
    for (let i = 0; i < 20; i++) fromNdarray(turned(), { copy: false });
  })();
  expect(await collectUntil(() => stats().blocks === before.blocks)).toBe(true);
});

test('pinned memory cannot be sent elsewhere, however it is laid out', () => {
  for (const array of [turned(), { data: ramp(4), shape: [4], stride: [1], offset: 0 }]) {
    using tensor = fromNdarray(array, { copy: false });
    const { buffer } = array.data;
    try {
      structuredClone(buffer, { transfer: [buffer as ArrayBuffer] }); // copies on some runtimes, throws on others
    } catch (error) {
      expect(error).toMatchObject({ name: 'DataCloneError' });
    }
    expect(buffer.byteLength).toBe(array.data.length * 4);
    expect(tensor.at(...tensor.shape.map(() => 0))).toBe(array.data[array.offset]);
  }
});

test('a part of a larger array is exactly that part', () => {
  const pool = ramp(16);
  const part = pool.subarray(4, 8);
  using tensor = fromImageData({ data: part, width: 2, height: 1 }, { copy: false });
  expect(tensor.toArray()).toEqual([
    [
      [4, 5],
      [6, 7],
    ],
  ]);
  using inner = fromNdarray({ data: part, shape: [2], stride: [2], offset: 1 }, { copy: false });
  expect(inner.toArray()).toEqual([5, 7]);
});

test('memory that may move, is gone, or is not aligned: refused by name, and nothing is pinned', () => {
  const buffer = resizable(32, 64);
  const growing = new Float32Array(buffer);
  const gone = detachedArray(4);
  const bytes = Buffer.alloc(16).subarray(1, 9);
  leavingNothing(() => {
    for (const stride of [1, 2]) {
      const layout = { shape: [2], stride: [stride], offset: 0 };
      expectBufferError(
        () => fromNdarray({ data: growing, ...layout }, { copy: false }),
        'fromNdarray: copy: false cannot be kept: the array lies in a resizable or growable buffer, whose memory may ' +
          'move. Leave copy null to let it be copied',
      );
      expectTypeError(() => fromNdarray({ data: gone, ...layout }, { copy: false }), /detached/);
    }
    expectBufferError(
      () => fromSharp({ data: bytes, info: { width: 1, height: 1, channels: 4 } }, { dtype: 'uint16', copy: false }),
      /1 byte past a multiple of 2/,
    );
  });
  using copied = fromNdarray({ data: growing, shape: [2], stride: [2], offset: 1 });
  expect(copied.toArray()).toEqual([0, 0]);
});

test('in a worker it is refused by name, and the copy works', async () => {
  const program = `
    const { parentPort } = require('node:worker_threads');
    const { fromNdarray } = require(${JSON.stringify(path.resolve(__dirname, '../../dist/interop/index.js'))});
    const { stats } = require(${JSON.stringify(path.resolve(__dirname, '../../dist/index.js'))});
    const before = JSON.stringify(stats());
    const answers = [1, 2].map((step) => {
      const array = { data: new Float32Array([1, 2, 3]), shape: [2], stride: [step], offset: 0 };
      try {
        fromNdarray(array, { copy: false });
        return 'no error';
      } catch (error) {
        const copy = fromNdarray(array);
        const values = copy.toArray();
        copy.dispose();
        return [error.name, error.code, error.message, values];
      }
    });
    parentPort.postMessage({ answers, unmoved: JSON.stringify(stats()) === before });
  `;
  const worker = new Worker(program, { eval: true });
  const answer: unknown = await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  await worker.terminate();
  const text = 'fromNdarray works on the main thread only; use Tensor.from(), which copies, in a worker';
  expect(answer).toEqual({
    answers: [
      ['BufferError', 'ERR_DLPACK_BUFFER', text, [1, 2]],
      ['BufferError', 'ERR_DLPACK_BUFFER', text, [1, 3]],
    ],
    unmoved: true,
  });
});

test('a process that ends with adopted memory of every kind alive ends in order', async () => {
  expect(await runChild('../interop/ending', [])).toMatchObject({ code: 0, signal: null, output: 'ok\n' });
});

test('an adopted tensor never passes Door 2', () => {
  for (const array of [turned(), { data: ramp(4), shape: [4], stride: [1], offset: 0 }]) {
    using tensor: Tensor = fromNdarray(array, { copy: false });
    expect(tensor.isUnique).toBe(false);
    expectBufferError(() => tensor.intoDLPack(), /^Tensor buffer is shared/);
  }
});
