/** What went wrong for somebody with a DLPack library or a Node addon, each as the behaviour that is right here. */
import { describe, expect, test } from '@jest/globals';
import { readNpy, readSafetensors } from '../dist/files/index.js';
import { fromDLPack, OwnedTensor, stats, Tensor } from '../dist/index.js';
import { adopt } from '../dist/unsafe.js';
import { safetensorsFile, vector } from './files/vectors.js';
import { runChild } from './support/children.js';
import { collect, collectUntil, expectCountersAtZero } from './support/counters.js';
import { BOTH, expectStructsDeletedOnce } from './support/fixtures.js';
import { bytesOf, Holder, lab, makeStruct, ramp, READ_ONLY, type StructSpec } from './support/lab.js';
import { expectBufferError, expectTypeError, leavingNothing, thrownBy } from './support/refusals.js';
import { resizable, resize } from './support/resizable.js';
import { callWith, detachedArray, rawBytes, wasmMemory } from './support/values.js';

expectCountersAtZero();
expectStructsDeletedOnce();

describe('CASE C01 validation fails on a struct with a counting deleter: the error names the field, and the count is exactly 1', () => {
  const faults: [string, StructSpec, RegExp][] = [
    ['unknown device', { device: [77, 0] }, /device.*77/],
    ['bad type code', { dtype: [99, 32] }, /code.*99|99.*code/],
    ['bad width', { dtype: [2, 33] }, /bits.*33|33.*bits/],
    ['lanes', { dtype: [2, 32, 4] }, /lanes.*4/],
    ['negative extent', { shape: [2, -3], strides: [3, 1] }, /shape\[1\].*-3/],
    ['negative ndim', { ndim: -5 }, /ndim.*-5/],
    ['no shape', { shape: null, ndim: 2, strides: null }, /shape.*NULL/],
    ['no data', { data: null }, /data.*NULL/],
    ['stride that overflows', { strides: [2n ** 62n, 1] }, /strides\[0\].*4611686018427387904/],
  ];
  test.each(faults)('CASE C01 %s', (_, spec, text) => {
    for (const both of BOTH) {
      const struct = makeStruct({ ...spec, ...both });
      leavingNothing(() => expectBufferError(() => fromDLPack(struct.producer()), text));
      expect(struct.deleterCalls).toBe(1);
    }
  });
});

test('CASE C03 export, never consume, drop every reference, collect: the deleter ran and stats() is back where it was', async () => {
  await collect(3);
  const before = stats();
  const struct = makeStruct({ flags: 0 });
  ((): void => {
    const tensor = fromDLPack(struct.producer());
    tensor.__dlpack__({ max_version: [1, 0] });
    tensor.__dlpack__();
    Tensor.from(ramp(100)).__dlpack__({ copy: true });
  })();
  expect(stats().exports).toBe(before.exports + 3);
  expect(await collectUntil(() => struct.deleterCalls > 0 && stats().exports === before.exports)).toBe(true);
  await collect(2);
  expect(struct.deleterCalls).toBe(1);
  expect(stats()).toEqual(before);
});

test('CASE C04 our deleter is called from a plain native thread while the main thread sits in a long loop', async () => {
  await collect(3);
  const before = stats();
  const struct = makeStruct({ flags: 0 });
  ((): void => {
    const tensor = fromDLPack(struct.producer());
    const holders = [
      new Holder(tensor.__dlpack__({ max_version: [1, 0] })),
      new Holder(Tensor.from(ramp(6)).__dlpack__()),
    ];
    tensor.dispose();
    holders.forEach((holder) => holder.releaseLater(10));
  })();
  const start = Date.now();
  let spins = 0;
  while (lab.pendingReleases() > 0 && Date.now() - start < 20_000) spins += 1;
  expect(spins).toBeGreaterThan(0);
  expect(struct.deleterCalls).toBe(1);
  await collectUntil(() => stats().tensors === before.tensors);
  expect(stats()).toEqual(before);
  expect(await runChild('life-stage', ['native release during a long loop'])).toMatchObject({
    code: 0,
    signal: null,
    output: 'ready\n',
  });
});

test('CASE C06 strides NULL in version 1.0, 1.2, 1.3 and in a legacy struct: row-major', () => {
  for (const spec of [{ minor: 0 }, { minor: 2 }, { minor: 3 }, { versioned: false }]) {
    using tensor = fromDLPack(makeStruct({ ...spec, strides: null }).producer());
    expect(tensor.strides).toEqual([3, 1]);
    expect(tensor.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
  }
});

test('CASE C07 an export has exact strides, axes of extent 1 too', () => {
  for (const [shape, strides] of [
    [
      [1, 77],
      [77, 1],
    ],
    [
      [77, 1],
      [1, 1],
    ],
    [
      [1, 1, 1],
      [1, 1, 1],
    ],
    [[5], [1]],
    [
      [2, 1, 3],
      [3, 3, 1],
    ],
  ] as const) {
    using tensor = Tensor.from(new Float32Array(shape.reduce<number>((size, extent) => size * extent, 1)), { shape });
    for (const options of [{ max_version: [1, 0] as const }, {}]) {
      const holder = new Holder(tensor.__dlpack__(options));
      expect(holder.picture().strides).toEqual(strides);
      holder.release();
    }
  }
  using foreign = fromDLPack(makeStruct({ shape: [1, 6], strides: [1234, 1], flags: 0 }).producer());
  const holder = new Holder(foreign.__dlpack__());
  expect(holder.picture().strides).toEqual([1234, 1]);
  holder.release();
});

test('CASE C09 a byte offset is taken in, and the re-export is right for a consumer that ignores byte_offset', () => {
  for (const both of BOTH) {
    const struct = makeStruct({ ...both, byteOffset: 8, shape: [2], flags: 0, bytes: bytesOf(ramp(6)) });
    using tensor = fromDLPack(struct.producer());
    expect(tensor.toArray()).toEqual([2, 3]);
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    const { data, byteOffset } = holder.picture();
    expect(byteOffset).toBe(0n);
    expect(lab.peek(data, 4)).toEqual(bytesOf(Float32Array.of(2)));
    holder.release();
  }
});

test('CASE C11 zero-size [1,8,0,128] with data NULL and strides [7,7,7,7]', () => {
  for (const both of BOTH) {
    for (const strides of [[7, 7, 7, 7], undefined, null]) {
      const struct = makeStruct({
        ...both,
        shape: [1, 8, 0, 128],
        data: null,
        ...(strides === undefined ? {} : { strides }),
      });
      using tensor = fromDLPack(struct.producer());
      expect(tensor.isContiguous).toBe(true);
      expect(tensor.view()).toHaveLength(0);
      expect(tensor.toTypedArray()).toHaveLength(0);
      using back = fromDLPack(tensor);
      expect(back.shape).toEqual([1, 8, 0, 128]);
    }
  }
});

test('CASE C12 a 0-d float64', () => {
  for (const both of BOTH) {
    const struct = makeStruct({
      ...both,
      shape: null,
      strides: null,
      ndim: 0,
      dtype: [2, 64],
      bytes: bytesOf(Float64Array.of(2.5)),
      flags: 0,
    });
    using tensor = fromDLPack(struct.producer());
    expect([tensor.shape, tensor.strides, tensor.size, tensor.at(), tensor.toArray()]).toEqual([[], [], 1, 2.5, 2.5]);
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    expect(holder.picture()).toMatchObject({ ndim: 0, shapeAddress: 0n, stridesAddress: 0n });
    expect(holder.elements()).toEqual([2.5]);
    holder.release();
  }
});

test('CASE C14 a read-only array of another library, in pages that refuse writes', () => {
  using tensor = fromDLPack(makeStruct({ flags: READ_ONLY, readOnlyPages: true }).producer());
  expect(tensor.readOnly).toBe(true);
  expectBufferError(() => tensor.view(), /toTypedArray/);
  expect([...tensor.toTypedArray()]).toEqual([0, 1, 2, 3, 4, 5]);
  expect(tensor.withView === undefined).toBe(false);
});

test('CASE C16 bool stays bool and uint8 stays uint8, in and out', () => {
  for (const [dtype, name] of [
    [[6, 8], 'bool'],
    [[1, 8], 'uint8'],
  ] as const) {
    const struct = makeStruct({ dtype, shape: [4], bytes: Uint8Array.of(0, 1, 1, 0), flags: 0 });
    using tensor = fromDLPack(struct.producer());
    expect(tensor.dtype).toBe(name);
    const view = tensor.view();
    expect(view).toBeInstanceOf(Uint8Array);
    expect([...view]).toEqual([0, 1, 1, 0]);
    expect(tensor.at(1)).toBe(name === 'bool' ? true : 1);
    const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
    expect(holder.picture().dtype).toEqual([...dtype, 1]);
    holder.release();
    tensor.releaseViews();
  }
});

function expectWidened(tensor: Tensor, values: readonly number[]): void {
  const wide = callWith(tensor, 'to', 'float32');
  if (!(wide instanceof OwnedTensor) || !wide.is('float32')) throw new Error('to() made something else');
  expect([...wide.data]).toEqual(values);
  wide.dispose();
}

describe('CASE C17 bfloat16 and the float8 types', () => {
  const samples: [string, number[], Uint8Array, number[]][] = [
    ['bfloat16', [4, 16], bytesOf(Uint16Array.of(0x3f80, 0x7f80, 0x7fc0, 0xc000)), [1, Infinity, NaN, -2]],
    ['float8_e5m2', [12, 8], Uint8Array.of(0x3c, 0x7c, 0x7e, 0xc0), [1, Infinity, NaN, -2]],
    ['float8_e4m3fn', [10, 8], Uint8Array.of(0x38, 0x7e, 0x7f, 0xc0), [1, 448, NaN, -2]],
    ['float8_e4m3fnuz', [11, 8], Uint8Array.of(0x40, 0x7f, 0x80, 0xc8), [1, 240, NaN, -2]],
    ['float8_e5m2fnuz', [13, 8], Uint8Array.of(0x40, 0x7f, 0x80, 0xc4), [1, 57344, NaN, -2]],
    ['float8_e8m0fnu', [14, 8], Uint8Array.of(127, 128, 255, 126), [1, 2, NaN, 0.5]],
    ['float8_e3m4', [7, 8], Uint8Array.of(0x30, 0x70, 0x78, 0xc0), [1, Infinity, NaN, -2]],
    ['float8_e4m3', [8, 8], Uint8Array.of(0x38, 0x78, 0x7c, 0xc0), [1, Infinity, NaN, -2]],
    ['float8_e4m3b11fnuz', [9, 8], Uint8Array.of(0x58, 0x7f, 0x80, 0xe0), [1, 30, NaN, -2]],
  ];
  test.each(samples)(
    'CASE C17 %s: no typed view, refused by name; bits available; passed through bit by bit; widened right',
    (name, dtype, bytes, values) => {
      const struct = makeStruct({ dtype, shape: [4], bytes, flags: 0 });
      using tensor = fromDLPack(struct.producer());
      expect(tensor.dtype).toBe(name);
      expectBufferError(() => tensor.view(), new RegExp(`${name}.*bits`, 's'));
      expect(rawBytes(tensor.view({ bits: true }))).toEqual(bytes);
      tensor.releaseViews();
      expect(tensor.toArray()).toEqual(values);
      expectWidened(tensor, values);
      const holder = new Holder(tensor.__dlpack__({ max_version: [1, 0] }));
      expect(holder.picture().dtype).toEqual([...dtype, 1]);
      expect(lab.peek(holder.picture().data, bytes.length)).toEqual(bytes);
      holder.release();
    },
  );
});

test('CASE C18 float16: a Float16Array where there is one, else bits by name; two bytes an element; elements convert either way', () => {
  using tensor = Tensor.from(Uint16Array.of(0x3c00, 0xc000, 0x7c00, 0x3555), { dtype: 'float16' });
  expect(tensor.byteLength).toBe(8);
  expect(tensor.toArray()).toEqual([1, -2, Infinity, 0.333251953125]);
  expect(rawBytes(tensor.view({ bits: true }))).toEqual(bytesOf(Uint16Array.of(0x3c00, 0xc000, 0x7c00, 0x3555)));
  if (Reflect.has(globalThis, 'Float16Array')) expect([...tensor.view()]).toEqual([1, -2, Infinity, 0.333251953125]);
  else expectBufferError(() => tensor.view(), /Float16Array.*bits/s);
  tensor.releaseViews();
  using wide = tensor.to('float32');
  expect([...wide.data]).toEqual([1, -2, Infinity, 0.333251953125]);
});

test('CASE C20 big-endian data cannot be claimed: its names are refused', () => {
  for (const dtype of ['>f4', '>i8', '>u2']) {
    leavingNothing(() => {
      expect(thrownBy(() => callWith(Tensor, 'from', new DataView(new ArrayBuffer(8)), { dtype }))).toMatchObject({
        code: expect.stringMatching(/^ERR_(OUT_OF_RANGE|INVALID_ARG_TYPE)$/),
        message: expect.stringContaining(dtype),
      });
    });
  }
});

test('CASE C20 a big-endian npy file is refused by name', () => {
  leavingNothing(() =>
    expectBufferError(() => readNpy(vector('refused-big-endian.npy')), /descr is ">f4", big-endian/),
  );
});

test.each<[string, object, RegExp]>([
  ['overlap', { a: [0, 8], b: [4, 12] }, /"b": data_offsets are \[4, 12\], which overlaps/],
  ['pass the end', { a: [0, 16] }, /"a": data_offsets are \[0, 16\]; the file has 12 bytes/],
])('CASE C22 a safetensors file whose offsets %s is refused before any read', (_, offsets, text) => {
  const header = Object.fromEntries(
    Object.entries(offsets).map(([name, [from, to]]: [string, number[]]) => [
      name,
      { dtype: 'F32', shape: [((to ?? 0) - (from ?? 0)) / 4], data_offsets: [from, to] },
    ]),
  );
  leavingNothing(() => expectBufferError(() => readSafetensors(safetensorsFile(header, new Uint8Array(12))), text));
});

test('CASE C22 a safetensors file whose shape product wraps is refused before any read', () => {
  const header = { a: { dtype: 'F32', shape: [2 ** 32, 2 ** 32], data_offsets: [0, 0] } };
  leavingNothing(() => expectBufferError(() => readSafetensors(safetensorsFile(header)), /more elements than 2\^53/));
});

test('CASE C22 a safetensors file whose data starts at 2 mod 4 becomes a copy that says zeroCopy: false', () => {
  const header = JSON.stringify({ a: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } });
  const blanks = ' '.repeat((6 - (header.length % 4)) % 4);
  const file = safetensorsFile(header + blanks, Buffer.from(Float32Array.of(1, 2).buffer));
  expect((file.length - 8) % 4).toBe(2);
  const { a: tensor } = readSafetensors(file).tensors;
  expect([tensor?.zeroCopy, tensor?.toArray()]).toEqual([false, [1, 2]]);
  tensor?.dispose();
});

test('CASE C22 memory that starts at 2 mod 4 becomes a copy that says zeroCopy: false', () => {
  const struct = makeStruct({ misalign: 2, shape: [6] });
  using tensor = fromDLPack(struct.producer());
  expect([tensor.zeroCopy, struct.deleterCalls]).toEqual([false, 1]);
  expect(tensor.toArray()).toEqual([0, 1, 2, 3, 4, 5]);
});

test('CASE C23 a typed array in the shared Buffer pool: the exported bytes stay right, the pool is neither detached nor freed', async () => {
  const pool = Buffer.from('a neighbour in the pool');
  const pooled = Buffer.from(Uint8Array.of(0, 0, 0, 0, 1, 2, 3, 4));
  expect(pooled.buffer.byteLength).toBeGreaterThan(pooled.byteLength);
  const part = new Uint8Array(pooled.buffer, pooled.byteOffset + 4, 4);
  const copied = Tensor.from(part);
  const borrowed = adopt(part);
  const holders = [copied, borrowed].map((tensor) => new Holder(tensor.__dlpack__({ max_version: [1, 0] })));
  copied.dispose();
  borrowed.dispose();
  for (let round = 0; round < 2000; round += 1) Buffer.from(`many new small buffers ${round}`);
  await collect(3);
  for (const holder of holders) {
    expect(holder.elements()).toEqual([1, 2, 3, 4]);
    holder.releaseOnThread();
  }
  await collect(2);
  expect([...part]).toEqual([1, 2, 3, 4]);
  expect(pool.toString()).toBe('a neighbour in the pool');
});

describe('CASE C24 memory that can move or go: refused by name or pinned, never a stale pointer', () => {
  test('CASE C24 a detached view', () => {
    const detached = detachedArray(4);
    leavingNothing(() => {
      for (const take of [() => Tensor.from(detached), () => OwnedTensor.from(detached), () => adopt(detached)]) {
        expect(thrownBy(take)).toMatchObject({ message: expect.stringMatching(/detached/) });
      }
    });
    using owned = OwnedTensor.allocate([4], 'float32');
    leavingNothing(() =>
      expect(thrownBy(() => callWith(owned, 'set', detached))).toMatchObject({
        message: expect.stringMatching(/detached/),
      }),
    );
  });

  test("CASE C24 a resizable buffer's view, then a resize", () => {
    const buffer = resizable(16, 64);
    const view = new Float32Array(buffer);
    view.set([1, 2, 3, 4]);
    leavingNothing(() => expectTypeError(() => adopt(view), /resizable/));
    using copied = Tensor.from(view);
    resize(buffer, 0);
    expect(copied.toArray()).toEqual([1, 2, 3, 4]);
    const tracking = new Float32Array(buffer, 0);
    using empty = Tensor.from(tracking); // a view that follows the length of its buffer, which is 0 now
    expect(empty.size).toBe(0);
  });

  test("CASE C24 a wasm memory's view, then grow", () => {
    const memory = wasmMemory(1, 4);
    const view = new Float32Array(memory.buffer, 0, 4);
    view.set([1, 2, 3, 4]);
    using copied = Tensor.from(view);
    let adopted: Tensor | undefined;
    try {
      adopted = adopt(view);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_DLPACK_BUFFER' });
    }
    memory.grow(1);
    expect(copied.toArray()).toEqual([1, 2, 3, 4]);
    if (adopted !== undefined) {
      let values: unknown;
      try {
        values = adopted.toArray();
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_DLPACK_BUFFER' });
      }
      if (values !== undefined) expect(values).toEqual([1, 2, 3, 4]);
      adopted.dispose();
    }
  });
});
