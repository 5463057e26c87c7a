/**
 * Out of memory, through the binding: every request that the addon makes is refused in turn, for each operation of the public
 * API. A named error, counters where they were, the operand as it was, and nothing kept. The core alone is held to the
 * same in test/core/failure_test.cc.
 */
import { describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import path = require('node:path');
import { runChild } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';
import { labPath } from './support/lab-addon.js';
import type { MemoryFailure } from './support/memory-failures.js';
import { SANITIZED } from './support/sanitized.js';

expectCountersAtZero();

const allocator = path.join(path.dirname(labPath), 'failing_allocator.node');
// It stands before GNU's allocator; a sanitizer has one of its own.
const glibc = process.platform === 'linux' && !SANITIZED && existsSync(allocator);
const refusing = glibc ? describe : describe.skip;

refusing('an addon that gets no memory', () => {
  test('says so at every request of every operation, leaks nothing and changes nothing', async () => {
    const { code, signal, output } = await runChild('memory-failures', [], { LD_PRELOAD: allocator });
    expect([code, signal, code === 0 ? '' : output]).toEqual([0, null, '']);
    const results = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as MemoryFailure);
    expect(results.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
    expect(results.length).toBeGreaterThan(40);
    // A try that refuses nothing proves nothing: these two ask for none, all others do. (Capsules' records come in
    // chunks, of which makeCapsule may find one that has room.)
    const never = results.filter(({ refusals }) => refusals === 0).map(({ operation }) => operation);
    expect(never.filter((operation) => operation !== 'makeCapsule')).toEqual(['freeze', 'intoDLPack']);
  });
});
