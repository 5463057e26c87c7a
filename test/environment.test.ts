/** An environment's end: what a worker held is given back, however it ends; nothing of one load reaches another. */
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { describe, expect, test } from '@jest/globals';
import {
  native,
  scratch,
  ImportMode,
  Slot,
  StructKind,
  type Handle,
  type NativeAddon,
  type Status,
} from '../dist/native.js';
import {
  addressOf,
  allocate,
  collectOnce,
  collectUntil,
  dropAll,
  DTYPE,
  fault,
  made,
  madeCapsule,
  nativeStats,
  release,
} from './support/native-tensors.js';
import { expectNothingLeft } from './support/native-counters.js';

expectNothingLeft();

type Way = 'return' | 'flushed' | 'exit' | 'throw' | 'loop' | 'wait';

/** Runs the worker to its end and answers whether it held everything; one that would not end is terminated then. */
function run(way: Way): Promise<boolean> {
  return new Promise((resolve) => {
    let held = false;
    const worker = new Worker(path.join(__dirname, 'support', 'workers', 'every-handle.js'), { workerData: way });
    worker.on('message', (message: unknown) => {
      held = message === 'made';
      if (way === 'loop' || way === 'wait') void worker.terminate();
    });
    worker.on('error', () => undefined);
    worker.on('exit', () => resolve(held));
  });
}

const ZERO = { tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 };

describe('a worker that holds tensors, owners, capsules, views and loans', () => {
  test.each<Way>(['return', 'flushed', 'exit', 'throw', 'loop', 'wait'])(
    'gives everything back when it ends: %s',
    async (way) => {
      expect(await run(way)).toBe(true);
      expect(nativeStats()).toEqual(ZERO);
    },
  );

  test('does so when four of them end at once, twice over', async () => {
    const ways = ['return', 'exit', 'loop', 'wait'] as const;
    expect(await Promise.all(ways.map(run))).toEqual([true, true, true, true]);
    expect(await Promise.all(ways.map(run))).toEqual([true, true, true, true]);
    expect(nativeStats()).toEqual(ZERO);
  });
});

/** Another instance of the addon in this very environment, as a second copy of the package would load. */
function loadAgain(): NativeAddon {
  const loaded: { exports: unknown } = { exports: {} };
  process.dlopen(loaded, path.resolve(__dirname, '../build/Release/node_dlpack.node'));
  if (!isAddon(loaded.exports)) throw new Error('not the addon');
  return loaded.exports;
}

function isAddon(value: unknown): value is NativeAddon {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['scratch', 'ring', 'allocate', 'release'].every((name) => name in value)
  );
}

function isHandle(result: Handle | Status): result is Handle {
  return result > 0;
}

describe('a second load in the same environment', () => {
  test('has memory, ring, handle symbol and handles of its own', () => {
    const second = loadAgain();
    expect(second.scratch).not.toBe(native.scratch);
    expect(second.ring).not.toBe(native.ring);
    expect(second.handleSymbol).not.toBe(native.handleSymbol);
    const tensor = made(native.freeze(allocate([2])));
    expect(second.isLive(tensor)).toBe(false);
    release(tensor);
  });

  test('exchanges by capsule, over the same memory and the same counts', () => {
    const second = loadAgain();
    const secondScratch = new Float64Array(second.scratch);
    const tensor = made(native.freeze(allocate([2, 3], DTYPE.float64)));
    const address = addressOf(tensor);
    const capsule = madeCapsule(native.exportTensor(tensor, StructKind.Versioned, false, 1));
    const there = second.importCapsule(capsule, ImportMode.Any);
    second.ring[secondScratch[Slot.Ring] ?? -1] = {};
    expect(there).toBeGreaterThan(0);
    expect([...secondScratch.subarray(Slot.Dims, Slot.Dims + 2)]).toEqual([2, 3]);
    expect(fault(native.move(tensor))).toBe('kNotUnique');
    if (!isHandle(there)) throw new Error('refused');
    expect(second.dataAddress(there)).toBe(0);
    expect(new BigInt64Array(second.scratch)[Slot.Element]).toBe(address);
    expect(second.release(there)).toBe(0);
    expect(native.isUnique(tensor)).toBe(true);
    release(tensor);
  });

  test('collects what is dropped there by a registry of its own', async () => {
    const second = loadAgain();
    const secondScratch = new Float64Array(second.scratch);
    secondScratch[Slot.Input] = 100;
    expect(second.allocate(1, DTYPE.uint8)).toBeGreaterThan(0);
    second.ring[secondScratch[Slot.Ring] ?? -1] = {};
    expect(nativeStats().blocks).toBe(1);
    second.settle();
    expect(await collectUntil(() => nativeStats().blocks === 0)).toBe(true);
  });
});

/** In a function of its own: a local of the test would keep the last object alive across its awaits. */
function dropInOtherRealm(): void {
  scratch[Slot.Input] = 1000;
  const handle = native.allocate(1, DTYPE.uint8);
  const place = scratch[Slot.Ring] ?? -1;
  expect(handle).toBeGreaterThan(0);
  const stranger: unknown = runInNewContext('({})');
  if (typeof stranger !== 'object' || stranger === null) throw new Error('no object of another realm');
  native.ring[place] = stranger;
}

test('collection works for objects of a realm that is gone: the registry belongs to no realm', async () => {
  dropAll();
  for (let round = 0; round < 50; round += 1) dropInOtherRealm();
  expect(nativeStats().blocks).toBe(50);
  await collectOnce();
  expect(await collectUntil(() => nativeStats().blocks === 0)).toBe(true);
});
