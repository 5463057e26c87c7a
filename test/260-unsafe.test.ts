/** `node-dlpack/unsafe`: addresses in and out, views without a guard, JavaScript memory without a copy. */
import { describe, expect, test } from '@jest/globals';
import { Worker } from 'node:worker_threads';
import path = require('node:path');
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../dist/index.js';
import {
  adopt,
  dataAddress,
  fromPointer,
  makeCapsule,
  takePointer,
  unsafeView,
  type PointerOptions,
} from '../dist/unsafe.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import {
  expectBufferError,
  expectRangeError,
  expectStateError,
  expectTypeError,
  leavingNothing,
} from './support/refusals.js';
import { detachedArray, sample } from './support/values.js';

expectCountersAtZero();

/** Calls a function with arguments that its type forbids. */
function call(fn: (...args: never[]) => unknown, ...args: unknown[]): unknown {
  return Reflect.apply(fn, undefined, args);
}

/** The first call of `stats()` after the last alias is gone delivers the release. */
function settled(): void {
  stats();
}

describe('takePointer and makeCapsule', () => {
  test('carry a managed tensor out of a capsule and into another, with its ownership', () => {
    using tensor = sample();
    for (const [options, versioned, name] of [
      [{ max_version: [1, 3] }, true, 'dltensor_versioned'],
      [{ copy: true }, false, 'dltensor'],
    ] as const) {
      const capsule = tensor.__dlpack__(options);
      const pointer = takePointer(capsule);
      expect([
        typeof pointer.address,
        pointer.address > 0n,
        pointer.versioned,
        capsuleName(capsule),
        stats().exports,
      ]).toEqual(['bigint', true, versioned, `used_${name}`, 1]);
      leavingNothing(() =>
        expectStateError(() => takePointer(capsule), 'ERR_DLPACK_CONSUMED', 'Capsule already consumed'),
      );
      const again = makeCapsule(pointer);
      expect(capsuleName(again)).toBe(name);
      releaseCapsule(again);
      expect(stats().exports).toBe(0);
    }
  });

  test('refuse what is none', () => {
    for (const value of [undefined, null, 1, {}, sample])
      expectTypeError(() => call(takePointer, value), /neither a DLPack capsule|takePointer/);
    expectTypeError(() => call(makeCapsule), 'makeCapsule was given undefined; it takes { address, versioned }');
    expectTypeError(() => call(makeCapsule, 1n), /makeCapsule was given 1n/);
    expectTypeError(
      () => call(makeCapsule, { address: 1, versioned: true }),
      'address is 1; it must be a bigint, since a number cannot hold every address',
    );
    expectTypeError(() => call(makeCapsule, { address: 8n }), /versioned is undefined; it must be true or false/);
    expectRangeError(
      () => makeCapsule({ address: -1n, versioned: true }),
      'address is -1n; it must be from 0n to 18446744073709551615n',
    );
    expectRangeError(() => makeCapsule({ address: 2n ** 64n, versioned: true }), /address is 18446744073709551616n/);
    expectRangeError(
      () => makeCapsule({ address: 0n, versioned: true }),
      'address is 0n; it must be the address of memory',
    );
  });
});

describe('dataAddress', () => {
  test('is where the first logical element lies; no alias is counted', () => {
    using tensor = sample();
    using row = tensor.slice(1);
    using flipped = tensor.flip(0);
    using empty = Tensor.from(new Int8Array(0));
    using owned = OwnedTensor.allocate([1], 'int8');
    const base = dataAddress(tensor);
    expect([dataAddress(row) - base, dataAddress(flipped) - base, dataAddress(empty), dataAddress(owned) > 0n]).toEqual(
      [12n, 12n, 0n, true],
    );
    expect(stats().views).toBe(0);
  });

  test('refuses what is no live tensor', () => {
    const gone = sample();
    gone.dispose();
    expectStateError(() => dataAddress(gone), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
    expectTypeError(() => call(dataAddress, {}), 'dataAddress was given an object; it takes a Tensor or OwnedTensor');
    expectTypeError(() => call(dataAddress), /dataAddress was given undefined/);
  });
});

/** Memory of an owner, as if it were somebody else's. */
function pointed(options: Partial<PointerOptions<'float32'>> = {}): {
  tensor: Tensor<'float32'>;
  owned: OwnedTensor<'float32'>;
  released: () => number;
} {
  const owned = OwnedTensor.from(Float32Array.of(0, 1, 2, 3, 4, 5));
  let count = 0;
  const release = (): void => void (count += 1);
  const tensor = fromPointer({ address: dataAddress(owned), shape: [2, 3], dtype: 'float32', release, ...options });
  return { tensor, owned, released: () => count };
}

describe('fromPointer', () => {
  test('is a tensor over the memory, in place, read-only and never unique', () => {
    const { tensor, owned, released } = pointed();
    expect([dataAddress(tensor), tensor.readOnly, tensor.isUnique, tensor.toArray(), tensor.zeroCopy]).toEqual([
      dataAddress(owned),
      true,
      false,
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
      true,
    ]);
    expectBufferError(() => tensor.intoDLPack(), /cannot move out/);
    expect(released()).toBe(0);
    tensor.dispose();
    settled();
    expect(released()).toBe(1);
    settled();
    expect(released()).toBe(1);
    owned.dispose();
  });

  test('release comes after the last holder, whoever that is', () => {
    const { tensor, owned, released } = pointed();
    const capsule = tensor.__dlpack__({ max_version: [1, 0] });
    const slice = tensor.slice(0);
    tensor.dispose();
    slice.dispose();
    settled();
    expect(released()).toBe(0);
    releaseCapsule(capsule);
    settled();
    expect(released()).toBe(1);
    owned.dispose();
  });

  test('with strides, also negative ones, from the first logical element', () => {
    const owned = OwnedTensor.from(Float32Array.of(0, 1, 2, 3, 4, 5));
    using tensor = fromPointer({
      address: dataAddress(owned) + 20n,
      shape: [2, 3],
      strides: [-3, -1],
      dtype: 'float32',
      release: () => owned.dispose(),
    });
    expect(tensor.toArray()).toEqual([
      [5, 4, 3],
      [2, 1, 0],
    ]);
  });

  test('readOnly: false makes a writable loan', () => {
    const { tensor, owned } = pointed({ readOnly: false });
    tensor.view({ writable: true })[0] = 9;
    expect([tensor.readOnly, owned.at(0)]).toEqual([false, 9]);
    tensor.dispose();
    owned.dispose();
  });

  test('an empty shape needs no address', () => {
    using tensor = fromPointer({ address: 0n, shape: [0], dtype: 'int8', release: () => undefined });
    expect([tensor.size, dataAddress(tensor)]).toEqual([0, 0n]);
  });

  test("after an error the memory stays the caller's: release is not called", () => {
    let released = 0;
    const good = { address: 4096n, shape: [2], dtype: 'float32', release: (): void => void (released += 1) };
    const give = (change: object): unknown => call(fromPointer, { ...good, ...change });
    leavingNothing(() =>
      expectTypeError(() => call(fromPointer), /fromPointer was given undefined; it takes \{ address, shape/),
    );
    leavingNothing(() => expectTypeError(() => give({ address: 4096 }), /address is 4096; it must be a bigint/));
    leavingNothing(() => expectRangeError(() => give({ address: -1n }), /address is -1n/));
    leavingNothing(() =>
      expectRangeError(() => give({ address: 0n }), 'address is 0n; it must be the address of memory'),
    );
    leavingNothing(() => expectRangeError(() => give({ address: 4098n }), /data lies 2 bytes past a multiple of 4/));
    leavingNothing(() => expectTypeError(() => give({ shape: 2 }), /shape is 2/));
    leavingNothing(() => expectRangeError(() => give({ shape: [-1] }), 'shape[0] is -1; extents must be >= 0'));
    leavingNothing(() => expectTypeError(() => give({ strides: 'x' }), /strides is 'x'/));
    leavingNothing(() => expectRangeError(() => give({ strides: [1, 1] }), /strides has 2 entries/));
    leavingNothing(() =>
      expectRangeError(() => give({ shape: [1024], strides: [2 ** 53 - 1] }), /strides\[0\] is 9007199254740991/),
    );
    leavingNothing(() => expectTypeError(() => give({ dtype: undefined }), /dtype is undefined/));
    leavingNothing(() => expectRangeError(() => give({ dtype: 'float31' }), /dtype is 'float31'/));
    leavingNothing(() => expectTypeError(() => give({ readOnly: 1 }), 'readOnly is 1; it must be true or false'));
    leavingNothing(() =>
      expectTypeError(() => give({ release: undefined }), 'release is undefined; it must be a function'),
    );
    settled();
    expect(released).toBe(0);
  });
});

describe('unsafeView', () => {
  test("writes through whatever the flags say, as the tensor's own view", () => {
    using tensor = sample();
    const view = unsafeView(tensor);
    view[0] = 9;
    expect([tensor.at(0, 0), tensor.view() === view, stats().views]).toEqual([9, true, 1]);
    unsafeView(tensor, { bits: true })[1] = 0;
    expect(tensor.at(0, 1)).toBe(0);
    tensor.releaseViews();
    expect(view.length).toBe(0);
  });

  test('refuses what is none', () => {
    using owned = OwnedTensor.allocate([1], 'int8');
    for (const value of [undefined, {}, owned])
      expectTypeError(() => call(unsafeView, value), /unsafeView was given .*; it takes a Tensor/);
    using turned = sample().transpose();
    expectBufferError(() => unsafeView(turned), /unsafeView needs a contiguous tensor/);
    using bf16 = Tensor.from([1], { dtype: 'bfloat16' });
    expectBufferError(() => call(unsafeView, bf16), /unsafeView\(tensor, \{ bits: true \}\)/);
    expectTypeError(() => call(unsafeView, bf16, { bits: 1 }), /bits is 1/);
  });
});

describe('adopt', () => {
  test('exports the memory of a typed array itself, pinned as long as anything holds it', async () => {
    let source: Float32Array<ArrayBuffer> | undefined = Float32Array.of(1, 2, 3, 4);
    const tensor = adopt(source, { shape: [2, 2] });
    source[3] = 9;
    expect([tensor.toArray(), tensor.readOnly, tensor.isUnique, tensor.dtype, tensor.zeroCopy]).toEqual([
      [
        [1, 2],
        [3, 9],
      ],
      true,
      false,
      'float32',
      true,
    ]);
    expectBufferError(() => tensor.intoDLPack(), /cannot move out/);
    source = undefined;
    await collectUntil(() => true);
    expect(tensor.at(1, 1)).toBe(9);
    tensor.dispose();
  });

  test('its buffer can no longer be transferred', () => {
    const source = Float32Array.of(1, 2);
    using tensor = adopt(source);
    try {
      structuredClone(source.buffer, { transfer: [source.buffer] });
    } catch (error) {
      expect(error).toMatchObject({ name: 'DataCloneError' });
    }
    expect([source.length, tensor.at(1)]).toEqual([2, 2]);
  });

  test('writable: true makes a writable loan', () => {
    const source = Uint8ClampedArray.of(1, 2);
    using tensor = adopt(source, { writable: true });
    using taken = fromDLPack(tensor);
    tensor.view({ writable: true })[1] = 7;
    expect([tensor.readOnly, source[1], tensor.dtype, taken.readOnly]).toEqual([false, 7, 'uint8', true]);
  });

  test('takes parts of buffers, pooled and shared ones', () => {
    const part = new Int32Array(new ArrayBuffer(32), 8, 2);
    const pooled = Buffer.from('abc');
    const shared = new Int16Array(new SharedArrayBuffer(4));
    for (const [source, length] of [
      [part, 2],
      [pooled, 3],
      [shared, 2],
    ] as const) {
      using tensor = adopt(source);
      expect(tensor.shape).toEqual([length]);
    }
  });

  test('refuses what it cannot pin or does not fit', () => {
    for (const value of [undefined, [1], new ArrayBuffer(4), new DataView(new ArrayBuffer(4)), 'x'])
      leavingNothing(() => expectTypeError(() => call(adopt, value), /adopt was given .*; it takes a typed array/));
    leavingNothing(() => expectTypeError(() => adopt(detachedArray(2)), /detached/));
    const source = new Float32Array(6);
    leavingNothing(() =>
      expectTypeError(
        () => call(adopt, source, 1),
        'adopt was given 1 as options; it takes an object: { shape, writable }',
      ),
    );
    leavingNothing(() =>
      expectTypeError(() => call(adopt, source, { writable: 'yes' }), "writable is 'yes'; it must be true or false"),
    );
    leavingNothing(() => expectTypeError(() => call(adopt, source, { shape: 6 }), /shape is 6/));
    leavingNothing(() =>
      expectRangeError(() => adopt(source, { shape: [4] }), 'shape is [4], 4 elements; the typed array has 6'),
    );
    leavingNothing(() => expectRangeError(() => adopt(source, { shape: [7] }), /shape is \[7\]/));
    leavingNothing(() => expectRangeError(() => adopt(source, { shape: [-6] }), /shape\[0\] is -6/));
  });

  test('works on the main thread only', async () => {
    const worker = new Worker(
      `const { adopt } = require(${JSON.stringify(path.join(__dirname, '../dist/unsafe.js'))});
       try { adopt(new Int8Array(1)); } catch (error) { require('node:worker_threads').parentPort.postMessage([error.code, error.message]); }`,
      { eval: true },
    );
    const answer = await new Promise((resolve) => {
      worker.once('message', resolve);
      worker.once('exit', resolve);
    });
    await worker.terminate();
    expect(answer).toEqual(['ERR_DLPACK_BUFFER', expect.stringMatching(/main thread only/)]);
  });
});
