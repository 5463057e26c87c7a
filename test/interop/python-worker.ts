/** A worker that makes memory for Python, or drops memory of Python's, as its job says. */
import { parentPort, workerData } from 'node:worker_threads';
import { OwnedTensor, Tensor } from '../../dist/index.js';

const { job, token } = workerData as { job: 'make' | 'dispose' | 'end' | 'exit'; token: string };
if (job === 'make') {
  const values = Float32Array.of(1, 2, 3);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port, no window
  parentPort?.postMessage({ shared: Tensor.from(values).share(), transferred: OwnedTensor.from(values).transfer() });
} else {
  const tensor = Tensor.fromShared(token);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port, no window
  parentPort?.postMessage(tensor.toArray());
  if (job === 'dispose') tensor.dispose();
  if (job === 'exit') process.exit(0);
}
