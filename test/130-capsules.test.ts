/**
 * The life of a capsule: made, taken once, used or dropped; and the struct in it, whose deleter runs exactly once on
 * every way.
 */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../dist/index.js';
import { dataAddress, makeCapsule, takePointer } from '../dist/unsafe.js';
import { collect, collectUntil, expectCountersAtZero } from './support/counters.js';
import { BOTH, expectStructsDeletedOnce, FAULTY, matrix } from './support/fixtures.js';
import { Holder, lab, makeStruct, pictureAt, ramp, READ_ONLY } from './support/lab.js';
import { expectStateError, leavingNothing } from './support/refusals.js';

expectCountersAtZero();
expectStructsDeletedOnce();

test.each([
  [[1, 0], 'dltensor_versioned'],
  [null, 'dltensor'],
] as const)(
  'C044 a fresh capsule (max_version %j) is named %s, and stays so through collections',
  async (max_version, name) => {
    using tensor = matrix();
    const capsule = tensor.__dlpack__({ max_version });
    expect(capsuleName(capsule)).toBe(name);
    await collect(3);
    expect(capsuleName(capsule)).toBe(name);
    expect(lab.lookIntoCapsule(capsule)).toMatchObject({ name, used: false }); // the tag still holds for a stranger
    releaseCapsule(capsule);
  },
);

describe('C045 a capsule that nobody takes runs the deleter once, when it is collected', () => {
  test('C045 ours, both structs', async () => {
    await collect(3);
    const before = stats();
    ((): void => {
      const tensor = matrix();
      for (const options of [{ max_version: [1, 0] as const }, {}, { max_version: [1, 0] as const, copy: true }])
        tensor.__dlpack__(options);
      OwnedTensor.from(ramp(6)).__dlpack__();
      expect(stats().exports).toBe(before.exports + 4);
      tensor.dispose();
    })();
    expect(await collectUntil(() => stats().exports === before.exports)).toBe(true);
    expect(stats()).toEqual(before);
  });

  test("C045 a stranger's, both structs", async () => {
    const structs = BOTH.map((spec) => makeStruct(spec));
    ((): void => structs.forEach((struct) => void struct.capsule()))();
    await collectUntil(() => structs.every((struct) => struct.deleterCalls === 1));
    await collect(3);
    expect(structs.map((struct) => struct.deleterCalls)).toEqual([1, 1]);
  });
});

test.each(BOTH)(
  'C046 consumed; the tensor goes first, the capsule later: once, when the tensor goes (%j)',
  async (spec) => {
    const struct = makeStruct(spec);
    const capsule = struct.capsule();
    ((): void => void fromDLPack(capsule))();
    expect(await collectUntil(() => struct.deleterCalls === 1)).toBe(true);
    expect(lab.lookIntoCapsule(capsule)).toMatchObject({ used: true });
    await collect(4);
    expect(struct.deleterCalls).toBe(1);
  },
);

test.each(BOTH)(
  'C047 consumed; the capsule goes first: the deleter waits, and the memory stays good (%j)',
  async (spec) => {
    const struct = makeStruct(spec);
    using tensor = ((): Tensor => fromDLPack(struct.capsule()))();
    await collect(5);
    expect(struct.deleterCalls).toBe(0);
    expect(tensor.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    tensor.dispose();
    expect(struct.deleterCalls).toBe(1);

    const ours = ((): Holder => new Holder(matrix().__dlpack__(spec.versioned ? { max_version: [1, 0] } : {})))();
    await collect(5);
    expect(ours.elements()).toEqual([0, 1, 2, 3, 4, 5]);
    ours.release();
  },
);

test('C048 a taken capsule is named used_dltensor or used_dltensor_versioned, whoever made it and whoever took it', () => {
  using tensor = matrix();
  const cases: [object, string][] = [
    [tensor.__dlpack__({ max_version: [1, 0] }), 'used_dltensor_versioned'],
    [tensor.__dlpack__(), 'used_dltensor'],
    [makeStruct({ versioned: true }).capsule(), 'used_dltensor_versioned'],
    [makeStruct({ versioned: false }).capsule(), 'used_dltensor'],
  ];
  for (const [capsule, name] of cases) {
    using imported = fromDLPack(capsule);
    expect(imported.size).toBe(6);
    expect(capsuleName(capsule)).toBe(name);
    expect(lab.lookIntoCapsule(capsule)).toMatchObject({ name, used: true });
  }
  const taken = tensor.__dlpack__({ max_version: [1, 0] });
  new Holder(taken).release();
  expect(capsuleName(taken)).toBe('used_dltensor_versioned');
  const dropped = tensor.__dlpack__();
  releaseCapsule(dropped);
  expect(capsuleName(dropped)).toBe('used_dltensor');
});

describe('C049 a capsule is good once: the second taker gets an error and no second owner is made', () => {
  test.each(BOTH)('C049 %j', (spec) => {
    const struct = makeStruct(spec);
    const capsule = struct.capsule();
    const tensor = fromDLPack(capsule);
    leavingNothing(() => {
      for (const copy of [null, true, false] as const) {
        expectStateError(() => fromDLPack(capsule, { copy }), 'ERR_DLPACK_CONSUMED', /consumed/);
      }
      expectStateError(() => takePointer(capsule), 'ERR_DLPACK_CONSUMED', /consumed/);
      expect(() => new Holder(capsule)).toThrow();
      releaseCapsule(capsule);
    });
    expect(struct.deleterCalls).toBe(0);
    tensor.dispose();
    expect(struct.deleterCalls).toBe(1);
    expectStateError(() => fromDLPack(capsule), 'ERR_DLPACK_CONSUMED', /consumed/);
    expect(struct.deleterCalls).toBe(1);
  });

  test('C049 a producer that answers the same capsule twice', () => {
    using tensor = matrix();
    const capsule = tensor.__dlpack__({ max_version: [1, 0] });
    const producer = { __dlpack__: () => capsule, __dlpack_device__: () => [1, 0] as const };
    using first = fromDLPack(producer);
    expect(first.size).toBe(6);
    leavingNothing(() => expectStateError(() => fromDLPack(producer), 'ERR_DLPACK_CONSUMED', /consumed/));
  });

  test('C049 an address that was taken belongs to the taker, who makes a capsule of it once more', () => {
    using tensor = matrix();
    for (const max_version of [[1, 0], null] as const) {
      const capsule = tensor.__dlpack__({ max_version });
      const pointer = takePointer(capsule);
      expect(pointer.versioned).toBe(max_version !== null);
      expect(pictureAt(pointer.address, pointer.versioned).shape).toEqual([2, 3]);
      using back = fromDLPack(makeCapsule(pointer));
      expect(back.toArray()).toEqual([
        [0, 1, 2],
        [3, 4, 5],
      ]);
    }
  });
});

test('C050 the source is dropped and collected before the import: the values are still right', async () => {
  const capsules = ((): object[] => {
    const tensor = Tensor.from(Float32Array.of(1.5, 2.5, 3.5));
    return [
      tensor.__dlpack__({ max_version: [1, 0] }),
      tensor.__dlpack__(),
      OwnedTensor.from(Float32Array.of(1.5, 2.5, 3.5)).__dlpack__(),
    ];
  })();
  await collect(5);
  // Memory freed too early would be overwritten here.
  for (let round = 0; round < 50; round += 1) OwnedTensor.from(Float32Array.of(9, 9, 9)).dispose();
  for (const capsule of capsules) {
    using tensor = fromDLPack(capsule);
    expect(tensor.toArray()).toEqual([1.5, 2.5, 3.5]);
  }
});

describe('C051 a struct without a deleter works like any other, and nothing is called at its end', () => {
  test.each(BOTH)('C051 imported, disposed and collected (%j)', async (spec) => {
    const struct = makeStruct({ ...spec, deleter: false });
    const tensor = fromDLPack(struct.capsule());
    expect(tensor.at(1, 2)).toBe(5);
    tensor.dispose();
    const again = makeStruct({ ...spec, deleter: false });
    ((): void => void fromDLPack(again.capsule()))();
    await collect(4);
    expect([struct.deleterCalls, again.deleterCalls]).toEqual([0, 0]);
  });

  test.each(BOTH)('C051 copied at import, dropped unused, released, refused (%j)', async (spec) => {
    const none = { ...spec, deleter: false };
    fromDLPack(makeStruct(none).capsule(), { copy: true }).dispose();
    releaseCapsule(makeStruct(none).capsule());
    ((): void => void makeStruct(none).capsule())();
    for (const faulty of Object.values(FAULTY))
      expect(() => fromDLPack(makeStruct({ ...none, ...faulty }).capsule())).toThrow();
    await collect(4);
  });

  test('C051 a struct of another major version', () => {
    expect(() => fromDLPack(makeStruct({ major: 2, deleter: false }).capsule())).toThrow(/major|version/);
  });
});

test('a consumer that wants to know versioned structs only gets a legacy one wrapped by the kit, marked READ_ONLY', () => {
  using tensor = matrix();
  const before = stats();
  for (const max_version of [[1, 0], null] as const) {
    for (const how of ['here', 'on a thread', 'scrambled'] as const) {
      const holder = new Holder(tensor.__dlpack__({ max_version }), true);
      expect(holder.picture()).toMatchObject({
        versioned: true,
        major: 1,
        flags: READ_ONLY,
        shape: [2, 3],
        strides: [3, 1],
      });
      expect(holder.elements()).toEqual([0, 1, 2, 3, 4, 5]);
      if (how === 'scrambled') holder.scramble();
      if (how === 'on a thread') holder.releaseOnThread();
      else holder.release();
    }
  }
  expect(stats()).toEqual(before);
  const struct = makeStruct({ versioned: false });
  const again = fromDLPack(new Holder(struct.capsule(), true).intoCapsule());
  expect([again.readOnly, dataAddress(again), struct.deleterCalls]).toEqual([true, struct.data, 0]);
  again.dispose();
  expect(struct.deleterCalls).toBe(1);
});
