/** The small root functions: `capsuleName`, `releaseCapsule`, `stats`, `DLPACK_VERSION`. */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, DLPACK_VERSION, fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../dist/index.js';
import * as root from '../dist/index.js';
import * as unsafe from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectStateError, expectTypeError } from './support/refusals.js';

expectCountersAtZero();

describe('capsuleName', () => {
  test('follows a capsule through its life', () => {
    using tensor = Tensor.from([1, 2]);
    for (const [options, name] of [
      [{ max_version: [1, 3] }, 'dltensor_versioned'],
      [{}, 'dltensor'],
    ] as const) {
      const taken = tensor.__dlpack__(options);
      expect(capsuleName(taken)).toBe(name);
      fromDLPack(taken).dispose();
      expect(capsuleName(taken)).toBe(`used_${name}`);
      const released = tensor.__dlpack__(options);
      releaseCapsule(released);
      expect(capsuleName(released)).toBe(`used_${name}`);
    }
  });

  test('is undefined for everything else', () => {
    using tensor = Tensor.from([1]);
    for (const value of [undefined, null, 0, 1n, 'dltensor', Symbol('x'), {}, [], () => 0, tensor, new Proxy({}, {})])
      expect(capsuleName(value)).toBeUndefined();
  });
});

describe('releaseCapsule', () => {
  test('releases the memory at once, and does nothing the second time', () => {
    const capsule = OwnedTensor.allocate([4], 'int8').__dlpack__();
    expect(stats()).toMatchObject({ exports: 1, blocks: 1 });
    releaseCapsule(capsule);
    expect(stats()).toMatchObject({ exports: 0, blocks: 0 });
    releaseCapsule(capsule);
    expectStateError(() => fromDLPack(capsule), 'ERR_DLPACK_CONSUMED', 'Capsule already consumed');
  });

  test('does not touch what a consumer has taken', () => {
    using tensor = Tensor.from([1, 2]);
    const capsule = tensor.__dlpack__({ max_version: [1, 0] });
    using taken = fromDLPack(capsule);
    releaseCapsule(capsule);
    expect(taken.at(1)).toBe(2);
  });

  test('refuses everything else', () => {
    for (const value of [undefined, null, 1, 'x', {}, Tensor])
      expectTypeError(() => releaseCapsule(value), /releaseCapsule/);
  });
});

test('stats counts what is alive', () => {
  const zero = stats();
  expect(zero).toEqual({ tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 });
  const owned = OwnedTensor.allocate([256], 'float32');
  owned.bits.fill(0);
  expect(stats()).toEqual({ tensors: 1, exports: 0, views: 1, tokens: 0, blocks: 1, bytes: 1024 });
  const tensor = owned.freeze();
  const slice = tensor.slice([0, 2]);
  const capsule = tensor.__dlpack__();
  expect(stats()).toEqual({ tensors: 2, exports: 1, views: 0, tokens: 0, blocks: 2, bytes: 2048 });
  for (const each of [tensor, slice]) each.dispose();
  releaseCapsule(capsule);
  expect(stats()).toEqual(zero);
});

test('DLPACK_VERSION is 1.3, and frozen', () => {
  expect([DLPACK_VERSION, Object.isFrozen(DLPACK_VERSION)]).toEqual([[1, 3], true]);
});

test('the package exports these names and no others', () => {
  expect(new Set(Object.keys(root))).toEqual(
    new Set([
      'DLPACK_VERSION',
      'DLPackBufferError',
      'DLPackStateError',
      'OwnedTensor',
      'Tensor',
      'capsuleName',
      'copyThreads',
      'fromDLPack',
      'includeDir',
      'releaseCapsule',
      'revokeToken',
      'scope',
      'stats',
    ]),
  );
  expect(new Set(Object.keys(unsafe))).toEqual(
    new Set(['adopt', 'dataAddress', 'fromPointer', 'makeCapsule', 'takePointer', 'unsafeView']),
  );
});
