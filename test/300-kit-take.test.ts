/** The C kit as a consumer: node_dlpack_take and node_dlpack_borrow. */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, OwnedTensor, stats, Tensor } from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import { kit } from './support/kit-lab.js';
import { lab, makeStruct } from './support/lab.js';
import { thrownBy } from './support/refusals.js';

expectCountersAtZero();

const numbers = () => Tensor.from(new Float32Array([0, 1, 2, 3, 4, 5]), { shape: [2, 3] });

describe('take', () => {
  test('takes the struct of a capsule, and the capsule is used', () => {
    const struct = makeStruct({ flags: 0 });
    const capsule = struct.capsule();
    const managed = kit.take(capsule);
    expect(managed).toBe(struct.address);
    expect(capsuleName(capsule)).toBe('used_dltensor_versioned');
    expect(struct.deleterCalls).toBe(0);
    kit.release(managed);
    expect(struct.deleterCalls).toBe(1);
  });

  test('wraps a legacy struct, marks it READ_ONLY, and ends it with its own deleter', () => {
    const struct = makeStruct({ versioned: false, shape: [3, 2] });
    const managed = kit.take(struct.capsule());
    expect(kit.look(managed)).toMatchObject({ flags: 1, shape: [3, 2], strides: [2, 1], data: struct.data });
    expect(struct.deleterCalls).toBe(0);
    kit.release(managed);
    expect(struct.deleterCalls).toBe(1);
    expect(struct.unchanged).toBe(true);
  });

  test('runs the deleter of a struct of another major version and reads nothing else of it', () => {
    for (const major of [0, 2, 4294967295]) {
      const struct = makeStruct({ major, onlyLeadReadable: true });
      const error = thrownBy(() => kit.take(struct.capsule()));
      expect(error).toMatchObject({ name: 'BufferError', code: 'ERR_DLPACK_BUFFER' });
      expect(String(error)).toContain('version.major');
      expect(struct.deleterCalls).toBe(1);
    }
  });

  test('accepts a higher minor version and flags that it does not know', () => {
    const struct = makeStruct({ minor: 10, flags: 1n << 40n });
    kit.release(kit.take(struct.capsule()));
    expect(struct.deleterCalls).toBe(1);
  });

  test('refuses a used capsule', () => {
    const capsule = makeStruct().capsule();
    kit.release(kit.take(capsule));
    expect(thrownBy(() => kit.take(capsule))).toMatchObject({
      name: 'DLPackStateError',
      code: 'ERR_DLPACK_CONSUMED',
      message: 'take(x): Capsule already consumed',
    });
  });

  test('refuses what is no tensor, without reading the pointer of a foreign External', () => {
    const values = [
      undefined,
      null,
      0,
      1n,
      'dltensor',
      true,
      Symbol('x'),
      {},
      [],
      () => 0,
      Tensor,
      lab.makeUntaggedExternal(),
      lab.makeWronglyTaggedExternal(),
      lab.makeTaggedObject(),
      lab.makeForeignRecord(1, 7),
      Tensor.__dlpack_c_exchange_api__,
    ];
    for (const value of values) {
      expect(thrownBy(() => kit.take(value))).toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
      expect(thrownBy(() => kit.borrow([value]))).toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
    }
    expect(thrownBy(() => kit.take(lab.makeForeignRecord(2, 2)))).toMatchObject({ code: 'ERR_DLPACK_BUFFER' });
    expect(thrownBy(() => kit.take(lab.makeNullCapsule(true)))).toMatchObject({ code: 'ERR_DLPACK_CONSUMED' });
  });

  test('shares the memory of a tensor, READ_ONLY', () => {
    using tensor = numbers();
    const managed = kit.take(tensor);
    expect(kit.look(managed)).toMatchObject({ data: dataAddress(tensor), flags: 1, shape: [2, 3], strides: [3, 1] });
    expect(tensor.consumed).toBe(false);
    expect(tensor.isUnique).toBe(false);
    kit.release(managed);
    expect(tensor.isUnique).toBe(true);
  });

  test('consumes an OwnedTensor: its memory, its name and its array', () => {
    const owned = OwnedTensor.from(new Float64Array([1, 2, 3]));
    const { data } = owned;
    const address = dataAddress(owned);
    const managed = kit.take(owned);
    expect(kit.look(managed)).toMatchObject({ data: address, flags: 2, shape: [3] });
    expect([owned.consumed, owned.disposed, data.length]).toEqual([true, false, 0]);
    expect(thrownBy(() => owned.data)).toMatchObject({
      code: 'ERR_DLPACK_CONSUMED',
      message: 'Tensor already consumed',
    });
    owned.dispose();
    expect(owned.consumed).toBe(true);
    kit.release(managed);
  });

  describe('of an object with __dlpack__', () => {
    test('asks it once for its device and once for version 1.3, and for nothing else', () => {
      const struct = makeStruct({ flags: 0 });
      const producer = struct.producer();
      let devices = 0;
      producer.__dlpack_device__ = () => {
        devices += 1;
        return [1, 0];
      };
      kit.release(kit.take(producer));
      expect(producer.calls).toEqual([[{ max_version: [1, 3] }]]);
      expect(devices).toBe(1);
      expect(struct.deleterCalls).toBe(1);
    });

    test('looks each member up once', () => {
      const looked: string[] = [];
      const struct = makeStruct();
      const watched = new Proxy(struct.producer(), {
        get(target, name, receiver): unknown {
          looked.push(String(name));
          return Reflect.get(target, name, receiver);
        },
      });
      kit.release(kit.take(watched));
      expect(looked.filter((name) => name.startsWith('__dlpack'))).toEqual(['__dlpack__', '__dlpack_device__']);
    });

    test('accepts a legacy answer', () => {
      const struct = makeStruct({ versioned: false });
      kit.release(kit.take(struct.producer()));
      expect(struct.deleterCalls).toBe(1);
    });

    test('passes on what its code throws, the same object', () => {
      const thrown = new Error('mine');
      const fail = (): never => {
        throw thrown;
      };
      const producers: object[] = [
        { __dlpack__: fail, __dlpack_device__: () => [1, 0] },
        { __dlpack__: () => 0, __dlpack_device__: fail },
        {
          get __dlpack__() {
            return fail();
          },
        },
        {
          __dlpack__: () => 0,
          get __dlpack_device__() {
            return fail();
          },
        },
        { __dlpack__: () => 0, __dlpack_device__: () => Object.defineProperty([1, 0], 1, { get: fail }) },
        {
          get constructor() {
            return fail();
          },
        },
      ];
      for (const producer of producers) {
        expect(thrownBy(() => kit.take(producer))).toBe(thrown);
        expect(thrownBy(() => kit.borrow([producer]))).toBe(thrown);
      }
    });

    test('refuses one without the second member, or with something else in its place', () => {
      for (const producer of [
        { __dlpack__: () => 0 },
        { __dlpack_device__: () => [1, 0] },
        { __dlpack__: 1, __dlpack_device__: () => [1, 0] },
        { __dlpack__: () => 0, __dlpack_device__: {} },
      ]) {
        expect(thrownBy(() => kit.take(producer))).toMatchObject({ name: 'TypeError' });
      }
    });

    test('refuses a device that is no pair of integers, before it asks for a struct', () => {
      for (const device of [null, 1, [], [1], [1, 0, 0], [1.5, 0], ['1', 0], [null, 0], [1, 2 ** 40], { length: 2 }]) {
        const struct = makeStruct();
        const producer = { ...struct.producer(), __dlpack_device__: () => device };
        expect(String(thrownBy(() => kit.take(producer)))).toContain('__dlpack_device__()');
        expect(struct.deleterCalls).toBe(0);
        struct.forget();
      }
    });

    test('refuses an answer that is no capsule', () => {
      using tensor = numbers();
      for (const answer of [null, undefined, {}, 1, tensor, lab.makeUntaggedExternal()]) {
        const producer = { __dlpack__: () => answer, __dlpack_device__: () => [1, 0] };
        expect(String(thrownBy(() => kit.take(producer)))).toContain('__dlpack__() must return a DLPack capsule');
      }
      const used = makeStruct().capsule();
      kit.release(kit.take(used));
      expect(thrownBy(() => kit.take({ __dlpack__: () => used, __dlpack_device__: () => [1, 0] }))).toMatchObject({
        code: 'ERR_DLPACK_CONSUMED',
      });
    });

    test('a function may be one', () => {
      const struct = makeStruct();
      const producer = Object.assign(() => 0, struct.producer());
      kit.release(kit.take(producer));
      expect(struct.deleterCalls).toBe(1);
    });
  });

  test('what it took may end on another thread, and after everything else is gone', async () => {
    const id = lab.holdAddress(kit.take(numbers()), true);
    await collectUntil(() => stats().tensors === 0);
    expect(stats()).toMatchObject({ tensors: 0, exports: 1, blocks: 1 });
    lab.releaseHeldOnThread(id);
    expect(stats()).toMatchObject({ exports: 0, blocks: 0 });
  });
});

describe('borrow', () => {
  test('shows a tensor and holds nothing', () => {
    using tensor = numbers().slice(null, [2, null, -2]);
    const before = stats();
    const [seen] = kit.borrow([tensor]);
    expect(seen).toEqual({
      data: dataAddress(tensor),
      byteOffset: 0,
      flags: 1,
      shape: [2, 2],
      strides: [3, -2],
      dtype: [2, 32, 1],
      device: [1, 0],
      held: false,
    });
    expect(stats()).toEqual(before);
  });

  test('writes into an OwnedTensor, which stays what it is', () => {
    using owned = OwnedTensor.allocate([2, 2], 'uint8');
    const { data } = owned;
    for (const byte of [7, 9]) {
      expect(kit.borrow([owned], 0n, byte)[0]).toMatchObject({ flags: 0, data: dataAddress(owned) });
      expect([...data]).toEqual([byte, byte, byte, byte]);
    }
    expect([owned.consumed, owned.isUnique]).toEqual([false, true]);
  });

  test('writes through a writable loan, and not through a read-only one', () => {
    using owned = OwnedTensor.allocate([2], 'int8');
    owned.lend((loan) => void kit.borrow([loan], 0n, 3), { writable: true });
    expect([...owned.data]).toEqual([3, 3]);
    expect(thrownBy(() => owned.lend((loan) => void kit.borrow([loan], 0n, 4)))).toMatchObject({ name: 'BufferError' });
    expect([...owned.data]).toEqual([3, 3]);
  });

  test('refuses an OwnedTensor that is lent, and a tombstone', () => {
    using owned = OwnedTensor.allocate([2], 'int8');
    owned.lend(() => {
      for (const use of [() => kit.borrow([owned]), () => kit.take(owned)])
        expect(thrownBy(use)).toMatchObject({ name: 'BufferError', message: expect.stringContaining('lent') });
    });
    const gone = OwnedTensor.allocate([1], 'int8');
    gone.dispose();
    expect(thrownBy(() => kit.borrow([gone]))).toMatchObject({ code: 'ERR_DLPACK_DISPOSED' });
    const frozen = OwnedTensor.allocate([1], 'int8');
    frozen.freeze().dispose();
    expect(thrownBy(() => kit.borrow([frozen]))).toMatchObject({ code: 'ERR_DLPACK_CONSUMED' });
  });

  test('takes a capsule and a stranger’s struct for the time being', () => {
    const versioned = makeStruct({ flags: 0 });
    const legacy = makeStruct({ versioned: false });
    const seen = kit.borrow([versioned.capsule(), legacy.producer()]);
    expect(seen.map(({ held, flags }) => [held, flags])).toEqual([
      [true, 0],
      [true, 1],
    ]);
    expect([versioned.deleterCalls, legacy.deleterCalls]).toEqual([1, 1]);
  });

  test('gives everything back when one of several cannot be borrowed', () => {
    using tensor = numbers();
    const struct = makeStruct();
    const before = stats();
    expect(thrownBy(() => kit.borrow([tensor, struct.capsule(), {}]))).toMatchObject({ name: 'TypeError' });
    expect(struct.deleterCalls).toBe(1);
    expect(stats()).toEqual(before);
  });

  test('does not show a tensor that a stranger’s code ended while others were borrowed', () => {
    const owned = OwnedTensor.allocate([4], 'int8');
    const struct = makeStruct();
    const producer = {
      __dlpack__: () => {
        owned.dispose();
        return struct.capsule();
      },
      __dlpack_device__: () => [1, 0],
    };
    expect(thrownBy(() => kit.borrow([owned, producer]))).toMatchObject({ code: 'ERR_DLPACK_DISPOSED' });
    expect(struct.deleterCalls).toBe(1);
  });

  test('borrows at most sixteen values at once', () => {
    using tensor = numbers();
    expect(kit.borrow(Array(16).fill(tensor))).toHaveLength(16);
    expect(kit.borrow([])).toEqual([]);
    expect(thrownBy(() => kit.borrow(Array(17).fill(tensor)))).toMatchObject({ name: 'TypeError' });
  });
});
