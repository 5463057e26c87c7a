/** `OwnedTensor.lend`: memory that is shared for a while, and the owner's again afterwards. */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, fromDLPack, scope, stats, Tensor } from '../dist/index.js';
import { dataAddress, makeCapsule, takePointer, unsafeView } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectBufferError, expectStateError, expectTypeError, thrownBy } from './support/refusals.js';
import { callWith as call, ownedSample as sample } from './support/values.js';

expectCountersAtZero();

describe('a loan', () => {
  test('is a Tensor over the memory, and the result passes through', () => {
    using owned = sample();
    const address = dataAddress(owned);
    const result = owned.lend((loan) => {
      expect([loan instanceof Tensor, loan.readOnly, dataAddress(loan), loan.toArray()]).toEqual([
        true,
        true,
        address,
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ]);
      return loan.at(1, 2);
    });
    expect([result, owned.at(1, 2), owned.isUnique]).toEqual([5, 5, true]);
  });

  test('is read-only unless it is lent writable, and so is what is imported from it', () => {
    using owned = sample();
    for (const writable of [false, true]) {
      owned.lend(
        (loan) => {
          using direct = fromDLPack(loan);
          using slice = loan.slice(0);
          using through = fromDLPack(loan.__dlpack__({ max_version: [1, 3] }));
          expect([loan, direct, slice, through].map((tensor) => tensor.readOnly)).toEqual([
            !writable,
            !writable,
            !writable,
            !writable,
          ]);
          if (writable) direct.slice(1).view({ writable: true });
        },
        { writable },
      );
    }
  });

  test("writes of a writable loan are the owner's at once", () => {
    using owned = sample();
    const { data } = owned;
    owned.lend(
      (loan) => {
        loan.view({ writable: true })[0] = 9;
        expect([data[0], owned.at(0, 0)]).toEqual([9, 9]);
      },
      { writable: true },
    );
    expect([owned.data === data, data[0], data.length]).toEqual([true, 9, 6]);
  });

  test('the same frame can be lent for ever; data is never detached and memory never moves', () => {
    using owned = sample();
    const { data } = owned;
    const address = dataAddress(owned);
    for (let i = 0; i < 5000; i++) {
      data[0] = i;
      expect(owned.lend((loan) => fromDLPack(loan).slice(0, 0).at())).toBe(i);
    }
    expect([data.length, dataAddress(owned), stats().tensors]).toEqual([6, address, 1]);
  });
});

describe('while it is lent', () => {
  test('everything on the owner but metadata and at throws', () => {
    using owned = sample();
    const { data } = owned;
    owned.lend(() => {
      const uses: [string, () => unknown][] = [
        ['data', () => owned.data],
        ['bits', () => owned.bits],
        ['set', () => owned.set(1)],
        ['fill', () => owned.fill(1)],
        ['withView', () => owned.withView(() => 0)],
        ['lend', () => owned.lend(() => 0)],
        ['freeze', () => owned.freeze()],
        ['__dlpack__', () => owned.__dlpack__()],
        ['__dlpack__', () => fromDLPack(owned)],
        ['dispose', () => owned.dispose()],
        ['dispose', () => owned[Symbol.dispose]()],
        ['dataAddress', () => dataAddress(owned)],
      ];
      for (const [name, use] of uses)
        expectBufferError(use, `${name} is refused while the OwnedTensor is lent; wait until lend() has ended`);
      expect([
        owned.at(1, 2),
        owned.shape,
        owned.dtype,
        owned.isUnique,
        owned.disposed,
        owned.consumed,
        owned.__dlpack_device__(),
      ]).toEqual([5, [2, 3], 'float32', false, false, false, [1, 0]]);
    });
    expect([data.length, owned.isUnique]).toEqual([6, true]);
    owned.fill(1);
  });

  test('loans of different owners nest', () => {
    using first = sample();
    using second = sample();
    const sum = first.lend((a) => second.lend((b) => a.at(1, 2) + b.at(1, 1)));
    expect(sum).toBe(9);
  });

  test('a loan cannot be moved out', () => {
    using owned = sample();
    owned.lend((loan) => {
      expect(loan.isUnique).toBe(false);
      expectBufferError(() => loan.intoDLPack(), /cannot move out/);
    });
  });
});

describe('when the function ends', () => {
  test('the loan, everything made from it here and its unconsumed capsules are gone', () => {
    using owned = sample();
    const made: Tensor[] = [];
    let capsule: object | undefined;
    owned.lend((loan) => {
      made.push(
        loan,
        loan.slice(0),
        fromDLPack(loan),
        fromDLPack(loan.__dlpack__({ max_version: [1, 0] })),
        loan.slice(1).slice(0),
      );
      loan.view();
      capsule = loan.__dlpack__({ max_version: [1, 3] });
    });
    expect(made.map((tensor) => tensor.disposed)).toEqual([true, true, true, true, true]);
    for (const tensor of made) {
      expectStateError(() => tensor.toArray(), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
      expectStateError(() => tensor.view(), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
      tensor.dispose();
    }
    expect([capsuleName(capsule), stats()]).toMatchObject([
      'used_dltensor_versioned',
      { tensors: 1, exports: 0, views: 0 },
    ]);
    owned.fill(1);
  });

  test('a copy made inside stays', () => {
    using owned = sample();
    using copy = owned.lend((loan) => loan.copy());
    owned.fill(0);
    expect(copy.at(1, 2)).toBe(5);
  });

  test('while a consumer still holds the memory: BufferError with counts, and the owner stays locked until that ends', () => {
    const owned = sample();
    const held: { address: bigint; versioned: boolean }[] = [];
    const error = expectBufferError(
      () => owned.lend((loan) => void held.push(takePointer(loan.__dlpack__({ max_version: [1, 0] })))),
      /the loan has ended, but its memory is still held \(tensors: 0, exports: 1, views: 0, tokens: 0\)/,
    );
    expect(error.aliases).toEqual({ tensors: 0, exports: 1, views: 0, tokens: 0 });
    for (const use of [
      () => owned.data,
      () => owned.fill(0),
      () => owned.freeze(),
      () => owned.dispose(),
      () => owned.lend(() => 0),
    ]) {
      expectBufferError(use, /lent|still held/);
    }
    expect([owned.at(1, 2), owned.isUnique]).toEqual([5, false]);
    const [pointer] = held;
    if (pointer === undefined) throw new Error('nothing held');
    fromDLPack(makeCapsule(pointer)).dispose();
    expect(owned.isUnique).toBe(true);
    expect(owned.data[5]).toBe(5);
    owned.dispose();
  });

  test('an error of the function wins, and the loan ends', () => {
    using owned = sample();
    const own = new Error('mine');
    let loan: Tensor | undefined;
    expect(
      thrownBy(() =>
        owned.lend((given) => {
          loan = given;
          throw own;
        }),
      ),
    ).toBe(own);
    expect([loan?.disposed, owned.isUnique]).toEqual([true, true]);
    let pointer: { address: bigint; versioned: boolean } | undefined;
    const locked = sample();
    expect(
      thrownBy(() =>
        locked.lend((given) => {
          pointer = takePointer(given.__dlpack__({ max_version: [1, 0] }));
          throw own;
        }),
      ),
    ).toBe(own);
    expectBufferError(() => locked.fill(1), /still held/);
    if (pointer === undefined) throw new Error('nothing held');
    fromDLPack(makeCapsule(pointer)).dispose();
    locked.fill(1);
    locked.dispose();
  });
});

describe('asynchronous', () => {
  test('the loan lasts as long as the promise', async () => {
    const owned = sample();
    let finish: (() => void) | undefined;
    let loan: Tensor<'float32'> | undefined;
    const result = owned.lend(async (given) => {
      loan = given;
      await new Promise<void>((resolve) => (finish = resolve));
      return given.at(1, 2);
    });
    expect(loan?.disposed).toBe(false);
    expectBufferError(() => owned.dispose(), /lent/);
    finish?.();
    expect(await result).toBe(5);
    expect([loan?.disposed, owned.isUnique]).toEqual([true, true]);
    owned.dispose();
  });

  test('a rejection ends it and reaches the caller as it is', async () => {
    const owned = sample();
    const own = new Error('mine');
    await expect(owned.lend(() => Promise.reject(own))).rejects.toBe(own);
    owned.dispose();
  });

  test('a consumer that still holds the memory rejects the promise', async () => {
    const owned = sample();
    let pointer: { address: bigint; versioned: boolean } | undefined;
    await expect(
      owned.lend((loan) => {
        pointer = takePointer(loan.__dlpack__({ max_version: [1, 0] }));
        return Promise.resolve();
      }),
    ).rejects.toMatchObject({ code: 'ERR_DLPACK_BUFFER', aliases: { exports: 1 } });
    if (pointer === undefined) throw new Error('nothing held');
    fromDLPack(makeCapsule(pointer)).dispose();
    owned.dispose();
  });

  test('a window over the loan that is still open keeps the owner locked', async () => {
    const owned = sample();
    let finish: (() => void) | undefined;
    let window: Promise<unknown> | undefined;
    expectBufferError(
      () =>
        owned.lend((loan) => void (window = loan.withView(() => new Promise<void>((resolve) => (finish = resolve))))),
      /withView|lent|held/,
    );
    expectBufferError(() => owned.fill(1), /withView|lent|held/);
    finish?.();
    await window;
    owned.fill(1);
    owned.dispose();
  });
});

describe('bad input', () => {
  test('is refused before anything is lent', () => {
    using owned = sample();
    expectTypeError(() => call(owned, 'lend'), 'lend was called with undefined; it takes a function');
    expectTypeError(() => call(owned, 'lend', {}), /it takes a function/);
    expectTypeError(
      () => call(owned, 'lend', () => 0, true),
      'lend was given true as options; it takes an object: { writable }',
    );
    expectTypeError(() => call(owned, 'lend', () => 0, { writable: 1 }), 'writable is 1; it must be true or false');
    expect(owned.isUnique).toBe(true);
  });

  test('an option getter that lends meanwhile finds it free, and so does the loan itself', () => {
    using owned = sample();
    const options = {
      get writable(): boolean {
        owned.lend((loan) => expect(loan.at(0, 1)).toBe(1));
        return false;
      },
    };
    expect(owned.lend((loan) => loan.at(0, 2), options)).toBe(2);
  });

  test('an unsafe view of a loan ends with it', () => {
    using owned = sample();
    let view: Float32Array | undefined;
    owned.lend((loan) => {
      view = unsafeView(loan);
      view[0] = 3;
    });
    expect([view?.length, owned.at(0, 0)]).toEqual([0, 3]);
  });

  test('a scope inside or around a loan disturbs nothing', () => {
    using owned = sample();
    expect(owned.lend((loan) => scope(() => loan.slice(0).at(1)))).toBe(1);
    expect(scope(() => owned.lend((loan) => loan.slice(1).at(1)))).toBe(4);
    expect(owned.isUnique).toBe(true);
  });
});
