/**
 * What stands in a struct that we hand out. Read byte by byte where it lies, by an addon that knows DLPack and not us.
 */
import { describe, expect, test } from '@jest/globals';
import { DLPACK_VERSION, fromDLPack, OwnedTensor, stats, Tensor } from '../dist/index.js';
import { adopt, dataAddress, fromPointer } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { eachPicture, expectStructsDeletedOnce, matrix, writableLoan } from './support/fixtures.js';
import { bytesOf, elements, Holder, IS_COPIED, lab, makeStruct, ramp, READ_ONLY } from './support/lab.js';
import { expectRangeError, leavingNothing, thrownBy } from './support/refusals.js';
import { flat } from './support/values.js';

expectCountersAtZero();
expectStructsDeletedOnce();

test('C001 a versioned struct is 80 bytes: version 0, manager_ctx 8, deleter 16, flags 24, dl_tensor 32', () => {
  const layout = lab.headerLayout();
  expect(layout).toMatchObject({
    DLPackVersion: 8,
    DLDevice: 8,
    DLDataType: 4,
    DLTensor: 48,
    DLManagedTensorVersioned: 80,
    'DLTensor.data': 0,
    'DLTensor.device': 8,
    'DLTensor.ndim': 16,
    'DLTensor.dtype': 20,
    'DLTensor.shape': 24,
    'DLTensor.strides': 32,
    'DLTensor.byte_offset': 40,
    'DLManagedTensorVersioned.version': 0,
    'DLManagedTensorVersioned.manager_ctx': 8,
    'DLManagedTensorVersioned.deleter': 16,
    'DLManagedTensorVersioned.flags': 24,
    'DLManagedTensorVersioned.dl_tensor': 32,
  });
  using tensor = matrix();
  for (const max_version of [
    [1, 0],
    [1, 3],
    [2, 0],
  ] as const) {
    const holder = new Holder(tensor.__dlpack__({ max_version }));
    const picture = holder.picture(); // decoded at exactly these offsets
    expect(picture.versioned).toBe(true);
    expect(picture).toMatchObject({
      major: 1,
      flags: READ_ONLY,
      data: dataAddress(tensor),
      device: [1, 0],
      ndim: 2,
      dtype: [2, 32, 1],
      shape: [2, 3],
      strides: [3, 1],
      byteOffset: 0n,
    });
    expect(picture.deleter).not.toBe(0n);
    holder.release();
  }
});

test('C002 a legacy struct is 64 bytes: dl_tensor 0, manager_ctx 48, deleter 56', () => {
  expect(lab.headerLayout()).toMatchObject({
    DLManagedTensor: 64,
    'DLManagedTensor.dl_tensor': 0,
    'DLManagedTensor.manager_ctx': 48,
    'DLManagedTensor.deleter': 56,
  });
  const owned = OwnedTensor.from(ramp(6), { shape: [2, 3] });
  const address = dataAddress(owned);
  const holder = new Holder(owned.__dlpack__());
  const picture = holder.picture();
  expect(picture.versioned).toBe(false);
  expect(picture).toMatchObject({
    data: address,
    device: [1, 0],
    ndim: 2,
    dtype: [2, 32, 1],
    shape: [2, 3],
    strides: [3, 1],
    byteOffset: 0n,
  });
  expect(picture.deleter).not.toBe(0n);
  expect(holder.elements()).toEqual([0, 1, 2, 3, 4, 5]);
  holder.release();
});

test('C003 the version written is the one this library was built against, whatever higher one was asked for', () => {
  expect(DLPACK_VERSION).toEqual([1, 3]);
  using tensor = matrix();
  for (const max_version of [
    [1, 0],
    [1, 2],
    [1, 3],
    [1, 9],
    [7, 0],
  ] as const) {
    const holder = new Holder(tensor.__dlpack__({ max_version }));
    expect([holder.picture().major, holder.picture().minor]).toEqual([1, 3]);
    holder.release();
  }
});

describe('C004 memory that a foreign producer lent as writable leaves with flags exactly 0', () => {
  test.each([{ copy: null }, { copy: false }, {}])('C004 versioned, %j', (options) => {
    using loan = writableLoan();
    expect(loan.readOnly).toBe(false);
    const holder = new Holder(loan.__dlpack__({ max_version: [1, 3], ...options }));
    expect(holder.picture().flags).toBe(0n);
    expect(holder.picture().data).toBe(dataAddress(loan));
    holder.release();
  });

  test('C004 legacy: the same memory, no copy', () => {
    using loan = writableLoan();
    for (const copy of [null, false] as const) {
      const holder = new Holder(loan.__dlpack__({ copy }));
      expect(holder.picture()).toMatchObject({ versioned: false, data: dataAddress(loan) });
      holder.release();
    }
  });

  test("C004 an owner's writable loan of its own memory too, and only while it lasts", () => {
    using owned = OwnedTensor.from(ramp(4));
    owned.lend(
      (loan) => {
        const holder = new Holder(loan.__dlpack__({ max_version: [1, 0] }));
        expect(holder.picture()).toMatchObject({ flags: 0n, data: dataAddress(loan) });
        holder.release();
      },
      { writable: true },
    );
    owned.lend((loan) => {
      const holder = new Holder(loan.__dlpack__({ max_version: [1, 0] }));
      expect(holder.picture().flags).toBe(READ_ONLY);
      holder.release();
    });
  });
});

describe('C005 read-only memory leaves with flags exactly READ_ONLY', () => {
  const sources: Record<string, () => Tensor> = {
    'copied from JavaScript': matrix,
    'frozen owner': () => OwnedTensor.from(ramp(6)).freeze(),
    'foreign, versioned, READ_ONLY': () => fromDLPack(makeStruct({ flags: READ_ONLY }).producer()),
    'foreign, versioned, IS_COPIED': () => fromDLPack(makeStruct({ flags: IS_COPIED }).producer()),
    'foreign, versioned, READ_ONLY and IS_COPIED': () =>
      fromDLPack(makeStruct({ flags: READ_ONLY | IS_COPIED }).producer()),
    'foreign, legacy': () => fromDLPack(makeStruct({ versioned: false }).producer()),
    'adopted JavaScript memory': () => adopt(ramp(6)),
  };
  test.each(Object.keys(sources))('C005 %s', (name) => {
    using source = sources[name]?.();
    if (source === undefined) throw new Error('no such source');
    expect(source.readOnly).toBe(true);
    for (const options of [{}, { copy: null }, { copy: false }]) {
      const holder = new Holder(source.__dlpack__({ max_version: [1, 3], ...options }));
      expect(holder.picture()).toMatchObject({ flags: READ_ONLY, data: dataAddress(source) });
      holder.release();
    }
  });

  test('C005 every alias made by layout inherits it', () => {
    using base = matrix();
    for (const alias of [
      base.slice(1),
      base.transpose(),
      base.reshape([6]),
      base.flip(0),
      base.expandDims(0),
      base.broadcastTo([4, 2, 3]),
    ]) {
      const holder = new Holder(alias.__dlpack__({ max_version: [1, 0] }));
      expect(holder.picture().flags).toBe(READ_ONLY);
      holder.release();
      alias.dispose();
    }
  });
});

/** Exports with `copy: true` and holds address, flags and bytes against the source. */
function expectHonestCopy(source: Tensor): void {
  const before = stats();
  const values = source.toArray();
  const holder = new Holder(source.__dlpack__({ max_version: [1, 3], copy: true }));
  const picture = holder.picture();
  expect(picture.flags).toBe(IS_COPIED);
  expect(picture.data).not.toBe(dataAddress(source));
  expect(stats()).toMatchObject({ blocks: before.blocks + 1, exports: before.exports + 1 });
  expect(picture.shape).toEqual(source.shape);
  expect(holder.elements()).toEqual(flat(values));
  holder.release();
  expect(stats()).toEqual(before);
}

test('C006 copy: true gives fresh memory with equal elements and flags exactly IS_COPIED', () => {
  using base = matrix();
  expectHonestCopy(base);
  using transposed = base.transpose();
  expectHonestCopy(transposed);
  using reversed = base.flip(1);
  expectHonestCopy(reversed);
  using loan = writableLoan();
  expectHonestCopy(loan);
});

test('C007 a copy of read-only memory is writable: IS_COPIED without READ_ONLY', () => {
  using foreign = fromDLPack(makeStruct({ flags: READ_ONLY, readOnlyPages: true }).producer());
  expectHonestCopy(foreign);
  using legacy = fromDLPack(makeStruct({ versioned: false }).producer());
  expectHonestCopy(legacy);
  using broadcast = legacy.broadcastTo([3, 2, 3]);
  expectHonestCopy(broadcast);
});

test("C008 data points at the view's first element itself, byte_offset is 0", () => {
  using base = Tensor.from(ramp(24), { shape: [2, 3, 4] });
  const start = dataAddress(base);
  const views: [Tensor, number][] = [
    [base.slice(1), 12],
    [base.slice(null, 2), 8],
    [base.slice(null, null, [1, 4, 2]), 1],
    [base.slice([1, 2, 1], [1, 3, 1], 3), 19],
    [base.flip(2), 3],
    [base.flip(0), 12],
    [base.transpose().slice(3), 3],
  ];
  for (const [view, firstElement] of views) {
    eachPicture(view, (picture, kind) => {
      expect(picture.byteOffset).toBe(0n);
      if (kind === 'versioned') expect(picture.data).toBe(start + BigInt(firstElement * 4));
      expect(elements(picture)[0]).toBe(firstElement);
    });
    view.dispose();
  }
});

describe('C009 no elements: data NULL, byte_offset 0, the shape kept, strides not NULL', () => {
  test.each([[[0]], [[2, 0]], [[0, 7]], [[1, 8, 0, 128]]])('C009 %j', (shape) => {
    for (const dtype of ['float32', 'int64', 'bool', 'complex128'] as const) {
      using empty = OwnedTensor.allocate(shape, dtype).freeze();
      eachPicture(empty, (picture) => {
        expect(picture).toMatchObject({ data: 0n, byteOffset: 0n, ndim: shape.length, shape });
        expect(picture.strides).toHaveLength(shape.length);
      });
      const holder = new Holder(OwnedTensor.allocate(shape, dtype).__dlpack__({ max_version: [1, 0] }));
      expect(holder.picture()).toMatchObject({ data: 0n, byteOffset: 0n, shape });
      expect(holder.picture().stridesAddress).not.toBe(0n);
      holder.release();
    }
  });

  test('C009 an empty slice of full memory as well', () => {
    using base = matrix();
    using empty = base.slice([2, 2, 1]);
    eachPicture(empty, (picture) => expect(picture).toMatchObject({ data: 0n, shape: [0, 3], byteOffset: 0n }));
  });
});

test('C010 a 0-d tensor: ndim 0, data set, one element', () => {
  using scalar = Tensor.from(Float64Array.of(2.5), { shape: [] });
  eachPicture(scalar, (picture) => {
    expect(picture.ndim).toBe(0);
    expect(picture.data).not.toBe(0n);
    expect([picture.shape ?? [], picture.strides ?? []]).toEqual([[], []]);
    expect(elements(picture)).toEqual([2.5]);
  });
  using picked = scalar.expandDims(0).slice(0);
  eachPicture(picked, (picture) => expect(elements(picture)).toEqual([2.5]));
});

test('C011 strides are never NULL when there is an axis, compact or not', () => {
  using base = Tensor.from(ramp(77), { shape: [1, 77] });
  using one = Tensor.from(ramp(1));
  using big = Tensor.from(ramp(1), { shape: Array.from({ length: 64 }, () => 1) });
  for (const tensor of [base, one, big]) {
    eachPicture(tensor, (picture) => {
      expect(picture.stridesAddress).not.toBe(0n);
      expect(picture.strides).toEqual(tensor.strides);
    });
  }
  eachPicture(base, (picture) => expect(picture.strides).toEqual([77, 1]));
});

test('C012 strides count elements, not bytes', () => {
  for (const dtype of ['uint8', 'float32', 'float64', 'complex128'] as const) {
    using tensor = OwnedTensor.allocate([2, 3, 4], dtype).freeze();
    eachPicture(tensor, (picture) => expect(picture.strides).toEqual([12, 4, 1]));
  }
});

test('C013 a column, a step of two, a transposed and a column-major layout keep their strides and their values', () => {
  using base = Tensor.from(ramp(12), { shape: [3, 4] });
  const cases: [Tensor, number[], number[]][] = [
    [base.slice(null, 1), [4], [1, 5, 9]],
    [base.slice(null, [0, 4, 2]), [4, 2], [0, 2, 4, 6, 8, 10]],
    [base.transpose(), [1, 4], [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]],
  ];
  for (const [view, strides, values] of cases) {
    const holder = new Holder(view.__dlpack__({ max_version: [1, 0] }));
    expect(holder.picture().strides).toEqual(strides);
    expect(holder.elements()).toEqual(values);
    holder.release();
    using back = fromDLPack(view);
    expect(flat(back.toArray())).toEqual(values);
    expect(back.strides).toEqual(strides);
    view.dispose();
  }
  const foreign = makeStruct({ shape: [2, 2, 2], strides: [1, 2, 4], bytes: bytesOf(ramp(8)) });
  using columnMajor = fromDLPack(foreign.producer());
  const holder = new Holder(columnMajor.__dlpack__({ max_version: [1, 0] }));
  expect(holder.picture().strides).toEqual([1, 2, 4]);
  expect(holder.elements()).toEqual([0, 4, 2, 6, 1, 5, 3, 7]);
  holder.release();
});

test('C014 a stride that is no whole number of elements cannot be put into words here, and every attempt is refused', () => {
  const data = ramp(12);
  leavingNothing(() => {
    for (const stride of [0.5, 1.5, Number.NaN, Infinity]) {
      expect(thrownBy(() => Tensor.from(data, { shape: [3], strides: [stride] }))).toMatchObject({
        code: expect.stringMatching(/^ERR_(OUT_OF_RANGE|INVALID_ARG_TYPE)$/),
      });
    }
  });
  // A field inside a record of bytes, 6 bytes apart: neither float32 nor any other multiple says it, so bytes it is.
  const records = new DataView(new ArrayBuffer(24));
  expectRangeError(
    () => Tensor.from(records, { dtype: 'float32', shape: [4], strides: [2] }),
    /strides|shape|outside|past/,
  );
});

test('C015 axes of extent 1, single elements and empty tensors take any stride', () => {
  const address = lab.mapMemory(4096);
  for (const [shape, strides] of [
    [
      [1, 3],
      [77, 1],
    ],
    [[1], [-5]],
    [
      [1, 1],
      [9, 3],
    ],
    [
      [0, 3],
      [2, 7],
    ],
    [
      [3, 1],
      [1, 1000],
    ],
  ] as const) {
    using tensor = fromPointer({ address, shape, strides, dtype: 'float32', release: () => undefined });
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    expect(holder.picture()).toMatchObject({ shape, strides });
    expect(tensor.isContiguous).toBe(true);
    holder.release();
  }
  lab.unmapMemory(address, 4096);
  using copied = Tensor.from(ramp(3), { shape: [1, 3], strides: [77, 1] });
  expect(copied.toArray()).toEqual([[0, 1, 2]]);
});

test('C016 shape [1] with stride 3 keeps the 3', () => {
  using base = Tensor.from(ramp(3));
  using stepped = base.slice([0, 3, 3]);
  eachPicture(stepped, (picture, kind) => {
    expect(picture.shape).toEqual([1]);
    if (kind === 'versioned') expect(picture.strides).toEqual([3]);
  });
  expect(stepped.strides).toEqual([3]);
  using foreign = fromDLPack(makeStruct({ shape: [1], strides: [3] }).producer());
  eachPicture(foreign, (picture) => expect(picture.strides).toEqual([3]));
});

test('C017 a reversed view keeps its negative stride, and data is its first element', () => {
  using base = Tensor.from(ramp(6), { shape: [2, 3] });
  using reversed = base.flip(1);
  const holder = new Holder(reversed.__dlpack__({ max_version: [1, 0] }));
  expect(holder.picture()).toMatchObject({ strides: [3, -1], data: dataAddress(base) + 8n, byteOffset: 0n });
  expect(holder.elements()).toEqual([2, 1, 0, 5, 4, 3]);
  holder.release();
  using both = reversed.flip(0);
  const other = new Holder(both.__dlpack__({ max_version: [1, 0] }));
  expect(other.picture()).toMatchObject({ strides: [-3, -1], data: dataAddress(base) + 20n });
  other.release();
});

test('C018 a broadcast view keeps stride 0 and is READ_ONLY, even over a writable loan', () => {
  using base = matrix();
  using wide = base.broadcastTo([4, 2, 3]);
  const holder = new Holder(wide.__dlpack__({ max_version: [1, 0] }));
  expect(holder.picture()).toMatchObject({ strides: [0, 3, 1], flags: READ_ONLY, data: dataAddress(base) });
  holder.release();

  using loan = writableLoan();
  using overlapping = loan.broadcastTo([4, 2, 3]);
  expect(overlapping.readOnly).toBe(true);
  const second = new Holder(overlapping.__dlpack__({ max_version: [1, 0] }));
  expect(second.picture()).toMatchObject({ strides: [0, 3, 1], flags: READ_ONLY });
  second.release();

  for (const strides of [
    [1, 1],
    [2, 1],
    [0, 1],
  ]) {
    using foreign = fromDLPack(makeStruct({ shape: [2, 3], strides, flags: 0 }).producer());
    expect(foreign.readOnly).toBe(true);
    const third = new Holder(foreign.__dlpack__({ max_version: [1, 0] }));
    expect(third.picture().flags).toBe(READ_ONLY);
    third.release();
  }
});
