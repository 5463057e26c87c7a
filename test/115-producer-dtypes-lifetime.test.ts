/** Which dtypes and devices a struct of ours names, and for how long what it points to is good. */
import { describe, expect, test } from '@jest/globals';
import { fromDLPack, OwnedTensor, stats, Tensor } from '../dist/index.js';
import { adopt, dataAddress } from '../dist/unsafe.js';
import { collect, expectCountersAtZero } from './support/counters.js';
import { eachPicture, expectStructsDeletedOnce, KINDS, matrix, writableLoan } from './support/fixtures.js';
import {
  bytesOf,
  DTYPES,
  elementAddresses,
  Holder,
  IS_COPIED,
  makeStruct,
  PLAIN_DTYPES,
  ramp,
  READ_ONLY,
  SUBBYTE_PADDED,
} from './support/lab.js';
import { expectStateError, expectTypeError, leavingNothing, thrownBy } from './support/refusals.js';
import { resizable } from './support/resizable.js';
import { callWith, detachedArray } from './support/values.js';

expectCountersAtZero();
expectStructsDeletedOnce();

test.each(PLAIN_DTYPES)('C019 the type code and width of %s, with one lane', (dtype) => {
  using tensor = OwnedTensor.allocate([2], dtype).freeze();
  eachPicture(tensor, (picture) => expect(picture.dtype).toEqual([...DTYPES[dtype], 1]));
  const holder = new Holder(OwnedTensor.allocate([2], dtype).__dlpack__());
  expect(holder.picture().dtype).toEqual([...DTYPES[dtype], 1]);
  holder.release();
});

test.each([
  ['float8_e3m4', 7, 8],
  ['float8_e4m3', 8, 8],
  ['float8_e4m3b11fnuz', 9, 8],
  ['float8_e4m3fn', 10, 8],
  ['float8_e4m3fnuz', 11, 8],
  ['float8_e5m2', 12, 8],
  ['float8_e5m2fnuz', 13, 8],
  ['float8_e8m0fnu', 14, 8],
  ['float6_e2m3fn', 15, 6],
  ['float6_e3m2fn', 16, 6],
  ['float4_e2m1fn', 17, 4],
] as const)('C019 the type code and width of %s', (dtype, code, bits) => {
  using tensor = OwnedTensor.allocate([4], dtype).freeze();
  eachPicture(tensor, (picture) => expect(picture.dtype).toEqual([code, bits, 1]));
});

test('C020 what no dtype can hold is refused, and nothing is left behind', () => {
  const unfit: unknown[] = [
    ['a', 'b'],
    [new Date(0)],
    [null, 1],
    [undefined],
    [{}],
    ['1'],
    [Symbol('x')],
    [1, 2n],
    [true, 1],
    'text',
    7,
    null,
    undefined,
    {},
  ];
  leavingNothing(() => {
    for (const data of unfit) {
      expect(thrownBy(() => callWith(Tensor, 'from', data))).toMatchObject({
        code: 'ERR_INVALID_ARG_TYPE',
      });
    }
    for (const dtype of ['string', 'object', 'datetime64', 'float128', 'complex32', 'bit', '']) {
      expect(thrownBy(() => callWith(OwnedTensor, 'allocate', [2], dtype))).toMatchObject({
        code: expect.stringMatching(/^ERR_(OUT_OF_RANGE|INVALID_ARG_TYPE)$/),
      });
    }
  });
});

test("C021 a byte order that is not the machine's cannot be claimed: its dtype names are refused, and big-endian bytes need a swap", () => {
  leavingNothing(() => {
    for (const dtype of ['>f4', '>i8', '<f4', 'float32be', 'float32-be', '|u1', '=f4']) {
      const refused = thrownBy(() => callWith(Tensor, 'from', new DataView(new ArrayBuffer(8)), { dtype }));
      expect(refused).toMatchObject({
        code: expect.stringMatching(/^ERR_(OUT_OF_RANGE|INVALID_ARG_TYPE)$/),
        message: expect.stringContaining(dtype),
      });
    }
  });
  const bigEndian = new DataView(new ArrayBuffer(8));
  bigEndian.setFloat32(0, 1, false);
  using taken = Tensor.from(bigEndian, { dtype: 'float32' });
  expect(taken.at(0)).not.toBe(1); // the bytes are native by definition: nothing swaps behind the caller's back
});

test('C022 sub-byte elements: packed by bit without the flag, a byte each with IS_SUBBYTE_TYPE_PADDED', () => {
  for (const [packed, padded, bits] of [
    ['float4_e2m1fn', 'float4_e2m1fn_padded', 4],
    ['float6_e2m3fn', 'float6_e2m3fn_padded', 6],
    ['float6_e3m2fn', 'float6_e3m2fn_padded', 6],
  ] as const) {
    for (const count of [1, 3, 4, 5]) {
      using dense = OwnedTensor.allocate([count], packed).freeze();
      expect(dense.byteLength).toBe(Math.ceil((count * bits) / 8));
      const first = new Holder(dense.__dlpack__({ max_version: [1, 0] }));
      expect(first.picture().flags).toBe(READ_ONLY);
      first.release();

      using spread = OwnedTensor.allocate([count], padded).freeze();
      expect(spread.byteLength).toBe(count);
      const second = new Holder(spread.__dlpack__({ max_version: [1, 0] }));
      expect(second.picture()).toMatchObject({
        flags: READ_ONLY | SUBBYTE_PADDED,
        dtype: [expect.any(Number), bits, 1],
      });
      second.release();
      const third = new Holder(spread.__dlpack__({ max_version: [1, 0], copy: true }));
      expect(third.picture().flags).toBe(IS_COPIED | SUBBYTE_PADDED);
      third.release();
    }
  }
  const foreign = makeStruct({ dtype: [17, 4], shape: [3], bytes: Uint8Array.of(1, 2, 3), flags: SUBBYTE_PADDED });
  using loan = fromDLPack(foreign.producer());
  expect(loan.dtype).toBe('float4_e2m1fn_padded');
  const fourth = new Holder(loan.__dlpack__({ max_version: [1, 0] }));
  expect(fourth.picture().flags).toBe(SUBBYTE_PADDED);
  fourth.release();
});

test('C023 host memory says {1, 0} in the struct and [1, 0] from the method', () => {
  using tensor = matrix();
  using owned = OwnedTensor.from(ramp(2));
  using loan = writableLoan();
  for (const source of [tensor, owned, loan]) expect(source.__dlpack_device__()).toEqual([1, 0]);
  for (const source of [tensor, loan]) eachPicture(source, (picture) => expect(picture.device).toEqual([1, 0]));
  const holder = new Holder(owned.__dlpack__());
  expect(holder.picture().device).toEqual([1, 0]);
  holder.release();
});

test('C024 memory without a living owner is not exported: detached sources, tombstones', () => {
  leavingNothing(() => {
    const detached = detachedArray(4);
    expect(thrownBy(() => Tensor.from(detached))).toMatchObject({ message: expect.stringMatching(/detached/) });
    expect(thrownBy(() => OwnedTensor.from(detached))).toMatchObject({ message: expect.stringMatching(/detached/) });
    expect(thrownBy(() => adopt(detached))).toMatchObject({ message: expect.stringMatching(/detached/) });
    const changing = new Float32Array(resizable(16, 64));
    expectTypeError(() => adopt(changing), /resizable/);
  });
  const disposed = matrix();
  disposed.dispose();
  const moved = matrix();
  const owner = moved.intoDLPack();
  const consumed = OwnedTensor.allocate([1], 'int8');
  new Holder(consumed.__dlpack__()).release();
  leavingNothing(() => {
    for (const options of [{}, { max_version: [1, 0] as const }, { copy: true }, { copy: false }]) {
      expectStateError(() => disposed.__dlpack__(options), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
      expectStateError(() => moved.__dlpack__(options), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
      expectStateError(() => consumed.__dlpack__(options), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
    }
  });
  owner.dispose();
});

describe('C025 shape and strides stay valid until the deleter, whatever becomes of the tensor', () => {
  test.each(['disposed', 'moved on', 'collected'])('C025 %s', async (fate) => {
    const holders = ((): Holder[] => {
      const base = Tensor.from(ramp(24), { shape: [2, 3, 4] });
      const view = base.transpose();
      const made = [new Holder(view.__dlpack__({ max_version: [1, 0] })), new Holder(view.__dlpack__())];
      if (fate === 'disposed') view.dispose();
      if (fate === 'moved on') view.reshape([4, 3, 2]).dispose();
      if (fate !== 'collected') base.dispose();
      return made;
    })();
    await collect(4);
    const expected = Array.from(
      { length: 24 },
      (_, index) => (index % 2) * 12 + (Math.floor(index / 2) % 3) * 4 + Math.floor(index / 6),
    );
    for (const holder of holders) {
      expect(holder.picture().shape).toEqual([4, 3, 2]);
      expect(holder.elements()).toEqual(expected);
      holder.release();
    }
  });
});

test('C026 the deleter frees the struct and drops its hold on the memory; the count of bytes comes back', async () => {
  await collect(4);
  const start = stats();
  for (const { max_version } of KINDS) {
    const tensor = Tensor.from(new Float32Array(1000));
    const alone = stats();
    const holder = new Holder(tensor.__dlpack__({ max_version }));
    expect(stats().exports).toBe(alone.exports + 1);
    holder.release();
    expect(stats()).toEqual(alone);
    const second = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    tensor.dispose();
    expect(stats()).toMatchObject({ tensors: start.tensors, exports: start.exports + 1, bytes: alone.bytes });
    second.release();
    expect(stats()).toEqual(start);
  }
});

test('C027 what a consumer writes is seen through shared memory and not through a copy', () => {
  const forty = bytesOf(Float32Array.of(40));
  const foreign = makeStruct({ flags: 0 });
  using loan = fromDLPack(foreign.producer());
  for (const options of [{ max_version: [1, 0] as const }, {}]) {
    const shared = new Holder(loan.__dlpack__(options));
    shared.write(4, forty);
    expect(loan.at(1, 1)).toBe(40);
    shared.write(4, bytesOf(Float32Array.of(4)));
    shared.release();

    const copied = new Holder(loan.__dlpack__({ ...options, copy: true }));
    copied.write(4, forty);
    expect(loan.at(1, 1)).toBe(4);
    copied.release();
  }
  using owned = OwnedTensor.from(ramp(6));
  owned.lend(
    (tensor) => {
      const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
      holder.write(5, forty);
      holder.release();
    },
    { writable: true },
  );
  expect(owned.at(5)).toBe(40);
  using readOnly = matrix();
  const legacy = new Holder(readOnly.__dlpack__()); // an honest copy, since legacy cannot say read-only
  legacy.write(0, forty);
  expect(readOnly.at(0, 0)).toBe(0);
  expect(elementAddresses(legacy.picture())[0]).not.toBe(dataAddress(readOnly));
  legacy.release();
});
