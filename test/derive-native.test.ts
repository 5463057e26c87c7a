/** Derived tensors: new aliases over the same memory, never a copy. */
import { describe, expect, test } from '@jest/globals';
import { native, TensorFlag, type Handle, type Status } from '../dist/native.js';
import { expectNothingLeft } from './support/native-counters.js';
import {
  addressOf,
  allocate,
  bytesOf,
  DTYPE,
  fault,
  flagsOf,
  input,
  int32Of,
  made,
  nativeStats,
  release,
  shapeOf,
  tensorOf,
} from './support/native-tensors.js';

expectNothingLeft();

function counting(shape: readonly number[]): Handle {
  const size = shape.reduce((product, extent) => product * extent, 1);
  return tensorOf(
    Int32Array.from({ length: size }, (_, index) => index),
    shape,
    DTYPE.int32,
  );
}

/** What `derive` makes: its shape and elements; released again, with what it came from. */
function derived(
  shape: readonly number[],
  derive: (from: Handle) => Handle | Status,
): { shape: number[]; elements: number[] } {
  const from = counting(shape);
  const result = made(derive(from));
  expect(nativeStats().blocks).toBe(1);
  const found = { shape: shapeOf(result), elements: int32Of(result) };
  release(from);
  // The derived tensor alone keeps the memory.
  expect(int32Of(result)).toEqual(found.elements);
  release(result);
  return found;
}

const sliced = (specs: readonly number[]) => (from: Handle) => {
  input(specs);
  return native.slice(from, specs.length / 4);
};

test('slice drops indexed axes, steps, and runs backwards', () => {
  expect(derived([3, 4], sliced([1, 1, 1, 1]))).toEqual({ shape: [4], elements: [4, 5, 6, 7] });
  expect(derived([3, 4], sliced([0, 0, 3, 1, 1, 2, 1, 1]))).toEqual({ shape: [3], elements: [2, 6, 10] });
  expect(derived([3, 4], sliced([0, 2, 2, -2, 0, 3, 2, -1]))).toEqual({ shape: [2, 2], elements: [11, 10, 3, 2] });
  expect(derived([3, 4], sliced([0, 3, 0, 1]))).toEqual({ shape: [0, 4], elements: [] });
});

/** A call whose numbers are given through Input. */
const using =
  (call: (from: Handle, count: number) => Handle | Status) => (numbers: readonly number[]) => (from: Handle) => {
    input(numbers);
    return call(from, numbers.length);
  };

test('permute, reshape, squeeze, expandDims, broadcastTo and flip', () => {
  const permute = using((from, count) => native.permute(from, count));
  const reshape = using((from, count) => native.reshape(from, count));
  const squeeze = using((from, count) => native.squeeze(from, count));
  const broadcastTo = using((from, count) => native.broadcastTo(from, count));
  expect(derived([2, 3], permute([1, 0]))).toEqual({ shape: [3, 2], elements: [0, 3, 1, 4, 2, 5] });
  expect(derived([2, 3], reshape([3, 1, 2]))).toEqual({ shape: [3, 1, 2], elements: [0, 1, 2, 3, 4, 5] });
  expect(derived([1, 2, 1, 1], squeeze([0, 2]))).toEqual({ shape: [2, 1], elements: [0, 1] });
  expect(derived([1, 2], squeeze([]))).toEqual({ shape: [1, 2], elements: [0, 1] });
  expect(derived([2], (from) => native.expandDims(from, 1))).toEqual({ shape: [2, 1], elements: [0, 1] });
  expect(derived([2, 1], broadcastTo([2, 2, 3]))).toEqual({
    shape: [2, 2, 3],
    elements: [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1],
  });
  expect(derived([2, 2], (from) => native.flip(from, 1))).toEqual({ shape: [2, 2], elements: [1, 0, 3, 2] });
});

test('what is broadcast overlaps itself: it is read-only and never moves, also when it is alone', () => {
  const from = counting([1]);
  input([3]);
  const broad = made(native.broadcastTo(from, 1));
  release(from);
  const both = TensorFlag.ReadOnly | TensorFlag.Overlapping;
  expect(flagsOf(broad) & both).toBe(both);
  expect(fault(native.move(broad))).toBe('kNeverUnique');
  release(broad);
});

test('a slice is at its own address, its parent’s plus the offset', () => {
  const from = counting([4]);
  input([0, 2, 2, 1]);
  const slice = made(native.slice(from, 1));
  expect(addressOf(slice) - addressOf(from)).toBe(8n);
  expect(addressOf(from) % 256n).toBe(0n);
  release(slice, from);
});

describe('faults leave nothing behind', () => {
  test.each<[string, (from: Handle) => Handle | Status, readonly number[]]>([
    ['kIndexCount', (from) => native.slice(from, 3), []],
    ['kIndexCount', (from) => native.slice(from, -1), []],
    ['kIndex', (from) => native.slice(from, 1), [1, 2, 1, 1]],
    ['kIndex', (from) => native.slice(from, 1), [0, 1, 2, 1]],
    ['kArgument', (from) => native.slice(from, 1), [0, 0.5, 1, 1]],
    ['kArgument', (from) => native.slice(from, 1.5), []],
    ['kIndexCount', (from) => native.permute(from, 1), [0]],
    ['kAxis', (from) => native.permute(from, 2), [0, 0]],
    ['kAxis', (from) => native.permute(from, 2), [0, 2 ** 40]],
    ['kReshapeSize', (from) => native.reshape(from, 1), [5]],
    ['kExtentNegative', (from) => native.reshape(from, 2), [-2, -3]],
    ['kNdimLimit', (from) => native.reshape(from, 65), []],
    ['kReshapeSize', (from) => native.squeeze(from, 1), [0]],
    ['kAxis', (from) => native.squeeze(from, 1), [7]],
    ['kAxis', (from) => native.expandDims(from, 3), []],
    ['kBroadcast', (from) => native.broadcastTo(from, 2), [2, 4]],
    ['kBroadcast', (from) => native.broadcastTo(from, 1), [3]],
    ['kAxis', (from) => native.flip(from, 2), []],
  ])('%s %#', (name, call, numbers) => {
    const from = counting([2, 3]);
    input(numbers);
    expect(fault(call(from))).toBe(name);
    expect(nativeStats()).toMatchObject({ tensors: 1, blocks: 1 });
    release(from);
  });

  test('kReshapeNeedsCopy where strides cannot express the shape', () => {
    const from = counting([2, 3]);
    input([1, 0]);
    const transposed = made(native.permute(from, 2));
    input([6]);
    expect(fault(native.reshape(transposed, 1))).toBe('kReshapeNeedsCopy');
    release(transposed, from);
  });

  test('kSubByteOffset where a packed element does not start on a byte', () => {
    const packed = tensorOf(Uint8Array.of(0x21, 0x43), [4], DTYPE.float4);
    input([0, 1, 2, 1]);
    expect(fault(native.slice(packed, 1))).toBe('kSubByteOffset');
    input([0, 2, 2, 1]);
    const half = made(native.slice(packed, 1));
    expect([...bytesOf(half)]).toEqual([0x43]);
    release(half, packed);
  });

  test('an owner has no derived tensors, and a stale handle none either', () => {
    const owner = allocate([2]);
    expect(fault(native.flip(owner, 0))).toBe('kArgument');
    release(owner);
    expect(fault(native.flip(owner, 0))).toBe('kStaleHandle');
  });
});
