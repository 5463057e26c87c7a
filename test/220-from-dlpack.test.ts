/**
 * `fromDLPack`: who is asked, how often and in what order, and the short way between two tensors of this library
 * against the long one.
 */
import { describe, expect, test } from '@jest/globals';
import {
  fromDLPack,
  OwnedTensor,
  releaseCapsule,
  stats,
  Tensor,
  type AnyOwnedTensor,
  type AnyTensor,
} from '../dist/index.js';
import { dataAddress, makeCapsule, takePointer } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { makeStruct } from './support/lab.js';
import {
  expectBufferError,
  expectRangeError,
  expectStateError,
  expectTypeError,
  leavingNothing,
  thrownBy,
} from './support/refusals.js';
import { sample } from './support/values.js';

expectCountersAtZero();

/** fromDLPack with arguments that its type forbids. */
function from(...args: unknown[]): unknown {
  return Reflect.apply(fromDLPack, undefined, args);
}

const noCapsule = (): object => ({});
const onCpu = (): number[] => [1, 0];
const general = (what: string): string =>
  `fromDLPack was given ${what}; it takes an object with __dlpack__ and __dlpack_device__, or a DLPack capsule`;

describe('a producer', () => {
  test('is asked for its device, then for a capsule, once each, as itself', () => {
    using tensor = sample();
    const asked: string[] = [];
    const producer = {
      get __dlpack__() {
        asked.push('get __dlpack__');
        return function (this: unknown, options: unknown) {
          expect(this).toBe(producer);
          expect(options).toEqual({ max_version: [1, 3] });
          asked.push('__dlpack__');
          return tensor.__dlpack__({ max_version: [1, 3] });
        };
      },
      get __dlpack_device__() {
        asked.push('get __dlpack_device__');
        return function (this: unknown, ...args: unknown[]) {
          expect([this, args]).toEqual([producer, []]);
          asked.push('__dlpack_device__');
          return [1, 0];
        };
      },
    };
    using taken = fromDLPack(producer);
    expect(taken.toArray()).toEqual(tensor.toArray());
    expect(asked).toEqual(['get __dlpack__', 'get __dlpack_device__', '__dlpack_device__', '__dlpack__']);
  });

  test('may be a function or a class instance with inherited members', () => {
    using tensor = sample();
    class Base {
      __dlpack__(options?: object): object {
        return tensor.__dlpack__(options);
      }
      __dlpack_device__(): number[] {
        return [1, 0];
      }
    }
    class Derived extends Base {}
    using first = fromDLPack(new Derived());
    const callable = Object.assign(() => 0, {
      __dlpack__: (options: object) => tensor.__dlpack__(options),
      __dlpack_device__: () => [1, 0],
    });
    using second = fromDLPack(callable);
    expect([first.at(1, 2), second.at(1, 2)]).toEqual([5, 5]);
  });

  test('what it throws reaches the caller as it is', () => {
    const own = new TypeError('mine');
    const fail = (): never => {
      throw own;
    };
    expect(thrownBy(() => fromDLPack({ __dlpack__: fail, __dlpack_device__: () => [1, 0] }))).toBe(own);
    expect(thrownBy(() => fromDLPack({ __dlpack__: () => ({}), __dlpack_device__: fail }))).toBe(own);
  });

  test('that is none is refused, and the text says what was found', () => {
    for (const [value, what] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [1, '1'],
      ['x', "'x'"],
      [1n, '1n'],
      [true, 'true'],
      [Symbol('s'), 'a symbol'],
      [{}, 'an object'],
      [[], '[]'],
      [() => 0, 'a function'],
    ] as const) {
      expectTypeError(() => from(value), general(what));
    }
    expectTypeError(
      () => from({ __dlpack_device__: onCpu }),
      '__dlpack__ of the producer is undefined; it must be a function',
    );
    expectTypeError(
      () => from({ __dlpack__: 1, __dlpack_device__: onCpu }),
      '__dlpack__ of the producer is 1; it must be a function',
    );
    expectTypeError(
      () => from({ __dlpack__: noCapsule }),
      '__dlpack_device__ of the producer is undefined; it must be a function',
    );
    expectTypeError(
      () => from({ __dlpack__: noCapsule, __dlpack_device__: null }),
      '__dlpack_device__ of the producer is null; it must be a function',
    );
    for (const [answer, what] of [
      [{}, 'an object'],
      [undefined, 'undefined'],
      [1, '1'],
      [Promise.resolve(1), 'an object'],
    ] as const) {
      expectTypeError(
        () => from({ __dlpack__: () => answer, __dlpack_device__: onCpu }),
        `__dlpack__() returned ${what}; it must return a DLPack capsule`,
      );
    }
    for (const answer of [undefined, null, 1, 'cpu', [null, 0], [1, null], [1, '0'], [1.5, 0]]) {
      expectTypeError(
        () => from({ __dlpack__: noCapsule, __dlpack_device__: () => answer }),
        /__dlpack_device__\(\) is/,
      );
    }
    for (const answer of [[], [1], [1, 0, 0]]) {
      expectRangeError(
        () => from({ __dlpack__: noCapsule, __dlpack_device__: () => answer }),
        /numbers; it must return \[device type, device id\]/,
      );
    }
  });
});

describe('options', () => {
  test('are validated before the producer is called', () => {
    let called = 0;
    const producer = {
      __dlpack__: (): object => ((called += 1), {}),
      __dlpack_device__: (): number[] => ((called += 1), [1, 0]),
    };
    expectTypeError(() => from(producer, 1), 'fromDLPack was given 1 as options; it takes an object: { device, copy }');
    expectTypeError(() => from(producer, [true]), /as options/);
    expectTypeError(() => from(producer, { copy: 'yes' }), "copy is 'yes'; it must be true, false or null");
    expectRangeError(() => from(producer, { device: 'gpu' }), /device is 'gpu'/);
    expectTypeError(() => from(producer, { device: 1 }), /device is 1/);
    expectTypeError(() => from(producer, { device: [1] }), /device is \[1\]/);
    expectBufferError(() => from(producer, { device: [2, 0] }), /device is \[2, 0\]/);
    expect(called).toBe(0);
  });

  test('unknown ones are ignored', () => {
    using tensor = sample();
    const given: unknown = from(tensor, { order: 'C' });
    if (!(given instanceof Tensor)) throw new Error('no tensor');
    given.dispose();
  });
});

describe('a raw capsule', () => {
  test('is taken; a second time it was used', () => {
    using tensor = sample();
    const capsule = tensor.__dlpack__({ max_version: [1, 3] });
    using taken = fromDLPack(capsule);
    expect(dataAddress(taken)).toBe(dataAddress(tensor));
    leavingNothing(() =>
      expectStateError(() => fromDLPack(capsule), 'ERR_DLPACK_CONSUMED', 'Capsule already consumed'),
    );
  });

  test('follows copy: true and copy: false; device is only checked', () => {
    using tensor = sample();
    const capsule = (): object => tensor.__dlpack__({ max_version: [1, 3] });
    using mine = fromDLPack(capsule(), { copy: true });
    using shared = fromDLPack(capsule(), { copy: false, device: 'cpu' });
    expect([
      mine instanceof OwnedTensor,
      dataAddress(mine) === dataAddress(tensor),
      dataAddress(shared) === dataAddress(tensor),
    ]).toEqual([true, false, true]);
  });
});

/** The same exchange through a capsule, step by step. */
function longWay(
  tensor: Tensor<'float32'>,
  options: { copy?: boolean | null; device?: 'cpu' | null },
): AnyTensor | AnyOwnedTensor {
  return fromDLPack(
    { __dlpack__: (asked?: object) => tensor.__dlpack__(asked), __dlpack_device__: () => tensor.__dlpack_device__() },
    options,
  );
}

function picture(made: AnyTensor | AnyOwnedTensor, source: Tensor<'float32'>): unknown {
  const {
    shape,
    strides,
    ndim,
    size,
    dtype,
    byteLength,
    device,
    readOnly,
    isContiguous,
    isUnique,
    zeroCopy,
    consumed,
    disposed,
  } = made;
  const flags = { readOnly, isContiguous, isUnique, zeroCopy, consumed, disposed };
  return {
    kind: made.constructor.name,
    shape,
    strides,
    ndim,
    size,
    dtype,
    byteLength,
    device,
    flags,
    same: dataAddress(made) === dataAddress(source),
    stats: stats(),
  };
}

describe('the short way between our own tensors', () => {
  const sources: [string, (use: (tensor: Tensor<'float32'>) => void) => void][] = [
    ['copied', (use) => use(sample())],
    ['frozen', (use) => use(OwnedTensor.from([[0, 1, 2]], { dtype: 'float32' }).freeze())],
    [
      'slice',
      (use) => {
        using whole = sample();
        use(whole.slice(null, [null, null, 2]));
      },
    ],
    [
      'transposed',
      (use) => {
        using whole = sample();
        use(whole.transpose());
      },
    ],
    [
      'flipped',
      (use) => {
        using whole = sample();
        use(whole.flip(0));
      },
    ],
    [
      'broadcast',
      (use) => {
        using whole = sample();
        use(whole.broadcastTo([2, 2, 3]));
      },
    ],
    ['0-d', (use) => use(OwnedTensor.allocate([], 'float32').freeze())],
    ['empty', (use) => use(OwnedTensor.allocate([0, 7], 'float32').freeze())],
    [
      'size-1 axis',
      (use) => {
        using whole = sample();
        use(whole.slice([0, 1], [1, 2]));
      },
    ],
    [
      'lent',
      (use) => {
        using owned = OwnedTensor.allocate([2], 'float32');
        owned.lend((loan) => use(loan));
      },
    ],
    [
      'lent writable',
      (use) => {
        using owned = OwnedTensor.allocate([2], 'float32');
        owned.lend((loan) => use(loan), { writable: true });
      },
    ],
    [
      'slice of a writable loan',
      (use) => {
        using owned = OwnedTensor.allocate([2], 'float32');
        owned.lend((loan) => use(loan.slice([0, 1])), { writable: true });
      },
    ],
  ];

  for (const [name, withSource] of sources) {
    for (const copy of [undefined, null, true, false]) {
      for (const device of [undefined, 'cpu'] as const) {
        test(`is the long way: ${name}, copy ${copy}, device ${device}`, () => {
          withSource((tensor) => {
            const options = { ...(copy === undefined ? {} : { copy }), ...(device === undefined ? {} : { device }) };
            const long = longWay(tensor, options);
            const expected = picture(long, tensor);
            long.dispose();
            const short = fromDLPack(tensor, options);
            expect(picture(short, tensor)).toEqual(expected);
            short.dispose();
            tensor.dispose();
          });
        });
      }
    }
  }

  test.each([true, false])(
    'refuses in the words of the long way what the host cannot read (versioned %s)',
    (versioned) => {
      using tensor = fromDLPack(makeStruct({ device: [2, 0], versioned }).producer());
      for (const options of [{ copy: true }, { device: 'cpu' as const }, { device: 'cpu' as const, copy: true }]) {
        const producer = {
          __dlpack__: (asked?: object) => tensor.__dlpack__(asked),
          __dlpack_device__: () => tensor.__dlpack_device__(),
        };
        const long = expectBufferError(() => fromDLPack(producer, options), /cuda:0/);
        expectBufferError(() => fromDLPack(tensor, options), long.message);
      }
    },
  );

  test('is not taken when a protocol member was replaced on the instance', () => {
    using tensor = sample();
    let asked = 0;
    Object.defineProperty(tensor, '__dlpack__', {
      value: (options: object) => {
        asked += 1;
        return Tensor.prototype.__dlpack__.call(tensor, options);
      },
    });
    using taken = fromDLPack(tensor);
    expect([asked, taken.at(1, 2)]).toEqual([1, 5]);
    using other = sample();
    Object.defineProperty(other, '__dlpack_device__', { value: () => ((asked += 1), [1, 0]) });
    using too = fromDLPack(other);
    expect([asked, too.at(1, 2)]).toEqual([2, 5]);
  });

  test('is not taken when the prototype was changed, and is again afterwards', () => {
    using tensor = sample();
    const original = Object.getOwnPropertyDescriptor(Tensor.prototype, '__dlpack__');
    if (original === undefined) throw new Error('no __dlpack__');
    const own = new Error('replaced');
    Object.defineProperty(Tensor.prototype, '__dlpack__', {
      ...original,
      value: () => {
        throw own;
      },
    });
    try {
      expect(thrownBy(() => fromDLPack(tensor))).toBe(own);
    } finally {
      Object.defineProperty(Tensor.prototype, '__dlpack__', original);
    }
    fromDLPack(tensor).dispose();
  });

  test('an options getter that disposes the tensor gets the state error', () => {
    const tensor = sample();
    const options = {
      get copy(): null {
        tensor.dispose();
        return null;
      },
    };
    expectStateError(() => fromDLPack(tensor, options), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
  });
});

test('a struct that went through takePointer and makeCapsule comes home to its block', () => {
  using tensor = sample();
  const capsule = makeCapsule(takePointer(tensor.__dlpack__({ max_version: [1, 3] })));
  using back = fromDLPack(capsule);
  expect([dataAddress(back), stats().blocks]).toEqual([dataAddress(tensor), 1]);
  releaseCapsule(capsule);
});
