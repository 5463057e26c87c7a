/** sharp: raw pixels out of and into real pipelines. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, stats, type DType } from '../../dist/index.js';
import {
  fromSharp,
  toSharp,
  withSharp,
  type SharpDType,
  type SharpOutput,
  type SharpPixels,
  type SharpRaw,
} from '../../dist/interop/index.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectRangeError, expectTypeError } from '../support/refusals.js';
import { addressOf, expectNoCopyIn, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { peer, versionOf } from './peers.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

interface Pipeline {
  /** Where it reads from. */
  readonly options: { readonly input: { readonly buffer: Buffer } };
  raw(options?: { depth: string }): Pipeline;
  png(): Pipeline;
  toColourspace(space: string): Pipeline;
  toBuffer(): Promise<Buffer>;
  toBuffer(options: { resolveWithObject: true }): Promise<SharpOutput>;
}
const sharp = peer<(input: unknown, options?: object) => Pipeline>('sharp');
const make = sharp as (pixels: SharpPixels, options: { readonly raw: SharpRaw }) => Pipeline;
const ROW = { library: 'sharp', version: versionOf('sharp'), struct: 'typed array' } as const;

const PIXELS = Uint8Array.from({ length: 2 * 3 * 3 }, (_, i) => i * 10);
const RGB = { raw: { width: 3, height: 2, channels: 3 } } as const;

/** The names of depths that a raw buffer comes out with, and the dtypes they are. */
const DEPTHS: readonly (readonly [string, SharpDType])[] = [
  ['uchar', 'uint8'],
  ['char', 'int8'],
  ['ushort', 'uint16'],
  ['short', 'int16'],
  ['uint', 'uint32'],
  ['int', 'int32'],
  ['float', 'float32'],
  ['double', 'float64'],
  ['complex', 'complex64'],
  ['dpcomplex', 'complex128'],
];

let png: Buffer;
beforeAll(async () => {
  png = await sharp(PIXELS, RGB).png().toBuffer();
});

const rawOf = (input: unknown, options?: object): Promise<SharpOutput> =>
  sharp(input, options).raw().toBuffer({ resolveWithObject: true });

describe('raw output comes in', () => {
  test('of a decoded picture: by one copy, as [height, width, channels]', async () => {
    const output = await rawOf(png);
    using ours = expectOneCopyIn(() => fromSharp(output, { dtype: 'uint8' }), output.data);
    expect({ dtype: ours.dtype, shape: ours.shape }).toEqual({ dtype: 'uint8', shape: [2, 3, 3] });
    expect([...ours.view()]).toEqual([...PIXELS]);
    recordRow({ ...ROW, direction: 'in', copies: 1, writable: 'no', remarks: 'raw output, of every depth' });
  });

  test('with copy: false: over the buffer that sharp filled', async () => {
    const output = await rawOf(png);
    using ours = expectNoCopyIn(() => fromSharp(output, { copy: false }) as Tensor, output.data);
    expect([...(ours as Tensor<'uint8'>).view()]).toEqual([...PIXELS]);
    output.data[0] = 200;
    expect(ours.at(0, 0, 0)).toBe(200);
    recordRow({ ...ROW, direction: 'in', copies: 0, writable: 'no', remarks: 'copy: false' });
  });

  test.each(DEPTHS)('of depth %s: %s, by what sharp says of it', async (depth, dtype) => {
    const output = await sharp(PIXELS, RGB).raw({ depth }).toBuffer({ resolveWithObject: true });
    using ours: Tensor = expectOneCopyIn(() => fromSharp(output) as Tensor, output.data);
    expect({ dtype: ours.dtype, shape: ours.shape }).toEqual({ dtype, shape: [2, 3, 3] });
    const value = ours.at(0, 0, 2);
    expect(typeof value === 'object' ? value[0] : value).toBe(20);
  });

  test('with copy: true it is ours alone', async () => {
    const output = await rawOf(png);
    using ours = expectOneCopyIn(() => fromSharp(output, { dtype: 'uint8', copy: true }), output.data);
    ours.data[0] = 99;
    expect(output.data[0]).toBe(0);
  });

  test('what cannot come in is an error by name, and leaves nothing', async () => {
    const encoded = await sharp(png).png().toBuffer({ resolveWithObject: true });
    const wide = await sharp(PIXELS, RGB).raw({ depth: 'ushort' }).toBuffer({ resolveWithObject: true });
    const info = { width: 2, height: 1, channels: 1 };
    unmoved(() => {
      expectBufferError(
        () => fromSharp(encoded),
        /^fromSharp: the data is an encoded image \(info\.format is 'png'\); ask for raw\(\)/,
      );
      expectBufferError(
        () => fromSharp(wide, { dtype: 'uint8' }),
        /^fromSharp: dtype is 'uint8', and the pixels are uint16 \(info\.depth is 'ushort'\)/,
      );
      expectTypeError(
        () => fromSharp(png as unknown as SharpOutput),
        /^fromSharp was given an object; it takes what toBuffer/,
      );
      expectTypeError(
        () => fromSharp({ data: new Uint8Array(4), info }),
        /^fromSharp: dtype is missing; info has no depth, and 2 bytes/,
      );
      expectRangeError(() => fromSharp({ data: new Uint8Array(3), info }, { dtype: 'uint8' }), /data has 3 bytes/);
      expectRangeError(
        () => fromSharp({ data: new Uint8Array(2), info: { ...info, height: -1 } }, { dtype: 'uint8' }),
        /is -1; extents/,
      );
      expectRangeError(() => fromSharp(wide, { dtype: 'ushort' as SharpDType }), /^dtype is 'ushort'; the dtypes are/);
      expectBufferError(
        () => fromSharp({ data: new Uint8Array(2), info: { ...info, depth: 'notset' } as SharpOutput['info'] }),
        /^fromSharp: info\.depth is 'notset'/,
      );
    });
  });
});

function failing(): never {
  throw new Error('no pipeline today');
}

describe('a tensor goes in as raw pixels', () => {
  const SAMPLES: readonly DType[] = ['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'float32', 'float64'];

  test.each(SAMPLES)('%s: read where they are, and right', async (dtype) => {
    using numbers = Tensor.from(
      Float64Array.from({ length: 18 }, (_, i) => i),
      { shape: [2, 3, 3] },
    );
    using ours = numbers.to(dtype as 'uint8').freeze();
    const depth = DEPTHS.find(([, name]) => name === dtype)?.[0] ?? '';
    const output = await withSharp(ours, make, (image) => {
      expectNoCopyOut(ours, image.options.input.buffer);
      expectBufferError(() => ours.dispose(), /withView/);
      // The space keeps sharp from bringing wide pixels down to 8 bits.
      const space = ours.byteLength === ours.size ? 'srgb' : 'rgb16';
      return image.toColourspace(space).raw({ depth }).toBuffer({ resolveWithObject: true });
    });
    expect(output.info).toMatchObject({ width: 3, height: 2, channels: 3 });
    using back: Tensor = fromSharp(output) as Tensor;
    expect({ dtype: back.dtype, first: back.at(0, 0, 0), some: back.at(0, 1, 2), last: back.at(1, 2, 2) }).toEqual({
      dtype,
      first: 0,
      some: 5,
      last: 17,
    });
    recordRow({ ...ROW, direction: 'out', copies: 0, writable: 'no', remarks: 'raw input, row-major, in withSharp' });
  });

  test('a picture of one channel, of an owner, through a file format and back', async () => {
    using ours = OwnedTensor.allocate([2, 4], 'uint8');
    ours.data.set([0, 50, 100, 150, 200, 250, 1, 2]);
    const file = await withSharp(ours, make, (image) => image.toColourspace('b-w').png().toBuffer());
    const output = await sharp(file).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });
    using back = fromSharp(output, { dtype: 'uint8' });
    expect({ shape: back.shape, values: [...back.view()] }).toEqual({ shape: [2, 4, 1], values: [...ours.data] });
    recordRow({ ...ROW, direction: 'out', copies: 0, writable: 'yes', remarks: 'of an OwnedTensor' });
  });

  test('toSharp: of another layout by a copy, or an error with copy: false', async () => {
    using base = Tensor.from(PIXELS, { shape: [3, 2, 3] });
    using ours = base.transpose([1, 0, 2]);
    const pipeline = unmoved(() => toSharp(ours, make));
    expect(addressOf(pipeline.options.input.buffer)).not.toBe(addressOf(base.view()));
    const output = await pipeline.raw().toBuffer({ resolveWithObject: true });
    using back = fromSharp(output) as Tensor;
    expect(back.toArray()).toEqual(ours.toArray());
    unmoved(() => {
      expectBufferError(() => toSharp(ours, make, { copy: false }), /^toSharp needs a contiguous tensor/);
      expectBufferError(
        () => withSharp(ours, make, () => undefined),
        /^withView needs a contiguous tensor|^withSharp needs/,
      );
    });
    recordRow({ ...ROW, direction: 'out', copies: 1, writable: 'yes', remarks: 'other layouts; copy: true' });
  });

  test('what it does not take is refused by name, and leaves nothing', () => {
    const shapes: readonly (readonly number[])[] = [[4], [2, 2, 5], [1, 2, 2, 3], [0, 2, 3], []];
    for (const shape of shapes) {
      using ours = OwnedTensor.allocate(shape, 'uint8');
      unmoved(() => {
        expectBufferError(() => toSharp(ours, make), /^toSharp: shape is \[.*\]; sharp takes \[height, width\]/);
        expectBufferError(() => withSharp(ours, make, () => undefined), /^withSharp: shape is/);
      });
    }
    for (const dtype of ['bool', 'int64', 'float16', 'bfloat16', 'complex64'] as const) {
      using ours: OwnedTensor = OwnedTensor.allocate([2, 2], dtype);
      unmoved(() =>
        expectBufferError(() => toSharp(ours, make), new RegExp(`^toSharp: raw input of sharp has no ${dtype}; `)),
      );
    }
    using ours = OwnedTensor.allocate([2, 2], 'uint8');
    unmoved(() => {
      expectTypeError(() => toSharp({} as Tensor, make), /^toSharp was given an object/);
      expectTypeError(() => toSharp(ours, {} as typeof make), /it takes sharp as imported, a function/);
      expectTypeError(() => withSharp(ours, make, 1 as unknown as () => void), /^withSharp was called with 1/);
    });
  });

  test('a pipeline that cannot be made leaves no view behind', () => {
    using ours = Tensor.from(PIXELS, { shape: [2, 3, 3] });
    const before = stats();
    expect(() => toSharp(ours, failing)).toThrow('no pipeline today');
    expect(() => withSharp(ours, failing, () => undefined)).toThrow('no pipeline today');
    expect(stats()).toEqual(before);
    expect(ours.isUnique).toBe(true);
  });
});
