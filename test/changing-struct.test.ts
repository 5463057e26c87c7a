/**
 * A producer whose struct changes while it is read: right after its first reading, each field in turn says something
 * that must be refused. An import must not notice. Each field is read exactly once, and only what was read is checked
 * and used; with a second reading, the one at the check and the one at the use could differ. (Fields that change
 * between the export and the import: changed-struct-native.test.ts.)
 */
import { afterEach, describe, expect, test } from '@jest/globals';
import { fromDLPack, stats, Tensor } from '../dist/index.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectStructsDeletedOnce } from './support/fixtures.js';
import { lab, makeStruct, type LabStruct } from './support/lab.js';
import { SANITIZED } from './support/sanitized.js';

expectCountersAtZero();
expectStructsDeletedOnce();

interface Field {
  readonly name: string;
  /** In DLTensor; in the versioned struct, when it is none of DLTensor's. 64-bit. */
  readonly offset: number;
  readonly bytes: 1 | 2 | 4 | 8;
  readonly later: bigint;
  /** The field is a pointer, and what changes is what it points to. */
  readonly behind?: boolean;
}

const HUGE = 1n << 62n;
const MINUS_ONE = 0xffff_ffff_ffff_ffffn;

const TENSOR_FIELDS: readonly Field[] = [
  { name: 'data', offset: 0, bytes: 8, later: 0n },
  { name: 'device.device_type', offset: 8, bytes: 4, later: 99n },
  { name: 'device.device_id', offset: 12, bytes: 4, later: 7n },
  { name: 'ndim', offset: 16, bytes: 4, later: 65n },
  { name: 'dtype.code', offset: 20, bytes: 1, later: 200n },
  { name: 'dtype.bits', offset: 21, bytes: 1, later: 7n },
  { name: 'dtype.lanes', offset: 22, bytes: 2, later: 4n },
  { name: 'shape', offset: 24, bytes: 8, later: 0n },
  { name: 'shape[0]', offset: 24, bytes: 8, later: MINUS_ONE, behind: true },
  { name: 'strides', offset: 32, bytes: 8, later: 8n },
  { name: 'strides[0]', offset: 32, bytes: 8, later: HUGE, behind: true },
  { name: 'byte_offset', offset: 40, bytes: 8, later: MINUS_ONE },
];
const VERSIONED_FIELDS: readonly Field[] = [
  { name: 'version.major', offset: 0, bytes: 4, later: 2n },
  { name: 'flags', offset: 24, bytes: 8, later: 1n },
];
const TENSOR_IN_VERSIONED = 32;

function addressOf(struct: LabStruct, field: Field): bigint {
  const tensor = struct.versioned && !VERSIONED_FIELDS.includes(field) ? TENSOR_IN_VERSIONED : 0;
  const address = struct.address + BigInt(tensor + field.offset);
  if (field.behind !== true) return address;
  return new DataView(lab.peek(address, 8).slice().buffer).getBigUint64(0, true);
}

/** Imports a struct of which one field changes; IS_COPIED, so that what the flags allow shows. */
function importChanging(field: Field, versioned: boolean): { reads: number; seen: unknown[] } {
  const struct = makeStruct({ versioned, flags: 2 });
  const capsule = struct.capsule();
  lab.watchReads(addressOf(struct, field), field.bytes, field.later);
  let reads = 0;
  try {
    const tensor = fromDLPack(capsule);
    reads = lab.stopWatching();
    const { shape, strides, dtype, device, readOnly, isUnique } = tensor;
    const seen = [shape, strides, dtype, device, readOnly, isUnique, [...tensor.toTypedArray()]];
    tensor.dispose();
    expect(struct.deleterCalls).toBe(1);
    struct.forget();
    return { reads, seen };
  } finally {
    if (reads === 0) lab.stopWatching();
  }
}

const canWatch = !SANITIZED && process.platform === 'linux' && process.arch === 'x64';
const where = canWatch ? test : test.skip;

afterEach(() => {
  expect(lab.strayDeleterCalls()).toBe(0);
});

describe.each([true, false])('versioned: %p', (versioned) => {
  const fields = versioned ? [...VERSIONED_FIELDS, ...TENSOR_FIELDS] : TENSOR_FIELDS;

  where.each(fields.map((field) => [field.name, field] as const))('%s is read once', (_name, field) => {
    expect(importChanging(field, versioned)).toEqual({
      reads: 1,
      seen: [[2, 3], [3, 1], 'float32', [1, 0], true, versioned, [0, 1, 2, 3, 4, 5]],
    });
  });
});

/** Watches the deleter of what a capsule holds, which is NULL as soon as it was read, while `use` runs. */
function withChangingDeleter(capsule: object, use: () => void): number {
  const struct = lab.lookIntoCapsule(capsule);
  if (struct === undefined) throw new Error('no capsule');
  lab.watchReads(struct.address + BigInt(struct.versioned ? 16 : 56), 8, 0);
  let reads = 0;
  try {
    use();
  } finally {
    reads = lab.stopWatching();
  }
  return reads;
}

describe.each([true, false])('the deleter, by which our own structs are known, versioned: %p', (versioned) => {
  const options = versioned ? { max_version: [1, 3] as const } : { copy: true };

  where.each([undefined, true])('of a struct of ours is read once (copy: %p)', (copy) => {
    using tensor = Tensor.from(Float32Array.of(1, 2, 3));
    let back: ReturnType<typeof fromDLPack> | undefined;
    let reads = -1;
    // Our structs share their page with other memory, which the collector's threads may touch: once more then.
    for (let attempt = 0; reads === -1 && attempt < 20; attempt += 1) {
      back?.dispose();
      const capsule = tensor.__dlpack__(options);
      reads = withChangingDeleter(capsule, () => (back = fromDLPack(capsule, { copy })));
    }
    expect(reads).toBe(1);
    expect([back?.at(0), back?.at(1), back?.at(2)]).toEqual([1, 2, 3]);
    back?.dispose();
    expect(stats().exports).toBe(0);
  });

  where('of a struct of others is read once at the import and once at the release', () => {
    const struct = makeStruct({ versioned, deleter: false });
    const capsule = struct.capsule();
    const reads = withChangingDeleter(capsule, () => fromDLPack(capsule).dispose());
    expect(reads).toBe(2);
    struct.forget();
  });
});

describe.each([true, false])('what means nothing to a consumer, versioned: %p', (versioned) => {
  const fields: readonly Field[] = [
    { name: 'manager_ctx', offset: versioned ? 8 : 48, bytes: 8, later: 0n },
    ...(versioned ? [{ name: 'version.minor', offset: 4, bytes: 4, later: 99n } as const] : []),
  ];
  where.each(fields.map((field) => [field.name, field] as const))('%s is not read at all', (_name, field) => {
    const struct = makeStruct({ versioned });
    const capsule = struct.capsule();
    lab.watchReads(struct.address + BigInt(field.offset), field.bytes, field.later);
    let reads = -1;
    try {
      fromDLPack(capsule).dispose();
    } finally {
      reads = lab.stopWatching();
    }
    // The laboratory's own deleter knows its struct by the address.
    expect([reads, struct.deleterCalls]).toEqual([0, 1]);
  });
});

test('a producer that gives one struct in two capsules gets its two deleter calls, one for each, and nothing is read after', () => {
  const struct = makeStruct();
  const [one, two] = [struct.capsule(), struct.capsule()].map((capsule) => fromDLPack(capsule));
  expect([one?.at(1, 2), two?.at(1, 2)]).toEqual([5, 5]);
  one?.dispose();
  expect([struct.deleterCalls, two?.shape, two?.isUnique]).toEqual([1, [2, 3], false]);
  two?.dispose();
  expect(struct.deleterCalls).toBe(2);
  struct.forget();
});

test('a producer that answers with one capsule twice: the second consumer is told, and the first keeps the memory', () => {
  const struct = makeStruct();
  const capsule = struct.capsule();
  const producer = { ...struct.producer(), __dlpack__: () => capsule };
  using first = fromDLPack(producer);
  expect(() => fromDLPack(producer)).toThrow('Capsule already consumed');
  expect(struct.deleterCalls).toBe(0);
  expect([...first.toTypedArray()]).toEqual([0, 1, 2, 3, 4, 5]);
});
