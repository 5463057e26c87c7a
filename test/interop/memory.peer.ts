/** Node's own: Buffers, DataViews, WebAssembly memory. No package, but a neighbour all the same. */
import { describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, type DType } from '../../dist/index.js';
import {
  fromBuffer,
  fromDataView,
  fromWasm,
  toBuffer,
  toDataView,
  toWasm,
  type WasmMemory,
} from '../../dist/interop/index.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectRangeError, expectTypeError } from '../support/refusals.js';
import { rawBytes, wasmMemory } from '../support/values.js';
import { addressOf, expectCopyOut, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

const row = (library: string): { library: string; version: string; struct: string } => ({
  library,
  version: `Node ${process.versions.node.split('.')[0] ?? ''}`,
  struct: 'bytes',
});

/** float32 1, 2, 3 at an odd place in a pool that others use too. */
function pooled(): Buffer {
  const pool = Buffer.alloc(64, 0xff);
  const part = pool.subarray(5, 17);
  part.set(new Uint8Array(new Float32Array([1, 2, 3]).buffer));
  return part;
}

/** A WebAssembly memory over a SharedArrayBuffer. */
function sharedMemory(): WasmMemory {
  const { constructor } = wasmMemory(1, 1);
  return Reflect.construct(constructor, [{ initial: 1, maximum: 1, shared: true }]) as WasmMemory;
}

/** A WebAssembly memory with float32 1 to 6 at byte 12. */
function filled(): WasmMemory {
  const memory = wasmMemory(1, 4);
  new Float32Array(memory.buffer, 12, 6).set([1, 2, 3, 4, 5, 6]);
  return memory;
}

describe('bytes come in by one copy, as what the caller says they are', () => {
  test('a Buffer, aligned or not', () => {
    const bytes = pooled();
    using ours = expectOneCopyIn(() => fromBuffer(bytes, { dtype: 'float32' }), bytes);
    expect({ dtype: ours.dtype, shape: ours.shape, values: [...ours.view()] }).toEqual({
      dtype: 'float32',
      shape: [3],
      values: [1, 2, 3],
    });
    using part = fromBuffer(bytes, { dtype: 'float32', shape: [2], byteOffset: 4 });
    expect([...part.view()]).toEqual([2, 3]);
    using packed = fromBuffer(Buffer.from([0x21, 0x03]), { dtype: 'float4_e2m1fn', shape: [3] });
    expect(packed.size).toBe(3);
    recordRow({
      ...row('Buffer'),
      direction: 'in',
      copies: 1,
      writable: 'no',
      remarks: 'any dtype, aligned or not; copy: false is refused',
    });
  });

  test('a DataView, with strides', () => {
    const bytes = pooled();
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    using ours = expectOneCopyIn(() => fromDataView(view, { dtype: 'float32', shape: [2], strides: [2] }), bytes);
    expect([...ours.view()]).toEqual([1, 3]);
    using owned = fromDataView(view, { dtype: 'uint16', copy: true });
    owned.data.fill(0);
    expect(view.getFloat32(0, true)).toBe(1);
    recordRow({
      ...row('DataView'),
      direction: 'in',
      copies: 1,
      writable: 'no',
      remarks: 'any dtype, aligned or not; copy: false is refused',
    });
  });

  test('a WebAssembly memory, which may grow afterwards', () => {
    const memory = filled();
    using ours = expectOneCopyIn(
      () => fromWasm(memory, { dtype: 'float32', shape: [2, 3], byteOffset: 12 }),
      new Uint8Array(memory.buffer),
    );
    memory.grow(2);
    expect(ours.toArray()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    using all = fromWasm(memory, { dtype: 'uint8' });
    expect(all.size).toBe(3 * 65536);
    recordRow({
      ...row('WebAssembly.Memory'),
      direction: 'in',
      copies: 1,
      writable: 'no',
      remarks: 'copy: false is refused, since memory moves when it grows',
    });
  });

  test('copy: false, and what does not fit, is an error by name, and leaves nothing', () => {
    const bytes = pooled();
    const view = new DataView(new ArrayBuffer(8));
    const memory = filled();
    unmoved(() => {
      expectBufferError(
        () => fromBuffer(bytes, { dtype: 'float32', copy: false }),
        /^fromBuffer: copy: false cannot be kept/,
      );
      expectBufferError(
        () => fromDataView(view, { dtype: 'float32', copy: false }),
        /^fromDataView: copy: false cannot be kept/,
      );
      expectBufferError(
        () => fromWasm(memory, { dtype: 'float32', copy: false }),
        /^fromWasm: copy: false cannot be kept.*adopt\(\)/,
      );
      expectTypeError(() => fromBuffer(bytes, {} as { dtype: DType }), /^dtype is missing/);
      expectTypeError(() => fromBuffer(bytes, undefined as unknown as { dtype: DType }), /^dtype is missing/);
      expectTypeError(
        () => fromBuffer('text' as unknown as Buffer, { dtype: 'uint8' }),
        /^fromBuffer was given 'text'/,
      );
      expectTypeError(
        () => fromDataView(bytes as unknown as DataView, { dtype: 'uint8' }),
        /^fromDataView was given an object; it takes a DataView/,
      );
      expectTypeError(
        () => fromWasm({ buffer: new ArrayBuffer(8) } as WasmMemory, { dtype: 'uint8' }),
        /^fromWasm was given an object; it takes a WebAssembly\.Memory/,
      );
      expectRangeError(
        () => fromBuffer(bytes, { dtype: 'float64' }),
        /12 bytes, which is not a whole number of float64/,
      );
      expectRangeError(() => fromBuffer(bytes, { dtype: 'float32', shape: [4] }), /has 4 elements/);
      expectRangeError(
        () => fromBuffer(bytes, { dtype: 'float32', byteOffset: 13 }),
        /^byteOffset is 13; there are 12 bytes/,
      );
      expectRangeError(() => fromWasm(memory, { dtype: 'float32', shape: [1], byteOffset: -4 }), /^byteOffset is -4/);
      expectRangeError(() => fromWasm(memory, { dtype: 'float64', shape: [65536] }), /has 65536 elements/);
    });
  });
});

describe('a tensor goes out as bytes', () => {
  test('as a Buffer and a DataView over its own memory, of any dtype', () => {
    for (const dtype of [
      'float32',
      'int64',
      'bool',
      'bfloat16',
      'complex128',
      'float8_e4m3fn',
      'float4_e2m1fn',
      'float16',
    ] as const) {
      using ours: OwnedTensor = OwnedTensor.allocate([2, 3], dtype);
      const buffer = toBuffer(ours);
      expect(buffer).toBeInstanceOf(Buffer);
      expect(buffer.byteLength).toBe(ours.byteLength);
      buffer.fill(0xa5);
      const view = toDataView(ours);
      expect(view.byteLength).toBe(ours.byteLength);
      expect(view.getUint8(1)).toBe(0xa5);
      expect(addressOf(rawBytes(view))).toBe(addressOf(buffer));
    }
    using ours = Tensor.from(new Float32Array([1, 2]));
    expectNoCopyOut(ours, toBuffer(ours));
    for (const library of ['Buffer', 'DataView']) {
      recordRow({ ...row(library), direction: 'out', copies: 0, writable: 'no', remarks: 'row-major, any dtype' });
      recordRow({ ...row(library), direction: 'out', copies: 0, writable: 'yes', remarks: 'of an OwnedTensor' });
    }
  });

  test('of another layout by a copy, or an error with copy: false', () => {
    using base = Tensor.from(new Int16Array([1, 2, 3, 4]), { shape: [2, 2] });
    using ours = base.transpose();
    const buffer = unmoved(() => toBuffer(ours));
    expectCopyOut(base, buffer);
    expect([...new Int16Array(buffer.buffer, buffer.byteOffset, 4)]).toEqual([1, 3, 2, 4]);
    expect(unmoved(() => toDataView(ours, { copy: true })).getInt16(2, true)).toBe(3);
    unmoved(() => expectBufferError(() => toBuffer(ours, { copy: false }), /^toBuffer needs a contiguous tensor/));
    for (const library of ['Buffer', 'DataView'])
      recordRow({
        ...row(library),
        direction: 'out',
        copies: 1,
        writable: 'yes',
        remarks: 'other layouts; copy: true',
      });
  });

  test('into a WebAssembly memory by one copy, of any layout', () => {
    const memory = wasmMemory(1, 4);
    using base = Tensor.from(new Int16Array([1, 2, 3, 4]), { shape: [2, 2] });
    using ours = base.transpose();
    expect(unmoved(() => toWasm(ours, memory, { byteOffset: 7 }))).toBe(8);
    expect([1, 3, 2, 4].every((value, i) => new DataView(memory.buffer).getInt16(7 + 2 * i, true) === value)).toBe(
      true,
    );
    using owned = OwnedTensor.allocate([4], 'bfloat16');
    owned.bits.fill(0x3f80);
    toWasm(owned, memory);
    expect(new Uint16Array(memory.buffer)[3]).toBe(0x3f80);
    const shared = sharedMemory();
    toWasm(owned, shared, { byteOffset: 2 });
    expect(new Uint16Array(shared.buffer)[1]).toBe(0x3f80);
    using back = fromWasm(shared, { dtype: 'bfloat16', shape: [4], byteOffset: 2 });
    expect(back.toArray()).toEqual([1, 1, 1, 1]);
    recordRow({
      ...row('WebAssembly.Memory'),
      direction: 'out',
      copies: 1,
      writable: 'yes',
      remarks: 'any layout; shared memory too',
    });
  });

  test('what does not fit is an error by name, and leaves nothing', () => {
    const memory = wasmMemory(1, 1);
    using ours = Tensor.from(new Float32Array(4));
    unmoved(() => {
      expectRangeError(
        () => toWasm(ours, memory, { byteOffset: 65536 - 12 }),
        /^byteOffset is 65524 and the tensor has 16 bytes; the memory has 65536: grow it first/,
      );
      expectRangeError(() => toWasm(ours, memory, { byteOffset: -1 }), /^byteOffset is -1/);
      expectTypeError(
        () => toWasm(ours, {} as WasmMemory),
        /^toWasm was given an object; it takes a WebAssembly\.Memory/,
      );
      expectTypeError(() => toWasm(ours, memory, 5 as unknown as object), /^toWasm was given 5/);
      expectTypeError(() => toBuffer(memory as unknown as Tensor), /^toBuffer was given an object/);
      expectTypeError(() => toDataView(ours, { copy: 'no' as unknown as boolean }), /^copy is 'no'/);
    });
  });
});
