/**
 * A worker is in the middle of an export, an import, a deleter, a window or a loan when it is terminated, or when the
 * process ends under it; native threads release its exports meanwhile and afterwards. No crash, no hang, nothing left.
 */
import { describe, expect, test } from '@jest/globals';
import { runChild } from './support/children.js';
import { MIDDLES, WAYS } from './support/in-the-middle.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

describe.each(MIDDLES)('in the middle of: %s', (what) => {
  test.each(WAYS)('ends by: %s', async (way) => {
    const { code, signal, hung, output } = await runChild('in-the-middle', [what, way]);
    expect({ hung, ready: output.startsWith('ready'), output }).toMatchObject({ hung: false, ready: true });
    expect([code, signal]).toEqual(
      { terminate: [0, null], exit: [5, null], throw: [1, null], sigterm: [null, 'SIGTERM'] }[way],
    );
  });
});
