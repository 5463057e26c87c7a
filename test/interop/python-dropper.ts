/**
 * A worker that claims tensors of Python's, and drops them one after the other when it is told to: slowly, so that some
 * go before, some during and some after the interpreter's end.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Tensor } from '../../dist/index.js';

const { tokens } = workerData as { tokens: readonly string[] };
const tensors = tokens.map((token) => Tensor.fromShared(token));
parentPort?.once('message', () => {
  for (const tensor of tensors) {
    tensor.dispose();
    const until = performance.now() + 0.1;
    while (performance.now() < until);
  }
});
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port, no window
parentPort?.postMessage('ready');
