// What a frame leaves for the collector, and what it takes of native memory: counted over some frames in which no
// collection ran.
import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { requireOurs } from '../lib/peers.mjs';

const { stats } = requireOurs('node-dlpack');
/** Frames before the first that counts, and the most that are counted; a quick run only shows that it can be done. */
const FULL = { warm: 10, most: 16 };
const QUICK = { warm: 2, most: 4 };

/** Reports of collections come some turns later. */
async function countCollections(action) {
  let count = 0;
  const observer = new PerformanceObserver((list) => (count += list.getEntries().length));
  observer.observe({ entryTypes: ['gc'] });
  await action();
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  observer.disconnect();
  return count;
}

async function over(frames, frame) {
  globalThis.gc();
  await setImmediate();
  let before;
  let after;
  const collections = await countCollections(async () => {
    // The first one after a collection fills caches that the collection has emptied.
    await frame();
    before = { ...process.memoryUsage(), tensors: stats().bytes };
    for (let i = 0; i < frames; i++) await frame();
    after = { ...process.memoryUsage(), tensors: stats().bytes };
  });
  const each = (name) => (after[name] - before[name]) / frames;
  return { collections, heap: each('heapUsed'), buffers: each('arrayBuffers'), tensors: each('tensors') };
}

/** Bytes a frame: { heap, buffers, tensors }: objects, ArrayBuffers that JavaScript made, native memory of tensors. */
export async function allocationsOf(frame, { quick = false } = {}) {
  if (globalThis.gc === undefined) throw new Error('this needs node --expose-gc');
  const { warm, most } = quick ? QUICK : FULL;
  for (let i = 0; i < warm; i++) await frame();
  for (let frames = most; frames > 0; frames >>= 1) {
    const { collections, ...bytes } = await over(frames, frame);
    if (collections === 0) return bytes;
  }
  throw new Error('each frame provoked a collection: what it allocated cannot be counted');
}
