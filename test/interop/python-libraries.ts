/**
 * Python's DLPack libraries, both ways, against what is known of each: which struct it asks for and answers with, how
 * often the elements are copied, and whether the receiver may write. Nothing is taken from the exchange itself: where
 * elements lie is asked of the library that holds them.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { OwnedTensor, stats, Tensor } from '../../dist/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import type { Consumer, LibraryFacts, Out, Producer, StructName } from './python-library-facts.js';
import type { ArraySpec, Offered, ProtocolCall, Python } from './python.js';
import { recordRow } from './rows.js';

const STRUCT_NAMES = { dltensor: 'DLManagedTensor', dltensor_versioned: 'DLManagedTensorVersioned' } as const;

/** Everything that must hold of a library in this process. `suffix`: of every remark. */
export function describeLibrary(name: string, facts: LibraryFacts, python: () => Python, suffix = ''): void {
  let version = '';
  const record: Recorder = (row) => {
    recordRow({
      library: name,
      version,
      ...row,
      remarks: `${row.remarks}${suffix}`,
      struct: STRUCT_NAMES[row.struct],
      writable: row.writable ? 'yes' : 'no',
    });
  };

  describe(name, () => {
    beforeAll(() => {
      version = python().versions()[name] ?? '';
      expect(version).not.toBe('');
    });
    describeConsumer(name, facts.consumer, python, record);
    describeProducer(name, facts.producer, python, record);
  });
}

/** What a test has proven. */
interface Proven {
  readonly direction: 'in' | 'out';
  readonly struct: StructName;
  readonly copies: number;
  readonly writable: boolean;
  readonly remarks: string;
}

type Recorder = (row: Proven) => void;

function describeConsumer(name: string, facts: Consumer, python: () => Python, record: Recorder): void {
  const cases: readonly (readonly [string, 'share' | 'transfer', boolean | null, Out | undefined])[] = [
    ['a shared tensor', 'share', null, facts.shared],
    ['a shared tensor with copy=True', 'share', true, facts.copied],
    ['a transferred owner', 'transfer', null, facts.owned],
  ];
  test.each(cases.filter(([, , , out]) => out !== undefined))('takes %s', (_, how, copy, out) => {
    for (const shape of [[6], [2, 3]]) {
      const before = stats();
      const source = numbers(shape);
      const tensor = how === 'share' ? Tensor.from(source, { shape }) : OwnedTensor.from(source, { shape });
      const address = String(dataAddress(tensor));
      const claimed = python().claim(tensor instanceof Tensor ? tensor.share() : tensor.transfer());
      const taken = python().take(name, claimed.id, copy);
      const call = answered(taken.calls);
      expect(call.struct).toBe(facts.struct);
      if (facts.struct === 'dltensor_versioned') expect(call.flags).toBe(how === 'transfer' || copy === true ? 2 : 1);
      expect(copiesBetween(address, call, taken.address)).toBe(out?.copies);
      expect({ dtype: taken.dtype, shape: taken.shape, writable: taken.writable }).toEqual({
        dtype: 'float32',
        shape,
        writable: out?.writable,
      });
      expect(taken.bytes).toBe(hex(source));
      python().drop(claimed);
      expect(python().look(name, taken.id).bytes).toBe(hex(source)); // what it took, it holds by itself
      python().drop(taken);
      if (tensor instanceof Tensor) tensor.dispose();
      expect(stats()).toEqual(before); // each deleter was called
    }
    if (out === undefined) throw new Error('not a case');
    record({
      direction: 'out',
      struct: facts.struct,
      ...out,
      remarks: how === 'transfer' ? `an OwnedTensor; ${facts.remarks}` : facts.remarks,
    });
  });

  test('takes strides as they are, or the same elements', () => {
    using whole = Tensor.from(numbers([2, 8]), { shape: [2, 8] });
    using part = whole.slice(null, [1, 7, 2]);
    const claimed = python().claim(part.share());
    expect(claimed.strides).toEqual([8, 2]);
    if (name === 'zarrista') {
      expect(python().errorOf(() => python().take(name, claimed.id)).message).toMatch(/not C-contiguous/);
    } else {
      const taken = python().take(name, claimed.id);
      expect(taken.bytes).toBe(hex(Float32Array.of(1, 3, 5, 9, 11, 13)));
      if (answered(taken.calls).address === String(dataAddress(part)) && taken.strides !== null)
        expect({ strides: taken.strides, address: taken.address }).toEqual({
          strides: [8, 2],
          address: String(dataAddress(part)),
        });
      python().drop(taken);
    }
    python().drop(claimed);
    expect(stats().exports).toBe(0);
  });

  test('takes an empty tensor', () => {
    if (name === 'zarrista') return; // a Zarr array has chunks of at least one element
    using empty = Tensor.from(new Float32Array(0), { shape: [0, 3] });
    const claimed = python().claim(empty.share());
    const taken = python().take(name, claimed.id);
    expect(taken.shape).toEqual([0, 3]);
    python().drop(taken, claimed);
    expect(stats().exports).toBe(0);
  });

  if (facts.neverWithoutCopy === true) {
    test('refuses copy=False by its own error, and nothing is left', () => {
      using tensor = Tensor.from(numbers([6]));
      const claimed = python().claim(tensor.share());
      expect(python().errorOf(() => python().take(name, claimed.id, false)).bases).toContain('ValueError');
      python().drop(claimed);
      expect(stats().exports).toBe(0);
    });
  }
}

function describeProducer(name: string, facts: Producer, python: () => Python, record: Recorder): void {
  test.each(facts.layouts)(
    'gives %s memory without a copy, and its deleter is called once, at JavaScript’s end',
    (layout) => {
      const array = python().make(name, { dtype: 'float32', shape: [2, 3], layout });
      const offered = python().offer(array.id);
      const call = answered(offered.calls);
      expect(call.asked).toEqual({ max_version: [1, 3] });
      expect(call.struct).toBe(facts.struct);
      const tensor = Tensor.fromShared(offered.token);
      expect(copiesBetween(array.address, call, String(dataAddress(tensor)))).toBe(0);
      const writable = facts.writable && layout !== 'readonly';
      expect({
        dtype: tensor.dtype,
        shape: tensor.shape,
        readOnly: tensor.readOnly,
        isUnique: tensor.isUnique,
      }).toEqual({
        dtype: 'float32',
        shape: [2, 3],
        readOnly: !writable,
        isUnique: false,
      });
      if (array.strides !== null) expect(tensor.strides).toEqual(array.strides);
      if (writable && tensor.isContiguous) {
        writeFirst(tensor, 41);
        expect(python().look(name, array.id).bytes).toBe(hex(Float32Array.of(41, 1, 2, 3, 4, 5)));
        writeFirst(tensor, 0);
      }
      python().drop(array); // JavaScript alone holds it now
      expect(tensor.toArray()).toEqual([
        [0, 1, 2],
        [3, 4, 5],
      ]);
      expect(python().deleterCalls(offered)).toBe(0);
      tensor.dispose();
      expect(python().deleterCalls(offered)).toBe(1);
      expect(python().isAlive(array)).not.toBe(true);
      python().drop(offered);
      expect(stats()).toMatchObject({ tensors: 0, blocks: 0, bytes: 0, tokens: 0 });
      record({ direction: 'in', struct: facts.struct, copies: 0, writable, remarks: facts.remarks });
    },
  );

  test('gives one axis', () => {
    const { tensor, array, offered } = receive(python(), name, { dtype: 'int32', shape: [4] });
    expect(tensor.toArray()).toEqual([0, 1, 2, 3]);
    expect(String(dataAddress(tensor))).toBe(array.address);
    tensor.dispose();
    python().drop(array, offered);
  });

  test.each(facts.dtypes)('gives %s with its name and its bits', (dtype) => {
    const shape = name === 'pyarrow' ? [4, 1] : [4]; // of a wider choice of dtypes
    const { tensor, array, offered } = receive(python(), name, { dtype, shape });
    expect({ dtype: tensor.dtype, theirs: array.dtype }).toEqual({ dtype, theirs: dtype });
    using copy = tensor.copy();
    expect(hex(copy.bits)).toBe(array.bytes);
    tensor.dispose();
    expect(python().deleterCalls(offered)).toBe(1);
    python().drop(array, offered);
  });

  test('with copy=True gives memory that JavaScript alone has and may write', () => {
    const array = python().make(name, { dtype: 'float32', shape: [2, 3] });
    if (typeof facts.copies === 'string') {
      expect(python().errorOf(() => python().offer(array.id, { copy: true })).bases).toContain(facts.copies);
      python().drop(array);
      return;
    }
    const offered = python().offer(array.id, { copy: true });
    const call = answered(offered.calls);
    expect(call.asked).toEqual({ max_version: [1, 3], copy: true });
    const tensor = Tensor.fromShared(offered.token);
    expect(copiesBetween(array.address, call, String(dataAddress(tensor)))).toBe(facts.copies);
    expect(tensor.isUnique).toBe(true);
    const owned = tensor.intoDLPack();
    owned.set([
      [9, 9, 9],
      [9, 9, 9],
    ]);
    expect(python().look(name, array.id).bytes).toBe(hex(Float32Array.of(0, 1, 2, 3, 4, 5)));
    owned.dispose();
    expect(python().deleterCalls(offered)).toBe(1);
    python().drop(array, offered);
    record({
      direction: 'in',
      struct: facts.struct,
      copies: facts.copies,
      writable: true,
      remarks: 'offer(array, copy=True): a sole copy, so intoDLPack() may write it',
    });
  });

  test('with copy=False shares, or says why it cannot', () => {
    const array = python().make(name, { dtype: 'float32', shape: [2, 3] });
    const offered = python().offer(array.id, { copy: false });
    const tensor = Tensor.fromShared(offered.token);
    expect(String(dataAddress(tensor))).toBe(array.address);
    tensor.dispose();
    python().drop(array, offered);
  });
}

function numbers(shape: readonly number[]): Float32Array {
  const count = shape.reduce((product, extent) => product * extent, 1);
  return Float32Array.from({ length: count }, (_, index) => index);
}

function hex(data: NodeJS.ArrayBufferView): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex');
}

/** The call that led to a capsule; a library may ask several times. */
export function answered(calls: readonly ProtocolCall[]): ProtocolCall {
  const call = calls.find((candidate) => candidate.refused === undefined);
  if (call === undefined) throw new Error('no call was answered');
  return call;
}

/** A copy is another address: one on the producer's side of the capsule, one on the consumer's. */
export function copiesBetween(source: string, call: ProtocolCall, target: string): number {
  return (call.address === source ? 0 : 1) + (call.address === target ? 0 : 1);
}

interface Received {
  readonly tensor: Tensor;
  readonly array: ReturnType<Python['make']>;
  readonly offered: Offered;
}

function receive(python: Python, name: string, spec: ArraySpec): Received {
  const array = python.make(name, spec);
  const offered = python.offer(array.id);
  return { tensor: Tensor.fromShared(offered.token), array, offered };
}

function writeFirst(tensor: Tensor, value: number): void {
  tensor.withView((view) => void Reflect.set(view, '0', value), { writable: true });
}
