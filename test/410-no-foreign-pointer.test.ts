/**
 * No way leads from the root API to a stale or foreign pointer: forged handles, objects put together from parts of
 * several tensors, prototypes exchanged, constructors called without a right, a stolen construction key, guessed and
 * replayed tokens, globals replaced by others. What is promised in SECURITY.md.
 */
import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import * as root from '../dist/index.js';
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, revokeToken, stats, Tensor } from '../dist/index.js';
import { runChild } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';
import { ramp } from './support/lab.js';
import { expectStateError, expectTypeError, leavingNothing, thrownBy } from './support/refusals.js';

expectCountersAtZero();

const CODES = ['ERR_INVALID_ARG_TYPE', 'ERR_OUT_OF_RANGE', 'ERR_DLPACK_BUFFER', 'ERR_DLPACK_DISPOSED'];

/** The own property that holds a tensor's number: the only one that is not a small state. */
function handleKeyOf(tensor: Tensor | OwnedTensor): PropertyKey {
  const key = Reflect.ownKeys(tensor).find((candidate) => String(candidate).includes('handle'));
  if (key === undefined) throw new Error('a tensor has no handle');
  return key;
}

/** An object that has all that `tensor` has, but for its handle. */
function withHandle(tensor: Tensor | OwnedTensor, handle: unknown): Tensor {
  const copy: object = Object.create(Object.getPrototypeOf(tensor) as object) as object;
  Object.defineProperties(copy, Object.getOwnPropertyDescriptors(tensor));
  Object.defineProperty(copy, handleKeyOf(tensor), { value: handle, configurable: true, writable: true });
  return copy as Tensor;
}

/** Everything that crosses to native with a Tensor's handle, and changes nothing. */
const READS: Readonly<Record<string, (tensor: Tensor) => unknown>> = {
  at: (tensor) => tensor.at(...tensor.shape.map((extent) => extent - 1)),
  toArray: (tensor) => tensor.toArray(),
  toTypedArray: (tensor) => tensor.toTypedArray(),
  strided: (tensor) => tensor.strided(),
  slice: (tensor) => tensor.slice().dispose(),
  flip: (tensor) => tensor.flip(0).dispose(),
  contiguous: (tensor) => tensor.contiguous().dispose(),
  copy: (tensor) => tensor.copy().dispose(),
  to: (tensor) => tensor.to('int32').dispose(),
  withView: (tensor) => tensor.withView((view) => view.length),
  share: (tensor) => revokeToken(tensor.share()),
  export: (tensor) => releaseCapsule(tensor.__dlpack__({ max_version: [1, 3] })),
  fromDLPack: (tensor) => fromDLPack(tensor).dispose(),
  releaseViews: (tensor) => tensor.releaseViews(),
};

describe('a forged handle', () => {
  test.each(Object.entries(READS))('%s finds nothing behind any number that is not its own', (_, read) => {
    using tensor = Tensor.from(ramp(6), { shape: [2, 3] });
    const own = Number(Reflect.get(tensor, handleKeyOf(tensor)));
    const bits = Array.from({ length: 53 }, (__, bit) => 2 ** bit);
    const numbers: unknown[] = [0, -0, -1, NaN, Infinity, -Infinity, 0.5, own + 0.5, -own, 2 ** 53, 2 ** 60, 1e300];
    numbers.push(5e-324, null, undefined, '1', 1n, true, {}, [own], { valueOf: () => own });
    numbers.push(...bits, ...bits.map((bit) => own + bit));
    for (const number of numbers) {
      if (number === own) continue;
      const error = leavingNothing(() => thrownBy(() => read(withHandle(tensor, number))));
      expect([number, CODES]).toEqual([number, expect.arrayContaining([Reflect.get(Object(error), 'code')])]);
    }
    expect(tensor.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
  });

  test.each(Object.entries(READS))(
    '%s of an object with the metadata of one tensor and the handle of another stays inside the other',
    (_, read) => {
      using large = Tensor.from(new Float64Array(100_000), { shape: [100, 1000] });
      using small = Tensor.from(Uint8Array.of(1, 2, 3));
      using owned = OwnedTensor.from(Uint8Array.of(1, 2, 3));
      const handle = (tensor: Tensor | OwnedTensor): unknown => Reflect.get(tensor, handleKeyOf(tensor));
      for (const chimera of [withHandle(large, handle(small)), withHandle(large, handle(owned))]) {
        const before = stats();
        let result: unknown;
        try {
          result = read(chimera);
        } catch (error) {
          expect(CODES.includes(String(Reflect.get(Object(error), 'code'))) || error instanceof RangeError).toBe(true);
        }
        // Whatever it is, it holds no byte that is not of the three.
        if (ArrayBuffer.isView(result)) expect(result.buffer.byteLength).toBeGreaterThanOrEqual(result.byteLength);
        small.releaseViews();
        expect({ ...stats(), views: 0 }).toEqual({ ...before, views: 0 });
      }
      expect([small.toArray(), [...owned.data], large.at(99, 999)]).toEqual([[1, 2, 3], [1, 2, 3], 0]);
    },
  );

  test('a copy of a tensor that is disposed twice, and a copy of a dead one, find nothing', () => {
    const tensor = Tensor.from(ramp(3));
    const copy = withHandle(tensor, Reflect.get(tensor, handleKeyOf(tensor)));
    copy.dispose();
    expect(tensor.disposed).toBe(true);
    tensor.dispose();
    // The slot has another tensor now; the old numbers must not reach it.
    using next = Tensor.from(ramp(5));
    for (const dead of [tensor, copy, withHandle(tensor, Reflect.get(tensor, handleKeyOf(tensor)))]) {
      expectStateError(() => dead.at(0), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
      dead.dispose();
    }
    expect(next.toArray()).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('tampered prototypes', () => {
  test('a tensor that is given the prototype of the other class is refused, and stays what it is', () => {
    using tensor = Tensor.from(ramp(3));
    using view = tensor.slice();
    Object.setPrototypeOf(tensor, OwnedTensor.prototype);
    const posing = tensor as unknown as OwnedTensor;
    for (const use of [
      () => posing.data,
      () => posing.bits,
      () => posing.fill(9),
      () => posing.set([9]),
      () => posing.freeze(),
      () => posing.transfer(),
      () => posing.lend(() => 1),
      () => posing.withView(() => 1),
      () => posing.__dlpack__({ max_version: [1, 3] }),
      () => fromDLPack(posing),
    ]) {
      expect(CODES).toContain(Reflect.get(Object(leavingNothing(() => thrownBy(use))), 'code'));
    }
    expect(view.toArray()).toEqual([0, 1, 2]);
    Object.setPrototypeOf(tensor, Tensor.prototype);
    expect(tensor.toArray()).toEqual([0, 1, 2]);
  });

  test('a replaced Symbol.dispose releases nothing twice, and its absence leaks nothing', () => {
    const released: string[] = [];
    const tensor = Tensor.from(ramp(3));
    Object.defineProperty(tensor, Symbol.dispose, {
      value: () => {
        released.push('mine');
        tensor.dispose();
        tensor.dispose();
      },
    });
    {
      using used = tensor;
      expect(used.at(2)).toBe(2);
    }
    expect([released, tensor.disposed]).toEqual([['mine'], true]);
    const bare = Object.setPrototypeOf(Tensor.from(ramp(3)), null) as object;
    // oxlint-disable-next-line unbound-method -- the receiver is given
    Reflect.apply(Tensor.prototype.dispose, bare, []);
    expect(stats().tensors).toBe(0);
  });

  test('replaced members of one tensor are used as they are, and reach no memory by it', () => {
    using tensor = Tensor.from(ramp(3));
    using other = Tensor.from(ramp(2));
    Object.defineProperty(tensor, '__dlpack__', { value: (options: object) => other.__dlpack__(options) });
    using imported = fromDLPack(tensor);
    expect(imported.toArray()).toEqual([0, 1]);
    Object.defineProperty(tensor, 'shape', { value: [1_000_000] });
    Object.defineProperty(tensor, 'size', { value: 1_000_000 });
    expect([tensor.toArray(), tensor.toTypedArray().length]).toEqual([[0, 1, 2], 3]);
  });

  test('Reflect.construct, new, and a subclass that calls super twice make no tensor', () => {
    for (const made of [Tensor, OwnedTensor]) {
      const constructor = made as unknown as new (...args: unknown[]) => object;
      for (const args of [[], [undefined, 1], [Symbol('node-dlpack.construct'), 1, {}], [null, NaN, null]]) {
        expectTypeError(() => Reflect.construct(constructor, args), /not constructed with new/);
        expectTypeError(() => Reflect.construct(constructor, args, Object), /not constructed with new/);
      }
      class Twice extends constructor {
        constructor() {
          super();
          // oxlint-disable-next-line constructor-super -- this is what is tested
          super();
        }
      }
      expectTypeError(() => new Twice(), /not constructed with new/);
      const shell = Reflect.construct(Object, [], constructor) as Tensor;
      expect(shell).toBeInstanceOf(made);
      for (const use of [() => shell.shape, () => shell.dispose(), () => fromDLPack(shell)]) {
        expect(Reflect.get(Object(thrownBy(use)), 'code')).toBe('ERR_INVALID_ARG_TYPE');
      }
    }
  });

  test('who steals the construction key can make objects, and no memory behind them', () => {
    const base = Object.getPrototypeOf(Tensor) as object;
    const stolen: unknown[] = [];
    // oxlint-disable-next-line no-extraneous-class -- it stands where a base class stood
    class Thief {
      constructor(...args: unknown[]) {
        stolen.push(...args);
      }
    }
    Object.setPrototypeOf(Tensor, Thief);
    try {
      expect(thrownBy(() => Tensor.from(ramp(3)).toArray())).toBeDefined();
    } finally {
      Object.setPrototypeOf(Tensor, base);
    }
    const [key, handle, metadata] = stolen;
    expect([typeof key, typeof handle]).toEqual(['symbol', 'number']);
    const rebuilt = Reflect.construct(Tensor, [key, handle, metadata]) as Tensor;
    expect(rebuilt.toArray()).toEqual([0, 1, 2]);
    for (const number of [0, 1, 2 ** 40, NaN, 'x', null]) {
      const forged = Reflect.construct(Tensor, [key, number, metadata]) as Tensor;
      expect(CODES).toContain(Reflect.get(Object(thrownBy(() => forged.toArray())), 'code'));
    }
    rebuilt.dispose();
  });
});

describe('tokens', () => {
  test('guessed ones are refused, near misses of a real one too, and it is still good', () => {
    using tensor = Tensor.from(ramp(3));
    const token = tensor.share();
    const guesses = [
      '',
      ' ',
      token.toUpperCase() === token ? `${token} ` : token.toUpperCase(),
      ` ${token}`,
      `${token}\u0000`,
      token.slice(1),
      `${token}0`,
      token.repeat(2),
      ...Array.from(
        token,
        (digit, place) => token.slice(0, place) + (digit === '0' ? '1' : '0') + token.slice(place + 1),
      ),
      ...Array.from({ length: 10_000 }, () => `dlpack-${randomBytes(16).toString('hex')}`),
    ];
    for (const guess of guesses) {
      if (guess === token) continue;
      for (const claim of [Tensor.fromShared.bind(Tensor), OwnedTensor.fromTransfer.bind(OwnedTensor)]) {
        expect(Reflect.get(Object(thrownBy(() => claim(guess))), 'code')).toBe('ERR_DLPACK_TOKEN');
      }
    }
    Tensor.fromShared(token).dispose();
    expectStateError(() => Tensor.fromShared(token), 'ERR_DLPACK_TOKEN', /token/);
  });

  test('each is another, and says nothing of the one before', () => {
    using tensor = Tensor.from(ramp(3));
    const tokens = Array.from({ length: 2000 }, () => tensor.share());
    expect(new Set(tokens).size).toBe(tokens.length);
    // 128 random bits: each of the 32 digits takes every value.
    const digits = tokens.map((token) => /^dlpack-([0-9a-f]{32})$/.exec(token)?.[1] ?? '');
    for (let place = 0; place < 32; place += 1) expect(new Set(digits.map((digit) => digit[place])).size).toBe(16);
    for (const token of tokens) revokeToken(token);
    for (const token of tokens.slice(0, 10))
      expectStateError(() => Tensor.fromShared(token), 'ERR_DLPACK_TOKEN', /token/);
  });

  test('one of a share makes no owner, and one of a transfer no tensor', () => {
    using tensor = Tensor.from(ramp(3));
    const share = tensor.share();
    expectStateError(() => OwnedTensor.fromTransfer(share), 'ERR_DLPACK_TOKEN', /share/);
    revokeToken(share);
    const transfer = OwnedTensor.from(ramp(3)).transfer();
    expectStateError(() => Tensor.fromShared(transfer), 'ERR_DLPACK_TOKEN', /transfer/);
    OwnedTensor.fromTransfer(transfer).dispose();
  });
});

test('other Externals are no capsules: the exchange table, and one of another kind', () => {
  const table = Tensor.__dlpack_c_exchange_api__;
  expect(capsuleName(table)).toBeUndefined();
  expectTypeError(() => fromDLPack(table), /fromDLPack/);
  expectTypeError(() => fromDLPack({ __dlpack__: () => table, __dlpack_device__: () => [1, 0] }), /capsule/);
  expectTypeError(() => releaseCapsule(table), /capsule/);
});

test('no address and nothing native is among the public names, and the inner modules cannot be reached', () => {
  expect(Object.keys(root).filter((name) => /pointer|address|native|scratch|ring|handle/i.test(name))).toEqual([]);
  for (const inner of ['dist/native.js', 'dist/native', 'lib/native', 'build/Release/node_dlpack.node']) {
    expect(thrownBy(() => require.resolve(`node-dlpack/${inner}`))).toBeDefined();
  }
  expect(Object.keys(Tensor.from([1]).intoDLPack())).toEqual([]);
});

test.each(['polluted', 'accessors', 'indices', 'no-registry', 'no-immediate', 'own-realm-globals'])(
  'a process whose globals somebody has replaced: %s',
  async (way) => {
    const { code, signal, output } = await runChild('replaced-globals', [way]);
    expect({ code, signal, output }).toEqual({ code: 0, signal: null, output: 'as it should be\n' });
  },
);
