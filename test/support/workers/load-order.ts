/**
 * A worker that loads the library, maybe another copy of it too, uses it, posts the ids of what it gave to a native
 * consumer, and ends: at once, or when it is told to.
 */
import assert = require('node:assert/strict');
import { parentPort, workerData } from 'node:worker_threads';
import { loadAnotherCopy } from '../another-copy.js';
import { work, type Library } from '../load-orders.js';

const { both, hold, stay } = workerData as { both: boolean; hold: boolean; stay: boolean };
const library = require('../../../dist/index.js') as Library;
work(library);
if (both) {
  const copy = loadAnotherCopy();
  work(copy);
  const tensor = copy.Tensor.from(Float32Array.of(1, 2));
  assert.equal(library.fromDLPack(tensor).at(1), 2); // dropped, both of them: the end of the environment is theirs
}
const held: number[] = [];
if (hold) {
  const { Holder } = require('../lab.js') as typeof import('../lab.js');
  held.push(new Holder(library.OwnedTensor.from(Float32Array.of(3, 4)).__dlpack__()).id);
}
// In sight to the end: of one that was collected and not finalized in time nobody can tell whether its bytes were moved
// away, and its memory is kept for good.
const kept = library.Tensor.from(Float32Array.of(5)).view();
Reflect.set(globalThis, 'kept', kept);
assert.equal(kept[0], 5);
parentPort?.postMessage(held);
if (stay) parentPort?.once('message', () => work(library));
