/** Exchange natively: capsules out and in, one deleter call, and the short way that must not be told from the long one. */
import { describe, expect, test } from '@jest/globals';
import { native, scratch, scratchBits, ImportMode, Slot, StructKind, TensorFlag, type Handle } from '../dist/native.js';
import {
  addressOf,
  allocate,
  bytesOf,
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

const READ_ONLY = 1;
const IS_COPIED = 2;
const KINDS = [StructKind.Legacy, StructKind.Versioned] as const;
const USED = 2;

function six(): Handle {
  return tensorOf(Float32Array.of(0, 1, 2, 3, 4, 5), [2, 3], DTYPE.float32);
}

function exported(tensor: Handle, kind: StructKind, copy = false, flags = READ_ONLY): object {
  return madeCapsule(native.exportTensor(tensor, kind, copy, kind === StructKind.Versioned ? flags : 0));
}

/** Everything that can be seen of a tensor. */
function seen(handle: Handle): unknown {
  expect(fault(native.describe(handle))).toBe('none');
  return {
    metadata: [...scratch.subarray(0, Slot.Ring)],
    dims: [...scratch.subarray(Slot.Dims, Slot.Dims + 2 * (scratch[0] ?? 0))],
    bytes: [...bytesOf(handle)],
  };
}

describe.each(KINDS)('a capsule of kind %d', (kind) => {
  test('is unused, then used for good: its name says so', () => {
    const tensor = six();
    const capsule = exported(tensor, kind);
    expect(native.capsuleState(capsule)).toBe(kind);
    release(made(native.importCapsule(capsule, ImportMode.Any)));
    expect(native.capsuleState(capsule)).toBe(kind + USED);
    expect(fault(native.importCapsule(capsule, ImportMode.Any))).toBe('kCapsuleUsed');
    expect(scratchBits[Slot.FaultValue]).toBe(BigInt(kind));
    expect(fault(native.takePointer(capsule))).toBe('kCapsuleUsed');
    release(tensor);
  });

  test('gives back the very memory it was made over, as one more tensor of it', () => {
    const tensor = six();
    const capsule = exported(tensor, kind);
    expect(nativeStats()).toMatchObject({ tensors: 1, exports: 1, blocks: 1 });
    const back = made(native.importCapsule(capsule, ImportMode.Any));
    expect(addressOf(back)).toBe(addressOf(tensor));
    expect(nativeStats()).toMatchObject({ tensors: 2, exports: 0, blocks: 1 });
    expect(flagsOf(back) & TensorFlag.ReadOnly).toBe(TensorFlag.ReadOnly);
    release(tensor, back);
  });

  test('keeps the memory alive alone', () => {
    const tensor = six();
    const capsule = exported(tensor, kind);
    release(tensor);
    const back = made(native.importCapsule(capsule, ImportMode.Any));
    expect([...new Float32Array(bytesOf(back).buffer)]).toEqual([0, 1, 2, 3, 4, 5]);
    release(back);
    expect(nativeStats().blocks).toBe(0);
  });

  test('that is released runs its deleter once; a second release does nothing', () => {
    const tensor = six();
    const capsule = exported(tensor, kind);
    release(tensor);
    expect(fault(native.releaseCapsule(capsule))).toBe('none');
    expect(nativeStats()).toMatchObject({ exports: 0, blocks: 0 });
    expect(fault(native.releaseCapsule(capsule))).toBe('none');
    expect(native.capsuleState(capsule)).toBe(kind + USED);
  });

  test('and another of the same tensor are independent structs', () => {
    const tensor = six();
    const first = exported(tensor, kind);
    const second = exported(tensor, kind);
    expect(nativeStats().exports).toBe(2);
    native.releaseCapsule(first);
    expect(native.capsuleState(second)).toBe(kind);
    release(made(native.importCapsule(second, ImportMode.Any)), tensor);
  });

  test('gives its pointer away once, and a pointer makes a capsule again', () => {
    const tensor = six();
    const capsule = exported(tensor, kind);
    expect(fault(native.takePointer(capsule))).toBe('none');
    expect(scratch[Slot.Element + 1]).toBe(kind);
    const address = scratchBits[Slot.Element] ?? 0n;
    expect(address).not.toBe(0n);
    expect(native.capsuleState(capsule)).toBe(kind + USED);
    expect(nativeStats().exports).toBe(1);
    scratchBits[Slot.Element] = address;
    const again = madeCapsule(native.makeCapsule(kind));
    expect(native.capsuleState(again)).toBe(kind);
    release(made(native.importCapsule(again, ImportMode.Any)), tensor);
  });

  test('of a copy is over fresh memory with equal bytes', () => {
    const tensor = six();
    const capsule = exported(tensor, kind, true, IS_COPIED);
    expect(native.isUnique(tensor)).toBe(true);
    expect(nativeStats()).toMatchObject({ blocks: 2, bytes: 48 });
    const back = made(native.importCapsule(capsule, ImportMode.Any));
    expect(addressOf(back)).not.toBe(addressOf(tensor));
    expect(bytesOf(back)).toEqual(bytesOf(tensor));
    expect(native.isUnique(back)).toBe(true);
    release(tensor, back);
  });

  test('over a layout that is not compact keeps its shape and strides', () => {
    const tensor = six();
    input([0, 1, 2, -1, 0, 0, 2, 2]);
    const slice = made(native.slice(tensor, 2));
    const back = made(native.importCapsule(exported(slice, kind), ImportMode.Any));
    expect(seen(back)).toEqual(seen(slice));
    release(tensor, slice, back);
  });

  test('that takes the whole of an owner leaves it dead, and never copies', () => {
    const owner = allocate([2, 3]);
    const address = addressOf(owner);
    const capsule = madeCapsule(native.exportOwned(owner, kind, 0));
    expect(native.isLive(owner)).toBe(false);
    expect(fault(native.exportOwned(owner, kind, 0))).toBe('kStaleHandle');
    const back = made(native.importCapsule(capsule, ImportMode.NoCopy));
    expect(addressOf(back)).toBe(address);
    release(back);
  });
});

describe('makeCapsule', () => {
  test('refuses address 0 and unknown kinds', () => {
    scratchBits[Slot.Element] = 0n;
    expect(fault(native.makeCapsule(StructKind.Versioned))).toBe('kNullAddress');
    scratchBits[Slot.Element] = 4096n;
    for (const kind of [0, 3, -1, 1.5, NaN]) expect(fault(call('makeCapsule', kind))).toBe('kArgument');
  });
});

describe('a value that is no capsule', () => {
  const values: readonly unknown[] = [
    undefined,
    null,
    0,
    1,
    'dltensor',
    5n,
    Symbol('dltensor'),
    true,
    {},
    [],
    () => 1,
    new Proxy({}, {}),
    new ArrayBuffer(8),
    /x/,
    new Date(0),
    Object.create(null),
    { __dlpack__: () => 1 },
    native.ring,
    native.scratch,
    native.faults,
    Promise.resolve(),
  ];

  test('is told from one without being touched, whatever it is', () => {
    for (const value of values) {
      expect(native.capsuleState(value)).toBe(0);
      expect(fault(native.importCapsule(value, ImportMode.Any))).toBe('kNotACapsule');
      expect(fault(native.releaseCapsule(value))).toBe('kNotACapsule');
      expect(fault(native.takePointer(value))).toBe('kNotACapsule');
    }
  });

  test('leaves no exception pending: the next call is as good as any', () => {
    for (const value of values) expect(() => native.importCapsule(value, ImportMode.Any)).not.toThrow();
    const tensor = six();
    release(tensor);
  });
});

describe('a plan that makes no sense', () => {
  test('is an argument fault that names the argument, and changes nothing', () => {
    const tensor = six();
    const before = nativeStats();
    const attempts: [() => unknown, number][] = [
      [() => call('exportTensor', tensor, 3, false, 0), 1],
      [() => call('exportTensor', tensor, 0, false, 0), 1],
      [() => call('exportTensor', tensor, StructKind.Versioned, 1, 0), 2],
      [() => call('exportTensor', tensor, StructKind.Versioned, false, 8), 3],
      [() => call('exportTensor', tensor, StructKind.Versioned, false, -1), 3],
      [() => call('importTensor', tensor, 3), 1],
      [() => call('importTensor', tensor, -1), 1],
    ];
    for (const [attempt, argument] of attempts) {
      expect(fault(attempt())).toBe('kArgument');
      expect(scratch[Slot.FaultIndex]).toBe(argument);
    }
    expect(nativeStats()).toEqual(before);
    release(tensor);
  });

  test('of an import leaves the capsule unused', () => {
    const tensor = six();
    const capsule = exported(tensor, StructKind.Versioned);
    expect(fault(call('importCapsule', capsule, 7))).toBe('kArgument');
    expect(native.capsuleState(capsule)).toBe(StructKind.Versioned);
    native.releaseCapsule(capsule);
    release(tensor);
  });
});

describe('an owned import', () => {
  test('of a sole copy is over its memory: nothing is copied twice', () => {
    const tensor = six();
    const capsule = exported(tensor, StructKind.Versioned, true, IS_COPIED);
    const before = nativeStats();
    const owner = made(native.importCapsule(capsule, ImportMode.Owned));
    expect(scratch[Slot.FaultIndex]).toBe(0);
    expect(nativeStats().blocks).toBe(before.blocks);
    expect(flagsOf(owner) & (TensorFlag.Owned | TensorFlag.ReadOnly)).toBe(TensorFlag.Owned);
    release(tensor, owner);
  });

  test.each([
    ['legacy', StructKind.Legacy, 0],
    ['read-only', StructKind.Versioned, READ_ONLY],
    ['shared', StructKind.Versioned, 0],
    ['said to be copied, by mistake', StructKind.Versioned, IS_COPIED],
  ] as const)('of anything else is copied here, at once: %s', (_name, kind, flags) => {
    const tensor = six();
    const owner = made(native.importCapsule(exported(tensor, kind, false, flags), ImportMode.Owned));
    expect(scratch[Slot.FaultIndex]).toBe(2);
    expect(addressOf(owner)).not.toBe(addressOf(tensor));
    expect(nativeStats()).toMatchObject({ exports: 0, blocks: 2 });
    expect(bytesOf(owner)).toEqual(bytesOf(tensor));
    release(tensor, owner);
  });

  test('of what an owner handed over is that owner again', () => {
    const owner = allocate([2, 3]);
    const address = addressOf(owner);
    const again = made(
      native.importCapsule(madeCapsule(native.exportOwned(owner, StructKind.Versioned, IS_COPIED)), ImportMode.Owned),
    );
    expect(addressOf(again)).toBe(address);
    expect(nativeStats()).toMatchObject({ tensors: 1, exports: 0, blocks: 1 });
    release(again);
  });
});

/** The tensors that the two ways are compared on. */
const SUBJECTS: readonly (readonly [string, () => Handle[]])[] = [
  ['a compact tensor', () => [six()]],
  [
    'a reversed column',
    () => {
      const tensor = six();
      input([0, 1, 2, -1, 1, 2, 0, 0]);
      return [made(native.slice(tensor, 2)), tensor];
    },
  ],
  [
    'a broadcast row',
    () => {
      const tensor = six();
      input([0, 0, 1, 1]);
      const row = made(native.slice(tensor, 1));
      input([4, 3]);
      return [made(native.broadcastTo(row, 2)), row, tensor];
    },
  ],
  ['an empty tensor', () => [made(native.freeze(allocate([2, 0, 3])))]],
  ['a scalar', () => [made(native.freeze(allocate([])))]],
  [
    'an axis of extent 1 with a stride of its own',
    () => {
      const tensor = six();
      input([0, 0, 2, 1, 0, 2, 1, 1]);
      return [made(native.slice(tensor, 2)), tensor];
    },
  ],
  ['packed sub-byte elements', () => [made(native.freeze(allocate([5], DTYPE.float4)))]],
];

describe.each(SUBJECTS)('the exchange without a capsule, of %s', (_name, subject) => {
  test.each([ImportMode.Any, ImportMode.NoCopy, ImportMode.Owned])('is that with one, in mode %d', (mode) => {
    const [tensor, ...rest] = subject();
    if (tensor === undefined) throw new Error('no subject');
    const owned = mode === ImportMode.Owned;
    const long = made(
      native.importCapsule(exported(tensor, StructKind.Versioned, owned, owned ? IS_COPIED : READ_ONLY), mode),
    );
    const afterLong = {
      seen: seen(long),
      stats: nativeStats(),
      unique: native.isUnique(long),
      tensorUnique: native.isUnique(tensor),
    };
    const shared = !owned && scratch[Slot.Size] !== 0 ? addressOf(long) === addressOf(tensor) : undefined;
    release(long);
    const short = made(native.importTensor(tensor, mode));
    expect({
      seen: seen(short),
      stats: nativeStats(),
      unique: native.isUnique(short),
      tensorUnique: native.isUnique(tensor),
    }).toEqual(afterLong);
    if (shared !== undefined) expect(addressOf(short) === addressOf(tensor)).toBe(shared);
    release(short, tensor, ...rest);
  });
});

test('an alias of an empty tensor counts like any other', () => {
  const empty = made(native.freeze(allocate([0, 3])));
  const back = made(native.importCapsule(exported(empty, StructKind.Versioned), ImportMode.Any));
  expect(shapeOf(back)).toEqual([0, 3]);
  expect(fault(native.move(empty))).toBe('kNotUnique');
  expect(lastAliases().tensors).toBe(1);
  release(back, empty);
});
