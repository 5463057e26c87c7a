/**
 * Random histories: tensors, owners, capsules, views, windows, loans, tokens, foreign memory and collections in an order
 * that nobody planned, played to the library and to the rules (support/rules.ts) at once. After every step both must
 * agree on what was refused and how, on every state, every element, who is unique, and every counter.
 *
 * fast-check shrinks what fails to a few steps and prints them with its seed: put them into KEPT. HISTORIES_SEED and
 * HISTORIES_RUNS play others, or more of them.
 */
import { test } from '@jest/globals';
import * as fc from 'fast-check';
import { expectCountersAtZero } from './support/counters.js';
import { ACTIONS, History, type Action, type Step } from './support/histories.js';

expectCountersAtZero();

/** Histories that failed once, or that a broken library must fail. */
const KEPT: readonly (readonly [string, readonly Step[]])[] = [
  [
    'a refusal for memory that never moves counted the aliases of an earlier one',
    [
      ['make', 0, 0],
      ['derive', 0, 7],
      ['move', 3, 0],
    ],
  ],
];

test.each(KEPT)('kept: %s', async (_name, steps) => {
  await new History().play(steps);
});

const RUNS = Number(process.env['HISTORIES_RUNS'] ?? 5000);
const SEED = Number(process.env['HISTORIES_SEED'] ?? 20261130);

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.oneof(
    ...Object.entries(ACTIONS).map(([action, weight]) => ({
      arbitrary: fc.constant(action as Action),
      weight: weight * 100,
    })),
  ),
  fc.nat(11),
  fc.nat(11),
);

test(`${RUNS} random histories go as the rules say`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30, size: 'max' }), (steps) =>
      new History().play(steps),
    ),
    { numRuns: RUNS, seed: SEED },
  );
}, 600_000);
