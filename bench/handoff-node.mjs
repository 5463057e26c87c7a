// Node's side of the hand-off bench: reads `<case> <iterations>` lines, answers with nanoseconds (handoff.mjs). What a case leaves to the collector
// is timed with it: each loop ends with a turn of the event loop, in which finalizers run.
//
// argv: the native bench addon.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';

const require = createRequire(import.meta.url);
const { OwnedTensor, Tensor, fromDLPack, releaseCapsule } = require('../dist/index.js');
const addon = require(process.argv[2]);

const VERSION = { max_version: [1, 3] };
const small = Tensor.from(new Float32Array(6), { shape: [2, 3] });
const tensors = {
  '2x3': small,
  '2x3x4x5': Tensor.from(new Float32Array(120), { shape: [2, 3, 4, 5] }),
  '1KiB': OwnedTensor.allocate([256], 'float32').freeze(),
  '1GiB': OwnedTensor.allocate([1 << 28], 'float32').freeze(),
};
addon.useTable(small);
const handleKey = Object.getOwnPropertySymbols(small).find((symbol) => symbol.description === 'node-dlpack.handle');
const seen = Tensor.from(new Float32Array(6), { shape: [2, 3] });
seen.view();

/** So that the engine does not leave out what nobody looks at. */
export let kept;

/** case -> function of the number of iterations; those that return a number have timed themselves. */
const cases = {
  move(n) {
    for (let i = 0; i < n; i++)
      releaseCapsule(OwnedTensor.allocate([32, 32], 'float32').freeze().intoDLPack().__dlpack__(VERSION));
  },
  'first-view'(n) {
    for (let i = 0; i < n; i++) {
      small.view();
      small.releaseViews();
    }
  },
  'bare-view'(n) {
    for (let i = 0; i < n; i++) {
      const buffer = addon.buffer(24);
      kept = new Float32Array(buffer);
      addon.detach(buffer);
    }
  },
  'next-view'(n) {
    for (let i = 0; i < n; i++) seen.view();
  },
  'bare-call'(n) {
    for (let i = 0; i < n; i++) addon.noop();
  },
  'bare-external'(n) {
    for (let i = 0; i < n; i++) addon.external();
  },
};
for (const [name, tensor] of Object.entries(tensors)) {
  // A function each, so that what the engine learns of one tensor does not slow the next.
  cases[`own-${name}`] = new Function(
    'fromDLPack',
    'tensor',
    'return (n) => { for (let i = 0; i < n; i++) fromDLPack(tensor).dispose(); }',
  )(fromDLPack, tensor);
  cases[`capsule-${name}`] = new Function(
    'fromDLPack',
    'tensor',
    'return (n) => { for (let i = 0; i < n; i++) fromDLPack(tensor.__dlpack__({ max_version: [1, 3] })).dispose(); }',
  )(fromDLPack, tensor);
  cases[`borrow-${name}`] = (n) => addon.borrow(tensor, undefined, n);
  cases[`manage-${name}`] = (n) => addon.manage(tensor, undefined, n);
}
cases['property'] = (n) => addon.property(small, handleKey, n);

console.log(JSON.stringify({ cases: Object.keys(cases), facts: { Node: process.version, V8: process.versions.v8 } }));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, iterations] = line.split(' ');
  const begin = process.hrtime.bigint();
  const own = cases[name](Number(iterations));
  await setImmediate();
  console.log(own ?? Number(process.hrtime.bigint() - begin));
}
