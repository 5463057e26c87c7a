/** TVM-FFI's C library: tensors in and out by address, in both structs, and every deleter counted. */
import { describe, expect, test } from '@jest/globals';
import { fromDLPack, OwnedTensor, stats, Tensor } from '../../dist/index.js';
import { dataAddress, makeCapsule, takePointer } from '../../dist/unsafe.js';
import { expectCountersAtZero } from '../support/counters.js';
import { lab, makeStruct, pictureAt, PLAIN_DTYPES, READ_ONLY, IS_COPIED, type Bits } from '../support/lab.js';
import { recordRow } from './rows.js';
import { KINDS, tvmDataAddress, tvmFromDLPack, tvmRelease, tvmToDLPack, tvmVersion, type Kind } from './tvm-ffi.js';

expectCountersAtZero();

const ROW = { library: 'apache-tvm-ffi (C library)', version: tvmVersion } as const;
const STRUCT = { versioned: 'DLManagedTensorVersioned', legacy: 'DLManagedTensor' } as const;
const VERSION = { versioned: [1, 3], legacy: null } as const;

/** The managed tensor of a fresh export, its owner the caller. */
function exported(kind: Kind, tensor: Tensor | OwnedTensor): bigint {
  const { address, versioned } = takePointer(tensor.__dlpack__({ max_version: VERSION[kind] }));
  expect(versioned).toBe(kind === 'versioned');
  return address;
}

/** What TVM gives out, in a capsule. */
function capsuleOf(kind: Kind, tensor: bigint): object {
  return makeCapsule({ address: tvmToDLPack(kind, tensor), versioned: kind === 'versioned' });
}

function sixNumbers(): Tensor<'float32'> {
  return Tensor.from(new Float32Array([1.5, -2, 3, 4, 5, 6]), { shape: [2, 3] });
}

describe.each(KINDS)('in the %s struct', (kind) => {
  test('an owner moves to TVM without a copy, and its memory ends with TVM’s last reference', () => {
    const owned = OwnedTensor.from(new Float32Array([1.5, -2, 3, 4, 5, 6]), { shape: [2, 3] });
    const address = dataAddress(owned);
    const theirs = tvmFromDLPack(kind, exported(kind, owned));
    expect(tvmDataAddress(theirs)).toBe(address);
    expect(stats()).toMatchObject({ tensors: 0, exports: 1, blocks: 1 });
    tvmRelease(theirs);
    expect(stats()).toMatchObject({ exports: 0, blocks: 0, bytes: 0 });
    recordRow({
      ...ROW,
      direction: 'out',
      struct: STRUCT[kind],
      copies: 0,
      writable: 'yes',
      remarks: 'an OwnedTensor; by address, through koffi',
    });
  });

  test('a tensor goes there and comes back over the same memory, and each hold ends on its own', () => {
    using numbers = sixNumbers();
    using tensor = numbers.slice(null, [2, null, -1]);
    const loan = fromDLPack(makeStruct({ flags: 0 }).producer());
    for (const source of kind === 'versioned' ? [tensor, loan] : [loan]) {
      const before = stats();
      const theirs = tvmFromDLPack(kind, exported(kind, source));
      expect(tvmDataAddress(theirs)).toBe(dataAddress(source));
      const back = fromDLPack(capsuleOf(kind, theirs));
      expect(dataAddress(back)).toBe(dataAddress(source));
      expect({ shape: back.shape, strides: back.strides, dtype: back.dtype }).toEqual({
        shape: source.shape,
        strides: source.strides,
        dtype: source.dtype,
      });
      expect(back.toArray()).toEqual(source.toArray());
      expect(back.isUnique).toBe(false);
      tvmRelease(theirs);
      expect(stats().exports).toBe(before.exports + 1); // what came back still holds it
      back.dispose();
      expect(stats()).toEqual(before);
    }
    loan.dispose();
  });

  test('a read-only tensor is shared as the struct allows', () => {
    using tensor = sixNumbers();
    const managed = exported(kind, tensor);
    const theirs = tvmFromDLPack(kind, managed);
    const copied = tvmDataAddress(theirs) !== dataAddress(tensor);
    expect(copied).toBe(kind === 'legacy');
    if (!copied) expect(pictureAt(managed, true).flags).toBe(READ_ONLY);
    tvmRelease(theirs);
    expect(stats()).toMatchObject({ exports: 0, blocks: 1 });
    recordRow({
      ...ROW,
      direction: 'out',
      struct: STRUCT[kind],
      copies: copied ? 1 : 0,
      writable: copied ? 'yes' : 'no',
      remarks: copied
        ? 'a read-only Tensor: legacy cannot say so, hence a copy'
        : 'a read-only Tensor; READ_ONLY is set, and TVM does not enforce it',
    });
  });

  test('a foreign struct passes through TVM into JavaScript, its deleter called once, at the end of both', () => {
    const struct = makeStruct({ versioned: kind === 'versioned', flags: 0, shape: [3, 2], strides: [1, 3] });
    struct.handedOut = true;
    const theirs = tvmFromDLPack(kind, struct.address);
    const ours = fromDLPack(capsuleOf(kind, theirs));
    expect(dataAddress(ours)).toBe(struct.data);
    expect(ours.toArray()).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    // TVM gives no flags, so a versioned struct is a writable loan and a legacy one read-only.
    expect(ours.readOnly).toBe(kind === 'legacy');
    expect(ours.isUnique).toBe(false);
    tvmRelease(theirs);
    expect(struct.deleterCalls).toBe(0);
    ours.dispose();
    expect(struct.deleterCalls).toBe(1);
    expect(struct.unchanged).toBe(true);
    recordRow({
      ...ROW,
      direction: 'in',
      struct: STRUCT[kind],
      copies: 0,
      writable: kind === 'legacy' ? 'no' : 'yes',
      remarks: 'strides kept; flags are not passed on; by address, through koffi',
    });
  });

  test('what is given out says version 1 and no flags', () => {
    const struct = makeStruct({ versioned: kind === 'versioned', flags: IS_COPIED });
    struct.handedOut = true;
    const theirs = tvmFromDLPack(kind, struct.address);
    const address = tvmToDLPack(kind, theirs);
    const picture = pictureAt(address, kind === 'versioned');
    expect(picture).toMatchObject({ major: kind === 'versioned' ? 1 : 0, flags: 0n, byteOffset: 0n, device: [1, 0] });
    tvmRelease(theirs);
    lab.releaseHeld(lab.holdAddress(address, kind === 'versioned'));
    expect(struct.deleterCalls).toBe(1);
  });

  test('what TVM refuses is still the caller’s, and a capsule takes it back', () => {
    using whole = Tensor.from(new Float32Array(9));
    using part = whole.slice([1, null, null]);
    const managed = exported(kind, kind === 'versioned' ? part : OwnedTensor.allocate([8], 'float32'));
    const alignment = 1 << 20;
    expect(() => tvmFromDLPack(kind, managed, { alignment })).toThrow(/RuntimeError: .*not aligned/);
    const back = fromDLPack(makeCapsule({ address: managed, versioned: kind === 'versioned' }));
    expect(back.shape).toEqual([8]);
    back.dispose();
    expect(stats()).toMatchObject({ exports: 0 });
  });

  test('TVM refuses strides where its caller wants none', () => {
    const struct = makeStruct({ versioned: kind === 'versioned', flags: 0, shape: [3, 2], strides: [1, 3] });
    expect(() => tvmFromDLPack(kind, struct.address, { contiguous: true })).toThrow(/RuntimeError: /);
    expect(struct.deleterCalls).toBe(0);
    fromDLPack(makeCapsule({ address: struct.address, versioned: kind === 'versioned' })).dispose();
    expect(struct.deleterCalls).toBe(1);
  });

  test('every plain dtype keeps its code, bits and bytes', () => {
    for (const dtype of PLAIN_DTYPES) {
      const owned = OwnedTensor.allocate([2, 2], dtype);
      const { buffer, byteOffset, byteLength } = owned.bits;
      const bytes = new Uint8Array(buffer, byteOffset, byteLength);
      bytes.forEach((_, index) => (bytes[index] = dtype === 'bool' ? index % 2 : (index * 37 + 1) % 256));
      const expected = Buffer.from(bytes);
      const theirs = tvmFromDLPack(kind, exported(kind, owned));
      const back = fromDLPack(capsuleOf(kind, theirs));
      tvmRelease(theirs);
      expect(back.dtype).toBe(dtype);
      expect(Buffer.from(lab.peek(dataAddress(back), expected.length))).toEqual(expected);
      back.dispose();
    }
  });

  test.each<[string, Bits[]]>([
    ['0-d', []],
    ['empty', [2, 0, 3]],
    ['with axes of extent 1', [1, 4, 1]],
  ])('%s tensors keep their shape both ways', (_, shape) => {
    const owned = OwnedTensor.allocate(shape.map(Number), 'float64');
    const theirs = tvmFromDLPack(kind, exported(kind, owned));
    const back = fromDLPack(capsuleOf(kind, theirs));
    tvmRelease(theirs);
    expect(back.shape).toEqual(shape);
    back.dispose();
  });
});
