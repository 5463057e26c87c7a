/** The exchange table the other way round: values from managed tensors, fresh memory, workers, and what a call costs. */
import { describe, expect, test } from '@jest/globals';
import { Worker } from 'node:worker_threads';
import { capsuleName, fromDLPack, stats, Tensor } from '../dist/index.js';
import { runChild } from './support/children.js';
import { collect, collectUntil, expectCountersAtZero } from './support/counters.js';
import { Cost, kit, kitPath } from './support/kit-lab.js';
import { makeStruct } from './support/lab.js';

expectCountersAtZero();

const table = kit.tableOfClass(Tensor);
const [ENDING, OPAQUE, UNKNOWN_DEVICE] = [100, 57, 11];

describe('a value from a managed tensor', () => {
  test('is a capsule of which fromDLPack makes a tensor', () => {
    const struct = makeStruct({ flags: 0, shape: [2] });
    struct.handedOut = true;
    const capsule = kit.tableToValue(table, struct.address) as object;
    expect(capsuleName(capsule)).toBe('dltensor_versioned');
    using tensor = fromDLPack(capsule);
    expect([tensor.toArray(), tensor.readOnly]).toEqual([[0, 1], false]);
    tensor.dispose();
    expect(struct.deleterCalls).toBe(1);
  });

  test('that nobody takes runs the deleter once, when it is collected', async () => {
    const struct = makeStruct();
    struct.handedOut = true;
    kit.tableToValue(table, struct.address);
    expect(await collectUntil(() => struct.deleterCalls > 0)).toBe(true);
    await collect(2);
    expect(struct.deleterCalls).toBe(1);
  });

  test('is an error for NULL', () => {
    expect(kit.tableToValue(table, 0n)).toBe(1);
  });

  test('thousands in one go are all found again', async () => {
    const before = stats();
    for (let count = 0; count < 5000; count += 1)
      kit.tableToValue(table, kit.tableAllocate(table, [1, 0], [0, 8, 1], [16], 1) as bigint);
    expect(stats().exports - before.exports).toBe(5000);
    expect(await collectUntil(() => stats().exports === before.exports)).toBe(true);
  });
});

describe('fresh memory', () => {
  test('is row-major, aligned and its holder’s alone', () => {
    const before = stats();
    const managed = kit.tableAllocate(table, [1, 0], [2, 32, 1], [2, 3], 2) as bigint;
    expect(kit.look(managed)).toMatchObject({
      flags: 2,
      shape: [2, 3],
      strides: [3, 1],
      dtype: [2, 32, 1],
      device: [1, 0],
    });
    expect(kit.look(managed).data % 256n).toBe(0n);
    expect(stats()).toEqual({
      ...before,
      exports: before.exports + 1,
      blocks: before.blocks + 1,
      bytes: before.bytes + 24,
    });
    const tensor = fromDLPack(kit.tableToValue(table, managed) as object);
    expect(tensor.isUnique).toBe(true);
    tensor.intoDLPack().dispose();
  });

  test('of no elements and of no axes', () => {
    const empty = kit.tableAllocate(table, [1, 0], [2, 32, 1], [0], 1) as bigint;
    expect(kit.look(empty)).toMatchObject({ data: 0n, shape: [0] });
    const scalar = kit.tableAllocate(table, [1, 0], [2, 32, 1], null, 0) as bigint;
    expect(kit.look(scalar)).toMatchObject({ shape: null });
    for (const managed of [empty, scalar]) kit.release(managed);
  });

  test.each<[number, number[], number[], number[] | null, number]>([
    [OPAQUE, [2, 0], [2, 32, 1], [2], 1],
    [UNKNOWN_DEVICE, [99, 0], [2, 32, 1], [2], 1],
    [12, [1, 0], [3, 64, 1], [2], 1],
    [13, [1, 0], [2, 31, 1], [2], 1],
    [14, [1, 0], [2, 32, 2], [2], 1],
    [3, [1, 0], [2, 32, 1], [2], -1],
    [3, [1, 0], [2, 32, 1], [2], 65],
    [4, [1, 0], [2, 32, 1], null, 1],
    [5, [1, 0], [2, 32, 1], [-2], 1],
    [7, [1, 0], [2, 32, 1], [2 ** 50, 2 ** 50], 2],
    [50, [1, 0], [2, 64, 1], [2 ** 50], 1],
  ])('answers %i for device %j, dtype %j, shape %j, ndim %i', (code, device, dtype, shape, ndim) => {
    const before = stats();
    expect(kit.tableAllocate(table, device, dtype, shape, ndim)).toBe(code);
    expect(stats()).toEqual(before);
  });
});

test('host memory has no stream; other devices are not ours to ask', () => {
  expect([1, 3, 11].map((type) => kit.tableStream(table, type))).toEqual([0n, 0n, 0n]);
  expect([2, 8, 99].map((type) => kit.tableStream(table, type))).toEqual([OPAQUE, OPAQUE, UNKNOWN_DEVICE]);
});

test('the table of a worker is another one, and answers when the worker is gone', async () => {
  const theirs = await new Promise<bigint>((resolve, reject) => {
    let address = 0n;
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       const { Tensor } = require(workerData.library);
       parentPort.postMessage(require(workerData.kit).tableOfClass(Tensor));`,
      { eval: true, workerData: { library: require.resolve('../dist/index.js'), kit: kitPath } },
    );
    worker.on('message', (message: bigint) => (address = message));
    worker.on('error', reject);
    worker.on('exit', () => resolve(address));
  });
  expect([theirs === 0n, theirs === table]).toEqual([false, false]);
  expect(kit.tableEndCodes(theirs)).toEqual([ENDING, ENDING, ENDING]);
  expect(kit.tableHeader(theirs)).toEqual([1, 3, 0n]);
});

test('where external ArrayBuffers are forbidden, other native code sees what the user wrote to data', async () => {
  const { code, output } = await runChild('kit-staging', [], { NODE_DLPACK_DEBUG: 'no-external-buffers' });
  expect([code, output]).toEqual([0, 'held\n']);
});

test('an exchange through the table calls no JavaScript, and one by the protocol does', () => {
  using tensor = Tensor.from(new Float32Array(6), { shape: [2, 3] });
  const own = Object.getOwnPropertyDescriptor(Tensor.prototype, '__dlpack__');
  if (own === undefined) throw new Error('Tensor.prototype has no __dlpack__');
  const original = own.value as (this: unknown, options: unknown) => object;
  let calls = 0;
  Object.defineProperty(Tensor.prototype, '__dlpack__', {
    ...own,
    value(this: unknown, options: unknown): object {
      calls += 1;
      return original.call(this, options);
    },
  });
  try {
    for (const what of [Cost.takeWithTable, Cost.borrowWithTable]) kit.measure(what, tensor, table, 10);
    expect(calls).toBe(0);
    kit.measure(Cost.takeByProtocol, tensor, table, 10);
    expect(calls).toBeGreaterThanOrEqual(10);
  } finally {
    Object.defineProperty(Tensor.prototype, '__dlpack__', own);
  }
});
