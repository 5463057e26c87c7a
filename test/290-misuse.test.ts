/**
 * What nobody should do and somebody will: frozen tensors, Proxies, promises that answer twice, methods on the wrong
 * object, views that lie about themselves. Misuse of the main entry is an error or harmless; it never ends in a state
 * that cannot be.
 */
import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { fromDLPack, OwnedTensor, releaseCapsule, scope, Tensor } from '../dist/index.js';
import { dataAddress, fromPointer, takePointer, makeCapsule, unsafeView, adopt } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import {
  expectBufferError,
  expectRangeError,
  expectStateError,
  expectTypeError,
  thrownBy,
} from './support/refusals.js';
import { callWith } from './support/values.js';

expectCountersAtZero();

const VERSIONED = { max_version: [1, 3] } as const;

/** A promise with a `then` of its own, which calls back whenever it is told to. */
function answeringPromise(): { promise: Promise<number>; answer: () => void } {
  const callbacks: ((value: number) => unknown)[] = [];
  const promise = Promise.resolve(1);
  void Object.defineProperty(promise, 'then', {
    value: (callback: (value: number) => unknown) => {
      callbacks.push(callback);
      return new Promise(() => undefined);
    },
  });
  return { promise, answer: () => callbacks.forEach((callback) => callback(1)) };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

describe('a promise that answers twice', () => {
  test('ends its own loan once, and never the one that was begun since', async () => {
    const owned = OwnedTensor.allocate([4], 'float32');
    const first = answeringPromise();
    const result = owned.lend(() => first.promise);
    await turns();
    first.answer();
    expect(await result).toBe(1);
    let settle: () => void = () => undefined;
    const second = owned.lend(() => new Promise<void>((resolve) => (settle = resolve)));
    first.answer();
    await turns();
    expectBufferError(() => owned.fill(1), /is lent/);
    settle();
    await second;
    owned.fill(1);
    owned.dispose();
  });

  test.each([4, 0])('closes its own window of %i elements once', async (size) => {
    const tensor = Tensor.from(new Float32Array(size));
    const first = answeringPromise();
    const result = tensor.withView(() => first.promise);
    await turns();
    first.answer();
    first.answer();
    expect(await result).toBe(1);
    let settle: () => void = () => undefined;
    const second = tensor.withView(() => new Promise<void>((resolve) => (settle = resolve)));
    first.answer();
    await turns();
    expectBufferError(() => tensor.dispose(), /withView\(\) uses the memory \(1 open\)/);
    settle();
    await second;
    tensor.dispose();
  });
});

test.each([3, 0])(
  'isUnique is false while a window over %i elements is open, as intoDLPack would refuse',
  async (size) => {
    const tensor = Tensor.from(new Float32Array(size));
    let settle: () => void = () => undefined;
    const window = tensor.withView(() => new Promise<void>((resolve) => (settle = resolve)));
    expect(tensor.isUnique).toBe(false);
    expectBufferError(() => tensor.intoDLPack(), /withView/);
    settle();
    await window;
    expect(tensor.isUnique).toBe(true);
    tensor.intoDLPack().dispose();
  },
);

describe('a frozen tensor', () => {
  test('shows one view, and drops it', () => {
    using tensor = Object.freeze(Tensor.from(Float32Array.of(1, 2)));
    const view = tensor.view();
    expect([view[1], tensor.view() === view]).toEqual([2, true]);
    tensor.releaseViews();
    expect([view.length, tensor.view().length]).toEqual([0, 2]);
  });

  test('is disposed, once', () => {
    const tensor = Object.freeze(Tensor.from(Float32Array.of(1, 2)));
    const view = tensor.view();
    tensor.dispose();
    tensor.dispose();
    expect([tensor.disposed, tensor.consumed, view.length]).toEqual([true, false, 0]);
    expectStateError(() => tensor.at(0), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
  });

  test('moves its memory on, and knows it', () => {
    const tensor = Object.freeze(Tensor.from(Float32Array.of(1, 2)));
    const owned = Object.freeze(tensor.intoDLPack());
    expect([tensor.consumed, tensor.disposed, tensor.isUnique, owned.at(1)]).toEqual([true, false, false, 2]);
    expectStateError(() => tensor.slice(), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
    const again = owned.freeze();
    expect([owned.consumed, again.at(1)]).toEqual([true, 2]);
    expectStateError(() => owned.data, 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
    again.dispose();
  });

  test('that is an owner has one data, is lent, and goes with its one export', () => {
    const owned = Object.freeze(OwnedTensor.allocate([2], 'float32'));
    const data = owned.data;
    expect(owned.data).toBe(data);
    owned.lend((loan) => {
      expectBufferError(() => owned.fill(1), /is lent/);
      expect([loan.size, owned.isUnique]).toEqual([2, false]);
    });
    expect([owned.fill(3).at(1), data[0], owned.isUnique]).toEqual([3, 3, true]);
    releaseCapsule(owned.__dlpack__(VERSIONED));
    expect([owned.consumed, data.length]).toEqual([true, 0]);
    expectStateError(() => owned.__dlpack__(VERSIONED), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
  });
});

test('a tensor that ended with its loan says so whatever it is asked', () => {
  const owned = OwnedTensor.allocate([4], 'float32');
  let loan: Tensor | undefined;
  owned.lend((lent) => (loan = lent));
  owned.dispose();
  if (loan === undefined) throw new Error('no loan');
  const requests: [string, unknown[]][] = [
    ['at', ['x']],
    ['at', [0, 0]],
    ['at', [9]],
    ['slice', ['x']],
    ['to', ['double']],
    ['__dlpack__', ['x']],
    ['__dlpack__', [{ stream: 1 }]],
    ['__dlpack__', [{ dl_device: [2, 0] }]],
  ];
  for (const [method, args] of requests)
    expectStateError(() => callWith(loan ?? {}, method, ...args), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
});

describe('methods on the wrong object', () => {
  test.each(['slice', 'transpose', 'flip', 'contiguous', '__dlpack__', 'intoDLPack', 'share'])(
    "Tensor's %s refuses an owner, and changes nothing",
    (method) => {
      using owned = OwnedTensor.allocate([2], 'float32');
      const called: unknown = Reflect.get(Tensor.prototype, method);
      if (typeof called !== 'function') throw new Error(method);
      expectTypeError(
        () => Reflect.apply(called, owned, method === 'flip' ? [0] : []),
        `${method} was called on the wrong kind of tensor: methods of Tensor work on a Tensor, those of OwnedTensor on an ` +
          'OwnedTensor',
      );
      expect(owned.fill(1).isUnique).toBe(true);
    },
  );

  test.each([
    ['set', [1]],
    ['fill', [1]],
    ['freeze', []],
    ['lend', [() => 1]],
    ['withView', [() => 1]],
    ['transfer', []],
    ['__dlpack__', [VERSIONED]],
  ])("OwnedTensor's %s refuses a Tensor, and changes nothing", (method, args) => {
    using tensor = Tensor.from(Float32Array.of(1, 2));
    const called: unknown = Reflect.get(OwnedTensor.prototype, method);
    if (typeof called !== 'function') throw new Error(method);
    expectTypeError(() => Reflect.apply(called, tensor, args), /was called on the wrong kind of tensor/);
    expect([tensor.at(0), tensor.isUnique]).toEqual([1, true]);
  });

  test.each([
    [Tensor.prototype, 'Tensor {}'],
    [OwnedTensor.prototype, 'OwnedTensor {}'],
  ])('an object that was only given the prototype can be looked at', (prototype, text) => {
    const object = Object.create(prototype) as object;
    expect(inspect(object)).toBe(text);
    expect(inspect({ object })).toBe(`{ object: ${text} }`);
  });
});

test('what a Proxy around a tensor does in its traps leaves other tensors alone', () => {
  using tensor = Tensor.from(Float32Array.of(1, 2, 3));
  const made: Tensor[] = [];
  const proxy = new Proxy(tensor, {
    get(target, key) {
      made.push(Tensor.from(new Int8Array(5)));
      const value: unknown = Reflect.get(target, key, target);
      return value;
    },
  });
  for (let round = 0; round < 400; round += 1) {
    const imported = fromDLPack(proxy);
    expect([imported.dtype, imported.size]).toEqual(['float32', 3]);
    made.push(imported);
  }
  expect(made.length).toBeGreaterThan(1200); // more than wait for the collector at a time
  expect(made.filter((other) => other.disposed)).toEqual([]);
  for (const other of made) other.dispose();
});

test('a typed array that lies about its length and its buffer is taken for what it is', () => {
  class Liar extends Uint8Array<ArrayBuffer> {
    override get byteLength(): number {
      return 1000;
    }
    override get buffer(): ArrayBuffer {
      return new ArrayBuffer(1000);
    }
  }
  const bare = Object.setPrototypeOf(Uint8Array.of(1, 2), null) as Uint8Array;
  for (const data of [Liar.of(1, 2), bare]) {
    using tensor = Tensor.from(data);
    using adopted = adopt(data);
    expect([tensor.toArray(), adopted.toArray()]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  }
});

test('scope asks nothing of a thenable that it refuses', () => {
  let asked = 0;
  const lazy = { then: () => (asked += 1) };
  expectTypeError(() => callWith({ scope }, 'scope', () => lazy), /must be synchronous/);
  expect(asked).toBe(0);
});

test('view refuses foreign memory by name also when an unsafe view is open', () => {
  using owned = OwnedTensor.allocate([2], 'float32');
  using foreign = fromPointer({ address: dataAddress(owned), shape: [2], dtype: 'float32', release: () => undefined });
  expect(unsafeView(foreign).length).toBe(2);
  expectBufferError(() => foreign.view(), /view is refused: this memory came from outside/);
  expectBufferError(() => foreign.strided(), /strided is refused: this memory came from outside/);
  foreign.releaseViews();
});

test('what an owner refuses after its loan has ended says who still holds the memory', () => {
  const owned = OwnedTensor.allocate([2], 'float32');
  let taken: { address: bigint; versioned: boolean } | undefined;
  const left = thrownBy(() => owned.lend((loan) => (taken = takePointer(loan.__dlpack__(VERSIONED)))));
  expect(left).toMatchObject({ aliases: { exports: 1 } });
  for (const use of [() => owned.fill(1), () => owned.dispose(), () => owned.freeze()])
    expectBufferError(use, /the loan has ended, but its memory is still held \(tensors: 0, exports: 1,/);
  if (taken !== undefined) releaseCapsule(makeCapsule(taken));
  owned.dispose();
});

describe('set', () => {
  test('says that the specs were those of at', () => {
    using owned = OwnedTensor.allocate([2, 3], 'float32');
    expectRangeError(
      () => owned.set(1, { at: [0, 0, 0] }),
      'at was given 3 specs; the tensor has 2 axes (shape [2, 3])',
    );
  });

  test('takes for complex elements what fill and toArray know: numbers and [re, im]', () => {
    using owned = OwnedTensor.allocate([2, 2], 'complex64');
    owned.set(5);
    owned.set([1, 2], { at: [0, 0] });
    owned.set(
      [
        [3, 4],
        [5, 6],
      ],
      { at: [1] },
    );
    owned.set(1, { at: [0, 1] });
    expect([...owned.bits]).toEqual([1, 2, 1, 0, 3, 4, 5, 6]);
    expectTypeError(() => owned.set([1, 2, 3]), /the last axis must hold \[re, im\] pairs/);
    expectTypeError(() => owned.set(new Float32Array(2)), /only real dtypes convert/);
  });
});

test('fromPointer names the stride that leads out of the address space', () => {
  const release = (): void => undefined;
  expectRangeError(
    () => fromPointer({ address: 16n, shape: [2, 6], strides: [1, -1], dtype: 'int32', release }),
    /^strides\[1\] is -1; it leads to elements further away than addresses reach$/,
  );
  expectRangeError(
    () => fromPointer({ address: 2n ** 64n - 8n, shape: [6], dtype: 'int32', release }),
    /^strides\[0\] is 1; it leads/,
  );
});
