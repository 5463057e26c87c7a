/**
 * What went wrong for somebody around lifetime, size, devices, workers and exits, each as the behaviour that is right
 * here.
 */
import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { fromDLPack, OwnedTensor, stats, Tensor } from '../dist/index.js';
import { adopt, fromPointer } from '../dist/unsafe.js';
import { runChild } from './support/children.js';
import { collect, collectUntil, expectCountersAtZero } from './support/counters.js';
import { expectStructsDeletedOnce } from './support/fixtures.js';
import { bytesOf, Holder, lab, makeStruct, ramp } from './support/lab.js';
import { expectBufferError, thrownBy } from './support/refusals.js';

expectCountersAtZero();
expectStructsDeletedOnce();

test('CASE C26 dispose while a typed-array view is held: the view reads as detached, a second dispose does nothing', () => {
  const before = stats();
  for (const make of [() => Tensor.from(ramp(4)), () => fromDLPack(makeStruct({ flags: 0, shape: [4] }).producer())]) {
    const tensor = make();
    const view = tensor.view();
    const part = view.subarray(1);
    expect([view[1], part[0]]).toEqual([1, 1]);
    tensor.dispose();
    expect([view.length, part.length, view[1]]).toEqual([0, 0, undefined]);
    tensor.dispose();
    expect(tensor.disposed).toBe(true);
  }
  const owned = OwnedTensor.from(ramp(4));
  const data = owned.data;
  owned.dispose();
  expect(data.length).toBe(0);
  owned.dispose();
  expect(stats()).toEqual(before);
});

describe('CASE C28 workers load the library and exit while a native thread holds what they exported', () => {
  test.each(['only workers load the library', 'released after their worker is gone'])('CASE C28 %s', async (stage) => {
    expect(await runChild('life-stage', [stage])).toMatchObject({
      code: 0,
      signal: null,
      hung: false,
      output: 'ready\n',
    });
  });
});

test('CASE C31 Uint8ClampedArray, the pixels of a canvas, is uint8', () => {
  const pixels = Uint8ClampedArray.of(0, 128, 255, 255, 1, 2, 3, 4);
  for (const tensor of [Tensor.from(pixels, { shape: [2, 1, 4] }), adopt(pixels, { shape: [2, 1, 4] })]) {
    expect(tensor.dtype).toBe('uint8');
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    expect(holder.picture()).toMatchObject({ dtype: [1, 8, 1], shape: [2, 1, 4] });
    expect(holder.elements()).toEqual([0, 128, 255, 255, 1, 2, 3, 4]);
    holder.release();
    tensor.dispose();
  }
});

test('CASE C32 a view over a SharedArrayBuffer: the bytes it covers, exported right', () => {
  const shared = new SharedArrayBuffer(64);
  new Float32Array(shared).set(ramp(16));
  const view = new Float32Array(shared, 16, 6);
  using copied = Tensor.from(view, { shape: [2, 3] });
  const holder = new Holder(copied.__dlpack__({ max_version: [1, 0] }));
  expect(holder.elements()).toEqual([4, 5, 6, 7, 8, 9]);
  holder.release();
  let adopted: Tensor | undefined;
  try {
    adopted = adopt(view);
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^ERR_/) });
  }
  if (adopted !== undefined) {
    const second = new Holder(adopted.__dlpack__({ max_version: [1, 0] }));
    expect(second.picture().data).toBe(lab.addressOf(view));
    expect(second.elements()).toEqual([4, 5, 6, 7, 8, 9]);
    second.release();
    adopted.dispose();
  }
});

test('CASE C33 a tensor of 5 GiB: usable; a full view is refused by name where the engine cannot; slices view fine', () => {
  const GIB = 2 ** 30;
  const bytes = 5 * GIB;
  const address = lab.mapMemory(bytes);
  const last = BigInt(bytes) - 8n;
  lab.poke(address + last, bytesOf(Float64Array.of(2.5)));
  let released = 0;
  const before = stats();
  const tensor = fromPointer({
    address,
    shape: [bytes],
    dtype: 'uint8',
    readOnly: false,
    release: () => void (released += 1),
  });
  expect([tensor.size, tensor.byteLength, tensor.shape[0]]).toEqual([bytes, bytes, bytes]);
  expect(tensor.at(bytes - 1)).toBe(bytesOf(Float64Array.of(2.5))[7]);
  let view;
  try {
    view = tensor.view();
  } catch (error) {
    expect(error).toMatchObject({ code: 'ERR_DLPACK_BUFFER', message: expect.stringMatching(/slice/) });
  }
  if (view !== undefined) expect([view.length, view[bytes - 1]]).toEqual([bytes, bytesOf(Float64Array.of(2.5))[7]]);
  tensor.releaseViews();
  const tail = tensor.slice([bytes - 8, bytes, 1]);
  expect([...tail.view()]).toEqual([...bytesOf(Float64Array.of(2.5))]);
  tail.dispose();
  const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
  expect(holder.picture()).toMatchObject({ shape: [bytes], data: address });
  const back = fromDLPack(holder.intoCapsule());
  const flipped = back.flip(0);
  const reversed = flipped.slice([0, 8, 1]);
  expect([...reversed.toTypedArray()]).toEqual([0x40, 4, 0, 0, 0, 0, 0, 0]);
  const rows = back.reshape([5, GIB]);
  expect(rows.at(4, GIB - 1)).toBe(bytesOf(Float64Array.of(2.5))[7]);
  for (const each of [reversed, flipped, rows, back, tensor]) each.dispose();
  stats();
  expect(released).toBe(1);
  expect(stats()).toEqual(before);
  lab.unmapMemory(address, bytes);

  const elsewhere = lab.mapMemory(bytes);
  const foreign = makeStruct({ shape: [5, GIB], dtype: [1, 8], data: elsewhere, strides: null, flags: 0 });
  const imported = fromDLPack(foreign.producer());
  const corner = imported.slice(4, [GIB - 4, GIB, 1]);
  if (!corner.is('uint8')) throw new Error('not uint8');
  corner.view({ writable: true }).fill(7);
  expect(imported.at(4, GIB - 1)).toBe(7);
  corner.dispose();
  imported.dispose();
  expect(foreign.deleterCalls).toBe(1);
  lab.unmapMemory(elsewhere, bytes);
});

test('CASE C34 a CUDA struct on a machine without CUDA: metadata, pass-through and dispose; every read refused by name', () => {
  const untouchable = lab.mapMemory(4096, true);
  const struct = makeStruct({ device: [2, 1], data: untouchable, flags: 0 });
  const tensor = fromDLPack(struct.producer());
  expect([tensor.device, tensor.shape, tensor.dtype]).toEqual([[2, 1], [2, 3], 'float32']);
  for (const read of [
    () => tensor.at(0, 0),
    () => tensor.view(),
    () => tensor.toTypedArray(),
    () => tensor.copy(),
    () => tensor.toArray(),
  ]) {
    expectBufferError(read, /cuda/i);
  }
  expect(inspect(tensor)).toMatch(/cuda/);
  const holder = new Holder(tensor.__dlpack__({ max_version: [1, 3], dl_device: [2, 1] }));
  expect(holder.picture()).toMatchObject({ device: [2, 1], data: untouchable, flags: 0n });
  tensor.dispose();
  expect(struct.deleterCalls).toBe(0);
  holder.release();
  expect(struct.deleterCalls).toBe(1);
  lab.unmapMemory(untouchable, 4096);
});

test('CASE C35 axes of extent 1 and empty tensors are contiguous with any strides, which are never normalised', () => {
  for (const [shape, strides] of [
    [
      [1, 6],
      [99, 1],
    ],
    [
      [6, 1],
      [1, -7],
    ],
    [
      [1, 1],
      [0, 0],
    ],
    [[0], [5]],
    [
      [3, 0, 2],
      [-1, 9, 4],
    ],
  ] as const) {
    using tensor = fromDLPack(makeStruct({ shape, strides, flags: 0, bytes: bytesOf(ramp(6)) }).producer());
    expect([tensor.isContiguous, tensor.strides]).toEqual([true, strides]);
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    expect(holder.picture().strides).toEqual(strides);
    holder.release();
    using back = fromDLPack(tensor);
    expect(back.strides).toEqual(strides);
  }
});

test('CASE C36 an exception that is under way while a capsule is collected is kept', async () => {
  const problem = new Error('under way');
  const struct = makeStruct();
  const failing = async (): Promise<void> => {
    try {
      ((): void => void struct.capsule())();
      throw problem;
    } finally {
      await collectUntil(() => struct.deleterCalls === 1);
    }
  };
  await expect(failing()).rejects.toBe(problem);
  expect(struct.deleterCalls).toBe(1);
});

test("CASE C37 the producer's __dlpack__ throws: the very same error object, after exactly one call", () => {
  let calls = 0;
  const problem = new TypeError('no such option: max_version');
  const producer = {
    __dlpack__(): object {
      calls += 1;
      throw problem;
    },
    __dlpack_device__: () => [1, 0] as const,
  };
  expect(thrownBy(() => fromDLPack(producer))).toBe(problem);
  expect(calls).toBe(1);
});

test('CASE C38 a consumer overwrites ndim, shape and strides in our struct and calls the deleter: freed as it was built', () => {
  const before = stats();
  for (const options of [{ max_version: [1, 3] as const }, {}, { max_version: [1, 0] as const, copy: true }]) {
    const tensor = Tensor.from(ramp(6), { shape: [2, 3] });
    const holder = new Holder(tensor.__dlpack__(options));
    holder.scramble();
    holder.release();
    tensor.dispose();
  }
  expect(stats()).toEqual(before);
});

test('CASE C39 eight workers load, use and unload at once: no crash, no leak, no cross-talk', async () => {
  await collect(3);
  const before = stats();
  const results = await Promise.all(
    Array.from(
      { length: 8 },
      (_, seed) =>
        new Promise<unknown>((resolve) => {
          const worker = new Worker(path.join(__dirname, 'support/workers/at-work.js'), {
            workerData: { seed: seed + 1, rounds: 60 },
          });
          let posted: unknown;
          worker.on('message', (message) => void (posted = message));
          worker.on('error', (error) => void (posted = error));
          worker.on('exit', (code) => resolve({ code, posted }));
        }),
    ),
  );
  expect(results).toEqual(results.map(() => ({ code: 0, posted: { right: 60, undeleted: [] } })));
  expect(stats()).toEqual(before);
});

test.each(['natural', 'exit', 'process.exit while workers are at work', 'native release while the process ends'])(
  'CASE C40 the process ends with exports alive (%s): the right exit code and no hang',
  async (stage) => {
    const code = stage === 'exit' ? 7 : stage.startsWith('process.exit') ? 9 : 0;
    expect(await runChild('life-stage', [stage])).toMatchObject({ code, signal: null, hung: false, output: 'ready\n' });
  },
);
