/** The C kit as a producer: wrap, make, downgrade, and an object with __dlpack__; and its check of what a DLTensor says. */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, fromDLPack, releaseCapsule } from '../dist/index.js';
import { takePointer } from '../dist/unsafe.js';
import { collect, collectUntil, expectCountersAtZero } from './support/counters.js';
import { kit, type CheckSpec } from './support/kit-lab.js';
import { lab, pictureAt } from './support/lab.js';
import { thrownBy } from './support/refusals.js';

expectCountersAtZero();

describe('wrap', () => {
  test('makes a struct of version 1.3 with row-major strides, over the memory itself', () => {
    kit.releases();
    const managed = kit.wrap([2, 3], null, 0);
    expect(pictureAt(managed, true)).toMatchObject({
      major: 1,
      minor: 3,
      flags: 0n,
      ndim: 2,
      shape: [2, 3],
      strides: [3, 1],
      byteOffset: 0n,
      device: [1, 0],
      dtype: [2, 32, 1],
    });
    expect(kit.isContiguous(managed)).toBe(true);
    using tensor = fromDLPack(kit.make(managed));
    expect(tensor.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(tensor.readOnly).toBe(false);
    expect(kit.releases()).toBe(0);
    tensor.dispose();
    expect(kit.releases()).toBe(1);
  });

  test('keeps strides and flags as they are given', () => {
    const managed = kit.wrap([2, 3], [1, 2], 3);
    expect(kit.look(managed)).toMatchObject({ strides: [1, 2], flags: 3 });
    expect(kit.isContiguous(managed)).toBe(false);
    kit.release(managed);
  });

  test('gives an empty tensor no data, and a 0-d one no shape', () => {
    const empty = kit.wrap([2, 0], null, 0);
    expect(kit.look(empty)).toMatchObject({ data: 0n, shape: [2, 0], strides: [0, 1] });
    const scalar = kit.wrap([], null, 0);
    expect(kit.look(scalar)).toMatchObject({ shape: null, strides: null });
    expect(kit.look(scalar).data).not.toBe(0n);
    kit.release(empty);
    kit.release(scalar);
  });

  test('ends rightly whatever a consumer wrote into the struct', () => {
    kit.releases();
    const held = lab.holdAddress(kit.wrap([2, 3], null, 0), true);
    lab.scrambleHeld(held);
    lab.releaseHeldOnThread(held);
    expect(kit.releases()).toBe(1);
  });
});

describe('make', () => {
  test('an unused capsule that goes releases the memory once, a released one at once', async () => {
    kit.releases();
    kit.make(kit.wrap([2], null, 0));
    let count = 0;
    await collectUntil(() => (count += kit.releases()) > 0);
    await collect(2);
    expect(count + kit.releases()).toBe(1);
    releaseCapsule(kit.make(kit.wrap([2], null, 0)));
    expect(kit.releases()).toBe(1);
  });

  test('refuses NULL', () => {
    expect(thrownBy(() => kit.make(0n))).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
  });

  test('a legacy struct around a versioned one shares memory and deleter', () => {
    kit.releases();
    const managed = kit.wrap([3], null, 2);
    const { data } = kit.look(managed);
    const { address, versioned } = takePointer(kit.makeLegacy(managed));
    expect(versioned).toBe(false);
    expect(pictureAt(address, false)).toMatchObject({ data, shape: [3], strides: [1] });
    lab.releaseHeld(lab.holdAddress(address, false));
    expect(kit.releases()).toBe(1);
  });

  test('what legacy cannot say is refused, and ended', () => {
    kit.releases();
    for (const flags of [1, 4])
      expect(thrownBy(() => kit.makeLegacy(kit.wrap([3], null, flags)))).toMatchObject({ name: 'BufferError' });
    expect(kit.releases()).toBe(2);
  });
});

/** The flags of a capsule's struct, which is ended. */
function flagsOf(capsule: object): bigint {
  const { address, versioned } = takePointer(capsule);
  const { flags } = pictureAt(address, versioned);
  lab.releaseHeld(lab.holdAddress(address, versioned));
  return flags;
}

describe('a producer', () => {
  const [LENDS, LENDS_READ_ONLY, COPIES, MAKES_NOTHING] = [0, 1, 2, 3];

  test('names its device and exports what it holds', () => {
    const producer = kit.makeProducer(LENDS);
    using tensor = fromDLPack(producer);
    expect(tensor.toArray()).toEqual([1.5, -2]);
    expect(producer.__dlpack_device__()).toEqual([1, 0]);
  });

  test('gives a fresh struct in a fresh capsule at every call', () => {
    const producer = kit.makeProducer(LENDS);
    const capsules = [producer.__dlpack__({ max_version: [1, 0] }), producer.__dlpack__({ max_version: [1, 0] })];
    const addresses = capsules.map((capsule) => takePointer(capsule).address);
    expect(new Set(capsules).size + new Set(addresses).size).toBe(4);
    for (const address of addresses) lab.releaseHeld(lab.holdAddress(address, true));
  });

  test('gives the struct that was asked for', () => {
    const producer = kit.makeProducer(LENDS);
    for (const options of [
      undefined,
      {},
      { max_version: null },
      { max_version: [0, 8] },
      { max_version: undefined, later: 1 },
    ]) {
      const capsule = producer.__dlpack__(options);
      expect(capsuleName(capsule)).toBe('dltensor');
      releaseCapsule(capsule);
    }
    for (const max_version of [
      [1, 0],
      [1, 3],
      [2, 0],
      [100, 3],
    ]) {
      const capsule = producer.__dlpack__({ max_version });
      expect(capsuleName(capsule)).toBe('dltensor_versioned');
      releaseCapsule(capsule);
    }
  });

  test('does not let read-only memory out in a legacy struct', () => {
    const producer = kit.makeProducer(LENDS_READ_ONLY);
    expect(flagsOf(producer.__dlpack__({ max_version: [1, 0] }))).toBe(1n);
    expect(thrownBy(() => producer.__dlpack__())).toMatchObject({
      name: 'BufferError',
      message: expect.stringContaining('read-only'),
    });
  });

  test('keeps what is said of copies', () => {
    const version = { max_version: [1, 3] };
    const copies = kit.makeProducer(COPIES);
    expect(flagsOf(copies.__dlpack__({ ...version, copy: true }))).toBe(2n);
    expect(flagsOf(copies.__dlpack__({ ...version, copy: false }))).toBe(0n);
    expect(flagsOf(copies.__dlpack__({ ...version, copy: null }))).toBe(2n);
    const lends = kit.makeProducer(LENDS);
    expect(thrownBy(() => lends.__dlpack__({ ...version, copy: true }))).toMatchObject({ name: 'BufferError' });
  });

  test('is on no other device, and on no stream', () => {
    const producer = kit.makeProducer(LENDS);
    releaseCapsule(producer.__dlpack__({ dl_device: [1, 0], stream: null }));
    for (const dl_device of [
      [2, 0],
      [1, 5],
      [99, 0],
    ]) {
      expect(thrownBy(() => producer.__dlpack__({ dl_device }))).toMatchObject({ name: 'BufferError' });
    }
    for (const stream of [0, -1, 1, 'x']) {
      expect(thrownBy(() => producer.__dlpack__({ stream }))).toMatchObject({
        name: 'RangeError',
        code: 'ERR_OUT_OF_RANGE',
      });
    }
  });

  test('refuses malformed options', () => {
    const producer = kit.makeProducer(LENDS);
    const malformed = [
      null,
      1,
      'x',
      [],
      () => 0,
      { max_version: 1 },
      { max_version: [1] },
      { max_version: [1, 2, 3] },
      { max_version: [1.5, 0] },
      { max_version: [-1, 0] },
      { dl_device: 1 },
      { dl_device: [1] },
      { copy: 1 },
      { copy: 'yes' },
    ];
    for (const options of malformed) {
      expect(thrownBy(() => producer.__dlpack__(options))).toMatchObject({
        name: 'TypeError',
        code: 'ERR_INVALID_ARG_TYPE',
      });
    }
    const thrown = new Error('mine');
    expect(
      thrownBy(() =>
        producer.__dlpack__({
          get copy() {
            throw thrown;
          },
        }),
      ),
    ).toBe(thrown);
  });

  test('that can make nothing says so', () => {
    expect(thrownBy(() => kit.makeProducer(MAKES_NOTHING).__dlpack__())).toMatchObject({ name: 'BufferError' });
  });

  test('ends once, when the object and both functions are gone', async () => {
    await collect(4); // those of other tests
    kit.releases();
    let kept: unknown = kit.makeProducer(LENDS).__dlpack_device__;
    await collect(4);
    expect(kit.releases()).toBe(0);
    expect(Reflect.apply(kept as () => unknown, undefined, [])).toEqual([1, 0]);
    kept = undefined;
    let count = 0;
    await collectUntil(() => (count += kit.releases()) > 0);
    await collect(2);
    expect(count + kit.releases()).toBe(1);
  });
});

describe('check', () => {
  const OK = 0;
  const float64: [number, number, number] = [2, 64, 1];
  const huge = 2 ** 62;

  test.each<[string, CheckSpec, { size: number; lowest: number; highest: number }]>([
    ['row-major', {}, { size: 6, lowest: 0, highest: 24 }],
    ['strides NULL', { strides: null }, { size: 6, lowest: 0, highest: 24 }],
    ['negative strides', { strides: [-3, 1] }, { size: 6, lowest: -12, highest: 12 }],
    ['stride 0', { strides: [0, 0] }, { size: 6, lowest: 0, highest: 4 }],
    ['extent 1 with any stride', { shape: [1, 2], strides: [huge, 1] }, { size: 2, lowest: 0, highest: 8 }],
    ['0-d', { shape: null, ndim: 0, dtype: float64 }, { size: 1, lowest: 0, highest: 8 }],
    [
      'empty, whatever else it says',
      { shape: [huge, huge, 0], strides: [huge, huge, huge], data: 0n },
      { size: 0, lowest: 0, highest: 0 },
    ],
    ['4 bits, packed', { shape: [3], dtype: [17, 4, 1] }, { size: 3, lowest: 0, highest: 2 }],
    ['pinned host memory', { device: [3, 1] }, { size: 6, lowest: 0, highest: 24 }],
    ['complex, aligned to its parts', { dtype: [5, 64, 1], byteOffset: 4n }, { size: 6, lowest: 0, highest: 48 }],
  ])('accepts and measures: %s', (_, spec, measured) => {
    expect(kit.check(spec)).toEqual({ error: OK, ...measured });
  });

  test.each<[number, string, CheckSpec]>([
    [3, 'ndim -1', { ndim: -1 }],
    [3, 'ndim 65', { ndim: 65 }],
    [4, 'no shape', { shape: null, ndim: 1 }],
    [5, 'a negative extent', { shape: [2, -3] }],
    [5, 'a negative extent beside a 0', { shape: [0, -3] }],
    [7, 'too many elements', { shape: [huge, 4] }],
    [7, 'too many bytes', { shape: [huge], dtype: [1, 8, 1] }],
    [8, 'strides that wrap', { strides: [huge, huge] }],
    [8, 'the least stride there is', { strides: [-(2 ** 63), 1] }],
    [8, 'elements below address 0', { strides: [-4096, 1] }],
    [8, 'elements past the last address', { data: 2n ** 64n - 16n, dtype: [1, 8, 1], strides: [8, 4] }],
    [9, 'no data', { data: 0n }],
    [10, 'a byte_offset that wraps', { byteOffset: 2n ** 64n - 4n }],
    [11, 'an unknown device', { device: [99, 0] }],
    [11, 'a gap between the devices', { device: [5, 0] }],
    [57, 'a device that the host cannot read', { device: [2, 0] }],
    [13, 'no bits', { dtype: [2, 0, 1] }],
    [13, 'part of a byte', { dtype: [2, 12, 1] }],
    [14, 'vectors', { dtype: [2, 32, 4] }],
    [14, 'no lanes', { dtype: [2, 32, 0] }],
    [15, 'misaligned data', { byteOffset: 2n }],
  ])('answers %i for %s', (error, _, spec) => {
    expect(kit.check(spec).error).toBe(error);
  });
});

describe('errors', () => {
  test('each code of the kit has words of its own, with the names and codes of the library', () => {
    const codes = [
      1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 36, 50, 55, 57, 58, 59, 60, 80, 81, 82, 87, 100, 101, 200, 201,
      202, 203, 205, 206, 207, 208, 209, 210, 211, 212, 213,
    ];
    const errors = codes.map((code) => thrownBy(() => kit.throwCode(code)) as Error & { code: string });
    expect(new Set(errors.map((error) => error.message)).size).toBe(codes.length);
    for (const { name, code } of errors) {
      expect(
        {
          TypeError: ['ERR_INVALID_ARG_TYPE'],
          RangeError: ['ERR_DLPACK_MEMORY', 'ERR_OUT_OF_RANGE'],
          BufferError: ['ERR_DLPACK_BUFFER'],
          DLPackStateError: ['ERR_DLPACK_CONSUMED', 'ERR_DLPACK_DISPOSED'],
        }[name],
      ).toContain(code);
    }
  });

  test('a code that it does not know is an error all the same', () => {
    expect(thrownBy(() => kit.throwCode(9999))).toMatchObject({ name: 'BufferError' });
  });

  test('what was called stands before the text', () => {
    expect(thrownBy(() => kit.throwCode(80, 'resize(image)'))).toMatchObject({
      message: 'resize(image): this is no DLPack capsule',
    });
  });

  test('an exception that is pending stays', () => {
    const thrown = new Error('first');
    for (const code of [80, 204]) expect(thrownBy(() => kit.throwOver(thrown, code))).toBe(thrown);
  });
});
