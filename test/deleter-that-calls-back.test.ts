/**
 * A foreign deleter may be anything, code that calls this library again included. Wherever one runs, the handle that
 * ends is dead already, the table is whole, and what the interrupted call answers afterwards is its own.
 */
import { expect, test } from '@jest/globals';
import { native, scratch, scratchBits, ImportMode, Slot, TensorFlag, type Handle } from '../dist/native.js';
import { lab } from './support/lab-addon.js';
import {
  allocate,
  collectUntil,
  drop,
  fault,
  flagsOf,
  float32Of,
  made,
  nativeStats,
  release,
  shapeOf,
} from './support/native-tensors.js';
import { expectNothingLeft } from './support/native-counters.js';

expectNothingLeft();

const IS_COPIED = 2;

/** Uses the library as much as one can: makes, fails, releases, and fills the scratch memory with other numbers. */
function disturb(): void {
  const handles = Array.from({ length: 3 }, () => allocate([9, 9, 9]));
  const frozen = made(native.freeze(allocate([7])));
  const alias = made(native.alias(frozen));
  expect(fault(native.move(alias))).toBe('kNotUnique');
  expect(fault(native.releaseCapsule({}))).toBe('kNotACapsule');
  scratch.fill(99);
  release(...handles, frozen, alias);
}

test('release: the handle is dead when the deleter runs, and its slot may be used again by then', () => {
  let calls = 0;
  let fresh: Handle | undefined;
  const capsule = lab.makeCallingStruct(0, IS_COPIED, () => {
    calls += 1;
    expect(native.isLive(tensor)).toBe(false);
    expect(fault(native.describe(tensor))).toBe('kStaleHandle');
    expect(native.release(tensor)).toBe(0);
    fresh = allocate([4]);
    disturb();
  });
  const tensor = made(native.importCapsule(capsule, ImportMode.Any));
  release(tensor);
  expect(calls).toBe(1);
  if (fresh === undefined) throw new Error('the deleter did not allocate');
  expect(shapeOf(fresh)).toEqual([4]);
  release(fresh);
});

test('an import that copies answers with its own metadata and ring position', () => {
  let calls = 0;
  const capsule = lab.makeCallingStruct(2, 0, () => {
    calls += 1;
    disturb();
  });
  const tensor = native.importCapsule(capsule, ImportMode.Any);
  expect(calls).toBe(1);
  expect([...scratch.subarray(Slot.Dims, Slot.Dims + 2)]).toEqual([3, 1]);
  expect(scratch[Slot.FaultIndex]).toBe(1);
  const handle = made(tensor);
  expect(flagsOf(handle) & TensorFlag.MadeByCopy).toBe(TensorFlag.MadeByCopy);
  native.settle();
  expect(native.isLive(handle)).toBe(true);
  release(handle);
});

test('an import that is refused tells its own fault', () => {
  let calls = 0;
  const capsule = lab.makeCallingStruct(2, 0, () => {
    calls += 1;
    disturb();
  });
  expect(fault(native.importCapsule(capsule, ImportMode.NoCopy))).toBe('kCopyRefused');
  expect(calls).toBe(1);
  expect(scratch[Slot.FaultIndex]).toBe(2);
  expect(scratchBits[Slot.FaultValue]).toBe(1n);
  expect(scratchBits[Slot.FaultLimit]).toBe(4n);
});

test('releaseCapsule: the capsule is used when the deleter runs', () => {
  let calls = 0;
  const capsule = lab.makeCallingStruct(0, 0, () => {
    calls += 1;
    expect(native.capsuleState(capsule)).toBe(4);
    expect(fault(native.importCapsule(capsule, ImportMode.Any))).toBe('kCapsuleUsed');
    disturb();
  });
  expect(fault(native.releaseCapsule(capsule))).toBe('none');
  expect(calls).toBe(1);
});

test('collection: a dropped tensor whose deleter uses the library is released once', async () => {
  let calls = 0;
  const capsule = lab.makeCallingStruct(0, 0, () => {
    calls += 1;
    disturb();
  });
  const tensor = made(native.importCapsule(capsule, ImportMode.Any));
  expect(float32Of(tensor)).toEqual([0, 1, 2]);
  drop(tensor);
  expect(await collectUntil(() => calls > 0)).toBe(true);
  expect(calls).toBe(1);
  expect(nativeStats()).toMatchObject({ tensors: 0, blocks: 0 });
});

/** A tensor of a foreign struct that no object holds: the next flush releases it, which calls `f`. */
function unheld(f: () => void): void {
  const capsule = lab.makeCallingStruct(0, 0, f);
  if (native.importCapsule(capsule, ImportMode.Any) < 0) throw new Error('the import failed');
}

test('the flush of the ring: what the deleter makes in the middle is kept, and collected when it is dropped', async () => {
  let fresh: Handle[] = [];
  native.settle();
  unheld(() => (fresh = Array.from({ length: 3 }, () => allocate([4]))));
  const held = [allocate([5]), allocate([6])];
  native.settle();
  expect(fresh).toHaveLength(3);
  expect([...held, ...fresh].map((handle) => native.isLive(handle))).toEqual([true, true, true, true, true]);
  native.settle();
  expect(fresh.map((handle) => native.isLive(handle))).toEqual([true, true, true]);
  release(...held);
  for (const handle of fresh) drop(handle);
  expect(await collectUntil(() => nativeStats().tensors === 0)).toBe(true);
});

test('the flush of the ring: a deleter may flush it again, and fill it', async () => {
  const fresh: Handle[] = [];
  native.settle();
  for (let round = 0; round < 3; round += 1) {
    unheld(() => {
      fresh.push(allocate([4]));
      native.settle();
      for (let count = 0; count < 1500; count += 1) fresh.push(allocate([1]));
    });
  }
  const held = [allocate([5]), allocate([6])];
  native.settle();
  expect([...held, ...fresh].filter((handle) => !native.isLive(handle))).toEqual([]);
  expect(fresh).toHaveLength(3 * 1501);
  release(...held);
  for (const handle of fresh) drop(handle);
  expect(await collectUntil(() => nativeStats().tensors === 0)).toBe(true);
});
