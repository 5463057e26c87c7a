/** A worker that gives two exports to a native consumer, posts their ids and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { OwnedTensor, Tensor } from '../../../dist/index.js';
import { Holder, ramp } from '../lab.js';

const { releaseAfterEnvironment } = workerData as { releaseAfterEnvironment?: number };
const holders = [
  new Holder(Tensor.from(ramp(1000)).__dlpack__({ max_version: [1, 0] })),
  new Holder(OwnedTensor.from(ramp(1000)).__dlpack__()),
];
for (const holder of holders) {
  if (releaseAfterEnvironment === undefined) parentPort?.postMessage(holder.id);
  else holder.releaseAfterEnvironment(releaseAfterEnvironment);
}
