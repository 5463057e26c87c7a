/** What a struct of makeTensor must say, and what its capsule must be. */
import { capsuleName } from '../../capsule';
import { isHostReadable } from '../../device';
import { dtypeFromPacked } from '../../dtype';
import { fromDLPack } from '../../from-dlpack';
import { takePointer } from '../../unsafe';
import { expect } from './failure';
import type { Rule } from './rules';
import type { Struct } from './struct';
import { Struct as StructClass } from './struct';
import type { Subject } from './subject';

/** Looks at one struct, and releases it whatever comes of it. */
async function looking(subject: Subject, look: (struct: Struct) => void): Promise<void> {
  const struct = await subject.struct();
  try {
    look(struct);
  } finally {
    struct.release();
  }
}

const READ_ONLY = 1n;
const KNOWN_FLAGS = 7n;

function rule(id: string, level: Rule['level'], title: string, source: Rule['source'], run: Rule['run']): Rule {
  return { id, level, title, source, about: 'makeTensor', run };
}

function ofStruct(id: string, level: Rule['level'], title: string, look: (struct: Struct) => void): Rule {
  return rule(id, level, title, 'DLPack 1.3', (subject) => looking(subject, look));
}

export const PRODUCER_RULES: readonly Rule[] = [
  rule(
    'P01',
    'must',
    'makeTensor() gives an unused DLPack capsule, or an object that does',
    'node_dlpack.h',
    async (subject) => {
      const name = capsuleName(await subject.capsule());
      expect(name === 'dltensor' || name === 'dltensor_versioned', `the capsule is ${name}; it must be unused`);
    },
  ),
  rule('P02', 'should', 'the struct is a versioned one', 'DLPack 1.3', async (subject) => {
    expect(
      capsuleName(await subject.capsule()) === 'dltensor_versioned',
      'it is the legacy DLManagedTensor, which has no version and cannot say that it is read-only',
    );
  }),
  rule('P03', 'must', 'every call gives a fresh capsule over a fresh struct', 'DLPack 1.3', async (subject) => {
    const capsules = [await subject.capsule(), await subject.capsule()] as const;
    expect(capsules[0] !== capsules[1], 'two calls returned one and the same capsule');
    const [first, second] = capsules.map((capsule) => new StructClass(takePointer(capsule)));
    expect(first?.address !== second?.address, 'two calls gave one and the same struct, which each would delete');
    first?.release();
    second?.release();
  }),
  ofStruct('P04', 'must', 'version.major is 1', ({ versioned, version: [major, minor] }) => {
    expect(!versioned || major === 1, `version is ${major}.${minor}`);
  }),
  ofStruct('P05', 'must', 'ndim is 0 to 64, shape is there and no extent is negative', ({ ndim, shape }) => {
    expect(ndim >= 0 && ndim <= 64, `ndim is ${ndim}`);
    expect(ndim === 0 || shape !== undefined, `shape is NULL and ndim ${ndim}`);
    expect(
      (shape ?? []).every((extent) => extent >= 0),
      `shape is [${shape?.join(', ')}]`,
    );
  }),
  ofStruct('P06', 'must', 'strides are there when ndim is not 0 (since 1.2), in elements', ({ ndim, strides }) => {
    expect(ndim === 0 || strides !== undefined, `strides is NULL and ndim ${ndim}`);
  }),
  ofStruct('P07', 'must', 'dtype is one of DLPack 1.3, with lanes 1', ({ dtype: [code, bits, lanes] }) => {
    expect(
      dtypeFromPacked(code | (bits << 8)) !== undefined && lanes === 1,
      `dtype is { code: ${code}, bits: ${bits}, lanes: ${lanes} }`,
    );
  }),
  ofStruct(
    'P08',
    'must',
    'data is there when there are elements, and aligned to them',
    ({ data, byteOffset, size, dtype: [, bits] }) => {
      if (size === 0) return;
      expect(data !== 0n, `data is NULL and there are ${size} elements`);
      const itemsize = BigInt(Math.max(1, bits >> 3));
      const misalignment = (data + byteOffset) % itemsize;
      expect(
        misalignment === 0n || ![2n, 4n, 8n].includes(itemsize),
        `the first element lies ${misalignment} bytes past a multiple of ${itemsize}`,
      );
    },
  ),
  ofStruct('P09', 'should', 'an empty tensor has no data', ({ data, size }) => {
    expect(size !== 0 || data === 0n, 'data is not NULL, and there are no elements');
  }),
  ofStruct(
    'P10',
    'should',
    'byte_offset is 0 in host memory, where many consumers ignore it',
    ({ byteOffset, device }) => {
      expect(!isHostReadable(device[0]) || byteOffset === 0n, `byte_offset is ${byteOffset}`);
    },
  ),
  ofStruct('P11', 'must', 'device is one of DLPack 1.3, with id 0 for the CPU', ({ device: [type, id] }) => {
    expect(type >= 1 && type <= 18 && type !== 5 && type !== 6, `device_type is ${type}`);
    expect(type !== 1 || id === 0, `device_id is ${id} for the CPU`);
  }),
  ofStruct('P12', 'must', 'flags has no bits that DLPack 1.3 does not know', ({ flags }) => {
    expect((flags & ~KNOWN_FLAGS) === 0n, `flags is 0x${flags.toString(16)}: is it initialised?`);
  }),
  ofStruct(
    'P13',
    'should',
    'elements that several indices share are read-only',
    ({ flags, shape, strides, versioned }) => {
      const shared = (strides ?? []).some((stride, axis) => stride === 0 && (shape?.[axis] ?? 0) > 1);
      expect(!versioned || !shared || (flags & READ_ONLY) !== 0n, 'a stride is 0, and READ_ONLY is not set');
    },
  ),
  ofStruct('P14', 'should', 'there is a deleter', ({ deleter }) => {
    expect(deleter !== 0n, 'deleter is NULL: the struct itself can never be freed');
  }),
  rule('P15', 'must', 'a consumer accepts the struct as it is', 'DLPack 1.3', async (subject) => {
    fromDLPack(await subject.capsule()).dispose();
  }),
];
