/** Each example addon exchanges tensors with the library: no copy, and every deleter called once. */
import { describe, expect, test } from '@jest/globals';
import { fromDLPack, OwnedTensor, stats, Tensor } from '../../dist/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import { collectUntil, expectCountersAtZero } from '../support/counters.js';
import { makeStruct } from '../support/lab.js';
import { thrownBy } from '../support/refusals.js';
import { recordRow } from '../interop/rows.js';
import { BUILT_WITH, FILES, IS_COPIED, load, READ_ONLY, SUM } from './example-addons.js';

expectCountersAtZero();

const matrix = () => new Float32Array([0, 1, 2, 3, 4, 5]);

test('there is more than one of them', () => {
  expect(FILES.length).toBeGreaterThan(1);
});

describe.each(FILES)('addon-%s', (name, file) => {
  const addon = load(file);
  const row = {
    library: `examples/addon-${name}`,
    version: BUILT_WITH[name] ?? '',
    struct: 'DLManagedTensorVersioned',
    copies: 0,
  } as const;

  test('its tensor becomes ours, and ends with ours', async () => {
    await collectUntil(() => addon.held() === 0);
    expect(addon.held()).toBe(0);
    const tensor = fromDLPack(addon.makeTensor());
    expect({ shape: tensor.shape, strides: tensor.strides, dtype: tensor.dtype, zeroCopy: tensor.zeroCopy }).toEqual({
      shape: [2, 3],
      strides: [3, 1],
      dtype: 'float32',
      zeroCopy: true,
    });
    expect(tensor.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(addon.held()).toBe(1);
    tensor.dispose();
    await collectUntil(() => addon.held() === 0);
    expect(addon.held()).toBe(0);
    recordRow({ ...row, direction: 'in', writable: 'no', remarks: 'built by itself, with the headers alone' });
  });

  test('its tensor goes through us and comes back, over the same memory', async () => {
    using tensor = fromDLPack(addon.makeTensor());
    const seen = addon.takeTensor(tensor);
    expect(seen).toEqual({ sum: SUM, address: dataAddress(tensor), flags: READ_ONLY });
    tensor.dispose();
    await collectUntil(() => addon.held() === 0);
    expect(addon.held()).toBe(0);
  });

  test('our tensor is read where it lies, and let go', () => {
    using tensor = Tensor.from(matrix(), { shape: [2, 3] });
    const address = dataAddress(tensor);
    expect(addon.takeTensor(tensor)).toEqual({ sum: SUM, address, flags: READ_ONLY });
    expect(addon.takeTensor(tensor.__dlpack__({ max_version: [1, 3] }))).toEqual({
      sum: SUM,
      address,
      flags: READ_ONLY,
    });
    expect(stats().exports).toBe(0);
    expect(tensor.isUnique).toBe(true);
    recordRow({ ...row, direction: 'out', writable: 'no', remarks: 'a read-only Tensor' });
  });

  test('any layout is read where it lies', () => {
    using tensor = Tensor.from(matrix(), { shape: [2, 3] });
    for (const view of [tensor.transpose(), tensor.slice(null, [2, null, -1]), tensor.slice(null, [0, 2])]) {
      const sum = view.toTypedArray().reduce((total, element) => total + element, 0);
      expect(addon.takeTensor(view)).toEqual({ sum, address: dataAddress(view), flags: READ_ONLY });
      view.dispose();
    }
    using empty = tensor.slice(null, [0, 0]);
    expect(addon.takeTensor(empty).sum).toBe(0);
  });

  test('our OwnedTensor is consumed without a copy', () => {
    const owned = OwnedTensor.from(matrix(), { shape: [2, 3] });
    const address = dataAddress(owned);
    expect(addon.takeTensor(owned)).toEqual({ sum: SUM, address, flags: IS_COPIED });
    expect([owned.consumed, stats().exports, stats().blocks]).toEqual([true, 0, 0]);
    recordRow({ ...row, direction: 'out', writable: 'yes', remarks: 'an OwnedTensor' });
  });

  test('a stranger’s struct of either kind ends with it', () => {
    for (const versioned of [true, false]) {
      const struct = makeStruct({ versioned });
      expect(addon.takeTensor(struct.capsule())).toEqual({
        sum: SUM,
        address: struct.data,
        flags: versioned ? 0 : READ_ONLY,
      });
      expect([struct.deleterCalls, struct.unchanged]).toEqual([1, true]);
    }
  });

  test('what it cannot use is refused in words, and let go', () => {
    for (const make of [() => Tensor.from([1, 2]), () => Tensor.from(new Int8Array(6), { shape: [2, 3] })]) {
      using tensor = make();
      expect(thrownBy(() => addon.takeTensor(tensor))).toMatchObject({ message: expect.stringMatching(/dtype|ndim/) });
      expect(stats().exports).toBe(0);
    }
    const wrong = makeStruct({ major: 2 });
    expect(thrownBy(() => addon.takeTensor(wrong.capsule()))).toMatchObject({ code: 'ERR_DLPACK_BUFFER' });
    expect(wrong.deleterCalls).toBe(1);
  });

  const { scale } = addon;
  if (scale === undefined) return; // the Rust one only takes
  test('scale works in place on an OwnedTensor, which is not consumed', () => {
    using owned = OwnedTensor.from(matrix(), { shape: [2, 3] });
    const { data } = owned;
    scale(owned, 2);
    expect([...data]).toEqual([0, 2, 4, 6, 8, 10]);
    expect(owned.isUnique).toBe(true);
    using tensor = owned.freeze();
    expect(thrownBy(() => scale(tensor, 2))).toMatchObject({ name: 'BufferError' });
    expect(thrownBy(() => scale({}, 2))).toMatchObject({ name: 'TypeError' });
  });
});
