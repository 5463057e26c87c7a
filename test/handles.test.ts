/** Handles: the number that stands for a tensor natively. Whatever number comes, the answer is right or a fault. */
import { describe, expect, test } from '@jest/globals';
import { native, scratch, Slot, StructKind, TensorFlag, ImportMode, type Handle } from '../dist/native.js';
import {
  addressOf,
  allocate,
  drop,
  DTYPE,
  fault,
  flagsOf,
  input,
  lastAliases,
  made,
  madeCapsule,
  nativeStats,
  release,
  shapeOf,
  tensorOf,
} from './support/native-tensors.js';
import { call } from './support/untyped-native.js';
import { expectNothingLeft } from './support/native-counters.js';

expectNothingLeft();

const INDEX_BITS = 2 ** 24;

function tensor(): Handle {
  return made(native.freeze(allocate([2, 3])));
}

describe('a handle', () => {
  test('is an exact integer above zero: generation and index', () => {
    const handle = allocate([2]);
    expect(Number.isSafeInteger(handle)).toBe(true);
    expect(handle).toBeGreaterThanOrEqual(INDEX_BITS);
    release(handle);
  });

  test('dies with release, and no later handle has its number', () => {
    const seen = new Set<number>();
    let live = 0;
    for (let round = 0; round < 5_000; round += 1) {
      const handle = allocate([1]);
      seen.add(handle);
      native.release(handle);
      drop(handle);
      if (native.isLive(handle)) live += 1;
    }
    expect(live).toBe(0);
    expect(seen.size).toBe(5_000);
  });

  test('that was released is stale for every function that takes one, and release of it does nothing', () => {
    const handle = tensor();
    release(handle);
    expect(fault(native.describe(handle))).toBe('kStaleHandle');
    expect(fault(native.alias(handle))).toBe('kStaleHandle');
    expect(fault(native.move(handle))).toBe('kStaleHandle');
    expect(fault(native.freeze(handle))).toBe('kStaleHandle');
    expect(fault(native.exportTensor(handle, StructKind.Versioned, false, 1))).toBe('kStaleHandle');
    expect(fault(native.exportOwned(handle, StructKind.Versioned, 0))).toBe('kStaleHandle');
    expect(fault(native.importTensor(handle, ImportMode.Any))).toBe('kStaleHandle');
    expect(native.isLive(handle)).toBe(false);
    expect(native.isUnique(handle)).toBe(false);
    expect(native.release(handle)).toBe(0);
  });

  test('that was forged is stale: neighbours of a live one, fractions, negatives, huge numbers', () => {
    const live: number = tensor();
    const forged = [
      live + 1,
      live - 1,
      live + INDEX_BITS,
      live - INDEX_BITS,
      live + 0.5,
      -live,
      0,
      -0,
      NaN,
      Infinity,
      -Infinity,
      1,
      INDEX_BITS - 1,
      2 ** 31,
      2 ** 32 + live,
      live + 2 ** 52,
      2 ** 53,
      2 ** 53 - 1,
      2 ** 63,
      2 ** 64,
      Number.MAX_VALUE,
      Number.MIN_VALUE,
    ];
    for (const number of forged) {
      expect([number, call('describe', number)]).toEqual([number, -(native.faults['kStaleHandle'] ?? 0)]);
      expect(call('isLive', number)).toBe(false);
      expect(call('release', number)).toBe(0);
    }
    expect(call('isLive', live)).toBe(true);
    expect(call('release', live)).toBe(0);
  });

  test('that is no number at all is an argument fault, and none of it runs JavaScript', () => {
    const touched: string[] = [];
    const trap = new Proxy({}, { get: (_target, key) => void touched.push(String(key)) });
    const values = [
      undefined,
      null,
      '16777216',
      {},
      [],
      true,
      16777216n,
      Symbol('handle'),
      () => 1,
      trap,
      { valueOf: () => 1 },
    ];
    for (const name of [
      'describe',
      'alias',
      'move',
      'freeze',
      'release',
      'importTensor',
      'exportTensor',
      'exportOwned',
    ]) {
      for (const value of values) {
        expect([name, fault(call(name, value, 1, 1, 1))]).toEqual([name, 'kArgument']);
        expect(scratch[Slot.FaultIndex]).toBe(0);
      }
      expect([name, fault(call(name))]).toEqual([name, 'kArgument']);
    }
    expect(touched).toEqual([]);
  });

  test('of a capsule is no tensor: it is refused, and the capsule is unharmed', () => {
    const shared = tensor();
    const capsule = madeCapsule(native.exportTensor(shared, StructKind.Versioned, false, 1));
    // The capsule's slot is the newest: every live index near it is tried.
    const refused = [];
    for (let index = 0; index < 4_096; index += 1) {
      for (let generation = 1; generation < 40; generation += 1) {
        const answer = fault(call('describe', generation * INDEX_BITS + index));
        if (answer !== 'kStaleHandle' && answer !== 'none') refused.push(answer);
      }
    }
    expect(refused.every((name) => name === 'kArgument')).toBe(true);
    expect(native.capsuleState(capsule)).toBe(2);
    native.releaseCapsule(capsule);
    release(shared);
  });

  test('of an owner is refused where a tensor is asked for, and the other way round', () => {
    const owner = allocate([2]);
    expect(fault(native.alias(owner))).toBe('kArgument');
    expect(fault(native.move(owner))).toBe('kArgument');
    expect(fault(native.exportTensor(owner, StructKind.Versioned, false, 1))).toBe('kArgument');
    expect(fault(native.importTensor(owner, ImportMode.Any))).toBe('kArgument');
    const frozen = made(native.freeze(owner));
    expect(fault(native.freeze(frozen))).toBe('kArgument');
    expect(fault(native.exportOwned(frozen, StructKind.Versioned, 0))).toBe('kArgument');
    release(frozen);
  });

  test('can be had for 100,000 tensors at once, each its own', () => {
    const handles: Handle[] = [];
    for (let index = 0; index < 100_000; index += 1) handles.push(allocate([1], DTYPE.uint8));
    expect(new Set(handles).size).toBe(100_000);
    expect(nativeStats().tensors).toBe(100_000);
    expect(handles.filter((handle) => native.release(handle) !== 0)).toEqual([]);
    handles.forEach(drop);
    expect(nativeStats().tensors).toBe(0);
  });
});

function attempt(shape: readonly number[], dtype: number = DTYPE.float32): string {
  input(shape);
  return fault(native.allocate(shape.length, dtype));
}

describe('allocate', () => {
  test('describes what it made: shape, strides, sizes, and the flags of a contiguous owner', () => {
    const owner = allocate([2, 3, 4], DTYPE.float64);
    expect([...scratch.subarray(Slot.Dims, Slot.Dims + 6)]).toEqual([2, 3, 4, 12, 4, 1]);
    expect(scratch[Slot.Ndim]).toBe(3);
    expect(scratch[Slot.Size]).toBe(24);
    expect(scratch[Slot.ByteLength]).toBe(192);
    expect(scratch[Slot.SpanBytes]).toBe(192);
    expect(scratch[Slot.SpanOffset]).toBe(0);
    expect(scratch[Slot.DeviceType]).toBe(1);
    expect(scratch[Slot.DeviceId]).toBe(0);
    expect(scratch[Slot.DType]).toBe(DTYPE.float64);
    expect(flagsOf(owner)).toBe(TensorFlag.Contiguous | TensorFlag.Owned);
    release(owner);
  });

  test('gives memory aligned to 256 bytes', () => {
    const owner = allocate([3], DTYPE.uint8);
    expect(addressOf(owner) % 256n).toBe(0n);
    release(owner);
  });

  test('refuses shapes that cannot be, and nothing is left of the attempt', () => {
    const before = nativeStats();
    expect(attempt([-1])).toBe('kExtentNegative');
    expect(attempt([2, -3])).toBe('kExtentNegative');
    expect(scratch[Slot.FaultIndex]).toBe(1);
    expect(attempt([2 ** 53])).toBe('kExtentTooLarge');
    expect(attempt([2 ** 40, 2 ** 40])).toBe('kSizeOverflow');
    expect(attempt([0.5])).toBe('kArgument');
    expect(attempt([NaN])).toBe('kArgument');
    expect(attempt([Infinity])).toBe('kArgument');
    expect(attempt([2 ** 50])).toBe('kOutOfMemory');
    expect(attempt([2], 255 | (8 << 8))).toBe('kDTypeCode');
    expect(attempt([2], 2 | (7 << 8))).toBe('kDTypeBits');
    expect(fault(native.allocate(65, DTYPE.float32))).toBe('kNdimLimit');
    expect(fault(native.allocate(-1, DTYPE.float32))).toBe('kNdimLimit');
    expect(fault(native.allocate(1.5, DTYPE.float32))).toBe('kArgument');
    expect(nativeStats()).toEqual(before);
  });

  test('takes 64 axes, and none', () => {
    const many = allocate(Array.from({ length: 64 }, () => 1));
    expect(shapeOf(many)).toHaveLength(64);
    const scalar = allocate([]);
    expect(shapeOf(scalar)).toEqual([]);
    expect(scratch[Slot.Size]).toBe(1);
    release(many, scalar);
  });
});

describe('moving between Tensor and OwnedTensor', () => {
  test('freeze keeps the memory: the owner is gone, a read-only tensor is at its address', () => {
    const owner = allocate([4]);
    const address = addressOf(owner);
    const frozen = made(native.freeze(owner));
    expect(native.isLive(owner)).toBe(false);
    expect(addressOf(frozen)).toBe(address);
    expect(flagsOf(frozen)).toBe(TensorFlag.Contiguous | TensorFlag.ReadOnly);
    expect(nativeStats()).toMatchObject({ tensors: 1, blocks: 1 });
    release(frozen);
  });

  test('move of a unique tensor keeps the memory: an owner is at its address', () => {
    const frozen = tensor();
    const address = addressOf(frozen);
    expect(native.isUnique(frozen)).toBe(true);
    const owner = made(native.move(frozen));
    expect(native.isLive(frozen)).toBe(false);
    expect(addressOf(owner)).toBe(address);
    expect(flagsOf(owner)).toBe(TensorFlag.Contiguous | TensorFlag.Owned);
    release(owner);
  });

  test('move is refused while anything else holds the memory, names what, and changes nothing', () => {
    const first = tensor();
    const second = made(native.alias(first));
    const capsule = madeCapsule(native.exportTensor(first, StructKind.Legacy, false, 0));
    expect(native.isUnique(first)).toBe(false);
    expect(fault(native.move(first))).toBe('kNotUnique');
    expect(lastAliases()).toEqual({ tensors: 1, exports: 1, views: 0, tokens: 0 });
    expect(native.isLive(first)).toBe(true);
    release(second);
    native.releaseCapsule(capsule);
    expect(native.isUnique(first)).toBe(true);
    release(first);
  });

  test('freeze and move ten thousand times over the same memory: one tensor, one block, no drift', () => {
    let handle = tensorOf(Float32Array.of(1, 2, 3), [3], DTYPE.float32);
    const address = addressOf(handle);
    for (let round = 0; round < 10_000; round += 1) {
      handle = made(native.move(handle));
      handle = made(native.freeze(handle));
    }
    expect(addressOf(handle)).toBe(address);
    expect(flagsOf(handle) & TensorFlag.MadeByCopy).toBe(TensorFlag.MadeByCopy);
    expect(nativeStats()).toMatchObject({ tensors: 1, exports: 0, blocks: 1, bytes: 12 });
    release(handle);
  });
});

test('a million hand-overs leave what was there before', () => {
  const shared = tensor();
  const before = nativeStats();
  const owner = {};
  for (let round = 0; round < 1_000_000; round += 1) {
    const handle = native.importTensor(shared, ImportMode.Any);
    native.ring[scratch[Slot.Ring] ?? -1] = owner;
    if (call('release', handle) !== 0 || handle <= 0) throw new Error('refused');
  }
  expect(nativeStats()).toEqual(before);
  release(shared);
});
