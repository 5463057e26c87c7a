/**
 * Mixed operations without an end in sight, while workers are started and terminated with everything alive: run by
 * scripts/soak.mjs, which says for how long. Memory and counters are sampled; at the end every counter is zero.
 * Arguments: seconds, workers, the file for the samples.
 */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path = require('node:path');
import { Worker } from 'node:worker_threads';
import { fromDLPack, OwnedTensor, releaseCapsule, revokeToken, scope, stats, Tensor } from '../../dist/index.js';
import { collectUntil } from './collect.js';
import { Holder, lab, makeStruct, ramp } from './lab.js';
import { Random } from './random.js';

export interface Sample {
  seconds: number;
  operations: number;
  workers: number;
  rss: number;
  blocks: number;
  bytes: number;
}

const VERSIONED = { max_version: [1, 3] } as const;
const random = new Random(20_261_130);
const below = (limit: number): number => random.integer(0, limit - 1);

const holders: Holder[] = [];

/** Each is one operation, or a few that belong together; what it leaves is collected, or held by `holders`. */
const operations: readonly (() => void)[] = [
  () => OwnedTensor.allocate([1 + below(4096)], 'float32').dispose(),
  () => void Tensor.from(ramp(1 + below(64))),
  () =>
    scope(
      () =>
        void Tensor.from(ramp(24), { shape: [2, 3, 4] })
          .transpose()
          .slice(0, [null, null, -1])
          .contiguous(),
    ),
  () => {
    using tensor = Tensor.from(ramp(16), { shape: [4, 4] });
    holders.push(new Holder(tensor.__dlpack__(VERSIONED)));
  },
  () => holders.splice(below(holders.length + 1), 1)[0]?.release(),
  () => holders.splice(below(holders.length + 1), 1)[0]?.releaseOnThread(),
  () => {
    const struct = makeStruct({ shape: [3], versioned: below(2) === 0 });
    fromDLPack(struct.producer()).dispose();
    if (struct.deleterCalls !== 1) throw new Error(`${struct.deleterCalls} deleter calls`);
    struct.forget();
  },
  () => {
    using tensor = Tensor.from(ramp(8));
    if (tensor.view()[7] !== 7) throw new Error('the view shows something else');
  },
  () => void OwnedTensor.from(ramp(8)).data.fill(2),
  () => releaseCapsule(Tensor.from(ramp(4)).__dlpack__(VERSIONED)),
  () => revokeToken(OwnedTensor.from(ramp(4)).transfer()),
  () => Tensor.fromShared(Tensor.from(ramp(4)).share()).dispose(),
  () => void Tensor.from(ramp(30), { shape: [5, 6] }).to('int8', { scale: 2 }),
  () => {
    using owned = OwnedTensor.allocate([64], 'float32');
    owned.lend((loan) => fromDLPack(loan.__dlpack__(VERSIONED)).at(3), { writable: true });
  },
];

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, milliseconds));

/** One worker, from its birth to its death at a random moment. */
async function oneWorker(): Promise<void> {
  const worker = new Worker(path.join(__dirname, 'workers/soak.js'));
  const [structs] = (await once(worker, 'message')) as [number[]];
  await pause(below(20));
  await worker.terminate();
  // What it had from others was given back with it, once.
  for (let turn = 0; structs.some((id) => lab.structState(id).deleterCalls === 0) && turn < 600; turn += 1)
    await pause(5);
  for (const id of structs) {
    const { deleterCalls } = lab.structState(id);
    if (deleterCalls !== 1) throw new Error(`a struct of a terminated worker had ${deleterCalls} deleter calls`);
    lab.forgetStruct(id);
  }
}

async function main(): Promise<void> {
  const [seconds, least, file] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4] ?? ''];
  const samples: Sample[] = [];
  const began = Date.now();
  let count = 0;
  let workers = 0;
  let next = 0;
  const elapsed = (): number => (Date.now() - began) / 1000;
  const goesOn = (): boolean => elapsed() < seconds || workers < least;
  const sample = (): void => {
    const { blocks, bytes } = stats();
    const { rss } = process.memoryUsage();
    samples.push({ seconds: elapsed(), operations: count, workers, rss, blocks, bytes });
    next = elapsed() + Math.max(0.25, seconds / 400);
  };
  // Evenly over the time. One after the other would be thousands, and each leaves something for good: the engine an
  // object, and the library 24 bytes, for every capsule that was alive at its end.
  const breed = async (): Promise<void> => {
    while (goesOn()) {
      await pause(Math.max(0, (seconds * workers) / least - elapsed()) * 1000);
      await oneWorker();
      workers += 1;
    }
  };
  const bred = breed();
  while (goesOn()) {
    for (let turn = 0; turn < 2000; turn += 1) operations[below(operations.length)]?.();
    count += 2000;
    while (holders.length > 200) holders.pop()?.release();
    if (elapsed() >= next) sample();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await bred;
  while (holders.length > 0) holders.pop()?.release();
  const zero = await collectUntil(
    () => lab.pendingReleases() === 0 && Object.values(stats()).every((value) => value === 0),
  );
  sample();
  writeFileSync(file, `${JSON.stringify({ samples, left: stats(), zero })}\n`);
  if (!zero) throw new Error(`left: ${JSON.stringify(stats())}`);
}

void main();
