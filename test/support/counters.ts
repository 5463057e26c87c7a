/**
 * Nothing may be left when a test file ends: every tensor, export, view, token, block and byte that the file made has
 * gone the way the rules say, by dispose, by consumption or by collection. Without this, a leak on an error path stays
 * invisible in tests that only look at results.
 */
import { afterAll, expect } from '@jest/globals';
import { stats } from '../../dist/index.js';
import { collect, collectUntil } from './collect.js';

export { collect, collectUntil };

export const ZERO = { tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 };

function atZero(): boolean {
  return Object.values(stats()).every((count) => count === 0);
}

/** Call once at the top of a test file: when the file ends, every counter of the process must come back to zero. */
export function expectCountersAtZero(): void {
  afterAll(async () => {
    await collectUntil(atZero);
    expect(stats()).toEqual(ZERO);
  });
}
