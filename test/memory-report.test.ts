/**
 * The engine is told of what its objects hold natively, since it collects by what it knows of. A consumed capsule holds
 * only its record, of which the engine knew nothing: a million of them grew to 280 MiB, and went on.
 */
import { expect, test } from '@jest/globals';
import { runChild } from './support/children.js';
import { SANITIZED } from './support/sanitized.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

/** A rule about resident memory, which cannot be told under a sanitizer. */
const testOfResidentMemory = SANITIZED ? test.skip : test;

testOfResidentMemory(
  'a million consumed capsules, with a turn of the loop now and then, do not fill the memory',
  async () => {
    const { code, output } = await runChild('consumed-capsules', []);
    expect(code).toBe(0);
    expect(Number(output)).toBeGreaterThan(0);
    expect(Number(output)).toBeLessThan(180);
  },
);
