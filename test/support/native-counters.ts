/** Nothing may be left when a test file of the addon ends; otherwise a leak on an error path would stay invisible. */
import { afterAll, expect } from '@jest/globals';
import { collectUntil, dropAll, nativeStats, type Stats } from './native-tensors.js';

const ZERO: Stats = { tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 };

/** To be called once in a test file: what the file made is gone when it ends. */
export function expectNothingLeft(): void {
  afterAll(async () => {
    dropAll();
    await collectUntil(() => Object.values(nativeStats()).every((count) => count === 0));
    expect(nativeStats()).toEqual(ZERO);
  });
}
