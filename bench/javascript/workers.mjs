// To a worker and back: a tensor of 8 MiB is handed over, the worker reads one element and answers with it.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { requireOurs } from '../lib/peers.mjs';
import { floats } from './cases.mjs';

const { Tensor, OwnedTensor } = requireOurs('node-dlpack');

const COUNT = 2 ** 21;

async function handOver() {
  const worker = new Worker(new URL('worker.mjs', import.meta.url));
  await once(worker, 'message'); // it has started
  const ask = (message, transfer) => {
    const answer = once(worker, 'message');
    worker.postMessage(message, transfer);
    return answer;
  };
  const data = floats(COUNT);
  const tensor = Tensor.from(data);
  const shared = new Float32Array(new SharedArrayBuffer(4 * COUNT));
  shared.set(data);
  // These two go there and come back for good: the memory itself, at each time.
  let owned = OwnedTensor.from(data);
  let buffer = data.slice().buffer;
  const answers = {};
  const way = (name, run) => ({
    awaited: true,
    run: async () => {
      answers[name] = await run();
    },
    result: () => new Float32Array([answers[name]]),
  });
  const element = async (message) => (await ask(message))[0].element;
  return {
    what: '8 MiB to a worker and back, read only',
    remark: 'most of ours is the two messages; only a tensor carries its shape and cannot be written at the other end',
    ways: {
      ours: way('ours', () => element({ kind: 'share', token: tensor.share() })),
      'ours, moved there and back (transfer)': way('transfer', async () => {
        const [answer] = await ask({ kind: 'transfer', token: owned.transfer() });
        owned = OwnedTensor.fromTransfer(answer.token);
        return answer.element;
      }),
      'postMessage (structured clone)': way('clone', () => element({ kind: 'array', array: data })),
      'ArrayBuffer moved there and back': way('move', async () => {
        const [answer] = await ask({ kind: 'move', buffer }, [buffer]);
        buffer = answer.buffer;
        return answer.element;
      }),
      SharedArrayBuffer: way('shared', () => element({ kind: 'array', array: shared })),
    },
    end: async () => {
      [tensor, owned].forEach((each) => each.dispose());
      await worker.terminate();
    },
  };
}

export const workers = [handOver];
