/** Memory that the caller vouches for: what is checked, what is kept alive, and when it is given back. */
import { describe, expect, test } from '@jest/globals';
import {
  native,
  scratchBits,
  Slot,
  StructKind,
  TensorFlag,
  ViewMode,
  type Handle,
  type Status,
} from '../dist/native.js';
import { expectNothingLeft } from './support/native-counters.js';
import {
  addressOf,
  allocate,
  bytesOf,
  collectOnce,
  collectUntil,
  drop,
  DTYPE,
  fault,
  flagsOf,
  int32Of,
  input,
  made,
  madeBuffer,
  madeCapsule,
  nativeStats,
  ownerOf,
  release,
} from './support/native-tensors.js';
import { growable, resizable } from './support/resizable.js';

expectNothingLeft();

interface Pointer {
  readonly address: bigint;
  readonly shape: readonly number[];
  readonly strides?: readonly number[];
  readonly dtype?: number;
  readonly readOnly?: boolean;
}

function fromPointer(pointer: Pointer, done: () => void): Handle | Status {
  const { address, shape, strides, dtype = DTYPE.int32, readOnly = false } = pointer;
  scratchBits[Slot.Element] = BigInt.asIntN(64, address);
  input([...shape, ...(strides ?? [])]);
  return native.fromPointer(shape.length, dtype, strides !== undefined, readOnly, done);
}

function adopt(
  source: ArrayBufferView,
  shape: readonly number[],
  dtype: number = DTYPE.int32,
  writable = false,
): Handle | Status {
  input(shape);
  return native.adopt(source, shape.length, dtype, writable);
}

const turn = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 5));

/** Memory of ours that pointers may point to. */
function memory(): { handle: Handle; address: bigint } {
  const handle = ownerOf(Int32Array.of(0, 1, 2, 3, 4, 5), [6], DTYPE.int32);
  return { handle, address: addressOf(handle) };
}

describe('fromPointer', () => {
  test('is the memory at the address, by shape and strides from the first element', () => {
    const { handle, address } = memory();
    const tensor = made(fromPointer({ address: address + 20n, shape: [2, 3], strides: [-3, -1] }, () => undefined));
    expect(int32Of(tensor)).toEqual([5, 4, 3, 2, 1, 0]);
    expect(addressOf(tensor)).toBe(address + 20n);
    expect(new Int32Array(madeBuffer(native.view(tensor, ViewMode.Writable)))[0]).toBe(0);
    release(tensor, handle);
  });

  test('calls release once, on this thread and not inside dispose, after the last alias is gone', async () => {
    const { handle, address } = memory();
    let calls = 0;
    const tensor = made(fromPointer({ address, shape: [6] }, () => void (calls += 1)));
    const alias = made(native.alias(tensor));
    const capsule = madeCapsule(native.exportTensor(tensor, StructKind.Versioned, false, 1));
    release(tensor);
    release(alias);
    await turn();
    expect(calls).toBe(0);
    native.releaseCapsule(capsule);
    expect(calls).toBe(0);
    await turn();
    expect(calls).toBe(1);
    await turn();
    expect(calls).toBe(1);
    release(handle);
  });

  test('calls release at the next library call, if that comes before the wake-up', () => {
    const { handle, address } = memory();
    let calls = 0;
    release(made(fromPointer({ address, shape: [6] }, () => void (calls += 1))));
    nativeStats();
    expect(calls).toBe(1);
    release(handle);
  });

  test('calls release when the tensor is collected', async () => {
    const { handle, address } = memory();
    let calls = 0;
    drop(made(fromPointer({ address, shape: [6] }, () => void (calls += 1))));
    expect(await collectUntil(() => calls === 1)).toBe(true);
    release(handle);
  });

  test('a release function that uses the library does not disturb the call it interrupts', () => {
    const { handle, address } = memory();
    release(
      made(
        fromPointer({ address, shape: [6] }, () => {
          release(allocate([1, 2, 3, 4, 5]));
        }),
      ),
    );
    input([2, 3]);
    const tensor = made(native.allocate(2, DTYPE.int32));
    expect(bytesOf(tensor)).toHaveLength(24);
    release(tensor, handle);
  });

  test('is never unique; read-only when told so, and then its pages may be protected', () => {
    const { handle, address } = memory();
    const writable = made(fromPointer({ address, shape: [6] }, () => undefined));
    expect(fault(native.move(writable))).toBe('kNeverUnique');
    const both = TensorFlag.ReadOnly | TensorFlag.Protected;
    expect(flagsOf(writable) & both).toBe(0);
    const readOnly = made(fromPointer({ address, shape: [6], readOnly: true }, () => undefined));
    expect(flagsOf(readOnly) & both).toBe(both);
    release(writable, readOnly, handle);
  });

  test('refuses what cannot be an address; the memory is then still the caller’s, and release not called', async () => {
    let calls = 0;
    const refused = (pointer: Pointer): string => fault(fromPointer(pointer, () => void (calls += 1)));
    expect(refused({ address: 0n, shape: [1] })).toBe('kNullAddress');
    expect(refused({ address: 0x1002n, shape: [1] })).toBe('kMisaligned');
    expect(refused({ address: 0x10n, shape: [6], strides: [-1] })).toBe('kSpanOverflow');
    expect(refused({ address: 2n ** 64n - 8n, shape: [6] })).toBe('kSpanOverflow');
    expect(refused({ address: 0x1000n, shape: [-1] })).toBe('kExtentNegative');
    expect(refused({ address: 0x1000n, shape: [1], dtype: 99 })).toBe('kDTypeCode');
    // @ts-expect-error: not a function
    expect(fault(fromPointer({ address: 0x1000n, shape: [1] }, undefined))).toBe('kArgument');
    await turn();
    expect(calls).toBe(0);
    expect(nativeStats().blocks).toBe(0);
  });

  test('an empty tensor needs no address', async () => {
    let calls = 0;
    const tensor = made(fromPointer({ address: 0n, shape: [0] }, () => void (calls += 1)));
    expect(addressOf(tensor)).toBe(0n);
    release(tensor);
    await turn();
    expect(calls).toBe(1);
  });
});

describe('adopt', () => {
  test('is the JavaScript memory itself, in both directions', () => {
    const source = Int32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
    const tensor = made(adopt(source, [2, 9], DTYPE.int32, true));
    source[0] = 100;
    expect(int32Of(tensor)[0]).toBe(100);
    new Int32Array(madeBuffer(native.view(tensor, ViewMode.Writable)))[1] = 200;
    expect(source[1]).toBe(200);
    release(tensor);
    expect(source.length).toBe(18);
  });

  test('takes small arrays, which the engine keeps elsewhere until they are asked for, and SharedArrayBuffers', () => {
    const small = Int32Array.of(1, 2);
    const shared = new Int32Array(new SharedArrayBuffer(8));
    for (const source of [small, shared]) {
      const tensor = made(adopt(source, [2]));
      source.set([5, 6]);
      expect(int32Of(tensor)).toEqual([5, 6]);
      release(tensor);
    }
  });

  test('is read-only unless writable, never unique, and counts once', () => {
    const source = Int32Array.of(1, 2);
    const readOnly = made(adopt(source, [2]));
    expect(flagsOf(readOnly) & TensorFlag.ReadOnly).toBe(TensorFlag.ReadOnly);
    expect(fault(native.view(readOnly, ViewMode.Writable))).toBe('kReadOnly');
    expect(fault(native.move(readOnly))).toBe('kNeverUnique');
    expect(nativeStats()).toMatchObject({ tensors: 1, blocks: 1, bytes: 8 });
    release(readOnly);
    expect(nativeStats().blocks).toBe(0);
  });

  test('pins the memory until the last alias is gone, and then lets it go', async () => {
    const collected = new FinalizationRegistry<string>((name) => gone.push(name));
    const gone: string[] = [];
    const tensor = (() => {
      const source = new Int32Array(1000).fill(7);
      collected.register(source, 'source');
      return made(adopt(source, [1000]));
    })();
    for (let time = 0; time < 5; time += 1) await collectOnce();
    expect(gone).toEqual([]);
    expect(int32Of(tensor)[999]).toBe(7);
    release(tensor);
    expect(await collectUntil(() => gone.length === 1)).toBe(true);
  });

  test('takes a part of the array, and refuses more than it has', () => {
    const source = Int32Array.of(1, 2, 3);
    const part = made(adopt(source, [2]));
    expect(int32Of(part)).toEqual([1, 2]);
    expect(fault(adopt(source, [4]))).toBe('kOutsideBlock');
    expect(fault(adopt(source, [2 ** 62]))).toBe('kExtentTooLarge');
    release(part);
  });

  test('refuses memory that may move or has gone, or lies between elements', () => {
    const detached = new Int32Array(2);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    expect(fault(adopt(new Int32Array(resizable(8, 16)), [2]))).toBe('kResizableInput');
    expect(fault(adopt(new Int32Array(growable(8, 16)), [2]))).toBe('kResizableInput');
    expect(fault(adopt(detached, [2]))).toBe('kDetachedInput');
    expect(fault(adopt(new Uint8Array(new ArrayBuffer(9), 1, 8), [2]))).toBe('kMisaligned');
    expect(nativeStats().blocks).toBe(0);
  });

  test('a buffer whose own properties run code, or throw, disturbs nothing', () => {
    const source = new Int32Array(2);
    Object.defineProperty(source.buffer, 'resizable', {
      get: () => {
        release(allocate([1, 1, 1]));
        throw new Error('on purpose');
      },
    });
    const tensor = made(adopt(source, [2]));
    expect(int32Of(tensor)).toEqual([0, 0]);
    release(tensor);
  });
});

test('dataAddress counts no alias', () => {
  const tensor = allocate([2]);
  expect(addressOf(tensor) % 256n).toBe(0n);
  expect(native.isUnique(tensor)).toBe(true);
  release(tensor);
  expect(fault(native.dataAddress(tensor))).toBe('kStaleHandle');
});
