/**
 * The move through Door 2; deleters on threads that know no JavaScript; environments and processes that end with
 * everything alive.
 */
import { describe, expect, test } from '@jest/globals';
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../dist/index.js';
import { adopt, dataAddress, fromPointer } from '../dist/unsafe.js';
import { runChild } from './support/children.js';
import { collect, collectUntil, expectCountersAtZero } from './support/counters.js';
import { expectStructsDeletedOnce, matrix } from './support/fixtures.js';
import { bytesOf, elements, Holder, IS_COPIED, lab, makeStruct, pictureAt, ramp, READ_ONLY } from './support/lab.js';
import { STAGES } from './support/life-stage.js';
import { expectBufferError, expectStateError, leavingNothing } from './support/refusals.js';

expectCountersAtZero();
expectStructsDeletedOnce();
const BOTH_WAYS = [{ max_version: [1, 0] as const }, { max_version: null }];

/** Runs a worker of support/workers to its end; answers its exit code and what it posted. */
function runWorker(script: string, data: object, stop?: 'terminate'): Promise<{ code: number; posted: unknown[] }> {
  return new Promise((resolve) => {
    const posted: unknown[] = [];
    const worker = new Worker(path.join(__dirname, 'support/workers', `${script}.js`), { workerData: data });
    worker.on('message', (message: unknown) => {
      posted.push(message);
      if (stop === 'terminate') void worker.terminate();
    });
    worker.on('error', (error) => {
      if (error.message !== 'the worker failed') posted.push(error);
    });
    worker.on('exit', (code) => resolve({ code, posted }));
  });
}

/** What the worker `ending` posts before it ends. */
async function runEnding(how: string, stop?: 'terminate'): Promise<{ structs: number[]; holders: number[] }> {
  const { posted } = await runWorker('ending', { how }, stop);
  const message = posted[0];
  if (typeof message !== 'object' || message === null || !('structs' in message)) {
    throw new Error(`the worker posted ${String(message)}`);
  }
  return message as { structs: number[]; holders: number[] };
}

describe('C095 intoDLPack', () => {
  test('C095 moves the memory without copying: same address, and the tensor is a tombstone that still answers its metadata', () => {
    const tensor = matrix();
    const address = dataAddress(tensor);
    const owned = tensor.intoDLPack();
    expect(owned).toBeInstanceOf(OwnedTensor);
    expect(dataAddress(owned)).toBe(address);
    expect([...owned.data]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([tensor.consumed, tensor.disposed, tensor.isUnique, tensor.shape, tensor.dtype]).toEqual([
      true,
      false,
      false,
      [2, 3],
      'float32',
    ]);
    for (const use of [
      () => tensor.at(0, 0),
      () => tensor.view(),
      () => tensor.slice(0),
      () => tensor.__dlpack__(),
      () => tensor.intoDLPack(),
      () => tensor.toArray(),
      () => tensor.copy(),
      () => tensor.withView(() => 1),
      () => tensor.transpose(),
      () => fromDLPack(tensor),
    ]) {
      expectStateError(use, 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
    }
    tensor.dispose();
    expect(tensor.__dlpack_device__()).toEqual([1, 0]);
    owned.dispose();
  });

  test('C095 any other alias stops it, says which, and leaves the tensor as it was', () => {
    using tensor = matrix();
    const obstacles: [() => () => void, object][] = [
      [
        () => {
          const slice = tensor.slice(0);
          return () => slice.dispose();
        },
        { tensors: 1, exports: 0, views: 0, tokens: 0 },
      ],
      [
        () => {
          const empty = tensor.slice([0, 0, 1]);
          return () => empty.dispose();
        },
        { tensors: 1 },
      ],
      [
        () => {
          const back = fromDLPack(tensor);
          return () => back.dispose();
        },
        { tensors: 1 },
      ],
      [
        () => {
          const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
          return () => holder.releaseOnThread();
        },
        { tensors: 0, exports: 1 },
      ],
      [
        () => {
          const capsule = tensor.__dlpack__({ max_version: [1, 0] });
          return () => releaseCapsule(capsule);
        },
        { tensors: 0, exports: 1 },
      ],
      [
        () => {
          tensor.view();
          return () => tensor.releaseViews();
        },
        { tensors: 0, exports: 0, views: 1 },
      ],
    ];
    for (const [place, aliases] of obstacles) {
      const remove = place();
      expect(tensor.isUnique).toBe(false);
      const error = leavingNothing(() =>
        expectBufferError(
          () => tensor.intoDLPack(),
          'Tensor buffer is shared; cannot move out for a writable export. Use __dlpack__({ copy: true }) for a writable copy.',
        ),
      );
      expect(error.aliases).toMatchObject(aliases);
      expect([tensor.consumed, tensor.at(1, 2)]).toEqual([false, 5]);
      remove();
      expect(tensor.isUnique).toBe(true);
    }
  });

  test('C095 the result, dropped without a consumer, is collected: the deleter runs once', async () => {
    await collect(3);
    const struct = makeStruct({ flags: IS_COPIED });
    const before = stats();
    ((): void =>
      void fromDLPack(struct.producer())
        .intoDLPack()
        .__dlpack__({ max_version: [1, 0] }))();
    ((): void => void matrix().intoDLPack())();
    expect(await collectUntil(() => struct.deleterCalls === 1 && stats().tensors === before.tensors)).toBe(true);
    await collect(3);
    expect(struct.deleterCalls).toBe(1);
    expect(stats()).toEqual(before);
  });

  test('C095 memory that can never belong to one holder does not pass: foreign without IS_COPIED, adopted, by pointer, overlapping', () => {
    const address = lab.mapMemory(4096);
    const sources: [string, () => Tensor][] = [
      ['flags 0', () => fromDLPack(makeStruct({ flags: 0 }).producer())],
      ['READ_ONLY', () => fromDLPack(makeStruct({ flags: READ_ONLY }).producer())],
      ['READ_ONLY and IS_COPIED', () => fromDLPack(makeStruct({ flags: READ_ONLY | IS_COPIED }).producer())],
      ['legacy', () => fromDLPack(makeStruct({ versioned: false }).producer())],
      ['overlapping', () => fromDLPack(makeStruct({ flags: IS_COPIED, strides: [0, 1] }).producer())],
      ['adopted', () => adopt(ramp(6))],
      ['adopted as writable', () => adopt(ramp(6), { writable: true })],
      ['pointer', () => fromPointer({ address, shape: [6], dtype: 'float32', release: () => undefined })],
    ];
    for (const [, make] of sources) {
      using tensor = make();
      expect(tensor.isUnique).toBe(false);
      leavingNothing(() => expectBufferError(() => tensor.intoDLPack(), /copy/));
      expect([tensor.consumed, tensor.disposed]).toEqual([false, false]);
    }
    lab.unmapMemory(address, 4096);
  });
});

test('C096 a moved tensor leaves with IS_COPIED and without READ_ONLY (copy: false: flags 0), the first address all the way', () => {
  for (const [copy, flags] of [
    [null, IS_COPIED],
    [true, IS_COPIED],
    [false, 0n],
  ] as const) {
    for (const tensor of [matrix(), fromDLPack(makeStruct({ flags: IS_COPIED }).producer())]) {
      const address = dataAddress(tensor);
      const holder = new Holder(tensor.intoDLPack().__dlpack__({ max_version: [1, 0], copy }));
      expect(holder.picture()).toMatchObject({ flags, data: address });
      holder.write(0, bytesOf(Float32Array.of(9)));
      expect(holder.elements()[0]).toBe(9);
      holder.release();
    }
    const legacy = matrix();
    const address = dataAddress(legacy);
    const holder = new Holder(legacy.intoDLPack().__dlpack__({ copy }));
    expect(holder.picture()).toMatchObject({ versioned: false, data: address });
    holder.release();
  }
  // While an alias can remain, IS_COPIED is never said without a copy.
  using shared = matrix();
  using alias = shared.slice(0);
  expect(alias.size).toBe(3);
  const holder = new Holder(shared.__dlpack__({ max_version: [1, 0] }));
  expect(holder.picture().flags).toBe(READ_ONLY);
  holder.release();
});

describe('C097 the deleter comes from a thread that knows no JavaScript', () => {
  test('C097 of every kind of export: no crash, and the counters are right at once', () => {
    const before = stats();
    for (const options of BOTH_WAYS) {
      const tensor = matrix();
      const holders = [
        new Holder(tensor.__dlpack__(options)),
        new Holder(tensor.__dlpack__({ ...options, copy: true })),
      ];
      tensor.dispose();
      const owned = OwnedTensor.from(ramp(6));
      holders.push(new Holder(owned.__dlpack__(options)));
      for (const holder of holders) holder.releaseOnThread();
      expect(stats()).toEqual(before);
    }
  });

  test("C097 a foreign struct's deleter, behind our export, runs on that thread", () => {
    const struct = makeStruct({ flags: 0 });
    const tensor = fromDLPack(struct.producer());
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    tensor.dispose();
    expect(struct.deleterCalls).toBe(0);
    holder.releaseOnThread();
    expect([struct.deleterCalls, struct.deletedOnThisThread]).toEqual([1, false]);
  });

  test('C097 JavaScript memory is released later, on its own thread', async () => {
    const address = lab.mapMemory(4096);
    let released = 0;
    const tensor = fromPointer({
      address,
      shape: [6],
      dtype: 'float32',
      readOnly: false,
      release: () => void (released += 1),
    });
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    tensor.dispose();
    expect(released).toBe(0);
    holder.releaseOnThread();
    expect(released).toBe(0); // not before this thread comes by
    stats();
    await collect(2);
    expect(released).toBe(1);
    lab.unmapMemory(address, 4096);

    const adopted = adopt(ramp(6));
    const second = new Holder(adopted.__dlpack__({ max_version: [1, 0] }));
    adopted.dispose();
    await collect(2);
    expect(second.elements()).toEqual([0, 1, 2, 3, 4, 5]); // pinned until the deleter
    second.releaseOnThread();
  });

  test('C097 a loop that is woken by nothing but the release still runs it', async () => {
    const address = lab.mapMemory(4096);
    const released = new Promise<void>((resolve) => {
      const tensor = fromPointer({ address, shape: [6], dtype: 'float32', release: resolve });
      const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
      tensor.dispose();
      holder.releaseLater(30);
    });
    const wait = setTimeout(() => undefined, 20_000); // the release itself must not keep a process alive
    await released;
    clearTimeout(wait);
    lab.unmapMemory(address, 4096);
  });
});

describe('C098 an export outlives the worker that made it', () => {
  test.each([undefined, 'terminate'] as const)(
    'C098 the worker %p: the memory is good until the deleter, which needs no environment',
    async (stop) => {
      await collect(3);
      const before = stats();
      const { holders } = await runEnding(stop === undefined ? 'exit' : 'wait', stop);
      expect(holders).toHaveLength(4);
      const values = holders.map((id) => {
        const { address, versioned } = lab.lookAtHeld(id);
        return elements(pictureAt(address, versioned));
      });
      expect(values[0]).toEqual([...ramp(24)]);
      expect(values[1]).toEqual([12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23]);
      expect(values[3]).toEqual([...ramp(7)]);
      holders.forEach((id, index) => (index % 2 === 0 ? lab.releaseHeld(id) : lab.releaseHeldOnThread(id)));
      expect(stats()).toMatchObject({ exports: before.exports, tensors: before.tensors });
    },
  );
});

describe('C099 an environment ends with imports, views and capsules alive', () => {
  test.each([
    ['return', undefined],
    ['exit', undefined],
    ['throw', undefined],
    ['wait', 'terminate'],
    ['loop', 'terminate'],
  ] as const)(
    'C099 the worker ends by %s (%p): every foreign deleter ran once, and our memory is gone',
    async (how, stop) => {
      await collect(3);
      const before = stats();
      const message = await runEnding(how, stop);
      for (const id of message.holders) lab.releaseHeldOnThread(id);
      expect(message.structs.length).toBeGreaterThan(5);
      const calls = message.structs.map((id) => lab.structState(id).deleterCalls);
      expect(calls).toEqual(calls.map(() => 1));
      const after = stats();
      expect({ ...after, blocks: 0, bytes: 0 }).toEqual({ ...before, blocks: 0, bytes: 0 });
      // JavaScript-backed memory (fromPointer) is left to the dead environment on purpose; nothing else is.
      expect(after.blocks - before.blocks).toBeLessThanOrEqual(1);
    },
  );

  test.each(STAGES.filter((stage) => !stage.includes('worker')))(
    'C099 a process that ends by %p ends as it should',
    async (stage) => {
      const codes: Record<string, number> = {
        exit: 7,
        throw: 1,
        reject: 1,
        'exit later': 3,
        'native release at process.exit': 6,
      };
      const expected = codes[stage] ?? (/^(exit inside|throw inside)/.test(stage) ? 4 : 0);
      const ending = await runChild('life-stage', [stage]);
      expect(ending).toMatchObject({ hung: false, output: expect.stringContaining('ready') });
      if (stage === 'sigterm') expect([ending.code, ending.signal]).toEqual([null, 'SIGTERM']);
      else
        expect({ code: ending.code, signal: ending.signal, output: ending.output }).toMatchObject({
          code: expected,
          signal: null,
        });
    },
  );

  test.each(STAGES.filter((stage) => stage.includes('worker')))('C099 a process with workers: %p', async (stage) => {
    const ending = await runChild('life-stage', [stage]);
    expect(ending).toMatchObject({
      code: stage.startsWith('process.exit') ? 9 : 0,
      signal: null,
      hung: false,
      output: expect.stringContaining('ready'),
    });
  });
});

describe('C100 races', () => {
  test('C100 two threads reach for a capsule, 100,000 times: one winner each, and each winner releases its struct once', () => {
    using tensor = matrix();
    for (let round = 0; round < 20; round += 1) {
      const capsules = Array.from({ length: 5000 }, (_, index) =>
        tensor.__dlpack__({ max_version: [1, 0], copy: index % 2 === 0 ? null : false }),
      );
      expect(stats().exports).toBe(5000);
      const taken = lab.raceThreads(capsules, 2);
      expect(taken).toHaveLength(5000);
      expect(new Set(taken.map((id) => lab.lookAtHeld(id).address)).size).toBe(5000);
      for (const id of taken) lab.releaseHeld(id);
      expect(stats().exports).toBe(0);
    }
    expect(tensor.isUnique).toBe(true);
  });

  test.each([2, 3, 4])('C100 %d native threads reach for one capsule: exactly one gets the struct', (threads) => {
    using tensor = matrix();
    const structs = Array.from({ length: 20 }, (_, index) => makeStruct({ versioned: index % 2 === 0 }));
    const capsules = structs.map((struct) => struct.capsule());
    for (let index = 0; index < 2000; index += 1) {
      capsules.push(tensor.__dlpack__({ max_version: index % 2 === 0 ? [1, 0] : null }));
    }
    const taken = lab.raceThreads(capsules, threads);
    expect(taken).toHaveLength(capsules.length);
    for (const capsule of capsules) expect(capsuleName(capsule)).toMatch(/^used_/);
    expectStateError(() => fromDLPack(capsules[0] ?? {}), 'ERR_DLPACK_CONSUMED', /consumed/);
    for (const id of taken) lab.releaseHeld(id);
    expect(structs.map((struct) => struct.deleterCalls)).toEqual(structs.map(() => 1));
    expect(tensor.isUnique).toBe(true);
  });

  test('C100 a native thread against fromDLPack, releaseCapsule and a second thread: one winner, every time', () => {
    using tensor = matrix();
    const wins = { thread: 0, us: 0 };
    for (let round = 0; round < 300; round += 1) {
      const capsule = tensor.__dlpack__({ max_version: [1, 0] });
      const racer = lab.startRacer(capsule);
      let mine: Tensor | undefined;
      if (round % 3 === 2) releaseCapsule(capsule);
      else {
        try {
          mine = fromDLPack(capsule);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_DLPACK_CONSUMED' });
        }
      }
      const held = lab.finishRacer(racer);
      if (round % 3 !== 2) expect((mine === undefined ? 0 : 1) + (held === 0 ? 0 : 1)).toBe(1);
      wins[held === 0 ? 'us' : 'thread'] += 1;
      if (held !== 0) lab.releaseHeldOnThread(held);
      mine?.dispose();
      expect(tensor.isUnique).toBe(true);
    }
    expect(wins.thread + wins.us).toBe(300);
  });

  test('C100 workers that use the library for the first time at the same moment', async () => {
    await collect(3);
    const before = stats();
    const results = await Promise.all(
      Array.from({ length: 4 }, (_, seed) => runWorker('at-work', { seed, rounds: 20 })),
    );
    expect(results.map(({ code, posted }) => ({ code, posted }))).toEqual(
      results.map(() => ({ code: 0, posted: [{ right: 20, undeleted: [] }] })),
    );
    expect(stats()).toEqual(before);
  });
});
