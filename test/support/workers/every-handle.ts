/** A worker that holds tensors, owners, capsules used and unused, views and loans, and then ends as it is told. */
import { parentPort, workerData } from 'node:worker_threads';
import { native, ImportMode, StructKind, ViewMode } from '../../../dist/native.js';
import { allocate, made, madeCapsule } from '../native-tensors.js';

const kept: unknown[] = [];

function makeOneOfEach(): void {
  const tensor = made(native.freeze(allocate([1024])));
  kept.push(tensor, allocate([4]));
  kept.push(madeCapsule(native.exportTensor(tensor, StructKind.Versioned, false, 1)));
  kept.push(madeCapsule(native.exportTensor(tensor, StructKind.Legacy, true, 0)));
  const consumed = madeCapsule(native.exportTensor(tensor, StructKind.Versioned, false, 1));
  kept.push(consumed, made(native.importCapsule(consumed, ImportMode.Any)));
  kept.push(madeCapsule(native.exportOwned(allocate([8]), StructKind.Legacy, 0)));
  kept.push(native.view(tensor, ViewMode.Read));
  const owner = allocate([16]);
  const loan = made(native.lendBegin(owner, true));
  kept.push(owner, loan, madeCapsule(native.exportTensor(loan, StructKind.Versioned, false, 0)));
}

// Of a buffer that was collected, but not finalized when the worker ends, the bytes are left on purpose.
Reflect.set(globalThis, 'kept', kept);

const how: unknown = workerData;
for (let round = 0; round < 20; round += 1) makeOneOfEach();
if (how === 'flushed') native.settle();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port, no window
parentPort?.postMessage('made');
if (how === 'exit') process.exit(3);
if (how === 'throw') throw new Error('on purpose');
if (how === 'loop') for (;;) Math.random();
if (how === 'wait') setInterval(() => undefined, 1_000);
