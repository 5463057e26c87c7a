/** Copies, proven: where elements lie, and what memory of ours an exchange made. */
import { expect } from '@jest/globals';
import { stats, type OwnedTensor, type Tensor } from '../../dist/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import { lab } from '../support/lab.js';

/** The address of the first element of a typed array. */
export function addressOf(array: unknown): bigint {
  if (!ArrayBuffer.isView(array) || array instanceof DataView) throw new Error('not a typed array');
  return lab.addressOf(array as NodeJS.TypedArray);
}

/** Came in by exactly one copy: one fresh block, of the tensor's own size, elsewhere than the array. */
export function expectOneCopyIn<T extends Tensor | OwnedTensor>(make: () => T, array: unknown): T {
  const before = stats();
  const made = make();
  const after = stats();
  expect({ blocks: after.blocks - before.blocks, bytes: after.bytes - before.bytes }).toEqual({
    blocks: 1,
    bytes: made.byteLength,
  });
  expect(dataAddress(made)).not.toBe(addressOf(array));
  expect(made.zeroCopy).toBe(false);
  expect(made.isContiguous).toBe(true);
  return made;
}

/** Lies over the array itself: its address is that of the element at `offset`, and nobody may take it for its own. */
export function expectNoCopyIn<T extends Tensor>(make: () => T, array: unknown, offset = 0): T {
  const made = make();
  const itemsize = made.byteLength / made.size;
  expect(dataAddress(made)).toBe(addressOf(array) + BigInt(offset * itemsize));
  expect({ zeroCopy: made.zeroCopy, readOnly: made.readOnly, isUnique: made.isUnique }).toEqual({
    zeroCopy: true,
    readOnly: true,
    isUnique: false,
  });
  return made;
}

/** What went out lies over the tensor's own memory: `array` begins where the span of the tensor does. */
export function expectNoCopyOut(tensor: Tensor | OwnedTensor, array: unknown, offset = 0): void {
  const itemsize = BigInt(tensor.byteLength / tensor.size);
  expect(addressOf(array) + BigInt(offset) * itemsize).toBe(dataAddress(tensor));
}

/** What went out is memory of JavaScript's own. */
export function expectCopyOut(tensor: Tensor | OwnedTensor, array: unknown): void {
  const distance = addressOf(array) - dataAddress(tensor);
  expect(distance >= BigInt(tensor.byteLength) || distance <= -BigInt(tensor.byteLength)).toBe(true);
}

/** Every counter of the process stays where it was. */
export function unmoved<R>(run: () => R): R {
  const before = stats();
  const result = run();
  expect(stats()).toEqual(before);
  return result;
}
