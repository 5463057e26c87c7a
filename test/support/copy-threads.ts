/** Copies on several threads, in a process of its own: `copy-threads.js say | copy | end-worker | exit | no-threads`. */
import { readdirSync } from 'node:fs';
import { isMainThread, Worker } from 'node:worker_threads';
import { Struct } from '../../dist/cli/check/struct.js';
import { copyThreads, OwnedTensor } from '../../dist/index.js';
import { takePointer } from '../../dist/unsafe.js';

/** 24 MiB, turned around: several parts for every number of threads. */
function turn(): { right: boolean } {
  using plain = OwnedTensor.allocate([3072, 2048], 'float32');
  const data = plain.data;
  for (let i = 0; i < data.length; i++) data[i] = i;
  using tensor = plain.freeze();
  using turned = tensor.transpose().contiguous();
  const view = turned.view();
  let right = true;
  for (let row = 0; row < 2048; row++) {
    for (let column = 0; column < 3072; column += 7) right &&= view[row * 3072 + column] === column * 2048 + row;
  }
  return { right };
}

/** Threads of this process, where the system tells; those of the engine are all there from the start. */
function threadCount(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').length : 0;
}

function turnForEver(): void {
  using source = OwnedTensor.allocate([2048, 2048], 'float32');
  using target = OwnedTensor.allocate([2048, 2048], 'float32');
  source.lend((loan) => {
    const turned = loan.transpose();
    for (;;) target.set(turned);
  });
}

/** The library gets no thread: copies are made on this one, and what needs another says so and loses nothing. */
function withoutThreads(): void {
  // Here, since not every process has what it needs.
  const { lab } = require('./lab-addon.js') as typeof import('./lab-addon.js');
  const { makeStruct } = require('./lab.js') as typeof import('./lab.js');
  copyThreads(4);
  console.log(lab.refuseThreads(), turn().right, lab.threadsRefused());
  const struct = makeStruct();
  try {
    new Struct(takePointer(struct.capsule())).releaseOnThread();
  } catch (error) {
    console.log(String(error), struct.deleterCalls, lab.threadsRefused());
  }
}

async function main(mode: string | undefined): Promise<void> {
  if (mode === 'say') console.log(copyThreads());
  if (mode === 'copy') {
    copyThreads(4);
    const before = threadCount();
    const { right } = turn();
    console.log(right, threadCount() - before);
  }
  if (mode === 'no-threads') withoutThreads();
  if (mode === 'end-worker' || mode === 'exit') {
    copyThreads(3);
    const worker = new Worker(__filename);
    await new Promise((resolve) => void worker.once('online', resolve));
    await new Promise((resolve) => void setTimeout(resolve, 300));
    if (mode === 'exit') process.exit(0);
    await worker.terminate();
    console.log(turn().right);
  }
}

if (isMainThread) void main(process.argv[2]);
else turnForEver();
