// The other end of workers.mjs.
import { parentPort } from 'node:worker_threads';
import { requireOurs } from '../lib/peers.mjs';

const { Tensor, OwnedTensor } = requireOurs('node-dlpack');
const INDEX = 12_345;

const answers = {
  share({ token }) {
    const tensor = Tensor.fromShared(token);
    const element = tensor.at(INDEX);
    tensor.dispose();
    return [{ element }];
  },
  transfer({ token }) {
    const owned = OwnedTensor.fromTransfer(token);
    return [{ element: owned.at(INDEX), token: owned.transfer() }];
  },
  array: ({ array }) => [{ element: array[INDEX] }],
  move: ({ buffer }) => [{ element: new Float32Array(buffer)[INDEX], buffer }, [buffer]],
};

parentPort.on('message', (message) => parentPort.postMessage(...answers[message.kind](message)));
parentPort.postMessage('ready');
