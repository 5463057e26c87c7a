/** What is left alive in ways that are counted, run by a process of its own under NODE_DLPACK_DEBUG=leaks. */
import { Worker } from 'node:worker_threads';
import { fromDLPack, OwnedTensor, releaseCapsule, scope, stats, Tensor } from '../../dist/index.js';
import { collect } from './collect.js';

const kept: unknown[] = [];
Reflect.set(globalThis, 'kept', kept); // reachable to the end

function makeOne(): Tensor {
  return Tensor.from([1, 2, 3]); // the line of makeOne
}

const ways: Readonly<Record<string, () => unknown>> = {
  nothing: () => {
    makeOne().dispose();
    scope(
      () =>
        void makeOne()
          .slice([0, 2])
          .__dlpack__({ max_version: [1, 3] }),
    );
    const owned = OwnedTensor.allocate([2], 'float32');
    owned.lend((loan) => loan.at(0));
    fromDLPack(owned.freeze().intoDLPack()).dispose();
    const tensor = makeOne();
    releaseCapsule(tensor.__dlpack__({ max_version: [1, 3] }));
    tensor.dispose();
  },
  some: () => {
    for (let i = 0; i < 3; i++) kept.push(makeOne());
    const owned = OwnedTensor.allocate([2, 2], 'float32'); // the line of the owner
    kept.push(owned);
    const tensor = makeOne();
    kept.push(tensor.__dlpack__({ max_version: [1, 3] })); // the line of the capsule
    tensor.dispose();
  },
  exit: () => {
    kept.push(makeOne());
    process.exit(3);
  },
  many: () => {
    for (let i = 0; i < 5000; i++) makeOne().dispose();
    kept.push(makeOne());
  },
  collected: async () => {
    makeOne();
    await collect();
    await collect();
    console.log(`bytes ${stats().bytes}`);
  },
  worker: () => new Worker(__filename, { argv: ['some'] }),
  hook: () => {
    Error.prepareStackTrace = () => {
      throw new Error('a hook that throws');
    };
    kept.push(makeOne());
    delete (Error as { prepareStackTrace?: unknown }).prepareStackTrace;
  },
};

const way = ways[process.argv[2] ?? ''];
if (way === undefined) throw new Error('name a way');
void way();
