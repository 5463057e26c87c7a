/** A process that ends in the way it is told, with Python in it. What it should see is checked here, then said. */
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { OwnedTensor, stats, Tensor } from '../../dist/index.js';
import { koffiPython } from './koffi-python.js';
import { nodeCallsPython } from './node-calls-python.js';
import { Python, type Offered } from './python.js';

const ending = process.argv[2] ?? '';
const alive: unknown[] = [];

function say(): void {
  process.stdout.write(`${ending}: as it should be\n`);
}

function check(what: string, found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${what} is ${JSON.stringify(found)}; expected ${JSON.stringify(expected)}`);
}

/** One of everything that one side can hold of the other. */
function makeEverything(python: Python): void {
  for (const library of ['numpy', 'jax', 'mlx', 'pyarrow', 'apache-tvm-ffi', 'zarrista']) {
    const array = python.make(library, { dtype: 'float32', shape: [2, 3] });
    const tensor = Tensor.fromShared(python.offer(array.id).token);
    python.drop(array);
    alive.push(tensor, tensor.slice(0), tensor.__dlpack__(), tensor.__dlpack__({ max_version: [1, 3] }));
    python.offer(python.make(library, { dtype: 'float32', shape: [4] }).id); // a token that nobody claims
    const shared = python.claim(Tensor.from(new Float32Array(6), { shape: [2, 3] }).share());
    python.take(library, shared.id);
    const owned = python.claim(OwnedTensor.allocate([2, 3], 'float32').transfer());
    python.take(library, owned.id);
  }
  python.run(`
objects['capsules'] = [objects[number].__dlpack__(max_version=version)
    for number in list(objects) if isinstance(objects[number], node_dlpack.Tensor) for version in (None, (1, 3))]`);
  python.claim(OwnedTensor.allocate([2, 3], 'float32').transfer());
}

function offer(python: Python): Offered {
  const array = python.make('numpy', { dtype: 'float32', shape: [1000] });
  const offered = python.offer(array.id);
  python.drop(array);
  return offered;
}

const ENDINGS: Readonly<Record<string, () => void | Promise<void>>> = {
  'finalize-then-dispose': () => {
    const embedder = koffiPython();
    const python = new Python(embedder);
    const tensor = Tensor.fromShared(offer(python).token);
    const other = Tensor.fromShared(offer(python).token);
    embedder.finalize();
    check('an element', tensor.at(0), 0);
    tensor.dispose();
    check('the blocks', stats().blocks, 1);
    alive.push(other);
    say();
  },
  'finalize-with-capsules': () => {
    const embedder = koffiPython();
    makeEverything(new Python(embedder));
    embedder.finalize();
    say();
  },
  'finalize-in-a-race': async () => {
    const embedder = koffiPython();
    const python = new Python(embedder);
    const ended: Promise<unknown>[] = [];
    for (let worker = 0; worker < 4; worker += 1) {
      const tokens = python.run('import numpy\nresult = [node_dlpack.offer(numpy.zeros(1000)) for _ in range(2000)]');
      const made = new Worker(path.join(__dirname, 'python-dropper.js'), { workerData: { tokens } });
      ended.push(new Promise((resolve) => made.on('exit', resolve)));
      // oxlint-disable-next-line no-await-in-loop -- one after the other, so that they are not all at the same tensor
      await new Promise((resolve) => made.once('message', resolve));
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, no window
      made.postMessage('go');
    }
    embedder.finalize();
    check('the exit codes', await Promise.all(ended), [0, 0, 0, 0]);
    check('the tensors', stats().tensors, 0);
    say();
  },
  exit: () => {
    makeEverything(new Python(koffiPython()));
    say();
    process.exit(0);
  },
  return: () => {
    makeEverything(new Python(koffiPython()));
    say();
  },
  'exit-in-worker': async () => {
    const python = new Python(koffiPython());
    makeEverything(python);
    const workerData = { job: 'exit', token: offer(python).token };
    const worker = new Worker(path.join(__dirname, 'python-worker.js'), { workerData });
    await new Promise((resolve) => worker.on('exit', resolve));
    say();
    process.exit(0);
  },
  'exit-with-thread': () => {
    const python = new Python(koffiPython());
    const { id } = python.claim(Tensor.from(new Float32Array(6)).share());
    python.run(`
import threading, numpy
def work(claimed):
    while True:
        numpy.from_dlpack(claimed, copy=True)
threading.Thread(target=work, args=(objects[${id}],), daemon=True).start()`);
    say();
    process.exit(0);
  },
  'exit-node-calls-python': () => {
    makeEverything(new Python(nodeCallsPython()));
    say();
  },
};

void (async () => {
  await ENDINGS[ending]?.();
})();
