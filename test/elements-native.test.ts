/** Elements in and out, copies and conversions, as the addon does them. */
import { describe, expect, test } from '@jest/globals';
import { native, ScalarKind, scratch, scratchBits, Slot, TensorFlag, ViewMode, type Handle } from '../dist/native.js';
import { expectNothingLeft } from './support/native-counters.js';
import {
  addressOf,
  allocate,
  bytesOf,
  DTYPE,
  fault,
  flagsOf,
  float32Of,
  fromBytes,
  input,
  int32Of,
  made,
  madeBuffer,
  nativeStats,
  ownerOf,
  release,
  tensorOf,
} from './support/native-tensors.js';
import { resizable, resize } from './support/resizable.js';

expectNothingLeft();

function element(handle: Handle, ...index: readonly number[]): number {
  input(index);
  expect(fault(native.readElement(handle, index.length))).toBe('none');
  return scratch[Slot.Element] ?? NaN;
}

describe('readElement', () => {
  test('reads every kind of element: numbers, 64-bit integers as bits, complex in two', () => {
    const floats = tensorOf(Float32Array.of(1, 2, 3, 4), [2, 2], DTYPE.float32);
    expect([element(floats, 0, 1), element(floats, 1, 0)]).toEqual([2, 3]);
    const signed = tensorOf(BigInt64Array.of(-(2n ** 63n)), [], DTYPE.int64);
    element(signed);
    expect(scratchBits[Slot.Element]).toBe(-(2n ** 63n));
    const unsigned = tensorOf(BigUint64Array.of(2n ** 64n - 1n), [1], DTYPE.uint64);
    element(unsigned, 0);
    expect(BigInt.asUintN(64, scratchBits[Slot.Element] ?? 0n)).toBe(2n ** 64n - 1n);
    const complex = tensorOf(Float32Array.of(1, -2), [1], DTYPE.complex64);
    expect(element(complex, 0)).toBe(1);
    expect(scratch[Slot.Element + 1]).toBe(-2);
    const bool = tensorOf(Uint8Array.of(0, 1), [2], DTYPE.bool);
    expect([element(bool, 0), element(bool, 1)]).toEqual([0, 1]);
    release(floats, signed, unsigned, complex, bool);
  });

  test('checks the index', () => {
    const tensor = tensorOf(Int32Array.of(1, 2), [2], DTYPE.int32);
    for (const index of [2, -1, 2 ** 53]) {
      input([index]);
      expect(fault(native.readElement(tensor, 1))).toBe('kIndex');
    }
    input([NaN]);
    expect(fault(native.readElement(tensor, 1))).toBe('kArgument');
    expect(fault(native.readElement(tensor, 0))).toBe('kIndexCount');
    release(tensor);
    expect(fault(native.readElement(tensor, 1))).toBe('kStaleHandle');
  });
});

describe('fromBytes', () => {
  test('takes any view of any buffer: pooled Buffers, DataViews, SharedArrayBuffers, tiny and offset arrays', () => {
    const pooled = Buffer.from([1, 2, 3, 4]);
    const shared = new Uint8Array(new SharedArrayBuffer(8), 4);
    shared.set([1, 2, 3, 4]);
    const inside = new Uint8Array([9, 1, 2, 3, 4, 9]).subarray(1, 5);
    const data = new DataView(inside.buffer, 1, 4);
    const sources = [pooled, shared, inside, data, new Uint8ClampedArray(inside), new Int32Array([0x04030201])];
    for (const source of sources) {
      const tensor = tensorOf(source, [4], DTYPE.uint8);
      expect([...bytesOf(tensor)]).toEqual([1, 2, 3, 4]);
      release(tensor);
    }
  });

  test('is a copy: later writes to the source are not seen', () => {
    const source = Int32Array.of(1, 2);
    const tensor = tensorOf(source, [2], DTYPE.int32);
    source.fill(9);
    expect(int32Of(tensor)).toEqual([1, 2]);
    const both = TensorFlag.MadeByCopy | TensorFlag.ReadOnly;
    expect(flagsOf(tensor) & both).toBe(both);
    release(tensor);
  });

  test('gathers by strides and offset into a row-major block', () => {
    const source = Int32Array.of(0, 1, 2, 3, 4, 5);
    const columns = made(fromBytes(source, [3, 2], DTYPE.int32, [1, 3], 0, false));
    expect(int32Of(columns)).toEqual([0, 3, 1, 4, 2, 5]);
    const backwards = made(fromBytes(source, [3], DTYPE.int32, [-2], 5, true));
    expect(int32Of(backwards)).toEqual([5, 3, 1]);
    const both = TensorFlag.Owned | TensorFlag.Contiguous;
    expect(flagsOf(backwards) & both).toBe(both);
    release(columns, backwards);
  });

  test('refuses a layout that leaves the source, by one element in either direction or by overflow', () => {
    const source = Int32Array.of(0, 1, 2, 3, 4, 5);
    expect(fault(fromBytes(source, [7], DTYPE.int32, undefined, 0, false))).toBe('kOutsideBlock');
    expect(fault(fromBytes(source, [6], DTYPE.int32, undefined, 1, false))).toBe('kOutsideBlock');
    expect(fault(fromBytes(source, [6], DTYPE.int32, undefined, -1, false))).toBe('kOutsideBlock');
    expect(fault(fromBytes(source, [2], DTYPE.int32, [-1], 0, false))).toBe('kOutsideBlock');
    expect(fault(fromBytes(source, [2], DTYPE.int32, [6], 0, false))).toBe('kOutsideBlock');
    expect(fault(fromBytes(source, [1], DTYPE.int32, undefined, 2 ** 62, false))).toBe('kSpanOverflow');
    expect(fault(fromBytes(source, [2], DTYPE.int32, [2 ** 62], 0, false))).toBe('kSpanOverflow');
    expect(fault(fromBytes(source, [2 ** 32, 2 ** 32], DTYPE.int32, undefined, 0, false))).toBe('kSizeOverflow');
    expect(fault(fromBytes(source, [-1], DTYPE.int32, undefined, 0, false))).toBe('kExtentNegative');
    expect(nativeStats().blocks).toBe(0);
  });

  test('an empty tensor needs nothing of the source, wherever it claims to begin', () => {
    const empty = made(fromBytes(new Uint8Array(0), [0, 3], DTYPE.float32, undefined, 7, false));
    expect(bytesOf(empty)).toHaveLength(0);
    release(empty);
  });

  test('sees what is really there: detached, shrunken and grown buffers', () => {
    const detached = new Uint8Array(8);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    expect(fault(fromBytes(detached, [1], DTYPE.uint8, undefined, 0, false))).toBe('kDetachedInput');
    const buffer = resizable(8, 16);
    const tracking = new Uint8Array(buffer);
    const fixed = new Uint8Array(buffer, 4, 4);
    resize(buffer, 12);
    release(tensorOf(tracking, [12], DTYPE.uint8));
    resize(buffer, 6);
    expect(fault(fromBytes(tracking, [8], DTYPE.uint8, undefined, 0, false))).toBe('kOutsideBlock');
    expect(fault(fromBytes(fixed, [4], DTYPE.uint8, undefined, 0, false))).toBe('kOutsideBlock');
    release(tensorOf(tracking, [6], DTYPE.uint8));
  });

  test('refuses what is no view, and a dtype that does not exist', () => {
    // @ts-expect-error: an ArrayBuffer is no view of one
    expect(fault(fromBytes(new ArrayBuffer(4), [1], DTYPE.int32, undefined, 0, false))).toBe('kArgument');
    // @ts-expect-error: nothing at all
    expect(fault(fromBytes(undefined, [1], DTYPE.int32, undefined, 0, false))).toBe('kArgument');
    expect(fault(fromBytes(new Uint8Array(4), [1], 99, undefined, 0, false))).toBe('kDTypeCode');
  });

  test('packed elements: a whole number of bytes is enough, and the last bits are zero', () => {
    const tensor = tensorOf(Uint8Array.of(0x21, 0xf3), [3], DTYPE.float4);
    expect([...bytesOf(tensor)]).toEqual([0x21, 0x03]);
    expect(fault(fromBytes(Uint8Array.of(0x21), [1], DTYPE.float4, undefined, 1, false))).toBe('kSubByteOffset');
    release(tensor);
  });
});

describe('copyOut', () => {
  test('writes row-major, from any layout', () => {
    const tensor = tensorOf(Int32Array.of(0, 1, 2, 3, 4, 5), [2, 3], DTYPE.int32);
    input([1, 0]);
    const transposed = made(native.permute(tensor, 2));
    expect(int32Of(transposed)).toEqual([0, 3, 1, 4, 2, 5]);
    release(transposed, tensor);
  });

  test('takes exactly the tensor’s bytes', () => {
    const tensor = tensorOf(Int32Array.of(0, 1), [2], DTYPE.int32);
    expect(fault(native.copyOut(tensor, new Uint8Array(7)))).toBe('kOutsideBlock');
    expect(fault(native.copyOut(tensor, new Uint8Array(9)))).toBe('kOutsideBlock');
    const detached = new Uint8Array(8);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    expect(fault(native.copyOut(tensor, detached))).toBe('kDetachedInput');
    release(tensor);
  });

  test('into a view of its own memory comes out as if they were apart', () => {
    const owner = ownerOf(Int32Array.of(0, 1, 2, 3), [4], DTYPE.int32);
    const data = new Int32Array(madeBuffer(native.view(owner, ViewMode.Writable)));
    const lent = made(native.lendBegin(owner, false));
    const flipped = made(native.flip(lent, 0));
    expect(fault(native.copyOut(flipped, data))).toBe('none');
    expect([...data]).toEqual([3, 2, 1, 0]);
    release(flipped, lent);
    native.lendEnd(owner);
    release(owner);
  });
});

describe('copy', () => {
  test('is fresh row-major memory, owned or not', () => {
    const tensor = tensorOf(Int32Array.of(0, 1, 2, 3), [2, 2], DTYPE.int32);
    input([1, 0]);
    const transposed = made(native.permute(tensor, 2));
    const shared = made(native.copy(transposed, false));
    const owned = made(native.copy(transposed, true));
    expect([int32Of(shared), int32Of(owned)]).toEqual([
      [0, 2, 1, 3],
      [0, 2, 1, 3],
    ]);
    expect(nativeStats().blocks).toBe(3);
    expect(flagsOf(shared) & TensorFlag.Owned).toBe(0);
    expect(flagsOf(owned) & TensorFlag.Owned).toBe(TensorFlag.Owned);
    release(tensor, transposed, shared, owned);
  });
});

describe('fill', () => {
  test('stores one value everywhere, of each kind', () => {
    const floats = allocate([3]);
    scratch[Slot.Element] = 1.5;
    native.fill(floats, ScalarKind.Float);
    expect(float32Of(floats)).toEqual([1.5, 1.5, 1.5]);
    const wide = allocate([2], DTYPE.uint64);
    scratchBits[Slot.Element] = -1n;
    native.fill(wide, ScalarKind.UInt);
    expect([...new BigUint64Array(bytesOf(wide).buffer)]).toEqual([2n ** 64n - 1n, 2n ** 64n - 1n]);
    const signed = allocate([1], DTYPE.int32);
    scratchBits[Slot.Element] = -7n;
    native.fill(signed, ScalarKind.Int);
    expect(int32Of(signed)).toEqual([-7]);
    const complex = allocate([1], DTYPE.complex64);
    scratch[Slot.Element] = 1;
    scratch[Slot.Element + 1] = 2;
    native.fill(complex, ScalarKind.Complex);
    expect(float32Of(complex)).toEqual([1, 2]);
    release(floats, wide, signed, complex);
  });

  test('is for owners', () => {
    const tensor = tensorOf(Int32Array.of(1), [1], DTYPE.int32);
    expect(fault(native.fill(tensor, ScalarKind.Float))).toBe('kArgument');
    release(tensor);
  });
});

/** Another tensor over memory that is somebody else's already. */
function at(address: bigint, shape: readonly number[], strides: readonly number[]): Handle {
  scratchBits[Slot.Element] = address;
  input([...shape, ...strides]);
  return made(native.fromPointer(shape.length, DTYPE.int32, true, false, () => undefined));
}

describe('assign', () => {
  test('converts from any layout into the whole or a part, and broadcasts', () => {
    const owner = allocate([2, 3]);
    const bytes = tensorOf(Uint8Array.of(1, 2, 3), [3], DTYPE.uint8);
    expect(fault(native.assign(owner, bytes, 0, 0, undefined, undefined))).toBe('none');
    expect(float32Of(owner)).toEqual([1, 2, 3, 1, 2, 3]);
    const flipped = made(native.flip(bytes, 0));
    input([1, 1, 1, 1]);
    expect(fault(native.assign(owner, flipped, 1, 0, undefined, undefined))).toBe('none');
    expect(float32Of(owner)).toEqual([1, 2, 3, 3, 2, 1]);
    release(flipped, bytes, owner);
  });

  test('applies scale and offset, one number or one for each index of the axis of the part', () => {
    const owner = allocate([2, 2]);
    const ones = tensorOf(Uint8Array.of(1, 1, 1, 1), [2, 2], DTYPE.uint8);
    expect(fault(native.assign(owner, ones, 0, 1, Float64Array.of(2, 4), Float64Array.of(0.5)))).toBe('none');
    expect(float32Of(owner)).toEqual([2.5, 4.5, 2.5, 4.5]);
    expect(fault(native.assign(owner, ones, 0, 1, Float64Array.of(1, 2, 3), undefined))).toBe('kIndexCount');
    expect(fault(native.assign(owner, ones, 0, 5, Float64Array.of(1, 2), undefined))).toBe('kAxis');
    expect(fault(native.assign(owner, ones, 0, 0, new Float64Array(0), undefined))).toBe('kIndexCount');
    // @ts-expect-error: float64 only
    expect(fault(native.assign(owner, ones, 0, 0, Float32Array.of(1), undefined))).toBe('kArgument');
    release(ones, owner);
  });

  test('from the owner itself is safe', () => {
    const owner = ownerOf(Int32Array.of(1, 2, 3, 4), [4], DTYPE.int32);
    expect(fault(native.assign(owner, owner, 0, 0, undefined, Float64Array.of(10)))).toBe('none');
    expect(int32Of(owner)).toEqual([11, 12, 13, 14]);
    release(owner);
  });

  test('from other tensors over the same memory is safe: backwards onto itself, one row onto all', () => {
    const owner = ownerOf(Int32Array.of(1, 2, 3, 4), [2, 2], DTYPE.int32);
    const backwards = at(addressOf(owner) + 12n, [2, 2], [-2, -1]);
    expect(fault(native.assign(owner, backwards, 0, 0, undefined, undefined))).toBe('none');
    expect(int32Of(owner)).toEqual([4, 3, 2, 1]);
    const lastRow = at(addressOf(owner) + 8n, [2], [1]);
    expect(fault(native.assign(owner, lastRow, 0, 0, undefined, undefined))).toBe('none');
    expect(int32Of(owner)).toEqual([2, 1, 2, 1]);
    expect(nativeStats().blocks).toBe(3);
    release(backwards, lastRow, owner);
  });

  test('refuses a source that does not broadcast, and dtypes that do not convert, before anything is written', () => {
    const owner = ownerOf(Float32Array.of(1, 2), [2], DTYPE.float32);
    const three = tensorOf(Uint8Array.of(7, 7, 7), [3], DTYPE.uint8);
    const complex = tensorOf(Float32Array.of(7, 7), [1], DTYPE.complex64);
    expect(fault(native.assign(owner, three, 0, 0, undefined, undefined))).toBe('kBroadcast');
    expect(fault(native.assign(owner, complex, 0, 0, undefined, undefined))).toBe('kConversion');
    expect(float32Of(owner)).toEqual([1, 2]);
    expect(fault(native.assign(three, owner, 0, 0, undefined, undefined))).toBe('kArgument');
    release(owner, three, complex);
  });
});

describe('convert', () => {
  test('makes an owner of the dtype asked for', () => {
    const tensor = tensorOf(Float32Array.of(0.5, 1.5, -2, NaN), [2, 2], DTYPE.float32);
    const integers = made(native.convert(tensor, DTYPE.int32, 0, undefined, undefined));
    expect(int32Of(integers)).toEqual([0, 2, -2, 0]);
    expect(flagsOf(integers) & TensorFlag.Owned).toBe(TensorFlag.Owned);
    const scaled = made(native.convert(tensor, DTYPE.float32, 1, Float64Array.of(2, 4), undefined));
    expect(float32Of(scaled)).toEqual([1, 6, -4, NaN]);
    release(tensor, integers, scaled);
  });

  test('a fault leaves no memory behind', () => {
    const tensor = tensorOf(Float32Array.of(1, 2), [1], DTYPE.complex64);
    expect(fault(native.convert(tensor, DTYPE.float32, 0, undefined, undefined))).toBe('kConversion');
    expect(nativeStats().blocks).toBe(1);
    release(tensor);
  });
});
