/** What a producer answers to what a consumer asks: version, copy, device and stream. */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectStructsDeletedOnce, matrix } from './support/fixtures.js';
import { Holder, inspect, IS_COPIED, lab, makeStruct, ramp, READ_ONLY } from './support/lab.js';
import {
  expectBufferError,
  expectRangeError,
  expectStateError,
  expectTypeError,
  leavingNothing,
} from './support/refusals.js';

expectCountersAtZero();
expectStructsDeletedOnce();

/** Calls `__dlpack__` with anything at all, also what its types forbid. */
function exportWith(producer: object, ...args: unknown[]): object {
  const method: unknown = Reflect.get(producer, '__dlpack__');
  if (typeof method !== 'function') throw new Error('not a producer');
  const capsule: unknown = Reflect.apply(method, producer, args);
  if (typeof capsule !== 'object' || capsule === null) throw new Error('not a capsule');
  return capsule;
}

/** Exports, shows the name, and lets the capsule go. */
function nameOf(producer: object, ...args: unknown[]): string | undefined {
  const capsule = exportWith(producer, ...args);
  const name = capsuleName(capsule);
  const found = lab.lookIntoCapsule(capsule); // a stranger's reading of the same capsule
  expect(found).toMatchObject({ versioned: name === 'dltensor_versioned', used: false });
  releaseCapsule(capsule);
  return name;
}

/** Every kind of thing that exports: each is made anew, since an owner has one shot. */
const PRODUCERS: Record<string, () => Tensor | OwnedTensor> = {
  'read-only tensor': matrix,
  'writable loan': () => fromDLPack(makeStruct({ flags: 0 }).producer()),
  owner: () => OwnedTensor.from(ramp(6), { shape: [2, 3] }),
};

describe.each(Object.entries(PRODUCERS))('a %s', (_, make) => {
  test.each([
    [[]],
    [[{}]],
    [[undefined]],
    [[{ max_version: null }]],
    [[{ max_version: undefined, copy: null, dl_device: null, stream: null }]],
  ])('C028 no options or no max_version: the legacy struct (%j)', (args) => {
    using producer = make();
    expect(nameOf(producer, ...args)).toBe('dltensor');
  });

  test.each([[[0, 8]], [[0, 0]], [[0, 999]]])('C029 max_version %j: the legacy struct', (max_version) => {
    using producer = make();
    expect(nameOf(producer, { max_version })).toBe('dltensor');
  });

  test.each([[[1, 0]], [[1, 1]], [[1, 3]], [[1, 99]], [[2, 0]], [[100, 3]]])(
    'C030 max_version %j: the versioned struct, major 1',
    (max_version) => {
      using producer = make();
      const capsule = exportWith(producer, { max_version });
      expect(capsuleName(capsule)).toBe('dltensor_versioned');
      expect(inspect(capsule)).toMatchObject({ versioned: true, major: 1 });
      releaseCapsule(capsule);
    },
  );

  test.each([
    [1],
    [1.3],
    ['1.3'],
    [true],
    [{}],
    [[]],
    [[1]],
    [[1, 3, 0]],
    [[1.5, 0]],
    [[1, 0.5]],
    [['1', '0']],
    [[1n, 0n]],
    [[-1, 0]],
    [[1, -1]],
    [[NaN, 0]],
    [[Infinity, 0]],
    [[null, null]],
    [[[1], 0]],
    [() => [1, 0]],
  ])('C031 a malformed max_version (%p): TypeError', (max_version) => {
    using producer = make();
    leavingNothing(() => expectTypeError(() => exportWith(producer, { max_version }), /max_version/));
    expect(nameOf(producer, { max_version: [1, 0] })).toBe('dltensor_versioned');
  });

  test.each([[0], [1], ['true'], [''], [{}], [[]], [1n], [Number.NaN], [() => true]])(
    'C031 a malformed copy (%p): TypeError',
    (copy) => {
      using producer = make();
      leavingNothing(() => expectTypeError(() => exportWith(producer, { max_version: [1, 0], copy }), /copy/));
      expect(nameOf(producer, { max_version: [1, 0] })).toBe('dltensor_versioned');
    },
  );

  test.each([[null], [undefined], [[1, 0]]])('C036 dl_device %j: its own, no copy', (dl_device) => {
    using producer = make();
    const address = dataAddress(producer);
    const holder = new Holder(exportWith(producer, { max_version: [1, 0], dl_device }));
    expect(holder.picture()).toMatchObject({ data: address, device: [1, 0] });
    holder.release();
  });

  test.each([[[2, 0]], [[99, 0]], [[1, 5]], [[3, 0]], [[0, 0]], [[-1, 0]], [[13, 2]]])(
    'C038 dl_device %j: BufferError',
    (dl_device) => {
      using producer = make();
      leavingNothing(() => {
        for (const max_version of [null, [1, 0]]) {
          expectBufferError(() => exportWith(producer, { max_version, dl_device }), /dl_device/);
        }
      });
      expect(nameOf(producer, { max_version: [1, 0] })).toBe('dltensor_versioned');
    },
  );

  test.each([
    [1],
    ['cpu'],
    [true],
    [{}],
    [[]],
    [[1]],
    [[1, 0, 0]],
    [['1', 0]],
    [[1, null]],
    [[null, 0]],
    [[1.5, 0]],
    [[1n, 0n]],
    [[1, NaN]],
    [[2 ** 40, 0]],
  ])('C039 a dl_device that is no pair of integers (%p): TypeError', (dl_device) => {
    using producer = make();
    leavingNothing(() => expectTypeError(() => exportWith(producer, { max_version: [1, 0], dl_device }), /dl_device/));
    expect(nameOf(producer, { max_version: [1, 0] })).toBe('dltensor_versioned');
  });

  test.each([[0], [1], [2], [-1], [false], [true], [''], ['0'], [{}], [[]], [0n]])(
    'C040 any stream but null (%p): RangeError',
    (stream) => {
      using producer = make();
      leavingNothing(() => {
        for (const dl_device of [null, [1, 0]])
          expectRangeError(() => exportWith(producer, { max_version: [1, 0], dl_device, stream }), /stream/);
      });
      expect(nameOf(producer, { max_version: [1, 0], stream: null })).toBe('dltensor_versioned');
    },
  );

  test('C041 unknown option names are ignored', () => {
    using producer = make();
    expect(nameOf(producer, { max_version: [1, 0], strm: 1, future_option: { a: 1 }, [Symbol('x')]: 1 })).toBe(
      'dltensor_versioned',
    );
  });

  test.each([[1], [true], ['x'], [1n], [Symbol('x')], [[1, 0]], [() => ({})]])(
    'C041 a positional value (%p): TypeError',
    (value) => {
      using producer = make();
      leavingNothing(() => expectTypeError(() => exportWith(producer, value), /options|object/));
      expect(nameOf(producer, { max_version: [1, 0] })).toBe('dltensor_versioned');
    },
  );
});

describe('C032 read-only memory and a consumer that knows only the legacy struct', () => {
  test('C032 copy: false is a BufferError that names the other door', () => {
    using tensor = matrix();
    leavingNothing(() => {
      for (const max_version of [null, [0, 8]] as const) {
        expectBufferError(() => tensor.__dlpack__({ max_version, copy: false }), /read-only.*intoDLPack/s);
      }
    });
  });

  test.each([undefined, null])('C032 copy %p: an honest copy in a legacy struct', (copy) => {
    using tensor = matrix();
    const holder = new Holder(tensor.__dlpack__({ max_version: null, copy }));
    const picture = holder.picture();
    expect(picture.versioned).toBe(false);
    expect(picture.data).not.toBe(dataAddress(tensor));
    expect(holder.elements()).toEqual([0, 1, 2, 3, 4, 5]);
    holder.release();
  });
});

test('C033 copy: true for a legacy consumer: fresh memory in a legacy struct, of read-only memory and of a loan', () => {
  using tensor = matrix();
  using loan = fromDLPack(makeStruct({ flags: 0 }).producer());
  for (const source of [tensor, loan]) {
    const before = stats();
    const holder = new Holder(source.__dlpack__({ copy: true }));
    expect(stats().blocks).toBe(before.blocks + 1);
    expect(holder.picture()).toMatchObject({ versioned: false, shape: [2, 3], strides: [3, 1] });
    expect(holder.picture().data).not.toBe(dataAddress(source));
    expect(holder.elements()).toEqual([0, 1, 2, 3, 4, 5]);
    holder.release();
    expect(stats()).toEqual(before);
  }
});

describe('C034 copy: false where no copy is needed shares the memory and does not claim IS_COPIED', () => {
  test('C034 a tensor', () => {
    using tensor = matrix();
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0], copy: false }));
    expect(holder.picture()).toMatchObject({ data: dataAddress(tensor), flags: READ_ONLY });
    holder.release();
  });

  test('C034 a writable loan, both structs', () => {
    using loan = fromDLPack(makeStruct({ flags: 0 }).producer());
    for (const max_version of [[1, 0], null] as const) {
      const holder = new Holder(loan.__dlpack__({ max_version, copy: false }));
      expect(holder.picture()).toMatchObject({ data: dataAddress(loan), flags: 0n });
      holder.release();
    }
  });

  test('C034 an owner, both structs: the owner itself gives the memory away', () => {
    for (const max_version of [[1, 0], null] as const) {
      const owned = OwnedTensor.from(ramp(6));
      const address = dataAddress(owned);
      const holder = new Holder(owned.__dlpack__({ max_version, copy: false }));
      expect(holder.picture()).toMatchObject({ data: address, flags: 0n });
      expectStateError(
        () => owned.__dlpack__({ max_version, copy: false }),
        'ERR_DLPACK_CONSUMED',
        'Tensor already consumed',
      );
      holder.release();
    }
  });
});

describe('C035 copy: false where a copy is needed: BufferError', () => {
  test('C035 as producer: the legacy struct of read-only memory', () => {
    using tensor = matrix();
    using broadcast = tensor.broadcastTo([2, 2, 3]);
    for (const source of [tensor, broadcast])
      leavingNothing(() => expectBufferError(() => source.__dlpack__({ copy: false }), /read-only/));
  });

  test('C035 as consumer: memory that cannot be read in place', () => {
    for (const versioned of [true, false]) {
      const struct = makeStruct({ versioned, misalign: 2 });
      leavingNothing(() => expectBufferError(() => fromDLPack(struct.producer(), { copy: false }), /align/));
      expect(struct.deleterCalls).toBe(1);
    }
  });
});

test('C037 dl_device [1, 0] from memory that the host can read: no copy, and the struct says {1, 0}', () => {
  for (const deviceType of [1, 3, 11]) {
    for (const flags of [0, READ_ONLY]) {
      using tensor = fromDLPack(makeStruct({ device: [deviceType, 0], flags }).producer());
      expect(tensor.__dlpack_device__()).toEqual([deviceType, 0]);
      const asked = new Holder(tensor.__dlpack__({ max_version: [1, 0], dl_device: [1, 0] }));
      expect(asked.picture()).toMatchObject({ device: [1, 0], data: dataAddress(tensor) });
      asked.release();
      const own = new Holder(tensor.__dlpack__({ max_version: [1, 0], dl_device: [deviceType, 0] }));
      expect(own.picture()).toMatchObject({ device: [deviceType, 0], data: dataAddress(tensor) });
      own.release();
      const unasked = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
      expect(unasked.picture().device).toEqual([deviceType, 0]);
      unasked.release();
    }
  }
});

test('C042 two exports of one tensor are two structs: freeing one leaves the other whole', () => {
  using tensor = matrix();
  for (const options of [{ max_version: [1, 0] as const }, {}, { max_version: [1, 0] as const, copy: true }]) {
    const first = tensor.__dlpack__(options);
    const second = tensor.__dlpack__(options);
    expect(first).not.toBe(second);
    const [a, b] = [new Holder(first), new Holder(second)];
    expect(a.picture().address).not.toBe(b.picture().address);
    expect(a.picture().shapeAddress).not.toBe(b.picture().shapeAddress);
    a.scramble();
    a.release();
    expect(b.picture()).toMatchObject({ shape: [2, 3], strides: [3, 1] });
    expect(b.elements()).toEqual([0, 1, 2, 3, 4, 5]);
    b.release();
  }
  expect(tensor.isUnique).toBe(true);
});

test('C043 an export that fails changes nothing: no struct, no hold, and the next one succeeds', () => {
  const failing: object[] = [
    { copy: false },
    { dl_device: [2, 0] },
    { dl_device: 'cpu' },
    { stream: 1 },
    { max_version: [1] },
    { copy: 'yes' },
    { max_version: [1, 0], dl_device: [1, 5] },
  ];
  using tensor = matrix();
  leavingNothing(() => {
    for (const options of failing) expect(() => exportWith(tensor, options)).toThrow();
  });
  expect(tensor.isUnique).toBe(true);
  expect(nameOf(tensor, { max_version: [1, 0] })).toBe('dltensor_versioned');

  const owned = OwnedTensor.from(ramp(2));
  leavingNothing(() => {
    for (const options of failing.slice(1)) expect(() => exportWith(owned, options)).toThrow();
  });
  expect(owned.at(1)).toBe(1);
  const holder = new Holder(owned.__dlpack__({ max_version: [1, 0] }));
  expect(holder.picture().flags).toBe(IS_COPIED);
  holder.release();

  // An option whose getter throws: its very error, and nothing else.
  const problem = new Error('from a getter');
  leavingNothing(() => {
    expect(() =>
      exportWith(tensor, {
        get max_version() {
          throw problem;
        },
      }),
    ).toThrow(problem);
  });
});
