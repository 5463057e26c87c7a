/**
 * The protect debug mode: a write through a view into memory that is shared is a fault at its line; owners and
 * writable loans write as ever.
 */
import { expect, test } from '@jest/globals';
import { runChild } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

test.each(['owner', 'owned copy', 'moved out', 'converted', 'writable loan'])('%s: writable', async (target) => {
  const child = await runChild('protected-write', [target]);
  expect(child).toEqual({ code: 0, signal: null, hung: false, output: 'written\n' });
});

const SHARED = ['frozen', 'copy that is a tensor', 'slice', 'copy of a tensor'];

test.each(SHARED)('%s: a write is a fault', async (target) => {
  const child = await runChild('protected-write', [target]);
  expect(child).toMatchObject({ code: null, signal: 'SIGSEGV', hung: false });
  expect(child.output).not.toContain('written');
});
