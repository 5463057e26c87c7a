/** Tensors, structs and checks that several of the conformance tests start from. */
import { afterAll, expect } from '@jest/globals';
import { fromDLPack, Tensor } from '../../dist/index.js';
import { makeCapsule } from '../../dist/unsafe.js';
import { collectUntil } from './counters.js';
import {
  bytesOf,
  Holder,
  lab,
  type LabStruct,
  makeStruct,
  ramp,
  type StructPicture,
  structsNotDeletedOnce,
  type StructSpec,
} from './lab.js';
import { expectBufferError, leavingNothing } from './refusals.js';

/** Both structs, as the laboratory makes them. */
export const BOTH: readonly StructSpec[] = [{ versioned: true }, { versioned: false }];
/** One float32 element, to be written somewhere and found again. */
export const FORTY = bytesOf(Float32Array.of(40));

/** Both structs, as a consumer asks for them. `copy: null` on read-only memory makes the legacy one a copy. */
export const KINDS = [
  { kind: 'versioned', max_version: [1, 0] as const },
  { kind: 'legacy', max_version: null },
];

/** Read-only, of our own memory: 0 to 5. */
export function matrix(): Tensor<'float32'> {
  return Tensor.from(ramp(6), { shape: [2, 3] });
}

/** A tensor over memory that a foreign producer lent as writable. */
export function writableLoan(): Tensor {
  return fromDLPack(makeStruct({ flags: 0 }).producer());
}

/** Exports `tensor` as each kind of struct, shows the pictures, and gives everything back. */
export function eachPicture(tensor: Tensor, look: (picture: StructPicture, kind: string) => void): void {
  for (const { kind, max_version } of KINDS) {
    const holder = new Holder(tensor.__dlpack__({ max_version }));
    try {
      look(holder.picture(), kind);
    } finally {
      holder.release();
    }
  }
}

/** Imports and disposes; in between `look` sees the tensor. The deleter runs once, at the end. */
export function withImport(
  spec: StructSpec,
  look: (tensor: Tensor, struct: LabStruct) => void,
  structs: readonly StructSpec[] = BOTH,
): void {
  for (const both of structs) {
    const struct = makeStruct({ ...spec, ...both });
    const tensor = fromDLPack(struct.producer());
    try {
      look(tensor, struct);
    } finally {
      tensor.dispose();
    }
    expect(struct.deleterCalls).toBe(1);
    struct.forget();
  }
}

/**
 * Refused with a BufferError, whatever `copy` was asked, as producer, as capsule and by address; with a deleter and
 * without.
 */
export function expectMalformed(spec: StructSpec, text: RegExp, structs: readonly StructSpec[] = BOTH): void {
  for (const both of structs) {
    for (const copy of [null, true, false]) {
      for (const deleter of [true, false]) {
        const ways: ((struct: ReturnType<typeof makeStruct>) => unknown)[] = [
          (struct) => fromDLPack(struct.producer(), { copy }),
          (struct) => fromDLPack(struct.capsule(), { copy }),
          (struct) => fromDLPack(makeCapsule({ address: struct.address, versioned: struct.versioned }), { copy }),
        ];
        for (const take of ways) {
          const struct = makeStruct({ readOnlyStruct: true, ...spec, ...both, deleter });
          leavingNothing(() => expectBufferError(() => take(struct), text));
          expect([struct.deleterCalls, struct.unchanged]).toEqual([deleter ? 1 : 0, true]);
          struct.forget();
        }
      }
    }
  }
}

/** Structs that pass every check but one. */
export const FAULTY: Record<string, StructSpec> = {
  'unknown device': { device: [99, 0] },
  'unknown type code': { dtype: [200, 32] },
  'unknown width': { dtype: [2, 31] },
  'two lanes': { dtype: [2, 32, 2] },
  'negative ndim': { ndim: -1 },
  'too many axes': { ndim: 65, shape: Array.from({ length: 65 }, () => 1) },
  'negative extent': { shape: [2, -3], strides: [1, 1] },
  'shape NULL': { ndim: 2, shape: null, strides: null },
  'data NULL': { data: null },
  'sizes that overflow': { shape: [2n ** 62n, 4], strides: [1, 1] },
};

/**
 * Call once at the top of a test file: when it ends, each struct that was handed out must have been deleted once, and
 * no other.
 */
export function expectStructsDeletedOnce(): void {
  afterAll(async () => {
    await collectUntil(() => structsNotDeletedOnce().length === 0);
    expect(structsNotDeletedOnce()).toEqual([]);
    expect(lab.strayDeleterCalls()).toBe(0);
  });
}
