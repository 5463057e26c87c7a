/** The main road of the library under whatever flags the process was started with; prints what it saw, as JSON. */
import { Worker } from 'node:worker_threads';
import { fromDLPack, OwnedTensor, scope, stats, Tensor } from '../../dist/index.js';

function mainRoad(): unknown {
  return scope(() => {
    const owned = OwnedTensor.allocate([2, 3], 'float32');
    owned.data.set([1, 2, 3, 4, 5, 6]);
    const tensor = owned.freeze();
    const back = fromDLPack(tensor.__dlpack__({ max_version: [1, 3] }));
    const copied = fromDLPack(tensor, { copy: true });
    const shown = tensor.view();
    let refused: unknown;
    try {
      tensor.intoDLPack();
    } catch (error) {
      refused = Reflect.get(Object(error), 'code');
    }
    const window = tensor.withView((view) => view[5]);
    const half = tensor.to('float16').at(1, 2);
    return [back.at(1, 2), copied.at(0, 0), shown[4], window, half, refused, tensor.slice(1).toTypedArray().length];
  });
}

function inWorker(): Promise<unknown> {
  return new Promise((resolve) => {
    const token = Tensor.from([7, 8, 9]).share();
    const worker = new Worker(
      `const { Tensor } = require(${JSON.stringify(require.resolve('../../dist/index.js'))});
       const { parentPort, workerData } = require('node:worker_threads');
       parentPort.postMessage(Tensor.fromShared(workerData).at(2));`,
      { eval: true, workerData: token },
    );
    worker.on('message', resolve);
    worker.on('error', (error) => resolve(error.message));
  });
}

async function main(): Promise<void> {
  const values = mainRoad();
  const { tensors, exports, views } = stats();
  process.stdout.write(`${JSON.stringify({ values, left: [tensors, exports, views], worker: await inWorker() })}\n`);
}

void main();
