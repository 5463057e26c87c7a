/**
 * The addon loaded by the main thread and by workers in every order, left by all of them, and loaded again. Each order
 * is a process of its own (support/load-orders.ts says what the letters mean), since the first load is made only once.
 */
import { describe, expect, test } from '@jest/globals';
import { runChild } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';
import { SANITIZED } from './support/sanitized.js';

expectCountersAtZero();

function permutations(letters: string): string[] {
  if (letters.length < 2) return [letters];
  return letters
    .split('')
    .flatMap((first, index) =>
      permutations(letters.slice(0, index) + letters.slice(index + 1)).map((rest) => first + rest),
    );
}

/** Every order of the letters; a few of them under a sanitizer, where each takes seconds. */
function orders(letters: string): string[] {
  return permutations(letters).filter((_, index) => !SANITIZED || index % 5 === 0);
}

async function expectToWork(order: string): Promise<void> {
  const { code, signal, hung, output } = await runChild('load-orders', [order]);
  expect({ code, signal, hung, output }).toEqual({ code: 0, signal: null, hung: false, output: 'as it should be\n' });
}

describe('main thread, a worker that stays, one that ends, one whose export outlives it', () => {
  test.each(orders('MBWH'))('%s', expectToWork);
});

describe('never in the main thread before the end', () => {
  test.each(['W', 'H', 'WW', 'HH', 'WHWH', 'BWBH'])('%s: left by its last environment, and loaded again', expectToWork);
});

describe('two copies, in main and in workers, in either order', () => {
  test.each([...orders('MCV'), 'VV', 'CVC', 'BVCM', 'VHM'])('%s', expectToWork);
});

describe('workers that are terminated while they load', () => {
  test.each(['X', 'XX', 'XM', 'MX', 'XWXH', 'BXVX', 'XCXM'])('%s', expectToWork);
});
