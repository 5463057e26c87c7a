/**
 * Structs from outside that are not what they should be. Each is refused with an error that names the field; its
 * deleter runs exactly once, when it has one; nothing of ours is left; and no memory is touched that the struct does
 * not own: it stands between pages that fault.
 */
import { describe, expect, test } from '@jest/globals';
import { fromDLPack } from '../dist/index.js';
import { dataAddress, makeCapsule } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { BOTH, expectMalformed, expectStructsDeletedOnce } from './support/fixtures.js';
import { bytesOf, lab, makeStruct, ramp, IS_COPIED, READ_ONLY, type Bits } from './support/lab.js';
import {
  expectBufferError,
  expectRangeError,
  expectStateError,
  expectTypeError,
  leavingNothing,
  thrownBy,
} from './support/refusals.js';
import { rawBytes } from './support/values.js';

expectCountersAtZero();
expectStructsDeletedOnce();

describe('C082 a NULL managed pointer is an error, and nothing is followed', () => {
  test.each([true, false])('C082 in a capsule (versioned: %p): it reads as used', (versioned) => {
    const capsule = lab.makeNullCapsule(versioned);
    leavingNothing(() => expectStateError(() => fromDLPack(capsule), 'ERR_DLPACK_CONSUMED', /consumed/));
  });

  test('C082 as an address', () => {
    leavingNothing(() => {
      for (const versioned of [true, false]) {
        expect(thrownBy(() => makeCapsule({ address: 0n, versioned }))).toMatchObject({
          code: expect.stringMatching(/^ERR_/),
          message: expect.stringMatching(/address/),
        });
      }
      for (const address of [undefined, null, 0, 1, '1', {}, -1n, 2n ** 64n]) {
        expect(thrownBy(() => Reflect.apply(makeCapsule, undefined, [{ address, versioned: true }]))).toMatchObject({
          code: expect.stringMatching(/^ERR_/),
          message: expect.stringMatching(/address/),
        });
      }
    });
  });
});

describe('C083 another major version: only the deleter is touched', () => {
  test.each([2, 3, 99, 2 ** 31, 2 ** 32 - 1])('C083 major %d, everything past the deleter unreadable', (major) => {
    expectMalformed(
      { major, minor: 0, onlyLeadReadable: true, readOnlyStruct: true },
      new RegExp(`major.*${major}|${major}.*major`),
      [{}],
    );
  });

  test('C083 also when the rest is readable nonsense', () => {
    expectMalformed(
      {
        major: 2,
        ndim: -7,
        dtype: [255, 255, 65535],
        device: [-1, -1],
        flags: 2n ** 64n - 1n,
        data: 1n,
        byteOffset: 2n ** 64n - 1n,
      },
      /major/,
      [{}],
    );
  });

  test('C083 and a legacy struct has no version to look at: the same bytes there are a pointer', () => {
    using tensor = fromDLPack(makeStruct({ versioned: false }).capsule());
    expect(tensor.at(1, 2)).toBe(5);
  });
});

test('C084 major version 0 is another major version too', () => {
  for (const minor of [0, 5, 8])
    expectMalformed({ major: 0, minor, onlyLeadReadable: true }, /major.*0|0.*major/, [{}]);
});

describe('C085 ndim', () => {
  test.each([-1, -2, -64, -(2 ** 31)])('C085 ndim %d', (ndim) =>
    expectMalformed({ ndim }, new RegExp(`ndim.*${ndim}`)),
  );

  test.each([1, 2, 64])('C085 %d axes and shape NULL', (ndim) => {
    expectMalformed({ ndim, shape: null, strides: null }, /shape.*NULL/);
    expectMalformed({ ndim, shape: null, strides: Array.from({ length: ndim }, () => 1) }, /shape.*NULL/);
  });

  test('C085 0 axes and shape NULL is a scalar', () => {
    for (const both of BOTH) {
      using tensor = fromDLPack(makeStruct({ ...both, ndim: 0, shape: null, strides: null }).capsule());
      expect([tensor.shape, tensor.at()]).toEqual([[], 0]);
    }
  });
});

describe('C086 a negative extent', () => {
  test.each([
    [[-1], 0],
    [[2, -3], 1],
    [[-(2n ** 63n)], 0],
    [[0, -1], 1],
    [[-1, 0], 0],
    [[-2, -3], 0],
    [[1, 1, 1, -7], 3],
    [[2n ** 40n, -1], 1],
  ] as const)('C086 %p', (shape, axis) => {
    expectMalformed({ shape, strides: shape.map(() => 1) }, new RegExp(`shape\\[${axis}\\].*${shape[axis]}`));
    expectMalformed({ shape, strides: null }, new RegExp(`shape\\[${axis}\\].*${shape[axis]}`));
  });
});

describe('C087 sizes that overflow', () => {
  test.each([
    [[2n ** 62n, 4]],
    [[2n ** 63n - 1n]],
    [[2n ** 61n]],
    [[2n ** 32n, 2n ** 32n]],
    [[3, 2n ** 62n, 2]],
    [Array.from({ length: 64 }, () => 2)],
    [[2n ** 21n, 2n ** 21n, 2n ** 21n, 2n ** 21n]],
    [[2n ** 60n, 8]],
    [[2n ** 53n, 2n ** 10n]],
  ])('C087 %p', (shape) => {
    expectMalformed({ shape }, /shape|size|overflow|extents/);
    expectMalformed({ shape, strides: null }, /shape|size|overflow|extents/);
    expectMalformed({ shape, strides: shape.map(() => 0) }, /shape|size|overflow|extents/);
  });

  test('C087 the bytes overflow where the elements do not', () => {
    for (const [dtype, count] of [
      [[5, 128], 2n ** 60n],
      [[2, 64], 2n ** 61n],
      [[0, 64], 2n ** 60n],
    ] as const) {
      expectMalformed({ dtype, shape: [count] }, /shape|size|overflow|extent/);
    }
  });

  test('C087 a 0 after an overflow: an empty tensor or an error, never a wrap', () => {
    for (const both of BOTH) {
      for (const shape of [
        [2n ** 62n, 4, 0],
        [0, 2n ** 62n, 4],
        [2n ** 62n, 0, 4],
      ]) {
        const struct = makeStruct({ ...both, shape, strides: [0, 0, 0] });
        let empty;
        try {
          empty = fromDLPack(struct.capsule());
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_DLPACK_BUFFER' });
        }
        if (empty !== undefined) expect([empty.size, empty.byteLength]).toEqual([0, 0]);
        empty?.dispose();
        expect(struct.deleterCalls).toBe(1);
      }
    }
  });
});

describe('C088 spans that overflow', () => {
  test.each([
    [
      [2, 3],
      [2n ** 62n, 1],
    ],
    [
      [2, 3],
      [-(2n ** 62n), 1],
    ],
    [[2], [-(2n ** 63n)]],
    [[2], [2n ** 63n - 1n]],
    [[3], [2n ** 62n]],
    [
      [2, 2],
      [2n ** 61n, 2n ** 61n],
    ],
    [
      [2, 2],
      [-(2n ** 61n), -(2n ** 61n)],
    ],
    [
      [2, 2],
      [2n ** 62n, -(2n ** 62n)],
    ],
    [
      [1, 2],
      [-(2n ** 63n), -(2n ** 63n)],
    ],
    [[2n ** 40n], [2n ** 30n]],
  ] as [Bits[], Bits[]][])('C088 shape %p, strides %p', (shape, strides) => {
    const text = new RegExp(`strides\\[\\d\\] is (${strides.join('|')})`);
    expectMalformed({ shape, strides }, text);
    expectMalformed({ shape, strides, byteOffset: 8 }, text);
  });

  test('C088 a span that reaches below address 0 or past the last address', () => {
    expectMalformed({ shape: [2], strides: [-(2n ** 45n)], data: 4096n }, /stride|address|span/);
    expectMalformed({ shape: [2], strides: [2n ** 45n], data: 2n ** 64n - 4096n }, /stride|address|span|offset/);
    expectMalformed({ shape: [2048], strides: null, data: 2n ** 64n - 4096n }, /stride|address|span|offset|overflow/);
  });
});

test.each([[[]], [[1]], [[2, 3]], [[1, 1, 1]]])('C089 data NULL where elements are promised: shape %j', (shape) => {
  expectMalformed({ shape, data: null }, /data.*NULL/);
  expectMalformed({ shape, data: null, byteOffset: 64 }, /data.*NULL/);
});

test.each([
  [8n, 2n ** 64n - 4n],
  [4096n, 2n ** 64n - 1n],
  [2n ** 63n, 2n ** 63n],
  [2n ** 64n - 8n, 64n],
  [2n ** 64n - 64n, 60n],
])('C090 data %d + byte_offset %d leaves the address space', (data, byteOffset) => {
  expectMalformed({ data, byteOffset }, /byte_offset|address|span/);
});

test('C091 bits that are no whole number of bytes for the type', () => {
  for (const code of [0, 1, 2, 4, 5, 6]) {
    for (const bits of [0, 1, 3, 7, 9, 15, 17, 31, 33, 63, 65, 255])
      expectMalformed({ dtype: [code, bits] }, /bits|dtype/, [BOTH[bits % 2] ?? {}]);
  }
  for (const code of [7, 8, 9, 10, 11, 12, 13, 14])
    for (const bits of [0, 4, 7, 12]) expectMalformed({ dtype: [code, bits] }, /bits|dtype/, [BOTH[bits % 2] ?? {}]);
});

describe('C092 negative strides are read from the right end, never outside', () => {
  test.each([
    [[6], [-1], 20, [5, 4, 3, 2, 1, 0]],
    [[3], [-2], 16, [4, 2, 0]],
    [[2, 3], [-3, 1], 12, [3, 4, 5, 0, 1, 2]],
    [[2, 3], [3, -1], 8, [2, 1, 0, 5, 4, 3]],
    [[2, 3], [-3, -1], 20, [5, 4, 3, 2, 1, 0]],
    [[3, 2], [-1, 3], 8, [2, 5, 1, 4, 0, 3]],
    [[2, 3], [-1, 0], 4, [1, 1, 1, 0, 0, 0]],
  ] as const)('C092 shape %j, strides %j', (shape, strides, byteOffset, values) => {
    // six elements close before a page that faults
    for (const both of BOTH) {
      for (const place of [{ byteOffset }, { dataShift: byteOffset }]) {
        const struct = makeStruct({ ...both, ...place, shape, strides, bytes: bytesOf(ramp(6)) });
        using tensor = fromDLPack(struct.capsule());
        expect([...tensor.toTypedArray()]).toEqual(values);
        expect(tensor.strides).toEqual(strides);
        expect(dataAddress(tensor)).toBe(struct.data + BigInt(byteOffset));
        const last = tensor.at(...shape.map((extent) => extent - 1));
        expect(last).toBe(values.at(-1));
        using copied = tensor.copy();
        expect([...copied.data]).toEqual(values);
        using loop = fromDLPack(tensor);
        expect(loop.toArray()).toEqual(tensor.toArray());
      }
    }
  });
});

describe('C093 elements that are not aligned', () => {
  const cases = [
    [
      [2, 32],
      [1, 2, 3],
    ],
    [
      [2, 64],
      [1, 2, 4, 7],
    ],
    [
      [0, 16],
      [1, 3],
    ],
    [
      [5, 64],
      [1, 2],
    ],
    [
      [5, 128],
      [1, 4],
    ],
    [[0, 64], [4]],
    [[4, 16], [1]],
  ] as const;
  test.each(cases)('C093 dtype %j: copied where a copy is not refused, refused where it is', (dtype, misalignments) => {
    const bytes = Uint8Array.from({ length: (dtype[1] / 8) * 5 }, (_, index) => index + 1);
    for (const misalign of misalignments) {
      for (const both of [...BOTH, { flags: IS_COPIED }, { flags: READ_ONLY }]) {
        for (const place of [{ misalign }, { byteOffset: misalign, shape: [3] }]) {
          const struct = makeStruct({ ...both, shape: [4], ...place, dtype, bytes });
          const start = 'byteOffset' in place ? misalign : 0;
          using tensor = fromDLPack(struct.capsule());
          expect([tensor.zeroCopy, struct.deleterCalls]).toEqual([false, 1]);
          expect(rawBytes(tensor.view({ bits: true }))).toEqual(bytes.slice(start, start + tensor.byteLength));
          const refused = makeStruct({ ...both, shape: [4], ...place, dtype, bytes });
          leavingNothing(() => expectBufferError(() => fromDLPack(refused.capsule(), { copy: false }), /align/));
          expect(refused.deleterCalls).toBe(1);
          using owned = fromDLPack(makeStruct({ ...both, shape: [4], ...place, dtype, bytes }).capsule(), {
            copy: true,
          });
          expect(owned.isUnique).toBe(true);
          tensor.dispose();
        }
      }
    }
  });

  test('C093 a copy made because of alignment is an ordinary read-only tensor of our own', () => {
    using tensor = fromDLPack(makeStruct({ misalign: 1, flags: 0 }).capsule());
    expect([tensor.readOnly, tensor.isUnique]).toEqual([true, true]);
    tensor.view();
    tensor.releaseViews();
    const owned = tensor.intoDLPack();
    owned.fill(1);
    owned.dispose();
  });
});

function producerAt(device: unknown): object {
  return { __dlpack__: () => makeStruct().capsule(), __dlpack_device__: () => device };
}

describe('C094 what __dlpack_device__ answers', () => {
  test.each([
    [null],
    [undefined],
    [1],
    ['cpu'],
    [true],
    [{}],
    [{ 0: 1, 1: 0, length: 2 }],
    [[null, 0]],
    [[1, null]],
    [['1', 0]],
    [[1, '0']],
    [[1.5, 0]],
    [[1n, 0n]],
    [[[1], 0]],
    [[1, NaN]],
    [() => [1, 0]],
  ])('C094 no pair of integers (%p): TypeError', (answer) => {
    leavingNothing(() =>
      expectTypeError(() => Reflect.apply(fromDLPack, undefined, [producerAt(answer)]), /__dlpack_device__/),
    );
  });

  test.each([[[]], [[1]], [[1, 0, 0]], [[1, 0, 0, 0]]])('C094 integers, but not two (%j): RangeError', (answer) => {
    leavingNothing(() =>
      expectRangeError(() => Reflect.apply(fromDLPack, undefined, [producerAt(answer)]), /__dlpack_device__/),
    );
  });
});
