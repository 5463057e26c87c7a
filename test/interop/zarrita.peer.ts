/** zarrita: chunks out of and into real arrays, of both orders. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, type DType } from '../../dist/index.js';
import { fromZarrita, toZarrita, type ZarritaChunk, type ZarritaLibrary } from '../../dist/interop/index.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectRangeError, expectTypeError } from '../support/refusals.js';
import { addressOf, expectCopyOut, expectNoCopyIn, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { importPeer, versionOf } from './peers.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

interface Over {
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  readonly byteLength: number;
}
interface ZarrArray {
  readonly shape: number[];
}
interface Zarrita extends ZarritaLibrary<Over & { get(index: number): boolean }> {
  root(store: Map<string, Uint8Array>): { resolve(path: string): object };
  create(at: object, options: object): Promise<ZarrArray>;
  get(array: ZarrArray, selection?: unknown): Promise<ZarritaChunk<Over>>;
  set(array: ZarrArray, selection: unknown, value: unknown): Promise<void>;
  slice(start: number, stop?: number): object;
}

let zarr: Zarrita;
beforeAll(async () => {
  zarr = await importPeer<Zarrita>('zarrita', 'dist/src/index.js');
});

const ROW = { library: 'zarrita', version: versionOf('zarrita'), struct: 'typed array' } as const;
const DTYPES: readonly DType[] = [
  'float32',
  'float64',
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'bool',
  ...('Float16Array' in globalThis ? (['float16'] as const) : []),
];

function bytesOf(data: Over): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** 1, 0, 1, 0 … as booleans, else 0, 1, 2 … */
function sample(dtype: DType): Tensor {
  const numbers = Float64Array.from({ length: 12 }, (_, i) => (dtype === 'bool' ? (i + 1) % 2 : i));
  using from = Tensor.from(numbers, { shape: [3, 4] });
  return from.to(dtype as 'float32').freeze();
}

/** An array in a store that holds `sample(dtype)`, written by zarrita out of our memory. */
async function stored(dtype: DType, order: 'C' | 'F' = 'C'): Promise<{ array: ZarrArray; ours: Tensor }> {
  const codecs = order === 'F' ? [{ name: 'transpose', configuration: { order: [1, 0] } }] : [];
  const array = await zarr.create(zarr.root(new Map()), { shape: [3, 4], chunkShape: [3, 2], dtype, codecs });
  const ours = sample(dtype);
  await zarr.set(array, null, toZarrita(ours, zarr));
  return { array, ours };
}

describe('a chunk comes in', () => {
  test.each(DTYPES)('%s: by one copy, with its dtype and values', async (dtype) => {
    const { array, ours: written } = await stored(dtype);
    const chunk = await zarr.get(array);
    using ours = expectOneCopyIn(() => fromZarrita(chunk) as Tensor, bytesOf(chunk.data));
    expect({ dtype: ours.dtype, shape: ours.shape }).toEqual({ dtype, shape: [3, 4] });
    expect(ours.toArray()).toEqual(written.toArray());
    written.dispose();
    recordRow({
      ...ROW,
      direction: 'in',
      copies: 1,
      writable: 'no',
      remarks: 'any order; bool too; arrives row-major',
    });
  });

  test.each(DTYPES)('%s with copy: false: over its data', async (dtype) => {
    const { array, ours: written } = await stored(dtype);
    const chunk = await zarr.get(array, [zarr.slice(1, 3), null]);
    using ours = expectNoCopyIn(() => fromZarrita(chunk, { copy: false }) as Tensor, bytesOf(chunk.data));
    using part = written.slice([1, 3]);
    expect({ dtype: ours.dtype, strides: ours.strides, values: ours.toArray() }).toEqual({
      dtype,
      strides: chunk.stride,
      values: part.toArray(),
    });
    written.dispose();
    recordRow({ ...ROW, direction: 'in', copies: 0, writable: 'no', remarks: 'copy: false; strides kept' });
  });

  test('of a column-major array: strides kept with copy: false', async () => {
    const { array, ours: written } = await stored('float32', 'F');
    const chunk = await zarr.get(array);
    using copy = expectOneCopyIn(() => fromZarrita(chunk) as Tensor, bytesOf(chunk.data));
    using shared = expectNoCopyIn(() => fromZarrita(chunk, { copy: false }) as Tensor, bytesOf(chunk.data));
    expect(shared.strides).toEqual(chunk.stride);
    expect([copy.toArray(), shared.toArray()]).toEqual([written.toArray(), written.toArray()]);
    const turned: ZarritaChunk = { data: new Float32Array([1, 2, 3, 4, 5, 6]), shape: [2, 3], stride: [1, 2] };
    using ours = expectNoCopyIn(() => fromZarrita(turned, { copy: false }) as Tensor, turned.data);
    expect([ours.strides, ours.toArray()]).toEqual([
      [1, 2],
      [
        [1, 3, 5],
        [2, 4, 6],
      ],
    ]);
    written.dispose();
  });

  test('what cannot come in is an error by name, and leaves nothing', async () => {
    const strings = await zarr.create(zarr.root(new Map()), { shape: [2], chunkShape: [2], dtype: 'string' });
    const texts = await zarr.get(strings);
    const { array, ours } = await stored('int32');
    const element: unknown = await zarr.get(array, [1, 2]);
    expect(element).toBe(6);
    unmoved(() => {
      expectBufferError(() => fromZarrita(texts), /^fromZarrita: data is \[.*typed array or a BoolArray/);
      expectBufferError(
        () => fromZarrita({ data: { chars: 1, BYTES_PER_ELEMENT: 1, get: () => '' }, shape: [1], stride: [1] }),
        /^fromZarrita: data is an object/,
      );
      expectTypeError(
        () => fromZarrita(element as ZarritaChunk),
        /^fromZarrita was given 6; it takes a chunk of zarrita/,
      );
      expectTypeError(() => fromZarrita({} as ZarritaChunk), /^shape is undefined/);
      for (const copy of [null, false, true])
        expectRangeError(
          () => fromZarrita({ data: new Float32Array(4), shape: [2, 2], stride: [3, 1] }, { copy }),
          /reach elements 0 to 4/,
        );
    });
    ours.dispose();
  });
});

/** zarrita writes a tensor where it is, with its strides, and reads the same back. */
async function expectWritten(ours: Tensor<'float32'>): Promise<void> {
  const array = await zarr.create(zarr.root(new Map()), {
    shape: [...ours.shape],
    chunkShape: [2, 2],
    dtype: 'float32',
  });
  const chunk = toZarrita(ours, zarr) as ZarritaChunk<Float32Array>;
  expect({ shape: chunk.shape, stride: chunk.stride }).toEqual({ shape: ours.shape, stride: ours.strides });
  expectNoCopyOut(ours, chunk.data);
  await zarr.set(array, null, chunk);
  using back = fromZarrita(await zarr.get(array)) as Tensor;
  expect(back.toArray()).toEqual(ours.toArray());
  ours.dispose();
}

describe('a tensor goes out as a chunk', () => {
  test.each(DTYPES)('%s: over its own memory, and zarrita reads it', async (dtype) => {
    const { array, ours } = await stored(dtype);
    const chunk = toZarrita(ours, zarr) as ZarritaChunk<Over>;
    expectNoCopyOut(ours, bytesOf(chunk.data));
    expect({ shape: chunk.shape, stride: chunk.stride }).toEqual({ shape: [3, 4], stride: [4, 1] });
    using back = fromZarrita(await zarr.get(array)) as Tensor;
    expect(back.toArray()).toEqual(ours.toArray());
    ours.dispose();
    recordRow({
      ...ROW,
      direction: 'out',
      copies: 0,
      writable: 'no',
      remarks: 'any layout without negative strides: strides kept',
    });
  });

  test('transposed, stepped and broadcast: strides kept, and zarrita reads them right', async () => {
    using base = Tensor.from(
      Float32Array.from({ length: 24 }, (_, i) => i),
      { shape: [4, 6] },
    );
    using row = base.slice(0);
    await Promise.all(
      [base.transpose(), base.slice([1, 3], [null, null, 2]), row.broadcastTo([3, 6])].map(expectWritten),
    );
  });

  test('reversed: by a copy, or an error with copy: false', async () => {
    using base = sample('bool');
    using ours = base.flip(1);
    const chunk = unmoved(() => toZarrita(ours, zarr)) as ZarritaChunk<Over>;
    expect(chunk.stride).toEqual([4, 1]);
    expectCopyOut(base, bytesOf(chunk.data));
    const array = await zarr.create(zarr.root(new Map()), { shape: [3, 4], chunkShape: [2, 2], dtype: 'bool' });
    await zarr.set(array, null, chunk);
    using back = fromZarrita(await zarr.get(array)) as Tensor;
    expect(back.toArray()).toEqual(ours.toArray());
    unmoved(() =>
      expectBufferError(
        () => toZarrita(ours, zarr, { copy: false }),
        /^toZarrita: copy: false cannot be kept: strides\[1\] is -1/,
      ),
    );
    recordRow({ ...ROW, direction: 'out', copies: 1, writable: 'yes', remarks: 'negative strides; copy: true' });
  });

  test('of an owner it can be written', () => {
    using ours = OwnedTensor.allocate([2, 2], 'float32');
    const chunk = toZarrita(ours, zarr) as ZarritaChunk<Float32Array>;
    chunk.data[3] = 5;
    expect(ours.at(1, 1)).toBe(5);
    expect(addressOf(chunk.data)).toBe(addressOf(ours.data));
    recordRow({ ...ROW, direction: 'out', copies: 0, writable: 'yes', remarks: 'of an OwnedTensor' });
  });

  test('a dtype that it does not have is refused by name, and bad arguments too', () => {
    for (const dtype of ['bfloat16', 'complex64', 'float8_e5m2', 'float4_e2m1fn'] as const) {
      using ours: OwnedTensor = OwnedTensor.allocate([2], dtype);
      unmoved(() =>
        expectBufferError(() => toZarrita(ours, zarr), new RegExp(`^toZarrita: zarrita has no ${dtype}; `)),
      );
    }
    using bool = sample('bool');
    unmoved(() => {
      expectTypeError(() => toZarrita(bool, {} as typeof zarr), /it takes zarrita as imported, for its BoolArray/);
      expectTypeError(() => toZarrita([] as unknown as Tensor, zarr), /^toZarrita was given \[\]/);
    });
  });
});
