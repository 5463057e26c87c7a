/** Every way for a capsule and its struct to end, and what is no capsule at all: the deleter runs exactly once. */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../dist/index.js';
import { dataAddress, takePointer } from '../dist/unsafe.js';
import { collect, collectUntil, expectCountersAtZero } from './support/counters.js';
import { BOTH, expectStructsDeletedOnce, FAULTY, matrix } from './support/fixtures.js';
import {
  bytesOf,
  Holder,
  IS_COPIED,
  lab,
  makeStruct,
  ramp,
  READ_ONLY,
  type StructPicture,
  type StructSpec,
} from './support/lab.js';
import { expectBufferError, expectTypeError, leavingNothing, thrownBy } from './support/refusals.js';

expectCountersAtZero();
expectStructsDeletedOnce();

describe('C052 an exception that is under way survives what happens to capsules meanwhile', () => {
  test('C052 capsules are collected between throw and catch', async () => {
    const problem = new Error('the one under way');
    const structs = BOTH.map((spec) => makeStruct(spec));
    async function work(): Promise<void> {
      try {
        ((): void => {
          structs.forEach((struct) => void struct.capsule());
          matrix().__dlpack__({ max_version: [1, 0] });
        })();
        throw problem;
      } finally {
        await collectUntil(() => structs.every((struct) => struct.deleterCalls === 1));
      }
    }
    await expect(work()).rejects.toBe(problem);
    expect(structs.map((struct) => struct.deleterCalls)).toEqual([1, 1]);
  });

  test('C052 capsules are released between throw and catch', () => {
    const problem = new Error('the one under way');
    using tensor = matrix();
    const seen = thrownBy(() => {
      const ours = tensor.__dlpack__({ max_version: [1, 0] });
      const theirs = makeStruct().capsule();
      try {
        throw problem;
      } finally {
        releaseCapsule(ours);
        releaseCapsule(theirs);
      }
    });
    expect(seen).toBe(problem);
  });

  test('C052 our deleter runs in native code while an exception is pending there', () => {
    const problem = new Error('pending in native code');
    using tensor = matrix();
    const before = stats();
    for (const max_version of [[1, 0], null] as const) {
      const holder = new Holder(tensor.__dlpack__({ max_version }));
      expect(thrownBy(() => lab.releaseHeldWithPendingException(holder.id, problem))).toBe(problem);
    }
    expect(stats()).toEqual(before);
  });
});

describe('C053 an import that fails has taken the struct: its deleter ran once, and the capsule adds nothing', () => {
  test.each(Object.keys(FAULTY))('C053 %s', async (name) => {
    const structs = BOTH.flatMap((spec) =>
      [null, true, false].map((copy) => ({ copy, struct: makeStruct({ ...spec, ...FAULTY[name] }) })),
    );
    leavingNothing(() => {
      for (const { copy, struct } of structs) {
        ((): void => {
          expect(() => fromDLPack(struct.capsule(), { copy })).toThrow();
        })();
        expect(struct.deleterCalls).toBe(1);
      }
    });
    await collect(3);
    expect(structs.map(({ struct }) => struct.deleterCalls)).toEqual(structs.map(() => 1));
  });
});

test.each(BOTH)('C054 disposed by hand, then collected: once (%j)', async (spec) => {
  await collect(3);
  const struct = makeStruct(spec);
  const capsuleOnly = makeStruct(spec);
  ((): void => {
    const tensor = fromDLPack(struct.capsule());
    tensor.dispose();
    tensor.dispose();
    tensor[Symbol.dispose]();
    const capsule = capsuleOnly.capsule();
    releaseCapsule(capsule);
    releaseCapsule(capsule);
  })();
  expect([struct.deleterCalls, capsuleOnly.deleterCalls]).toEqual([1, 1]);
  await collect(5);
  expect([struct.deleterCalls, capsuleOnly.deleterCalls]).toEqual([1, 1]);

  const before = stats();
  ((): void => {
    const tensor = matrix();
    const capsule = tensor.__dlpack__(spec.versioned ? { max_version: [1, 0] } : {});
    releaseCapsule(capsule);
    releaseCapsule(capsule);
    tensor.dispose();
  })();
  expect(stats()).toEqual(before);
  await collect(5);
  expect(stats()).toEqual(before);
});

describe('C055 what was imported and goes out again stays alive until the last export ends', () => {
  test.each([
    { versioned: true, flags: 0 },
    { versioned: true, flags: READ_ONLY },
    { versioned: true, flags: IS_COPIED },
    { versioned: true, device: [3, 0] as const },
  ])('C055 %j', (spec) => {
    const struct = makeStruct(spec);
    const tensor = fromDLPack(struct.producer());
    const first = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    const second = new Holder(tensor.slice(1).__dlpack__({ max_version: [1, 0] }));
    expect(first.picture()).toMatchObject({ data: struct.data, device: spec.device ?? [1, 0] });
    expect(first.picture().address).not.toBe(struct.address);
    tensor.dispose();
    expect(struct.deleterCalls).toBe(0);
    first.releaseOnThread();
    expect(struct.deleterCalls).toBe(0);
    expect(second.elements()).toEqual([3, 4, 5]);
    second.release();
  });

  test('C055 a long chain of imports and exports over one foreign struct', () => {
    const struct = makeStruct({ flags: READ_ONLY });
    let tensor: Tensor = fromDLPack(struct.producer());
    for (let step = 0; step < 20; step += 1) {
      const next = fromDLPack(tensor.__dlpack__({ max_version: [1, 0] }));
      tensor.dispose();
      tensor = next;
    }
    expect(struct.deleterCalls).toBe(0);
    expect(dataAddress(tensor)).toBe(struct.data);
    tensor.dispose();
    expect(struct.deleterCalls).toBe(1);
  });

  test('C055 a struct of our own that comes back is unwrapped to its block', () => {
    using tensor = matrix();
    const before = stats();
    for (const copy of [null, false] as const) {
      using back = fromDLPack(tensor.__dlpack__({ max_version: [1, 0] }), { copy });
      expect(dataAddress(back)).toBe(dataAddress(tensor));
      expect(stats()).toEqual({ ...before, tensors: before.tensors + 1 }); // no export is left, and no block was added
      expect(tensor.isUnique).toBe(false);
      expect(back.readOnly).toBe(true);
      back.view(); // our own memory, whatever way it went
    }
    expect(tensor.isUnique).toBe(true);
  });
});

function int64(value: number | bigint): Uint8Array {
  return bytesOf(BigInt64Array.of(BigInt(value)));
}

test('C055 a struct of our own that somebody changed is believed only as far as its block reaches', () => {
  using tensor = matrix();
  const changes: [string, (picture: StructPicture, tensorAt: bigint) => void, RegExp][] = [
    ['a longer shape', (picture) => lab.poke(picture.shapeAddress, int64(3)), /reach byte 36; the memory has 24 bytes/],
    [
      'wider strides',
      (picture) => lab.poke(picture.stridesAddress, int64(4)),
      /reach byte 28; the memory has 24 bytes/,
    ],
    ['a wider dtype', (_, at) => lab.poke(at + 21n, Uint8Array.of(64)), /reach byte 48; the memory has 24 bytes/],
    ['an offset', (_, at) => lab.poke(at + 40n, int64(8)), /reach byte 32; the memory has 24 bytes/],
    [
      'data further down',
      (picture, at) => lab.poke(at, int64(picture.data - 8n)),
      /reach byte -8; the memory has 24 bytes/,
    ],
    ['another device', (_, at) => lab.poke(at + 8n, Uint8Array.of(2)), /device/],
    ['too many axes', (_, at) => lab.poke(at + 16n, Uint8Array.of(65)), /ndim is 65/],
  ];
  for (const versioned of [true, false]) {
    for (const copy of [null, true, false]) {
      for (const [, change, text] of changes) {
        leavingNothing(() => {
          const holder = new Holder(
            tensor.__dlpack__({ max_version: versioned ? [1, 0] : null, copy: versioned ? null : true }),
          );
          change(holder.picture(), holder.picture().address + (versioned ? 32n : 0n));
          expectBufferError(() => fromDLPack(holder.intoCapsule(), { copy }), text);
        });
      }
    }
  }
  // Within the block it is theirs to say.
  const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
  lab.poke(holder.picture().shapeAddress, int64(1));
  lab.poke(holder.picture().address + 32n + 40n, int64(12));
  using row = fromDLPack(holder.intoCapsule());
  expect(row.toArray()).toEqual([[3, 4, 5]]);
});

describe('C056 what is no capsule is a TypeError, and no pointer in it is read', () => {
  const values: Record<string, () => unknown> = {
    'an untagged External': () => lab.makeUntaggedExternal(),
    'an External with the tag of somebody else': () => lab.makeWronglyTaggedExternal(),
    'an object with our tag that is no External': () => lab.makeTaggedObject(),
    'an object': () => ({}),
    'an array': () => [1, 0],
    'a function': () => () => undefined,
    'a proxy': () => new Proxy({}, {}),
    'a typed array': () => ramp(2),
    'an ArrayBuffer': () => new ArrayBuffer(8),
    'a number': () => 1,
    'a bigint': () => 1n,
    'a string': () => 'dltensor',
    'a symbol': () => Symbol('dltensor'),
    'a boolean': () => true,
    null: () => null,
    undefined: () => undefined,
    'an object without a prototype': (): unknown => Object.create(null),
  };
  test.each(Object.keys(values))('C056 %s', (name) => {
    const value = values[name]?.();
    leavingNothing(() => {
      expectTypeError(() => Reflect.apply(fromDLPack, undefined, [value]), /capsule|__dlpack__/);
      expectTypeError(() => Reflect.apply(takePointer, undefined, [value]), /capsule/);
      expectTypeError(() => Reflect.apply(releaseCapsule, undefined, [value]), /capsule/);
      expect(Reflect.apply(capsuleName, undefined, [value])).toBeUndefined();
      expectTypeError(
        () => Reflect.apply(fromDLPack, undefined, [{ __dlpack__: () => value, __dlpack_device__: () => [1, 0] }]),
        /capsule/,
      );
    });
  });

  test.each([
    [0, 2],
    [2, 2],
    [0xffffffff, 1],
  ])('C056 a capsule of another contract (abi %d): refused, its pointer not believed', (abi, kind) => {
    const capsule = lab.makeForeignRecord(abi, kind);
    leavingNothing(() => {
      expect(thrownBy(() => fromDLPack(capsule))).toMatchObject({ code: expect.stringMatching(/^ERR_/) });
      expect(thrownBy(() => takePointer(capsule))).toMatchObject({ code: expect.stringMatching(/^ERR_/) });
      expect(capsuleName(capsule)).toBeUndefined();
    });
  });

  test.each([0, 3, 77])('C056 a record of an unknown kind (%d)', (kind) => {
    const capsule = lab.makeForeignRecord(1, kind);
    leavingNothing(() =>
      expect(thrownBy(() => fromDLPack(capsule))).toMatchObject({ code: expect.stringMatching(/^ERR_/) }),
    );
  });
});

test('C057 an import writes no field of the struct: structs on unwritable pages, byte for byte as they were', () => {
  const specs: StructSpec[] = [
    {},
    { strides: null },
    { flags: READ_ONLY },
    { flags: IS_COPIED },
    { byteOffset: 4, shape: [2, 2], strides: [2, 1] },
    { device: [2, 1] },
    { shape: [], strides: [] },
    { shape: [0, 3] },
    { misalign: 1 },
    { minor: 9 },
  ];
  for (const versioned of [true, false]) {
    for (const spec of specs) {
      for (const copy of spec.device === undefined ? ([null, true] as const) : ([null] as const)) {
        const struct = makeStruct({ ...spec, versioned, readOnlyStruct: true });
        const tensor = copy === null ? fromDLPack(struct.capsule()) : fromDLPack(struct.capsule(), { copy });
        expect(struct.unchanged).toBe(true);
        if (tensor instanceof Tensor && spec.device === undefined) fromDLPack(tensor.copy().freeze()).dispose();
        tensor.dispose();
        expect([struct.deleterCalls, struct.unchanged]).toEqual([1, true]);
      }
    }
  }
});

test('C058 a consumer overwrites every field but the deleter and then calls it: freed as it was built', () => {
  const before = stats();
  for (const max_version of [[1, 0], null] as const) {
    for (const how of ['here', 'on a thread'] as const) {
      const tensor = Tensor.from(ramp(24), { shape: [2, 3, 4] });
      const holders = [
        new Holder(tensor.__dlpack__({ max_version })),
        new Holder(tensor.__dlpack__({ max_version, copy: true })),
      ];
      const owned = OwnedTensor.from(ramp(5));
      holders.push(new Holder(owned.__dlpack__({ max_version })));
      for (const holder of holders) {
        holder.scramble();
        if (how === 'here') holder.release();
        else holder.releaseOnThread();
      }
      expect(tensor.at(1, 2, 3)).toBe(23);
      tensor.dispose();
      expect(stats()).toEqual(before);
    }
  }
});
