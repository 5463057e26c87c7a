/**
 * A process in which the library is loaded, used, left and loaded again in the order that its argument spells, a letter
 * a step. Whatever the order, every environment works, what one of them gave to native code is good when it is gone, and
 * the counters of the process are at zero in the end.
 *
 * - M: the main thread loads the library, or uses it again
 * - C: the main thread does so with another copy of it
 * - W: a worker loads it, uses it and ends
 * - V: the same with both copies
 * - B: a worker loads it and stays until the end
 * - H: a worker gives an export to a native consumer and ends; a thread of nobody's releases it at the end
 * - X: a worker is terminated as soon as it runs, wherever its loading has got to
 */
import assert = require('node:assert/strict');
import { readFileSync } from 'node:fs';
import { isMainThread, Worker } from 'node:worker_threads';
import path = require('node:path');
import { loadAnotherCopy } from './another-copy.js';

export type Library = typeof import('../../dist/index.js');

/** The main road. */
export function work({ fromDLPack, OwnedTensor, scope }: Library): void {
  scope(() => {
    const owned = OwnedTensor.allocate([2, 3], 'float32');
    owned.data.set([1, 2, 3, 4, 5, 6]);
    const tensor = owned.freeze();
    assert.equal(fromDLPack(tensor.__dlpack__({ max_version: [1, 3] })).at(1, 2), 6);
    assert.equal(fromDLPack(tensor).slice(0).toTypedArray()[1], 2);
    assert.equal(tensor.to('int8').data[3], 4);
  });
}

const staying: { worker: Worker; ended: Promise<void> }[] = [];
const held: number[] = [];
const libraries = new Set<Library>();

function mine(): Library {
  return require('../../dist/index.js') as Library;
}

function inMain(library: Library): void {
  libraries.add(library);
  work(library);
}

async function inWorker(how: { both?: boolean; hold?: boolean; stay?: boolean }): Promise<void> {
  const worker = new Worker(path.join(__dirname, 'workers/load-order.js'), {
    workerData: { both: false, hold: false, stay: false, ...how },
  });
  const ended = new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
  });
  const used = new Promise<void>((resolve) => {
    worker.once('message', (ids: readonly number[]) => {
      held.push(...ids);
      resolve();
    });
  });
  await Promise.race([used, ended]);
  if (how.stay === true) staying.push({ worker, ended });
  else await ended;
}

async function terminated(): Promise<void> {
  const worker = new Worker(path.join(__dirname, 'workers/load-order.js'), {
    workerData: { both: false, hold: false, stay: true },
  });
  await new Promise<void>((resolve) => void worker.once('online', () => resolve()));
  await worker.terminate();
}

const steps: Readonly<Record<string, () => void | Promise<void>>> = {
  M: () => inMain(mine()),
  C: () => inMain(loadAnotherCopy()),
  W: () => inWorker({}),
  V: () => inWorker({ both: true }),
  B: () => inWorker({ stay: true }),
  H: () => inWorker({ hold: true }),
  X: terminated,
};

async function run(order: string): Promise<void> {
  for (const letter of order) {
    const step = steps[letter];
    if (step === undefined) throw new Error(`there is no step ${letter}`);
    // oxlint-disable-next-line no-await-in-loop -- the order is what is tested
    await step();
  }
  for (const { worker } of staying) worker.postMessage('end');
  await Promise.all(staying.map(({ ended }) => ended));
  // The last environment may be gone, and what it made is not.
  if (held.length > 0) {
    const { lab } = require('./lab.js') as typeof import('./lab.js');
    for (const id of held) lab.releaseHeldOnThread(id);
  }
  if (process.platform === 'linux' && /[MWVBH]/.test(order)) {
    const maps = readFileSync('/proc/self/maps', 'utf8');
    assert.ok(maps.includes('build/Release/node_dlpack.node'), 'the module is mapped for good');
  }
  inMain(mine());
  for (const library of libraries) {
    assert.deepEqual(library.stats(), { tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 });
  }
  console.log('as it should be');
}

if (isMainThread && require.main === module) void run(process.argv[2] ?? '');
