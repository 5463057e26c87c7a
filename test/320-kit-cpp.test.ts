/** node_dlpack.hpp: owners that move and release by themselves, and views that show nothing unless it was checked. */
import { describe, expect, test } from '@jest/globals';
import { fromDLPack, OwnedTensor, stats, Tensor } from '../dist/index.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import { kit } from './support/kit-lab.js';
import { makeStruct } from './support/lab.js';
import { thrownBy } from './support/refusals.js';

expectCountersAtZero();

/** What cppSum2 makes of a matrix. */
function weighed(rows: readonly (readonly number[])[]): number {
  return rows.reduce((sum, row, i) => sum + row.reduce((part, value, j) => part + value * (10 * i + j + 1), 0), 0);
}

describe('a view', () => {
  test('finds the elements by any strides', () => {
    using tensor = Tensor.from(new Float32Array([0, 1, 2, 3, 4, 5]), { shape: [2, 3] });
    const sliced = [
      tensor.slice(),
      tensor.transpose(),
      tensor.flip(0),
      tensor.slice(null, [2, null, -2]),
      tensor.slice([0, 0]),
    ];
    for (const each of sliced) expect(kit.cppSum2(each)).toBe(weighed(each.toArray() as number[][]));
    for (const each of sliced) each.dispose();
  });

  test('begins at byte_offset, and takes strides that are missing for row-major', () => {
    const struct = makeStruct({
      shape: [2, 2],
      strides: null,
      byteOffset: 8,
      bytes: new Uint8Array(new Float32Array([9, 9, 1, 2, 3, 4]).buffer),
    });
    expect(kit.cppSum2(struct.capsule())).toBe(
      weighed([
        [1, 2],
        [3, 4],
      ]),
    );
    expect(struct.deleterCalls).toBe(1);
  });

  test.each<[string, () => unknown, string]>([
    [
      'another dtype',
      () => Tensor.from(new Float64Array(4), { shape: [2, 2] }),
      'cppSum2(x): dtype is float64; float32 was expected',
    ],
    ['another number of axes', () => Tensor.from(new Float32Array(4)), 'cppSum2(x): ndim is 1; 2 was expected'],
    ['bool', () => Tensor.from([[true]]), 'cppSum2(x): dtype is bool; float32 was expected'],
    [
      'a type without a name',
      () => makeStruct({ dtype: [10, 8, 1] }).capsule(),
      'cppSum2(x): dtype is type code 10 with 8 bits; float32 was expected',
    ],
    [
      'vectors',
      () => makeStruct({ dtype: [2, 32, 2] }).capsule(),
      'cppSum2(x): dtype.lanes is not 1; only scalar elements can be used',
    ],
    [
      'a device that cannot be read',
      () => makeStruct({ device: [2, 0] }).capsule(),
      'cppSum2(x): the tensor is on a device that the host cannot read; bring it to the CPU first',
    ],
    [
      'something else',
      () => ({}),
      'cppSum2(x): a tensor was expected: a DLPack capsule, or an object with __dlpack__ and __dlpack_device__',
    ],
  ])('refuses %s in words', (_, make, message) => {
    const value = make();
    const before = stats();
    expect(thrownBy(() => kit.cppSum2(value))).toMatchObject({ message });
    if (value instanceof Tensor) {
      expect(stats()).toEqual(before);
      value.dispose();
    }
  });

  test('to write through is refused for read-only memory, and writes where it may', () => {
    using owned = OwnedTensor.from(new Float64Array([1, 2, 3]));
    kit.cppDouble(owned);
    expect([...owned.data]).toEqual([2, 4, 6]);
    using tensor = Tensor.from(new Float64Array([1]));
    expect(thrownBy(() => kit.cppDouble(tensor))).toMatchObject({
      name: 'BufferError',
      message: expect.stringContaining('read-only'),
    });
    owned.lend(
      (loan) => {
        using every = loan.slice([null, null, 2]);
        kit.cppDouble(every);
      },
      { writable: true },
    );
    expect([...owned.data]).toEqual([4, 4, 12]);
  });

  test('without axes has one element', () => {
    using owned = OwnedTensor.allocate([], 'complex64');
    owned.bits.set([2.5, 1]);
    expect(kit.cppScalar(owned)).toBe(2.5);
  });
});

test('a span takes any shape in one run, and nothing else', () => {
  using tensor = Tensor.from(new Uint8Array([1, 2, 3, 4]), { shape: [2, 1, 2] });
  expect(kit.cppSpan(tensor)).toBe(10);
  using columns = tensor.slice(null, null, 0);
  expect(thrownBy(() => kit.cppSpan(columns))).toMatchObject({
    name: 'BufferError',
    message: expect.stringContaining('contiguous()'),
  });
  using empty = Tensor.from(new Uint8Array(0));
  expect(kit.cppSpan(empty)).toBe(0);
});

describe('an owner', () => {
  test('moves, and releases once', () => {
    const struct = makeStruct();
    expect(kit.cppMoves(struct.capsule())).toBe(1);
    expect(struct.deleterCalls).toBe(1);
  });

  test('of a container keeps it until the consumer is done', async () => {
    const capsule = kit.cppOwn(2, 3);
    expect(kit.cppLiveContainers()).toBe(1);
    const tensor = fromDLPack(capsule);
    expect(tensor.toArray()).toEqual([
      [0.5, 0.5, 0.5],
      [0.5, 0.5, 0.5],
    ]);
    expect(tensor.isUnique).toBe(true);
    tensor.dispose();
    expect(kit.cppLiveContainers()).toBe(0);
    kit.cppOwn(3, 2);
    expect(await collectUntil(() => kit.cppLiveContainers() === 0)).toBe(true);
  });

  test('of a container refuses a shape of another size', () => {
    expect(thrownBy(() => kit.cppOwn(4, 2))).toMatchObject({ name: 'BufferError' });
    expect(kit.cppLiveContainers()).toBe(0);
  });
});

test('the C++ types have the dtypes that DLPack gives them', () => {
  expect(kit.cppDTypes()).toEqual([
    0, 8, 0, 16, 0, 32, 0, 64, 1, 8, 1, 16, 1, 32, 1, 64, 2, 32, 2, 64, 6, 8, 5, 64, 5, 128,
  ]);
});
