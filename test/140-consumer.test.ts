/**
 * What `fromDLPack` makes of what a producer answers: who is asked what, which memory is read in place, what may be
 * written.
 */
import { describe, expect, test } from '@jest/globals';
import { DLPACK_VERSION, fromDLPack, type ImportOptions, OwnedTensor, Tensor } from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { BOTH, expectStructsDeletedOnce, FORTY, withImport } from './support/fixtures.js';
import { bytesOf, IS_COPIED, lab, makeStruct, ramp, READ_ONLY, type StructSpec } from './support/lab.js';
import { expectBufferError, expectRangeError, expectTypeError, leavingNothing, thrownBy } from './support/refusals.js';
import { importFloat } from './support/values.js';

expectCountersAtZero();
expectStructsDeletedOnce();
describe('C059 a producer is asked once, for our version, with copy and dl_device passed on when given', () => {
  const asked: [ImportOptions | undefined, object][] = [
    [undefined, { max_version: [1, 3] }],
    [{}, { max_version: [1, 3] }],
    [{ copy: null, device: null }, { max_version: [1, 3] }],
    [{ copy: true }, { max_version: [1, 3], copy: true }],
    [{ copy: false }, { max_version: [1, 3], copy: false }],
    [{ device: 'cpu' }, { max_version: [1, 3], dl_device: [1, 0] }],
    [
      { device: [1, 0], copy: true },
      { max_version: [1, 3], dl_device: [1, 0], copy: true },
    ],
  ];
  test.each(asked)('C059 %j', (options, expected) => {
    const lookups: string[] = [];
    const received: unknown[][] = [];
    const deviceCalls: unknown[][] = [];
    const struct = makeStruct({ flags: IS_COPIED });
    const producer = {
      get __dlpack__() {
        lookups.push('__dlpack__');
        return function (this: unknown, ...args: unknown[]) {
          expect(this).toBe(producer);
          received.push(args);
          return struct.capsule();
        };
      },
      get __dlpack_device__() {
        lookups.push('__dlpack_device__');
        return function (this: unknown, ...args: unknown[]) {
          expect(this).toBe(producer);
          deviceCalls.push(args);
          return [1, 0] as const;
        };
      },
    };
    const tensor = fromDLPack(producer, options);
    tensor.dispose();
    expect(lookups).toHaveLength(2);
    expect(new Set(lookups)).toEqual(new Set(['__dlpack__', '__dlpack_device__']));
    expect(deviceCalls).toEqual([[]]);
    expect(received).toHaveLength(1);
    expect(received[0]).toHaveLength(1);
    const options0 = received[0]?.[0];
    expect(options0).toMatchObject(expected);
    for (const name of ['copy', 'dl_device', 'stream'] as const) {
      if (!(name in expected)) expect(Reflect.get(Object(options0), name) ?? null).toBeNull();
    }
    expect(DLPACK_VERSION).toEqual([1, 3]);
  });
});

test('C060 a producer that answers the legacy struct, whatever it was asked, is understood', () => {
  for (const copy of [null, false] as const) {
    const struct = makeStruct({ versioned: false });
    const producer = struct.producer();
    using tensor = fromDLPack(producer, { copy });
    expect(producer.calls).toEqual([[expect.objectContaining({ max_version: [1, 3] })]]);
    expect(tensor.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(dataAddress(tensor)).toBe(struct.data);
  }
});

/** A producer whose named method throws what it is given. */
function throwing(
  method: '__dlpack__' | '__dlpack_device__',
  problem: unknown,
): { calls: number; __dlpack__(): object; __dlpack_device__(): [number, number] } {
  return {
    calls: 0,
    __dlpack__() {
      this.calls += 1;
      if (method === '__dlpack__') throw problem;
      return makeStruct().capsule();
    },
    __dlpack_device__() {
      if (method === '__dlpack_device__') throw problem;
      return [1, 0];
    },
  };
}

test('C061 a TypeError from inside the producer reaches the caller after exactly one call', () => {
  for (const options of [{}, { copy: true }, { device: 'cpu' as const }]) {
    const problem = new TypeError("unexpected option 'max_version'");
    const producer = throwing('__dlpack__', problem);
    leavingNothing(() => expect(thrownBy(() => fromDLPack(producer, options))).toBe(problem));
    expect(producer.calls).toBe(1);
  }
});

test.each([
  ['an Error', new Error('no')],
  ['a subclass', new RangeError('no')],
  ['a string', 'no'],
  ['undefined', undefined],
  ['null', null],
  ['an object', { no: 1 }],
])('C062 whatever the producer throws reaches the caller, the very same value: %s', (_, problem) => {
  for (const method of ['__dlpack__', '__dlpack_device__'] as const) {
    leavingNothing(() => expect(thrownBy(() => fromDLPack(throwing(method, problem)))).toBe(problem));
  }
  const getter = {
    get __dlpack__(): never {
      throw problem;
    },
    __dlpack_device__: () => [1, 0] as const,
  };
  leavingNothing(() => expect(thrownBy(() => fromDLPack(getter))).toBe(problem));
});

function anyCapsule(): object {
  return makeStruct().capsule();
}

test('C063 a method that is missing or cannot be called: TypeError that names it', () => {
  leavingNothing(() => {
    for (const bad of [undefined, null, 1, 'x', {}, []]) {
      expectTypeError(
        () => Reflect.apply(fromDLPack, undefined, [{ __dlpack__: bad, __dlpack_device__: () => [1, 0] }]),
        /__dlpack__/,
      );
      expectTypeError(
        () => Reflect.apply(fromDLPack, undefined, [{ __dlpack__: anyCapsule, __dlpack_device__: bad }]),
        /__dlpack_device__/,
      );
    }
    expectTypeError(() => Reflect.apply(fromDLPack, undefined, [{ __dlpack__: anyCapsule }]), /__dlpack_device__/);
    expectTypeError(() => Reflect.apply(fromDLPack, undefined, [{ __dlpack_device__: () => [1, 0] }]), /__dlpack__/);
    expectTypeError(() => Reflect.apply(fromDLPack, undefined, [{}]), /__dlpack/);
  });
});

describe('C064 device', () => {
  test('C064 null: wherever the producer has it, nothing is asked', () => {
    for (const device of [null, undefined]) {
      const producer = makeStruct({ device: [2, 1] }).producer();
      using tensor = fromDLPack(producer, { device });
      expect(tensor.device).toEqual([2, 1]);
      expect(Reflect.get(Object(producer.calls[0]?.[0]), 'dl_device') ?? null).toBeNull();
    }
  });

  test("C064 'cpu' and [1, 0]: sent as dl_device [1, 0]", () => {
    for (const device of ['cpu', [1, 0]] as const) {
      const producer = makeStruct().producer();
      using tensor = fromDLPack(producer, { device });
      expect(tensor.device).toEqual([1, 0]);
      expect(producer.calls[0]?.[0]).toMatchObject({ dl_device: [1, 0] });
    }
  });

  test.each(['gpu', 'cuda', 'cpu:0', 'CPU', ''])(
    'C064 the name %j is unknown: RangeError before the producer is called',
    (device) => {
      const producer = makeStruct().producer();
      leavingNothing(() =>
        expectRangeError(() => Reflect.apply(fromDLPack, undefined, [producer, { device }]), /device/),
      );
      expect(producer.calls).toEqual([]);
    },
  );

  test.each([[1], [true], [[]], [[1]], [[1, 0, 0]], [['1', 0]], [{}]])(
    'C064 a malformed device (%p): TypeError before the producer is called',
    (device) => {
      const producer = makeStruct().producer();
      leavingNothing(() =>
        expectTypeError(() => Reflect.apply(fromDLPack, undefined, [producer, { device }]), /device/),
      );
      expect(producer.calls).toEqual([]);
    },
  );

  test('C064 of a raw capsule the device is only checked', () => {
    fromDLPack(makeStruct().capsule(), { device: 'cpu' }).dispose();
    const elsewhere = makeStruct({ device: [2, 0] });
    leavingNothing(() => expectBufferError(() => fromDLPack(elsewhere.capsule(), { device: 'cpu' }), /cuda|device/));
    expect(elsewhere.deleterCalls).toBe(1);
  });

  test('C064 a producer that ignores dl_device and answers from another device is refused', () => {
    const elsewhere = makeStruct({ device: [2, 0] });
    leavingNothing(() => expectBufferError(() => fromDLPack(elsewhere.producer(), { device: [1, 0] }), /cuda|device/));
    expect(elsewhere.deleterCalls).toBe(1);
  });
});

describe('C065 copy: true makes an owner: from an answer that is not a sole copy by a copy here, after which the deleter ran', () => {
  const sources: Record<string, StructSpec> = {
    'flags 0': { flags: 0 },
    READ_ONLY: { flags: READ_ONLY, readOnlyPages: true },
    'READ_ONLY and IS_COPIED': { flags: READ_ONLY | IS_COPIED },
    legacy: { versioned: false },
    'overlaps itself': { flags: IS_COPIED, strides: [0, 1] },
    'overlaps itself by equal strides': { flags: IS_COPIED, shape: [3, 3], strides: [1, 1] },
    misaligned: { flags: IS_COPIED, misalign: 1 },
  };
  test.each(Object.keys(sources))('C065 %s', (name) => {
    for (const way of ['producer', 'capsule'] as const) {
      const struct = makeStruct(sources[name]);
      using owned = fromDLPack(way === 'producer' ? struct.producer() : struct.capsule(), { copy: true });
      expect(owned).toBeInstanceOf(OwnedTensor);
      expect(struct.deleterCalls).toBe(1);
      expect(dataAddress(owned)).not.toBe(struct.data);
      expect([owned.isUnique, owned.readOnly, owned.isContiguous]).toEqual([true, false, true]);
      owned.fill(7);
      expect(owned.at(0, 1)).toBe(7);
    }
  });

  test('C065 the values of the copy, whatever the layout was', () => {
    const reversed = makeStruct({ strides: [-3, -1], byteOffset: 20, flags: READ_ONLY });
    using owned = fromDLPack(reversed.producer(), { copy: true });
    expect([...owned.data]).toEqual([5, 4, 3, 2, 1, 0]);
    const broadcast = makeStruct({ strides: [0, 1], flags: 0 });
    using wide = fromDLPack(broadcast.producer(), { copy: true });
    expect([...wide.data]).toEqual([0, 1, 2, 0, 1, 2]);
  });

  test('C065 an answer that is a sole copy already is taken over as it is', () => {
    const struct = makeStruct({ flags: IS_COPIED });
    const owned = fromDLPack(struct.producer(), { copy: true });
    expect([dataAddress(owned), struct.deleterCalls]).toEqual([struct.data, 0]);
    owned.data[0] = 5;
    expect(lab.peek(struct.data, 4)).toEqual(bytesOf(Float32Array.of(5)));
    owned.dispose();
    expect(struct.deleterCalls).toBe(1);
  });

  test('C065 our own tensors', () => {
    using tensor = Tensor.from(ramp(6), { shape: [2, 3] });
    using owned = fromDLPack(tensor, { copy: true });
    using fromCapsule = fromDLPack(tensor.__dlpack__({ max_version: [1, 0] }), { copy: true });
    for (const made of [owned, fromCapsule]) {
      expect(made).toBeInstanceOf(OwnedTensor);
      expect(dataAddress(made)).not.toBe(dataAddress(tensor));
      expect([...made.data]).toEqual([0, 1, 2, 3, 4, 5]);
    }
    expect(tensor.isUnique).toBe(true);
  });
});

test("C066 without a copy the tensor's first element is the producer's own, in every layout", () => {
  for (const spec of [
    {},
    { strides: [1, 2] },
    { strides: [-3, -1], byteOffset: 20 },
    { strides: [0, 1] },
    { byteOffset: 4, shape: [5], strides: [1] },
  ] as StructSpec[]) {
    for (const both of BOTH) {
      for (const copy of [null, false]) {
        const struct = makeStruct({ ...spec, ...both });
        using tensor = fromDLPack(struct.producer(), { copy });
        expect(dataAddress(tensor)).toBe(struct.data + BigInt(spec.byteOffset ?? 0));
        expect(tensor.zeroCopy).toBe(true);
      }
    }
  }
});

test('C067 READ_ONLY makes a read-only tensor, whose view is refused by name and whose elements can be read', () => {
  for (const flags of [READ_ONLY, READ_ONLY | IS_COPIED]) {
    using tensor = fromDLPack(makeStruct({ flags, readOnlyPages: true }).producer());
    expect(tensor.readOnly).toBe(true);
    expect([...tensor.toTypedArray()]).toEqual([0, 1, 2, 3, 4, 5]);
    expect(tensor.at(1, 0)).toBe(3);
    expectBufferError(() => tensor.view(), /toTypedArray.*unsafeView|unsafeView.*toTypedArray/s);
    const slice = tensor.slice(1);
    expect(slice.readOnly).toBe(true);
    slice.dispose();
  }
});

test('C068 READ_ONLY memory is not given to who wants to write; a copy is', () => {
  const struct = makeStruct({ flags: READ_ONLY, readOnlyPages: true });
  using tensor = importFloat(struct.producer());
  leavingNothing(() => {
    expectBufferError(() => tensor.view({ writable: true }), /read-only/);
    expectBufferError(() => tensor.intoDLPack(), /copy/);
    expectBufferError(() => tensor.withView(() => 1, { writable: true }), /read-only/);
  });
  using owned = fromDLPack(tensor, { copy: true });
  owned.data.fill(1);
  using again = tensor.copy();
  again.data.fill(2);
  expect([owned.at(0, 0), again.at(0, 0), tensor.at(0, 0)]).toEqual([1, 2, 0]);
});

test('C069 a legacy struct cannot say that it may be written: read-only, never unique', () => {
  withImport(
    { versioned: false },
    (tensor) => {
      expect([tensor.readOnly, tensor.isUnique]).toEqual([true, false]);
      expectBufferError(() => tensor.view({ writable: true }), /read-only|legacy/);
      expectBufferError(() => tensor.view(), /legacy|not lent writable|protected/);
      expectBufferError(() => tensor.intoDLPack(), /copy/);
    },
    [{ versioned: false }],
  );
});

test('C070 flags 0: a writable loan, whose writes the producer sees and which never passes Door 2', () => {
  const struct = makeStruct({ flags: 0 });
  using tensor = fromDLPack(struct.producer());
  expect([tensor.readOnly, tensor.isUnique]).toEqual([false, false]);
  const view = tensor.view({ writable: true });
  view[5] = 40;
  expect(lab.peek(struct.data + 20n, 4)).toEqual(FORTY);
  lab.poke(struct.data, FORTY);
  expect(tensor.at(0, 0)).toBe(40);
  tensor.releaseViews();
  leavingNothing(() => expectBufferError(() => tensor.intoDLPack(), /copy/));
  expect(tensor.at(0, 0)).toBe(40);
});

test('C071 IS_COPIED without READ_ONLY: alone with its memory, so it passes Door 2 and is writable there', () => {
  const struct = makeStruct({ flags: IS_COPIED });
  const tensor = fromDLPack(struct.producer());
  expect([tensor.readOnly, tensor.isUnique]).toEqual([true, true]);
  expectBufferError(() => tensor.view({ writable: true }), /read-only/);
  const slice = tensor.slice(0);
  expect(tensor.isUnique).toBe(false);
  slice.dispose();
  const owned = tensor.intoDLPack();
  expect(dataAddress(owned)).toBe(struct.data);
  owned.fill(40);
  expect(lab.peek(struct.data + 8n, 4)).toEqual(FORTY);
  owned.dispose();
  expect(struct.deleterCalls).toBe(1);
});
