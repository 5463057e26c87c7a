/** Copies larger than the engine can hold are errors by name; none ends the process. */
import { constants } from 'node:buffer';
import { expect, test } from '@jest/globals';
import { Tensor } from '../dist/index.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectBufferError, thrownBy } from './support/refusals.js';
import { flat } from './support/values.js';

expectCountersAtZero();

/** As large as wanted, at the cost of one element. */
function repeated(shape: number[]): Tensor<'uint8'> {
  using one = Tensor.from(Uint8Array.of(7));
  return one.broadcastTo(shape);
}

const NO_MEMORY = { name: 'RangeError', code: 'ERR_DLPACK_MEMORY' };
const bounded = constants.MAX_LENGTH < 2 ** 40;

(bounded ? test : test.skip)('what no typed array reaches is a BufferError, before anything is allocated', () => {
  using tensor = repeated([constants.MAX_LENGTH + 1]);
  for (const copy of [() => tensor.toTypedArray(), () => tensor.toTypedArray({ bits: true })])
    expectBufferError(
      copy,
      `${constants.MAX_LENGTH + 1} bytes do not fit into an ArrayBuffer of this engine (at most ` +
        `${constants.MAX_LENGTH}); slice() first`,
    );
});

test('what the machine has no memory for is ERR_DLPACK_MEMORY', () => {
  using tensor = repeated([2 ** 31, 2 ** 17]);
  expect(thrownBy(() => tensor.copy())).toMatchObject(NO_MEMORY);
  if (!bounded) expect(thrownBy(() => tensor.toTypedArray())).toMatchObject(NO_MEMORY);
});

test.each([
  ['elements', [2 ** 32]],
  ['arrays of no element', [2 ** 40, 0]],
  ['empty arrays within arrays', [2 ** 20, 2 ** 20, 0]],
])('toArray makes no more %s than the heap can hold', (_, shape) => {
  using tensor = repeated(shape);
  expect(thrownBy(() => tensor.toArray())).toMatchObject({
    ...NO_MEMORY,
    message: expect.stringMatching(/^toArray would make \d+ values and arrays, more than fit into the heap/),
  });
});

test('what fits is made', () => {
  using tensor = repeated([3, 500_000]);
  expect(flat(tensor.toArray())).toHaveLength(1_500_000);
  using empty = repeated([1000, 0]);
  expect(empty.toArray()).toHaveLength(1000);
});
