/** `scope`: what is made inside is disposed at its end, but for what is returned. */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, scope, stats, Tensor } from '../dist/index.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectBufferError, expectTypeError, thrownBy } from './support/refusals.js';
import { sample } from './support/values.js';

expectCountersAtZero();

/** A scope over a function that its type forbids. */
function run(fn: () => unknown): unknown {
  return Reflect.apply(scope, undefined, [fn]);
}

describe('scope', () => {
  test('disposes every tensor and owner made inside, however it was made', () => {
    const made: (Tensor | OwnedTensor)[] = [];
    using outside = sample();
    const result = scope(() => {
      made.push(
        sample(),
        outside.slice(0),
        OwnedTensor.allocate([2], 'int8'),
        outside.copy(),
        outside.to('int8'),
        fromDLPack(outside),
      );
      made.push(
        OwnedTensor.allocate([2], 'int8').freeze(),
        sample().intoDLPack(),
        outside.reshape([6]),
        OwnedTensor.from([1]),
      );
      return 7;
    });
    expect(result).toBe(7);
    expect(made.map((each) => each.disposed)).toEqual(made.map(() => true));
    expect([outside.disposed, stats().tensors]).toEqual([false, 1]);
  });

  test('releases capsules made inside', () => {
    using outside = sample();
    const capsules: object[] = [];
    scope(() => {
      capsules.push(outside.__dlpack__({ max_version: [1, 3] }), outside.copy().__dlpack__(), outside.__dlpack__());
    });
    expect(capsules.map((capsule) => capsuleName(capsule))).toEqual([
      'used_dltensor_versioned',
      'used_dltensor',
      'used_dltensor',
    ]);
    expect(stats()).toMatchObject({ tensors: 1, exports: 0, blocks: 1 });
  });

  test('keeps what is returned: directly, in arrays and in plain objects, however deep', () => {
    const shapes: [string, (tensor: Tensor<'float32'>) => unknown][] = [
      ['itself', (tensor) => tensor],
      ['an array', (tensor) => [1, tensor]],
      ['an object', (tensor) => ({ a: tensor })],
      ['both', (tensor) => ({ a: [{ b: [tensor] }] })],
      ['without a prototype', (tensor) => Object.setPrototypeOf({ tensor }, null) as object],
    ];
    for (const [, wrap] of shapes) {
      let kept: Tensor<'float32'> | undefined;
      let dropped: Tensor<'float32'> | undefined;
      scope(() => {
        kept = sample();
        dropped = kept.slice(0);
        return wrap(kept) as object;
      });
      expect([kept?.disposed, dropped?.disposed]).toEqual([false, true]);
      kept?.dispose();
    }
    const capsule = scope(() => [sample().__dlpack__()]);
    expect(capsule.map((each) => capsuleName(each))).toEqual(['dltensor']);
    capsule.forEach(releaseCapsule);
  });

  test('does not look into other objects', () => {
    let inside: Tensor | undefined;
    const box = scope(() => new Map([['tensor', (inside = sample())]]));
    expect([inside?.disposed, box.size]).toEqual([true, 1]);
  });

  test('a result of a million numbers is fine', () => {
    const numbers = scope(() => [
      OwnedTensor.allocate([1000, 1000], 'uint8').freeze().toArray(),
      Array.from({ length: 1e6 }, () => 0),
    ]);
    expect([numbers.length, stats().tensors]).toEqual([2, 0]);
  });

  test('a circular result is fine', () => {
    const result = scope(() => {
      const ring: { tensor: Tensor; self?: unknown } = { tensor: sample() };
      ring.self = [ring];
      return ring;
    });
    expect(result.tensor.disposed).toBe(false);
    result.tensor.dispose();
  });

  test('what an inner scope returns belongs to the outer one', () => {
    let inner: Tensor | undefined;
    let capsule: object | undefined;
    const kept = scope(() => {
      inner = scope(() => sample());
      capsule = scope(() => sample().__dlpack__());
      expect([inner.disposed, capsuleName(capsule)]).toEqual([false, 'dltensor']);
      return scope(() => sample());
    });
    expect([inner?.disposed, capsuleName(capsule), kept.disposed]).toEqual([true, 'used_dltensor', false]);
    kept.dispose();
  });

  test('a throw disposes all, and reaches the caller as it is', () => {
    const own = new Error('mine');
    const made: Tensor[] = [];
    expect(
      thrownBy(() =>
        scope(() => {
          made.push(
            sample(),
            scope(() => sample()),
          );
          throw own;
        }),
      ),
    ).toBe(own);
    expect(made.map((tensor) => tensor.disposed)).toEqual([true, true]);
    made.push(sample());
    expect(made[2]?.disposed).toBe(false);
    made[2]?.dispose();
  });

  test('a returned thenable is a TypeError, everything is disposed, and no rejection is left unhandled', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    const made: Tensor[] = [];
    expectTypeError(
      () =>
        run(async () => {
          made.push(sample());
          await Promise.resolve();
          made[0]?.at(0, 0);
        }),
      /fn returned a promise; a scope ends with its function, so it must be synchronous/,
    );
    // eslint-disable-next-line unicorn/no-thenable -- a thenable that is no promise is what is tested
    expectTypeError(() => run(() => ({ then: () => void made.push(sample()) })), /fn returned a promise/);
    await new Promise((resolve) => setTimeout(resolve, 10));
    process.off('unhandledRejection', note);
    expect([made[0]?.disposed, unhandled]).toEqual([true, []]);
    for (const tensor of made) tensor.dispose();
  });

  test('what was disposed, moved or consumed inside is left alone', () => {
    using outside = sample();
    const owned = scope(() => {
      outside.slice(0).dispose();
      fromDLPack(outside.__dlpack__({ max_version: [1, 0] })).dispose();
      return sample().intoDLPack();
    });
    expect([owned.disposed, owned.at(1, 2)]).toEqual([false, 5]);
    owned.dispose();
  });

  test('a tensor that cannot be disposed is an error, after all the rest was', async () => {
    let finish: (() => void) | undefined;
    let busy: Tensor<'float32'> | undefined;
    let other: Tensor<'float32'> | undefined;
    let window: Promise<void> | undefined;
    expectBufferError(
      () =>
        scope(() => {
          other = sample();
          busy = sample();
          window = busy.withView(() => new Promise<void>((resolve) => (finish = resolve)));
        }),
      /dispose is refused while withView/,
    );
    expect([other?.disposed, busy?.disposed]).toEqual([true, false]);
    finish?.();
    await window;
    busy?.dispose();
  });

  test('takes a function', () => {
    for (const value of [undefined, null, 1, {}, []])
      expectTypeError(() => Reflect.apply(scope, undefined, [value]), /scope was called with .*; it takes a function/);
  });

  test('forgets what ends inside, so a long loop in one scope does not grow', () => {
    using outside = sample();
    scope(() => {
      for (let i = 0; i < 10_000; i++) outside.slice(0).dispose();
      for (let i = 0; i < 3000; i++) fromDLPack(outside.__dlpack__({ max_version: [1, 0] })).dispose();
      expect(stats()).toMatchObject({ tensors: 1, exports: 0 });
    });
  });

  test('20,000 scopes that each make 64 KiB stay within 200 MB of resident memory', () => {
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 20_000; i++) {
      scope(() => {
        const owned = OwnedTensor.allocate([16_384], 'float32');
        owned.data[0] = i;
        return owned.at(0);
      });
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(200e6);
    expect(stats().tensors).toBe(0);
  });
});
