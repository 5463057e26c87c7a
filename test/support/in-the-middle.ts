/**
 * A process whose worker is in the middle of an operation when something ends: the worker, by `terminate`, or the whole
 * process. Arguments: what the worker is in the middle of, and how it ends. Prints `ready` when all is as it should be.
 */
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { stats, Tensor } from '../../dist/index.js';
import { lab, ramp } from './lab.js';
import type { Middle } from './workers/in-the-middle.js';

export const MIDDLES: readonly Middle[] = ['export', 'import', 'deleter', 'window', 'loan'];
export const WAYS = ['terminate', 'exit', 'throw', 'sigterm'] as const;

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

async function main(what: string, way: string): Promise<void> {
  const mine = Tensor.from(ramp(10));
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(path.join(__dirname, 'workers/in-the-middle.js'), { workerData: { what, gate } });
  const ended = new Promise<void>((resolve) => worker.on('exit', () => resolve()));
  const struct = await new Promise<number>((resolve, reject) => {
    worker.on('message', (id: number) => resolve(id));
    worker.on('error', reject);
  });
  // oxlint-disable-next-line no-await-in-loop -- waiting is the point
  while (Atomics.load(gate, 0) === 0) await turn();

  if (way !== 'terminate') {
    process.stdout.write('ready\n');
    if (way === 'exit') process.exit(5);
    if (way === 'sigterm') process.kill(process.pid, 'SIGTERM');
    else throw new Error('uncaught');
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  }
  await worker.terminate();
  await ended;
  // oxlint-disable-next-line no-await-in-loop -- waiting is the point
  for (let tries = 0; tries < 500 && lab.pendingReleases() > 0; tries += 1) await turn();
  const calls = lab.structState(struct).deleterCalls;
  if (calls !== 1) throw new Error(`the foreign deleter was called ${calls} times`);
  const { tensors, exports, views, tokens, blocks } = stats();
  // What `release` of a dead environment would have given back stays: memory behind a pointer is left on purpose.
  const left = { tensors: tensors - 1, exports, views, tokens, blocks: blocks - 1 };
  if (Object.values(left).some((count) => count !== 0)) throw new Error(`left ${JSON.stringify(left)}`);
  if (mine.at(9) !== 9) throw new Error('another thread’s memory has changed');
  mine.dispose();
  process.stdout.write('ready\n');
}

if (require.main === module) void main(process.argv[2] ?? '', process.argv[3] ?? '');
