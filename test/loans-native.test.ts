/** Loans: what locks an owner, what the end of a loan releases, and what keeps it locked. */
import { describe, expect, test } from '@jest/globals';
import {
  CAPSULE_NAMES,
  ImportMode,
  native,
  ScalarKind,
  StructKind,
  TensorFlag,
  ViewMode,
  type Handle,
} from '../dist/native.js';
import { movedBytes } from './support/array-buffer-transfer.js';
import { expectNothingLeft } from './support/native-counters.js';
import {
  allocate,
  collectOnce,
  collectUntil,
  drop,
  DTYPE,
  fault,
  flagsOf,
  float32Of,
  input,
  lastAliases,
  made,
  madeBuffer,
  madeCapsule,
  nativeStats,
  ownerOf,
  release,
  tensorOf,
} from './support/native-tensors.js';

expectNothingLeft();

function lend(owner: Handle, writable = false): Handle {
  return made(native.lendBegin(owner, writable));
}

const lendEnd = (owner: Handle): string => fault(native.lendEnd(owner));

function exported(handle: Handle, flags = 1): object {
  return madeCapsule(native.exportTensor(handle, StructKind.Versioned, false, flags));
}

describe('a lent owner', () => {
  test('is locked: everything but metadata and single elements answers kLent', () => {
    const owner = ownerOf(Float32Array.of(1, 2), [2], DTYPE.float32);
    const source = tensorOf(Float32Array.of(0), [1], DTYPE.float32);
    const lent = lend(owner);
    expect(fault(native.lendBegin(owner, false))).toBe('kLent');
    expect(fault(native.release(owner))).toBe('kLent');
    expect(fault(native.freeze(owner))).toBe('kLent');
    expect(fault(native.exportOwned(owner, StructKind.Versioned, 0))).toBe('kLent');
    expect(fault(native.view(owner, ViewMode.Writable))).toBe('kLent');
    expect(fault(native.openWindow(owner, ViewMode.Writable))).toBe('kLent');
    expect(fault(native.fill(owner, ScalarKind.Float))).toBe('kLent');
    expect(fault(native.assign(owner, source, 0, 0, undefined, undefined))).toBe('kLent');
    expect(fault(native.writeSpan(owner, Float32Array.of(3, 4)))).toBe('kLent');
    expect(fault(native.copy(owner, true))).toBe('kLent');
    expect(lastAliases()).toEqual({ tensors: 1, exports: 0, views: 0, tokens: 0 });
    expect(native.isUnique(owner)).toBe(false);
    expect(fault(native.describe(owner))).toBe('none');
    input([1]);
    expect(fault(native.readElement(owner, 1))).toBe('none');
    drop(lent);
    expect(lendEnd(owner)).toBe('none');
    expect(native.isUnique(owner)).toBe(true);
    expect(native.isLive(lent)).toBe(false);
    release(owner, source);
  });

  test('stays locked while the loan’s callback runs, even when the lent tensor was disposed in it', () => {
    const owner = allocate([2]);
    release(lend(owner));
    expect(fault(native.freeze(owner))).toBe('kLent');
    expect(lendEnd(owner)).toBe('none');
    release(owner);
  });

  test('keeps its data attached, and what a writable loan writes is in it', () => {
    const owner = allocate([3]);
    const data = new Float32Array(madeBuffer(native.view(owner, ViewMode.Writable)));
    const lent = lend(owner, true);
    new Float32Array(madeBuffer(native.view(lent, ViewMode.Writable))).fill(5);
    drop(lent);
    expect(lendEnd(owner)).toBe('none');
    expect([...data]).toEqual([5, 5, 5]);
    expect(native.view(owner, ViewMode.Writable)).toBe(data.buffer);
    release(owner);
  });

  test('can be lent again and again without a new block or a new data', () => {
    const owner = allocate([3]);
    const data = madeBuffer(native.view(owner, ViewMode.Writable));
    for (let frame = 0; frame < 100; frame += 1) {
      drop(lend(owner, frame % 2 === 0));
      expect(lendEnd(owner)).toBe('none');
    }
    expect(nativeStats()).toMatchObject({ tensors: 1, views: 1, blocks: 1 });
    expect(data.byteLength).toBe(12);
    release(owner);
  });
});

describe('the lent tensor', () => {
  test('is read-only, or writable when lent so; both say that they are a loan', () => {
    const owner = allocate([2]);
    const readOnly = lend(owner);
    expect(flagsOf(readOnly) & (TensorFlag.ReadOnly | TensorFlag.Loan)).toBe(TensorFlag.ReadOnly | TensorFlag.Loan);
    expect(fault(native.view(readOnly, ViewMode.Writable))).toBe('kReadOnly');
    drop(readOnly);
    lendEnd(owner);
    const writable = lend(owner, true);
    expect(flagsOf(writable) & (TensorFlag.ReadOnly | TensorFlag.Loan)).toBe(TensorFlag.Loan);
    drop(writable);
    lendEnd(owner);
    release(owner);
  });

  test('never moves', () => {
    const owner = allocate([2]);
    const lent = lend(owner);
    expect(fault(native.move(lent))).toBe('kNotUnique');
    drop(lent);
    lendEnd(owner);
    release(owner);
  });
});

describe('the end of a loan', () => {
  test('releases slices of slices and detaches their views', () => {
    const owner = ownerOf(Float32Array.of(1, 2, 3, 4), [4], DTYPE.float32);
    const lent = lend(owner);
    input([0, 1, 3, 1]);
    const slice = made(native.slice(lent, 1));
    const flipped = made(native.flip(slice, 0));
    expect(flagsOf(flipped) & TensorFlag.Loan).toBe(TensorFlag.Loan);
    const views = [lent, slice, flipped].map((handle) => madeBuffer(native.view(handle, ViewMode.Read)));
    [lent, slice, flipped].forEach(drop);
    expect(lendEnd(owner)).toBe('none');
    expect(views.map((view) => view.byteLength)).toEqual([0, 0, 0]);
    expect([lent, slice, flipped].map((handle) => native.isLive(handle))).toEqual([false, false, false]);
    release(owner);
  });

  test('releases what an import of its export made here, by capsule and without', () => {
    const owner = allocate([2]);
    const lent = lend(owner, true);
    const byCapsule = made(native.importCapsule(exported(lent, 0), ImportMode.Any));
    const direct = made(native.importTensor(lent, ImportMode.Any));
    const again = made(native.importCapsule(exported(byCapsule, 0), ImportMode.Any));
    [lent, byCapsule, direct, again].forEach(drop);
    expect(lendEnd(owner)).toBe('none');
    expect([byCapsule, direct, again].map((handle) => native.isLive(handle))).toEqual([false, false, false]);
    expect(nativeStats()).toMatchObject({ tensors: 1, exports: 0 });
    release(owner);
  });

  test('empties unconsumed capsules', () => {
    const owner = allocate([2]);
    const lent = lend(owner);
    const capsule = exported(lent);
    drop(lent);
    expect(lendEnd(owner)).toBe('none');
    expect(CAPSULE_NAMES[native.capsuleState(capsule)]).toBe('used_dltensor_versioned');
    expect(nativeStats().exports).toBe(0);
    release(owner);
  });

  test('leaves a copy that was made of it alone', () => {
    const owner = ownerOf(Float32Array.of(1, 2), [2], DTYPE.float32);
    const lent = lend(owner);
    const copy = made(native.copy(lent, false));
    drop(lent);
    expect(lendEnd(owner)).toBe('none');
    expect(float32Of(copy)).toEqual([1, 2]);
    release(copy, owner);
  });

  test('of one owner leaves another owner’s loan alone', () => {
    const first = allocate([1]);
    const second = allocate([1]);
    const lentFirst = lend(first);
    const lentSecond = lend(second);
    drop(lentFirst);
    expect(lendEnd(first)).toBe('none');
    expect(native.isLive(lentSecond)).toBe(true);
    expect(fault(native.freeze(second))).toBe('kLent');
    drop(lentSecond);
    expect(lendEnd(second)).toBe('none');
    release(first, second);
  });

  test('of an owner that is not lent does nothing; of something else it is a fault', () => {
    const owner = allocate([1]);
    expect(lendEnd(owner)).toBe('none');
    const tensor = tensorOf(Float32Array.of(1), [1], DTYPE.float32);
    expect(lendEnd(tensor)).toBe('kArgument');
    release(owner, tensor);
    expect(lendEnd(owner)).toBe('kStaleHandle');
  });
});

describe('an owner whose loan others still hold', () => {
  test('stays locked with their counts, and unlocks by itself once they are gone', () => {
    const owner = allocate([2]);
    const lent = lend(owner);
    // A consumer took the struct: out of its capsule, it is no longer ours to release.
    expect(fault(native.takePointer(exported(lent)))).toBe('none');
    const held = madeCapsule(native.makeCapsule(StructKind.Versioned));
    drop(lent);
    expect(lendEnd(owner)).toBe('kLent');
    expect(lastAliases()).toEqual({ tensors: 0, exports: 1, views: 0, tokens: 0 });
    expect(native.isLive(lent)).toBe(false);
    expect(fault(native.fill(owner, ScalarKind.Float))).toBe('kLent');
    expect(lendEnd(owner)).toBe('kLent');
    native.releaseCapsule(held);
    expect(fault(native.fill(owner, ScalarKind.Float))).toBe('none');
    release(owner);
  });

  test('does not count its own data or windows among them', () => {
    const owner = allocate([2]);
    // Held to the end: a buffer that is collected, but not yet finalized, counts as one that was moved away.
    const data = madeBuffer(native.view(owner, ViewMode.Writable));
    const window = madeBuffer(native.openWindow(owner, ViewMode.Read));
    const lent = lend(owner);
    expect(fault(native.takePointer(exported(lent)))).toBe('none');
    const held = madeCapsule(native.makeCapsule(StructKind.Versioned));
    drop(lent);
    expect(lendEnd(owner)).toBe('kLent');
    expect(lastAliases()).toEqual({ tensors: 0, exports: 1, views: 0, tokens: 0 });
    expect(fault(native.closeWindow(owner, window))).toBe('none');
    native.releaseCapsule(held);
    expect(lendEnd(owner)).toBe('none');
    expect(data.byteLength).toBe(8);
    release(owner);
  });

  test('stays locked for bytes of a loan’s view that the user moved away, until their buffer is gone', async () => {
    const owner = allocate([2]);
    const lent = lend(owner);
    let moved: ArrayBuffer | undefined = movedBytes(madeBuffer(native.view(lent, ViewMode.Read)));
    drop(lent);
    expect(lendEnd(owner)).toBe('kLent');
    expect(lastAliases()).toEqual({ tensors: 0, exports: 0, views: 1, tokens: 0 });
    expect(moved.byteLength).toBe(8);
    moved = undefined;
    expect(await collectUntil(() => nativeStats().views === 0)).toBe(true);
    expect(fault(native.fill(owner, ScalarKind.Float))).toBe('none');
    release(owner);
  });

  test('stays locked with kInUse while a window of a derived tensor is open, and leaves that tensor alive', () => {
    const owner = allocate([4]);
    const lent = lend(owner);
    input([0, 0, 2, 1]);
    const slice = made(native.slice(lent, 1));
    const window = madeBuffer(native.openWindow(slice, ViewMode.Read));
    drop(lent);
    expect(lendEnd(owner)).toBe('kInUse');
    expect(native.isLive(lent)).toBe(false);
    expect(window.byteLength).toBe(8);
    expect(fault(native.freeze(owner))).toBe('kInUse');
    drop(slice);
    expect(fault(native.closeWindow(slice, window))).toBe('none');
    expect(lendEnd(owner)).toBe('none');
    expect(native.isLive(slice)).toBe(false);
    release(owner);
  });

  test('an import that comes after the loan’s end still belongs to it, and goes when the owner is asked next', () => {
    const owner = allocate([2]);
    const lent = lend(owner);
    expect(fault(native.takePointer(exported(lent)))).toBe('none');
    const held = madeCapsule(native.makeCapsule(StructKind.Versioned));
    drop(lent);
    expect(lendEnd(owner)).toBe('kLent');
    const late = made(native.importCapsule(held, ImportMode.Any));
    drop(late);
    expect(fault(native.fill(owner, ScalarKind.Float))).toBe('none');
    expect(native.isLive(late)).toBe(false);
    release(owner);
  });
});

describe('collection', () => {
  test('of a lent owner ends its loan; tensors of it live on and keep the memory', async () => {
    let owner: Handle | undefined = ownerOf(Float32Array.of(1, 2), [2], DTYPE.float32);
    const lent = lend(owner);
    drop(owner);
    owner = undefined;
    expect(await collectUntil(() => nativeStats().tensors === 1)).toBe(true);
    expect(float32Of(lent)).toEqual([1, 2]);
    release(lent);
    expect(nativeStats().blocks).toBe(0);
  });

  test('of members leaves the loan: its end finds nothing stale', async () => {
    const owner = allocate([2]);
    const lent = lend(owner);
    input([0, 0, 1, 1]);
    drop(made(native.slice(lent, 1)));
    (() => void exported(lent))();
    expect(await collectUntil(() => nativeStats().tensors === 2 && nativeStats().exports === 0)).toBe(true);
    await collectOnce();
    drop(lent);
    expect(lendEnd(owner)).toBe('none');
    release(owner);
  });
});
