/**
 * An environment's death: what is attached is freed, what the user moved elsewhere is kept, since another thread may
 * be reading it.
 */
import { expect, test } from '@jest/globals';
import { runChild } from './support/children.js';
import type { Found } from './support/view-death.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const BYTES = 2 ** 21;

function isFound(value: unknown): value is Found {
  return typeof value === 'object' && value !== null && 'kept' in value;
}

test.each([
  ['ends by itself', 'natural', 0],
  ['calls process.exit', 'exit', 3],
  ['throws', 'throw', 1],
  ['is terminated while idle', 'terminate', 1],
  ['is terminated in a busy loop', 'terminate-busy', 1],
])('a worker that %s: attached views are freed, moved bytes stay valid', async (_, ending, code) => {
  const child = await runChild('view-death', [ending]);
  expect(child).toMatchObject({ code: 0, signal: null, hung: false });
  const found: unknown = JSON.parse(child.output);
  if (!isFound(found)) throw new Error(child.output);
  // Two were moved: one kept in the worker, one sent here.
  expect(found).toEqual({
    code,
    byteLength: BYTES,
    intact: true,
    kept: { blocks: 2, views: 2, tensors: 0, bytes: 2 * BYTES },
  });
});
