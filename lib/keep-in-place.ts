/** Adopted JavaScript memory must stay where it is. */
import { types } from 'node:util';
import workerThreads = require('node:worker_threads');

/** What need not be asked again: a refusal is an exception, hundreds of times what the rest of `adopt` costs. */
const settled = new WeakSet<ArrayBufferLike>();
let usualRefusal: string | undefined;

/**
 * Pinned memory must not be sent elsewhere. What cannot be sent anyhow is not marked: a buffer that an addon made
 * (sharp's output, a canvas' pixels), or that of a WebAssembly memory. Node 24 ends the process with a fatal error when
 * it comes upon such a mark: at its exit, or when the memory grows.
 */
export function keepInPlace(buffer: ArrayBufferLike): void {
  if (settled.has(buffer)) return;
  if (types.isArrayBuffer(buffer) && canBeSent(buffer)) workerThreads.markAsUntransferable(buffer);
  settled.add(buffer);
}

/**
 * No runtime has a question for it, and a real transfer would take the bytes away. But a list that names a buffer twice
 * is always refused, and for that reason only if the buffer could be sent once.
 */
function canBeSent(buffer: ArrayBuffer): boolean {
  usualRefusal ??= refusalOfTwice(new ArrayBuffer(1));
  return usualRefusal === undefined || refusalOfTwice(buffer) === usualRefusal;
}

/** Why it cannot be sent twice; undefined where nothing is said (and nothing is sent either). */
function refusalOfTwice(buffer: ArrayBuffer): string | undefined {
  try {
    structuredClone(null, { transfer: [buffer, buffer] });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
