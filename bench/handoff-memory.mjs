// What tensors cost in memory, in a process of its own (run with --expose-gc): `node handoff-memory.mjs <addon> <job> <count>` writes one JSON
// object. Jobs: alive-own, alive-shared (bytes a live tensor, with memory of its own and over shared memory); flat-disposed, flat-dropped (what the
// resident set grew by in so many hand-offs).
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';

const require = createRequire(import.meta.url);
const { OwnedTensor, Tensor, fromDLPack } = require('../dist/index.js');
const addon = require(process.argv[2]);
const count = Number(process.argv[4]);
const tensor = Tensor.from(new Float32Array(6), { shape: [2, 3] });

async function settle() {
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await setImmediate();
  }
}

/** Heap and native memory for each of `count` live tensors that `make` makes. */
async function alive(make) {
  const kept = Array.from({ length: count });
  for (let i = 0; i < 1000; i++) make();
  await settle();
  const before = { heap: process.memoryUsage().heapUsed, native: addon.allocated() };
  for (let i = 0; i < count; i++) {
    kept[i] = make();
    if (i % 1000 === 0) await setImmediate();
  }
  await settle();
  const heap = (process.memoryUsage().heapUsed - before.heap) / count;
  const native = (addon.allocated() - before.native) / count;
  return { heap, native, kept: kept.length };
}

/** Bytes that the resident set grew by once the collector had found its rhythm. */
async function flat(handOff) {
  const some = async (turns) => {
    for (let i = 0; i < turns; i++) {
      for (let j = 0; j < 10_000; j++) handOff();
      await setImmediate();
    }
    return process.memoryUsage.rss();
  };
  const before = await some(50);
  return { grown: (await some(count / 10_000)) - before };
}

const jobs = {
  'alive-own': () => alive(() => OwnedTensor.allocate([2, 3], 'float32').freeze()),
  'alive-shared': () => alive(() => fromDLPack(tensor)),
  'flat-disposed': () => flat(() => fromDLPack(tensor).dispose()),
  'flat-dropped': () => flat(() => fromDLPack(tensor)),
  'flat-capsules': () => flat(() => fromDLPack(tensor.__dlpack__({ max_version: [1, 3] })).dispose()),
};
console.log(JSON.stringify(await jobs[process.argv[3]]()));
