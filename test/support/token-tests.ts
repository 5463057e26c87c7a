/** What the tests of tokens share: workers that do a task, waiting, and the refusal of a text that is no token here. */
import { once } from 'node:events';
import path = require('node:path');
import { Worker } from 'node:worker_threads';
import { expectStateError } from './refusals.js';
import type { Task } from './workers/token.js';

const UNKNOWN = /^the token is unknown here, was claimed or revoked before, or has expired/;

export function refusedAsUnknown(run: () => unknown): void {
  expectStateError(run, 'ERR_DLPACK_TOKEN', UNKNOWN);
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds));

/** Blocks this thread: neither the event loop nor the library runs meanwhile. */
export function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

export function start(task: Task): Worker {
  return new Worker(path.join(__dirname, 'workers/token.js'), { workerData: task });
}

/** Runs a task to the end of its worker. */
export async function inWorker(task: Task): Promise<{ answer: unknown; tokens: number }> {
  const worker = start(task);
  const ended = once(worker, 'exit');
  const [message] = (await once(worker, 'message')) as [{ answer: unknown; tokens: number }];
  await ended;
  return message;
}
