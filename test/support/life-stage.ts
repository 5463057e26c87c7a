/**
 * A process that ends in the way its argument names, with everything alive. It prints `ready` when it got as far as it
 * should.
 */
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import type { Everything } from './everything.js';

const kept: unknown[] = [];

function everything(): Everything {
  const { makeEverything } = require('./everything.js') as typeof import('./everything.js');
  const made = makeEverything();
  kept.push(made);
  return made;
}

function library(): typeof import('../../dist/index.js') {
  return require('../../dist/index.js') as typeof import('../../dist/index.js');
}

function unsafe(): typeof import('../../dist/unsafe.js') {
  return require('../../dist/unsafe.js') as typeof import('../../dist/unsafe.js');
}

function laboratory(): typeof import('./lab.js') {
  return require('./lab.js') as typeof import('./lab.js');
}

function ready(): void {
  process.stdout.write('ready\n');
}

function turn(milliseconds = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Starts a worker of support/workers and answers what it posted, when it is gone. */
function worker(script: string, data: unknown, stop?: 'terminate'): Promise<{ code: number; posted: unknown[] }> {
  return new Promise((resolve) => {
    const posted: unknown[] = [];
    const started = new Worker(path.join(__dirname, 'workers', `${script}.js`), { workerData: data });
    started.on('message', (message: unknown) => {
      posted.push(message);
      if (stop === 'terminate') void started.terminate();
    });
    started.on('error', () => undefined);
    started.on('exit', (code) => resolve({ code, posted }));
  });
}

/**
 * Starts a worker of support/workers, terminates it that many milliseconds after it runs, and waits until it is gone.
 */
function terminatedAfter(script: string, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const started = new Worker(path.join(__dirname, 'workers', `${script}.js`));
    started.on('error', () => undefined);
    started.on('exit', () => resolve());
    started.on('online', () => {
      const start = performance.now();
      while (performance.now() - start < milliseconds) continue; // a timer is too coarse for this
      void started.terminate();
    });
  });
}

/** Waits until native threads have released everything; fails the process otherwise. */
async function untilReleased(): Promise<void> {
  const { lab } = laboratory();
  for (let tries = 0; tries < 500 && lab.pendingReleases() > 0; tries += 1) await turn(10);
  if (lab.pendingReleases() > 0) throw new Error('a native thread has not released');
}

const stages: Record<string, () => void | Promise<void>> = {
  natural() {
    everything();
    ready();
  },
  exit() {
    everything();
    ready();
    process.exit(7);
  },
  throw() {
    everything();
    ready();
    throw new Error('uncaught');
  },
  async reject() {
    everything();
    await turn();
    ready();
    throw new Error('unhandled');
  },
  sigterm() {
    everything();
    ready();
    process.kill(process.pid, 'SIGTERM');
    setTimeout(() => undefined, 60_000);
  },
  async 'exit later'() {
    everything();
    await turn(20);
    ready();
    process.exit(3);
  },
  'exit handler uses the library'() {
    everything();
    process.on('exit', () => {
      const { Tensor, fromDLPack, OwnedTensor } = library();
      const tensor = Tensor.from(new Float32Array(4));
      fromDLPack(tensor).dispose();
      OwnedTensor.allocate([2], 'int8')
        .freeze()
        .__dlpack__({ max_version: [1, 0] });
      tensor.view();
      ready();
    });
  },
  'exit inside withView'() {
    const { Tensor } = library();
    everything();
    Tensor.from(new Float32Array(4)).withView(() => {
      ready();
      process.exit(4);
    });
  },
  'exit inside lend'() {
    const { OwnedTensor } = library();
    everything();
    OwnedTensor.allocate([4], 'int8').lend(
      (loan) => {
        loan.__dlpack__({ max_version: [1, 0] });
        ready();
        process.exit(4);
      },
      { writable: true },
    );
  },
  'exit inside a producer'() {
    const { fromDLPack } = library();
    const { makeStruct } = laboratory();
    everything();
    fromDLPack({
      __dlpack__() {
        makeStruct().capsule();
        ready();
        process.exit(4);
      },
      __dlpack_device__: () => [1, 0],
    });
  },
  'exit inside scope'() {
    const { scope, Tensor } = library();
    scope(() => {
      everything();
      Tensor.from(new Float32Array(4));
      ready();
      process.exit(4);
    });
  },
  'exit inside release'() {
    const { fromPointer } = unsafe();
    const { lab } = laboratory();
    everything();
    fromPointer({
      address: lab.mapMemory(4096),
      shape: [4],
      dtype: 'int8',
      release: () => {
        ready();
        process.exit(4);
      },
    }).dispose();
    setTimeout(() => undefined, 60_000);
  },
  'throw inside release'() {
    const { fromPointer } = unsafe();
    const { lab } = laboratory();
    everything();
    process.on('uncaughtException', (error) => {
      if (error.message === 'from release') ready();
      process.exit(error.message === 'from release' ? 4 : 5);
    });
    const tensor = fromPointer({
      address: lab.mapMemory(4096),
      shape: [4],
      dtype: 'int8',
      release: () => {
        throw new Error('from release');
      },
    });
    try {
      tensor.dispose();
      tensor.dispose();
    } catch (error) {
      if (error instanceof Error && error.message === 'from release') ready();
      process.exit(4);
    }
    setTimeout(() => undefined, 60_000);
  },
  'native release while the process ends'() {
    const { holders } = everything();
    holders.forEach((holder, index) => holder.releaseLater(index));
    ready();
  },
  'native release at exit'() {
    const { holders } = everything();
    holders.forEach((holder) => holder.releaseAtExit());
    ready();
  },
  'native release at process.exit'() {
    const { holders } = everything();
    holders.forEach((holder) => holder.releaseAtExit());
    ready();
    process.exit(6);
  },
  'native release after the environment'() {
    const { holders } = everything();
    holders.forEach((holder, index) => holder.releaseAfterEnvironment(index));
    ready();
  },
  /** CASE C04: the deleter comes from a plain thread while this one does not yield. */
  async 'native release during a long loop'() {
    const { holders } = everything();
    const { lab } = laboratory();
    holders.forEach((holder, index) => holder.releaseLater(index * 5));
    const start = Date.now();
    let spins = 0;
    while (lab.pendingReleases() > 0 && Date.now() - start < 20_000) spins += 1;
    if (lab.pendingReleases() === 0 && spins > 0) ready();
    await turn();
  },
  async 'worker terminated'() {
    everything();
    const { posted } = await worker('ending', { how: 'wait' }, 'terminate');
    if (posted.length > 0) ready();
  },
  async 'workers ending in every way, one after the other'() {
    for (const how of ['return', 'exit', 'throw', 'loop'] as const)
      await worker('ending', { how }, how === 'loop' ? 'terminate' : undefined);
    ready();
  },
  async 'process.exit while workers are at work'() {
    await new Promise<void>((resolve) => {
      for (let index = 0; index < 3; index += 1) {
        const started = new Worker(path.join(__dirname, 'workers', 'ending.js'), { workerData: { how: 'loop' } });
        started.on('message', () => resolve());
      }
    });
    ready();
    process.exit(9);
  },
  /** From right after its start to some milliseconds later: before, in and after the loading of the addon. */
  async 'workers terminated while they load the library'() {
    for (let milliseconds = 3; milliseconds < 15; milliseconds += 0.2) await terminatedAfter('loading', milliseconds);
    ready();
  },
  /** CASE C28: the library is only ever loaded in workers, so its last environment ends while a struct is held. */
  async 'only workers load the library'() {
    const { lab } = laboratory();
    const first = await worker('holding', {});
    const second = await worker('holding', {});
    const third = worker('holding', {});
    const held = [...first.posted, ...second.posted].filter((id): id is number => typeof id === 'number');
    if (held.length !== 4) throw new Error(`expected four held structs, got ${held.length}`);
    for (const id of held) lab.releaseHeldLater(id, 5);
    await untilReleased();
    for (const id of (await third).posted) if (typeof id === 'number') lab.releaseHeldOnThread(id);
    ready();
  },
  /** CASE C28: the threads release after the death of the environment that made the structs. */
  async 'released after their worker is gone'() {
    const { lab } = laboratory();
    await Promise.all([
      worker('holding', { releaseAfterEnvironment: 1 }),
      worker('holding', { releaseAfterEnvironment: 20 }),
    ]);
    await untilReleased();
    const { stats } = library();
    const left = stats();
    if (left.exports !== 0 || left.blocks !== 0 || left.bytes !== 0) throw new Error(`left: ${JSON.stringify(left)}`);
    if (lab.strayDeleterCalls() !== 0) throw new Error('stray deleter calls');
    ready();
  },
};

if (require.main === module) {
  const stage = stages[process.argv[2] ?? ''];
  if (stage === undefined) throw new Error(`no stage ${process.argv[2]}`);
  void stage();
}

export const STAGES = Object.keys(stages);
