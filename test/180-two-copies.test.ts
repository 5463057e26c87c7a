/**
 * Two copies of the package in one process, as when two dependencies bring different versions, and two versions of the
 * capsule's record. Copies know nothing of each other: they exchange by capsule like strangers, and each counts its own.
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import * as mine from '../dist/index.js';
import { loadAnotherCopy } from './support/another-copy.js';
import { collect, collectUntil, expectCountersAtZero, ZERO } from './support/counters.js';
import { expectStructsDeletedOnce } from './support/fixtures.js';
import { kit } from './support/kit-lab.js';
import { lab, makeStruct, ramp } from './support/lab.js';
import { thrownBy } from './support/refusals.js';

expectCountersAtZero();
expectStructsDeletedOnce();

type Copy = typeof mine;
const theirs: Copy = loadAnotherCopy();

afterEach(async () => {
  await collectUntil(() => Object.values(theirs.stats()).every((count) => count === 0));
  expect(theirs.stats()).toEqual(ZERO);
});

const VERSIONED = { max_version: [1, 3] } as const;

describe.each<[string, Copy, Copy]>([
  ['from the first to the second', mine, theirs],
  ['from the second to the first', theirs, mine],
])('two copies, %s', (_name, from, to) => {
  test('a tensor arrives over the same memory, read-only, and is held by both until both let go', () => {
    const tensor = from.Tensor.from(ramp(6), { shape: [2, 3] });
    const there = to.fromDLPack(tensor);
    expect([there.shape, there.readOnly, there.at(1, 2)]).toEqual([[2, 3], true, 5]);
    expect([from.stats().exports, to.stats().tensors, tensor.isUnique, there.isUnique]).toEqual([1, 1, false, false]);
    expect(thrownBy(() => tensor.intoDLPack())).toMatchObject({ code: 'ERR_DLPACK_BUFFER', aliases: { exports: 1 } });
    tensor.dispose();
    expect([from.stats().blocks, there.at(0, 1)]).toEqual([1, 1]);
    there.dispose();
    expect([from.stats(), to.stats()]).toEqual([ZERO, ZERO]);
  });

  test('an owner goes over for good: one shot, and writable there without a copy', () => {
    const owned = from.OwnedTensor.from(ramp(3));
    const arrived = to.fromDLPack(owned);
    expect([owned.consumed, arrived.isUnique]).toEqual([true, true]);
    const there = arrived.intoDLPack();
    there.data[0] = 7;
    expect([there.at(0), from.stats().exports, from.stats().blocks]).toEqual([7, 1, 1]);
    there.dispose();
    expect(from.stats()).toEqual(ZERO);
  });

  test('there and back again is the first block again, with the counts of both at rest', () => {
    const tensor = from.Tensor.from(ramp(4));
    const there = to.fromDLPack(tensor);
    const back = from.fromDLPack(there);
    expect(back.at(3)).toBe(3);
    for (const each of [tensor, there]) each.dispose();
    expect(back.at(2)).toBe(2);
    back.dispose();
    expect([from.stats(), to.stats()]).toEqual([ZERO, ZERO]);
  });

  test('a raw capsule is taken once, whichever copy comes first', () => {
    const tensor = from.Tensor.from(ramp(2));
    const capsule = tensor.__dlpack__(VERSIONED);
    expect(to.capsuleName(capsule)).toBe('dltensor_versioned');
    to.fromDLPack(capsule).dispose();
    expect([from.capsuleName(capsule), to.capsuleName(capsule)]).toEqual(Array(2).fill('used_dltensor_versioned'));
    for (const copy of [from, to]) {
      expect(thrownBy(() => copy.fromDLPack(capsule))).toMatchObject({ code: 'ERR_DLPACK_CONSUMED' });
    }
    const other = tensor.__dlpack__(VERSIONED);
    to.releaseCapsule(other);
    expect([from.stats().exports, from.capsuleName(other)]).toEqual([0, 'used_dltensor_versioned']);
    tensor.dispose();
  });

  test('unused capsules of the one that the other forgets are given back by the collector', async () => {
    (() => {
      using tensor = from.Tensor.from(ramp(2));
      for (let i = 0; i < 50; i++) to.capsuleName(tensor.__dlpack__(VERSIONED));
    })();
    expect(from.stats().exports).toBe(50);
    await collect();
    expect(await collectUntil(() => from.stats().exports === 0)).toBe(true);
  });

  test('a token of the one is none of the other: a named error, and still good where it was made', () => {
    using tensor = from.Tensor.from(ramp(1));
    const token = tensor.share();
    expect(thrownBy(() => to.Tensor.fromShared(token))).toMatchObject({ code: 'ERR_DLPACK_TOKEN' });
    from.Tensor.fromShared(token).dispose();
  });

  test('an object of the one is no object of the other: methods say so and reach nothing', () => {
    using tensor = from.Tensor.from(ramp(2));
    for (const method of ['at', 'view', 'dispose', 'intoDLPack', 'slice', '__dlpack__'] as const) {
      expect(thrownBy(() => Reflect.apply(to.Tensor.prototype[method], tensor, [0]))).toMatchObject({
        code: expect.stringMatching(/^ERR_/),
      });
    }
    expect(tensor.at(1)).toBe(1);
  });

  test('a loan ends for the other copy too: what it still holds keeps the owner locked, and says so', () => {
    const owned = from.OwnedTensor.from(ramp(2));
    let kept: { dispose(): void } | undefined;
    expect(thrownBy(() => owned.lend((loan) => void (kept = to.fromDLPack(loan))))).toMatchObject({
      code: 'ERR_DLPACK_BUFFER',
      aliases: { exports: 1 },
    });
    expect(thrownBy(() => owned.fill(1))).toMatchObject({ code: 'ERR_DLPACK_BUFFER' });
    kept?.dispose();
    owned.fill(1).dispose();
  });
});

describe('a record that has grown at its end, as a later version of the contract may have it', () => {
  const MORE = 0x1234_5678_9abc_def0n;
  const untouched = (used: boolean): object => ({ used, more: Array(4).fill(MORE) });

  describe.each<[string, (capsule: object) => void]>([
    ['the first copy', (capsule) => mine.fromDLPack(capsule).dispose()],
    ['the second copy', (capsule) => theirs.fromDLPack(capsule).dispose()],
    ['releaseCapsule', (capsule) => mine.releaseCapsule(capsule)],
    ['the kit of another addon', (capsule) => kit.release(kit.take(capsule))],
    ['a consumer in C', (capsule) => lab.releaseHeld(lab.takeCapsule(capsule))],
  ])('taken by %s', (_name, take) => {
    test.each([true, false])('is taken as ever, once, and what is new is left alone (versioned: %p)', (versioned) => {
      const struct = makeStruct({ versioned });
      struct.handedOut = true;
      const capsule = lab.makeGrownCapsule(struct.id, 1, MORE);
      expect(mine.capsuleName(capsule)).toBe(versioned ? 'dltensor_versioned' : 'dltensor');
      take(capsule);
      expect([struct.deleterCalls, lab.grownRecord(capsule)]).toEqual([1, untouched(true)]);
      expect(mine.capsuleName(capsule)).toBe(versioned ? 'used_dltensor_versioned' : 'used_dltensor');
      expect(thrownBy(() => mine.fromDLPack(capsule))).toMatchObject({ code: 'ERR_DLPACK_CONSUMED' });
    });

    test.each([0, 2, 3])('of another abi (%d) is refused, and stays its maker’s', (abi) => {
      const struct = makeStruct();
      const capsule = lab.makeGrownCapsule(struct.id, abi, MORE);
      expect(thrownBy(() => take(capsule))).toBeDefined();
      expect(mine.capsuleName(capsule)).toBeUndefined();
      expect([struct.deleterCalls, lab.grownRecord(capsule)]).toEqual([0, untouched(false)]);
      struct.handedOut = true; // it is released by its maker, with the External
    });
  });

  test('both kinds of record in one loop, each struct deleted once', () => {
    const structs = Array.from({ length: 40 }, (_, index) => makeStruct({ versioned: index % 2 === 0 }));
    const capsules = structs.map((struct, index) => {
      if (index % 3 !== 0) return struct.capsule();
      struct.handedOut = true;
      return lab.makeGrownCapsule(struct.id, 1, BigInt(index));
    });
    const tensors = capsules.map((capsule, index) => (index % 5 === 0 ? theirs : mine).fromDLPack(capsule));
    expect(tensors.every((tensor) => tensor.at(1, 2) === 5)).toBe(true);
    for (const tensor of tensors) tensor.dispose();
    expect(structs.map(({ deleterCalls }) => deleterCalls)).toEqual(Array(40).fill(1));
  });
});
