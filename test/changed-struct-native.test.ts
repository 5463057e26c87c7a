/**
 * A struct of ours that went out and comes back is unwrapped to its block. Whoever had it may have written to every
 * field: what it says now is held against the block, and what it said when it was made decides what it allows.
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  native,
  scratch,
  scratchBits,
  ImportMode,
  Slot,
  StructKind,
  TensorFlag,
  ViewMode,
  type Handle,
} from '../dist/native.js';
import {
  addressOf,
  collectUntil,
  DTYPE,
  fault,
  flagsOf,
  float32Of,
  input,
  made,
  madeBuffer,
  madeCapsule,
  nativeStats,
  release,
  shapeOf,
  tensorOf,
} from './support/native-tensors.js';
import { expectNothingLeft } from './support/native-counters.js';

expectNothingLeft();

// Offsets in DLManagedTensorVersioned, 64-bit.
const FLAGS = 24;
const DATA = 32;
const DEVICE_TYPE = 40;
const DTYPE_BITS = 53;
const SHAPE = 56;
const STRIDES = 64;
const BYTE_OFFSET = 72;
const STRUCT_BYTES = 80;

const READ_ONLY = 1;

/** Memory at an address, for as long as `use` runs. */
function withMemory(address: bigint, bytes: number, use: (memory: DataView) => void): void {
  scratchBits[Slot.Element] = address;
  input([bytes]);
  const handle = made(native.fromPointer(1, DTYPE.uint8, false, false, () => undefined));
  use(new DataView(madeBuffer(native.view(handle, ViewMode.Unsafe))));
  release(handle);
}

/** A capsule over `tensor` whose struct `change` has written to, given its fields and its two arrays. */
function changed(tensor: Handle, change: (struct: DataView, shape: DataView, strides: DataView) => void): object {
  const capsule = madeCapsule(native.exportTensor(tensor, StructKind.Versioned, false, READ_ONLY));
  expect(fault(native.takePointer(capsule))).toBe('none');
  const address = scratchBits[Slot.Element] ?? 0n;
  withMemory(address, STRUCT_BYTES, (struct) => {
    withMemory(struct.getBigUint64(SHAPE, true), 16, (shape) => {
      withMemory(struct.getBigUint64(STRIDES, true), 16, (strides) => change(struct, shape, strides));
    });
  });
  scratchBits[Slot.Element] = address;
  return madeCapsule(native.makeCapsule(StructKind.Versioned));
}

function six(): Handle {
  return tensorOf(Float32Array.of(0, 1, 2, 3, 4, 5), [2, 3], DTYPE.float32);
}

/** The releases of fromPointer are jobs of the queue: they run at the next call. */
afterEach(() => {
  native.settle();
});

describe('a struct of ours that says what its block does not bear out', () => {
  const lies: readonly (readonly [string, string, (struct: DataView, shape: DataView, strides: DataView) => void])[] = [
    ['more rows than there are', 'kOutsideBlock', (_struct, shape) => shape.setBigInt64(0, 3n, true)],
    ['a stride that leaves the end', 'kOutsideBlock', (_struct, _shape, strides) => strides.setBigInt64(0, 4n, true)],
    [
      'a stride that leaves the start',
      'kOutsideBlock',
      (_struct, _shape, strides) => strides.setBigInt64(0, -3n, true),
    ],
    ['an offset past the last element', 'kOutsideBlock', (struct) => struct.setBigUint64(BYTE_OFFSET, 4n, true)],
    [
      'data before the block',
      'kOutsideBlock',
      (struct) => struct.setBigUint64(DATA, struct.getBigUint64(DATA, true) - 4n, true),
    ],
    ['data far away', 'kOutsideBlock', (struct) => struct.setBigUint64(DATA, 4096n, true)],
    ['wider elements', 'kOutsideBlock', (struct) => struct.setUint8(DTYPE_BITS, 64)],
    ['a device that the host cannot read', 'kDeviceType', (struct) => struct.setInt32(DEVICE_TYPE, 2, true)],
    ['a device that does not exist', 'kDeviceType', (struct) => struct.setInt32(DEVICE_TYPE, 99, true)],
    ['NULL', 'kDataNull', (struct) => struct.setBigUint64(DATA, 0n, true)],
  ];

  test.each(lies)('is refused and released: %s', async (_name, expected, change) => {
    const tensor = six();
    const capsule = changed(tensor, change);
    expect(nativeStats().exports).toBe(1);
    expect(fault(native.importCapsule(capsule, ImportMode.Any))).toBe(expected);
    expect(nativeStats().exports).toBe(0);
    expect(fault(native.importCapsule(capsule, ImportMode.Any))).toBe('kCapsuleUsed');
    release(tensor);
    expect(await collectUntil(() => nativeStats().blocks === 0)).toBe(true);
  });
});

function unaligned(struct: DataView, shape: DataView): void {
  shape.setBigInt64(0, 1n, true);
  struct.setBigUint64(BYTE_OFFSET, 2n, true);
}

describe('a struct of ours that says less than it was made with, or something else that is true', () => {
  test('is taken by what it says now: one row of two', () => {
    const tensor = six();
    const capsule = changed(tensor, (struct, shape) => {
      shape.setBigInt64(0, 1n, true);
      struct.setBigUint64(BYTE_OFFSET, 12n, true);
    });
    const row = made(native.importCapsule(capsule, ImportMode.NoCopy));
    expect(shapeOf(row)).toEqual([1, 3]);
    expect(float32Of(row)).toEqual([3, 4, 5]);
    expect(addressOf(row)).toBe(addressOf(tensor) + 12n);
    release(row, tensor);
  });

  test('is read-only, and no sole copy, whatever its flags say now', () => {
    const tensor = six();
    for (const flags of [0n, 2n, 0xffffn]) {
      const capsule = changed(tensor, (struct) => struct.setBigUint64(FLAGS, flags, true));
      const back = made(native.importCapsule(capsule, ImportMode.Any));
      expect(flagsOf(back) & TensorFlag.ReadOnly).toBe(TensorFlag.ReadOnly);
      release(back);
      const again = changed(tensor, (struct) => struct.setBigUint64(FLAGS, flags, true));
      const owner = made(native.importCapsule(again, ImportMode.Owned));
      expect(addressOf(owner)).not.toBe(addressOf(tensor));
      release(owner);
    }
    release(tensor);
  });

  test('is copied where its elements are not aligned any more, and refused where a copy is', () => {
    const tensor = six();
    expect(fault(native.importCapsule(changed(tensor, unaligned), ImportMode.NoCopy))).toBe('kCopyRefused');
    const copy = made(native.importCapsule(changed(tensor, unaligned), ImportMode.Any));
    expect(scratch[Slot.FaultIndex]).toBe(1);
    expect(flagsOf(copy) & TensorFlag.MadeByCopy).toBe(TensorFlag.MadeByCopy);
    expect(scratch[Slot.Size]).toBe(3);
    release(copy, tensor);
  });
});
