/** How long memory lives, on which thread it ends, and that it ends at all. */
import path = require('node:path');
import { Worker } from 'node:worker_threads';
import { releaseCapsule } from '../../capsule';
import { fromDLPack } from '../../from-dlpack';
import { takePointer } from '../../unsafe';
import { expect, Skip } from './failure';
import { Probe } from './probe';
import type { Rule } from './rules';
import { peek, Struct } from './struct';
import { collect, collectUntil, type Subject } from './subject';

function rule(id: string, about: Rule['about'], title: string, run: Rule['run'], level: Rule['level'] = 'must'): Rule {
  return { id, level, title, source: 'node_dlpack.h', about, run };
}

/** Bytes by which the process may grow although nothing leaks: the allocator's own. */
const SLACK = 12 * 2 ** 20;

/** Does it grow with the number of calls? Twice as many calls after a warm-up, so that caches fill first. */
async function expectNoGrowth(calls: number, call: () => Promise<void>): Promise<void> {
  const round = async (): Promise<number> => {
    for (let i = 0; i < calls; i++) {
      await call();
      if (i % 500 === 499) await collect();
    }
    await collect(4);
    return process.memoryUsage.rss();
  };
  await round();
  const before = await round();
  const after = await round();
  const grown = after - before;
  expect(grown < SLACK, `${calls} calls more took ${(grown / 2 ** 20).toFixed(0)} MiB that were not given back`);
}

/** As many calls as leak visibly, whatever the size of a tensor. */
async function callsFor(subject: Subject): Promise<number> {
  const struct = await subject.struct();
  const bytes = Math.max(64, struct.size * Math.max(1, struct.dtype[1] >> 3));
  struct.release();
  return Math.min(100_000, Math.max(200, Math.ceil((2 * SLACK) / bytes)));
}

/** Does something with the addon in a worker, which has ended when the promise settles. */
export type Task = 'struct' | 'capsules' | 'take';

function inWorker(subject: Subject, task: Task): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let answer: unknown;
    const worker = new Worker(path.join(__dirname, 'in-worker.js'), { workerData: { addon: subject.file, task } });
    worker.on('message', (message: unknown) => {
      answer = message;
    });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      if (code === 0) resolve(answer);
      else reject(new Error(`the worker ended with exit code ${code}`));
    });
  });
}

export const LIFETIME_RULES: readonly Rule[] = [
  rule(
    'L01',
    'makeTensor',
    'a struct outlives its capsule: data and shape stay until the deleter is called',
    async (subject) => {
      const struct = await subject.struct();
      const { data, form, size } = struct;
      const bytes = Math.min(4096, (size * Math.max(8, struct.dtype[1])) >> 3);
      const readable = struct.device[0] === 1 && bytes > 0 && (struct.strides ?? []).every((stride) => stride >= 0);
      const before = readable ? peek(data, bytes) : new Uint8Array(0);
      await collect(4);
      expect(JSON.stringify(struct.form) === JSON.stringify(form), 'shape or dtype changed after a collection');
      const after = readable ? peek(data, bytes) : new Uint8Array(0);
      expect(Buffer.compare(before, after) === 0, 'the elements changed after a collection');
      struct.release();
    },
  ),
  rule('L02', 'makeTensor', 'the deleter works on a thread that knows nothing of JavaScript', async (subject) => {
    const structs = [await subject.struct(), await subject.struct()];
    for (const struct of structs) struct.releaseOnThread();
    await collect(2);
  }),
  rule(
    'L03',
    'makeTensor',
    'the deleter works when a consumer has overwritten shape, strides and the rest of the description',
    async (subject) => {
      const struct = await subject.struct();
      struct.scramble();
      struct.release();
      await collect(2);
    },
  ),
  rule('L04', 'makeTensor', 'the deleter gives the memory back', async (subject) => {
    await expectNoGrowth(await callsFor(subject), async () => (await subject.struct()).release());
  }),
  rule('L05', 'makeTensor', 'an unused capsule gives the memory back when it is collected', async (subject) => {
    await expectNoGrowth(await callsFor(subject), async () => void (await subject.capsule()));
  }),
  rule(
    'L06',
    'makeTensor',
    'it works in a worker, and the struct is good after the worker has ended',
    async (subject) => {
      if (!subject.has('makeTensor')) throw new Skip('the addon has no makeTensor');
      const pointer = (await inWorker(subject, 'struct')) as { address: bigint; versioned: boolean }; // by in-worker.ts
      const struct = new Struct(pointer);
      fromDLPack(struct.intoCapsule()).dispose();
      const second = new Struct((await inWorker(subject, 'struct')) as { address: bigint; versioned: boolean });
      second.releaseOnThread();
    },
  ),
  rule('L07', 'makeTensor', 'a worker, and the process, may end with capsules that nobody took', async (subject) => {
    if (!subject.has('makeTensor')) throw new Skip('the addon has no makeTensor');
    await inWorker(subject, 'capsules');
    kept.push(await subject.capsule(), takePointer(await subject.capsule()));
  }),
  rule(
    'L08',
    'makeTensor',
    'held() counts a tensor until its deleter was called, or its unused capsule collected',
    async (subject) => {
      await collect(4);
      const before = subject.held();
      const [used, capsule] = [await subject.struct(), await subject.capsule()];
      const during = subject.held();
      expect(during >= before + 2 || during === before + 1, `it went from ${before} to ${during} with two tensors`);
      used.release();
      releaseCapsule(capsule);
      await collectUntil(() => subject.held() === before);
      expect(subject.held() === before, `it went from ${before} to ${subject.held()} and not back when both had ended`);
      await subject.capsule();
      await collectUntil(() => subject.held() === before);
      expect(
        subject.held() === before,
        `it is ${subject.held()} after an unused capsule was collected; it was ${before}`,
      );
    },
  ),
  rule('L09', 'takeTensor', 'it works in a worker', async (subject) => {
    await subject.form();
    await inWorker(subject, 'take');
  }),
  rule('L10', 'takeTensor', 'it lets go of everything, call after call', async (subject) => {
    const form = await subject.form();
    const probes: Probe[] = [];
    for (let i = 0; i < 200; i++) {
      const probe = new Probe(form);
      probes.push(probe);
      await subject.take(probe.capsule());
    }
    await collect(6);
    const wrong = probes.filter(({ deleterCalls }) => deleterCalls !== 1).length;
    expect(wrong === 0, `the deleters of ${wrong} in 200 tensors were not called exactly once`);
  }),
];

/** To the end of the process. */
const kept: unknown[] = [];
