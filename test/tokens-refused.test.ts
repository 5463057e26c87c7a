/** What no token is made of or found by: texts, options, times to live. */
import { describe, expect, test } from '@jest/globals';
import { OwnedTensor, revokeToken, scope, stats, Tensor } from '../dist/index.js';
import { expectCountersAtZero } from './support/counters.js';
import { errorOf } from './support/error-of.js';
import { expectStructsDeletedOnce, matrix } from './support/fixtures.js';
import { expectRangeError, expectStateError, expectTypeError, leavingNothing } from './support/refusals.js';
import { refusedAsUnknown, sleep } from './support/token-tests.js';

expectCountersAtZero();
expectStructsDeletedOnce();

const share: unknown = Reflect.get(Tensor.prototype, 'share');
const transfer: unknown = Reflect.get(OwnedTensor.prototype, 'transfer');

/** Calls a method as its type forbids. */
function call(method: unknown, receiver: unknown, ...args: unknown[]): unknown {
  if (typeof method !== 'function') throw new Error('there is no such method');
  const result: unknown = Reflect.apply(method, receiver, args);
  return result;
}

describe('what is no token', () => {
  const claims = [
    (token: string) => Tensor.fromShared(token),
    (token: string) => OwnedTensor.fromTransfer(token),
    (token: string) => revokeToken(token),
  ] as const;

  test('a text that was never given out is refused with ERR_DLPACK_TOKEN', () => {
    using tensor = matrix();
    const token = tensor.share();
    const flipped = token.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    const texts = [
      '',
      'dlpack-',
      'x',
      flipped,
      `${token} `,
      ` ${token}`,
      token.slice(0, -1),
      `${token}0`,
      `${token}\u00e9`,
      token.toUpperCase(),
    ];
    texts.push(
      'dlpack-00000000000000000000000000000000',
      'dlpack-'.padEnd(100_000, '0'),
      `${token}\0`,
      '\u0164'.repeat(39),
    );
    for (const claim of claims) for (const text of texts) leavingNothing(() => refusedAsUnknown(() => claim(text)));
    expect(stats().tokens).toBe(1);
    revokeToken(token);
  });

  test('a token of the other kind is refused by name, and stays', () => {
    using tensor = matrix();
    const shared = tensor.share();
    const transferred = OwnedTensor.allocate([2], 'int8').transfer();
    expectStateError(
      () => OwnedTensor.fromTransfer(shared),
      'ERR_DLPACK_TOKEN',
      'the token is one of share(): claim it with Tensor.fromShared',
    );
    expectStateError(
      () => Tensor.fromShared(transferred),
      'ERR_DLPACK_TOKEN',
      'the token is one of transfer(): claim it with OwnedTensor.fromTransfer',
    );
    Tensor.fromShared(shared).dispose();
    OwnedTensor.fromTransfer(transferred).dispose();
  });

  test.each([
    ['Tensor.fromShared', claims[0]],
    ['OwnedTensor.fromTransfer', claims[1]],
    ['revokeToken', claims[2]],
  ] as const)('%s takes a string alone', (name, claim) => {
    for (const value of [undefined, null, 5, 5n, {}, ['dlpack-'], Symbol('s'), new String('dlpack-')]) {
      const error = errorOf(() => call(claim, undefined, value));
      expect([error.name, error.code]).toEqual(['TypeError', 'ERR_INVALID_ARG_TYPE']);
      expect(error.message).toMatch(
        new RegExp(`^${name} was given .*; it takes a token, the string that share\\(\\) or transfer\\(\\) returned$`),
      );
    }
  });
});

describe('options of share and transfer', () => {
  const makers = [
    ['share', (options: unknown) => scope(() => call(share, matrix(), options))],
    ['transfer', (options: unknown) => call(transfer, OwnedTensor.allocate([2], 'int8'), options)],
  ] as const;

  test.each(makers)('%s takes { ttl }, a whole number of milliseconds', (name, make) => {
    for (const options of [
      undefined,
      {},
      { ttl: undefined },
      { ttl: 1 },
      { ttl: Number.MAX_SAFE_INTEGER },
      { other: 1 },
    ]) {
      const token: unknown = make(options);
      if (!Object.is(Reflect.get(Object(options), 'ttl'), 1)) revokeToken(String(token));
    }
    sleep(3);
    expect(stats().tokens).toBe(0);
    for (const options of [null, 5, 'x', [], () => undefined]) {
      expectTypeError(
        () => make(options),
        new RegExp(`^${name} was given .* as options; it takes an object: \\{ ttl \\}$`),
      );
    }
    for (const ttl of [null, '5', 5n, {}])
      expectTypeError(() => make({ ttl }), /^ttl is .*; it must be a number of milliseconds$/);
    for (const ttl of [0, -1, 1.5, NaN, Infinity, 2 ** 53]) {
      expectRangeError(() => make({ ttl }), /^ttl is .*; it must be a whole number of milliseconds, at least 1$/);
    }
    expect(stats().tokens).toBe(0);
  });

  test('methods of one class refuse the other, and what is no tensor', () => {
    using tensor = matrix();
    using owned = OwnedTensor.allocate([2], 'int8');
    for (const receiver of [{}, []]) {
      expectTypeError(() => call(share, receiver), /./);
      expectTypeError(() => call(transfer, receiver), /./);
    }
    expectTypeError(() => call(share, owned), /./);
    expectTypeError(() => call(transfer, tensor), /./);
    expect([tensor.isUnique, owned.isUnique]).toEqual([true, true]);
  });
});
