/**
 * Who may let go when, and on which thread: Python threads that drop memory of JavaScript's, JavaScript threads that
 * drop memory of Python's, exceptions that are pending meanwhile, and every end of interpreter and process. The ends
 * are processes of their own, judged by exit code and signal.
 */
import { describe, expect, test } from '@jest/globals';
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { OwnedTensor, stats, Tensor } from '../../dist/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import { runChild } from '../support/children.js';
import { collectUntil, expectCountersAtZero } from '../support/counters.js';
import { koffiPython } from './koffi-python.js';
import { Python } from './python.js';

expectCountersAtZero();
const python = new Python(koffiPython());

/** Runs interop/python-worker.js with a job; resolves to what it posts, once it has ended. */
function runWorker(workerData: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(path.join(__dirname, 'python-worker.js'), { workerData });
    let answer: unknown;
    worker.on('message', (message: unknown) => (answer = message));
    worker.on('error', reject);
    worker.on('exit', () => resolve(answer));
  });
}

describe('memory of JavaScript’s in Python', () => {
  test('is given back on the Python thread that drops it, without Node', () => {
    using tensor = Tensor.from(new Float32Array(1000));
    const tokens = Array.from({ length: 8 }, () => tensor.share());
    const sums = python.run(`
import threading, numpy
sums = []
def use(token):
    array = numpy.from_dlpack(node_dlpack.claim(token))
    sums.append(float(array.sum()))
threads = [threading.Thread(target=use, args=(token,)) for token in ${JSON.stringify(tokens)}]
for thread in threads: thread.start()
for thread in threads: thread.join()
result = sums`);
    expect(sums).toEqual(Array.from({ length: 8 }, () => 0));
    expect(stats()).toMatchObject({ tensors: 1, exports: 0, tokens: 0 });
  });

  test('outlives the worker that made it', async () => {
    const answer = (await runWorker({ job: 'make' })) as { shared: string; transferred: string };
    const shared = python.claim(answer.shared);
    const transferred = python.claim(answer.transferred);
    for (const claimed of [shared, transferred]) {
      const array = python.take('numpy', claimed.id);
      expect(Buffer.from(array.bytes, 'hex')).toEqual(Buffer.from(Float32Array.of(1, 2, 3).buffer));
      python.drop(array, claimed);
    }
    expect(stats()).toMatchObject({ tensors: 0, exports: 0, blocks: 0 });
  });

  test('keeps the exception that is pending while its capsule goes', () => {
    using tensor = Tensor.from(new Float32Array(3));
    const claimed = python.claim(tensor.share());
    // The capsule is released by the interpreter after len() has failed, so with its exception set.
    const error = python.errorOf(() => python.run(`len(objects[${claimed.id}].__dlpack__(max_version=(1, 0)))`));
    expect({ type: error.type, message: error.message }).toEqual({
      type: 'TypeError',
      message: "object of type 'PyCapsule' has no len()",
    });
    expect(stats().exports).toBe(1);
    python.drop(claimed);
  });

  test('goes to one of two threads that ask an owner at once', () => {
    const tokens = Array.from({ length: 100 }, () => OwnedTensor.allocate([16], 'float32').transfer());
    const outcomes = python.run(`
import collections, threading
outcomes = collections.Counter()
for token in ${JSON.stringify(tokens)}:
    owner = node_dlpack.claim(token)
    barrier = threading.Barrier(2)
    def ask():
        barrier.wait()
        try:
            owner.__dlpack__(max_version=(1, 0))
            outcomes['given'] += 1
        except node_dlpack.DLPackStateError as error:
            outcomes[error.code] += 1
    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
result = dict(outcomes)`);
    expect(outcomes).toEqual({ given: 100, ERR_DLPACK_CONSUMED: 100 });
    expect(stats()).toMatchObject({ exports: 0, blocks: 0 });
  });

  test('can be closed by one thread while another exports it', () => {
    const tokens = Array.from({ length: 100 }, () => {
      using tensor = Tensor.from(new Float32Array(64));
      return tensor.share();
    });
    const outcomes = python.run(`
import collections, threading
outcomes = collections.Counter()
for token in ${JSON.stringify(tokens)}:
    tensor = node_dlpack.claim(token)
    def ask():
        try:
            while True:
                tensor.__dlpack__(max_version=(1, 0), copy=True)
        except node_dlpack.DLPackStateError as error:
            outcomes[error.code] += 1
    thread = threading.Thread(target=ask)
    thread.start()
    tensor.close()
    thread.join()
result = dict(outcomes)`);
    expect(outcomes).toEqual({ ERR_DLPACK_DISPOSED: 100 });
    expect(stats()).toMatchObject({ exports: 0, blocks: 0 });
  });
});

describe('memory of Python’s in JavaScript', () => {
  test('is given back by the worker that drops it last', async () => {
    const array = python.make('numpy', { dtype: 'float32', shape: [3] });
    for (const job of ['dispose', 'end']) {
      const offered = python.offer(array.id);
      // oxlint-disable-next-line no-await-in-loop -- each ends before the next begins
      expect(await runWorker({ job, token: offered.token })).toEqual([0, 1, 2]);
      // oxlint-disable-next-line no-await-in-loop
      expect(await collectUntil(() => python.deleterCalls(offered) === 1)).toBe(true);
      python.drop(offered);
    }
    python.drop(array);
    expect(stats()).toMatchObject({ tensors: 0, blocks: 0 });
  });

  test('is given back when it is collected, by a JavaScript thread that waits for Python’s lock', async () => {
    const array = python.make('numpy', { dtype: 'float32', shape: [3] });
    const offered = python.offer(array.id);
    python.run(`
import threading
busy = threading.Event()
def work():
    total = 0
    while not busy.is_set(): total += 1
thread = threading.Thread(target=work)
thread.start()
objects['busy'] = busy, thread`);
    (() => void Tensor.fromShared(offered.token))();
    expect(await collectUntil(() => python.deleterCalls(offered) === 1)).toBe(true);
    python.run(`
busy, thread = objects.pop('busy')
busy.set()
thread.join()`);
    python.drop(array, offered);
  });

  test('that goes in the middle of an exception leaves the exception alone', () => {
    const array = python.make('numpy', { dtype: 'float32', shape: [3] });
    const offered = python.offer(array.id);
    python.drop(array);
    const tensor = Tensor.fromShared(offered.token);
    const claimed = python.claim(tensor.share());
    tensor.dispose();
    // Python holds the last reference to its own memory by way of JavaScript's, in one capsule that goes.
    const error = python.errorOf(() =>
      python.run(`
import gc
capsule = objects[${claimed.id}].__dlpack__(max_version=(1, 0))
objects.pop(${claimed.id}).close()
held = [capsule]
del capsule
len(held.pop())`),
    );
    expect(error.message).toBe("object of type 'PyCapsule' has no len()");
    expect(python.deleterCalls(offered)).toBe(1);
    python.drop(offered);
    expect(stats()).toMatchObject({ exports: 0, blocks: 0 });
  });

  test('that comes home is the very memory, not a chain of holders', () => {
    const array = python.make('numpy', { dtype: 'float32', shape: [3] });
    let id = array.id;
    const through = [];
    for (let trip = 0; trip < 5; trip += 1) {
      const tensor = Tensor.fromShared(python.run(`result = node_dlpack.offer(objects[${id}])`) as string);
      const claimed = python.claim(tensor.share());
      tensor.dispose();
      through.push(claimed);
      id = claimed.id;
    }
    expect(stats().blocks).toBe(1);
    const last = python.take('numpy', id);
    expect(last.address).toBe(array.address);
    python.drop(...through, last, array);
    expect(stats().blocks).toBe(0);
  });

  test('that is a copy for JavaScript alone can be written there, and goes back the way owners do', () => {
    const array = python.make('numpy', { dtype: 'float32', shape: [3] });
    const offered = python.offer(array.id, { copy: true });
    const owned = Tensor.fromShared(offered.token).intoDLPack();
    const address = String(dataAddress(owned));
    owned.set([7, 8, 9]);
    const claimed = python.claim(owned.transfer());
    const taken = python.take('numpy', claimed.id);
    expect({ address: taken.address, writable: taken.writable }).toEqual({ address, writable: true });
    expect(Buffer.from(taken.bytes, 'hex')).toEqual(Buffer.from(Float32Array.of(7, 8, 9).buffer));
    python.drop(taken, claimed);
    expect(python.deleterCalls(offered)).toBe(1);
    python.drop(array, offered);
  });
});

describe('the end', () => {
  test.each([
    ['of the interpreter, then of what JavaScript holds of it: leaked on purpose', 'finalize-then-dispose'],
    ['of the interpreter, with capsules and claimed tensors alive in it', 'finalize-with-capsules'],
    ['of the interpreter, while workers drop what they hold of it', 'finalize-in-a-race'],
    ['of the process, with everything alive on both sides', 'exit'],
    ['of the process, by its last task, with everything alive on both sides', 'return'],
    ['of the process, in a worker, with everything alive on both sides', 'exit-in-worker'],
    ['of the process, while a Python thread holds memory of JavaScript’s', 'exit-with-thread'],
    ['of the process, with node-calls-python', 'exit-node-calls-python'],
  ])('%s', async (_, ending) => {
    const { output, ...end } = await runChild('../interop/python-endings', [ending], { PYTHONDONTWRITEBYTECODE: '1' });
    expect({ ...end, output: output.trim() }).toEqual({
      code: 0,
      signal: null,
      hung: false,
      output: `${ending}: as it should be`,
    });
  });
});
