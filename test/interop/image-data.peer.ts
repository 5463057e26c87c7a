/** Pictures of @napi-rs/canvas, jpeg-js and pngjs. */
import { describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor } from '../../dist/index.js';
import { fromImageData, toImageData, type ImageDataLike, type ImageDataLibrary } from '../../dist/interop/index.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectRangeError, expectTypeError } from '../support/refusals.js';
import { addressOf, expectCopyOut, expectNoCopyIn, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { peer, versionOf } from './peers.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

interface Context {
  fillStyle: string;
  fillRect(x: number, y: number, width: number, height: number): void;
  getImageData(x: number, y: number, width: number, height: number): ImageDataLike<Uint8ClampedArray>;
  putImageData(image: ImageDataLike<Uint8ClampedArray>, x: number, y: number): void;
}
interface CanvasLibrary extends ImageDataLibrary<ImageDataLike<Uint8ClampedArray>> {
  createCanvas(width: number, height: number): { getContext(kind: '2d'): Context };
}
interface Jpeg {
  encode(image: ImageDataLike, quality: number): ImageDataLike<Buffer>;
  decode(file: Uint8Array, options?: object): ImageDataLike<Uint8Array>;
}
interface Png {
  readonly PNG: {
    readonly sync: {
      read(file: Uint8Array, options?: object): ImageDataLike<Buffer>;
      write(image: ImageDataLike): Buffer;
    };
  };
}

const canvas = peer<CanvasLibrary>('@napi-rs/canvas');
const jpeg = peer<Jpeg>('jpeg-js');
const { PNG } = peer<Png>('pngjs');

const row = (library: string): { library: string; version: string; struct: string } => ({
  library,
  version: versionOf(library),
  struct: 'typed array',
});

/** Opaque pixels of many colours, [2, 3, 4]. */
const RGBA = Uint8Array.from({ length: 24 }, (_, i) => (i % 4 === 3 ? 255 : (i * 37) % 256));

/** A canvas with these pixels. */
function painted(): Context {
  const context = canvas.createCanvas(3, 2).getContext('2d');
  using pixels = Tensor.from(RGBA, { shape: [2, 3, 4] });
  context.putImageData(toImageData(pixels, canvas), 0, 0);
  return context;
}

describe('@napi-rs/canvas', () => {
  test('its ImageData comes in by one copy, as [height, width, 4]', () => {
    const theirs = painted().getImageData(0, 0, 3, 2);
    using ours = expectOneCopyIn(() => fromImageData(theirs), theirs.data);
    expect({ dtype: ours.dtype, shape: ours.shape, values: [...ours.view()] }).toEqual({
      dtype: 'uint8',
      shape: [2, 3, 4],
      values: [...RGBA],
    });
    recordRow({ ...row('@napi-rs/canvas'), direction: 'in', copies: 1, writable: 'no', remarks: 'getImageData' });
  });

  test('with copy: false over its data', () => {
    const theirs = painted().getImageData(0, 0, 3, 2);
    using ours = expectNoCopyIn(() => fromImageData(theirs, { copy: false }), theirs.data);
    theirs.data[4] = 77;
    expect(ours.at(0, 1, 0)).toBe(77);
    recordRow({ ...row('@napi-rs/canvas'), direction: 'in', copies: 0, writable: 'no', remarks: 'copy: false' });
  });

  test('a tensor goes out as an ImageData over its own memory, which the canvas draws', () => {
    using ours = Tensor.from(RGBA, { shape: [2, 3, 4] });
    const theirs = toImageData(ours, canvas);
    expect(theirs).toBeInstanceOf(canvas.ImageData);
    expect({ width: theirs.width, height: theirs.height }).toEqual({ width: 3, height: 2 });
    expectNoCopyOut(ours, theirs.data);
    const context = canvas.createCanvas(3, 2).getContext('2d');
    context.putImageData(theirs, 0, 0);
    expect([...context.getImageData(0, 0, 3, 2).data]).toEqual([...RGBA]);
    recordRow({
      ...row('@napi-rs/canvas'),
      direction: 'out',
      copies: 0,
      writable: 'no',
      remarks: 'ImageData over the memory; putImageData copies it onto the canvas',
    });
  });

  test('of an owner it can be written', () => {
    using ours = OwnedTensor.allocate([1, 1, 4], 'uint8');
    const theirs = toImageData(ours, canvas);
    theirs.data.set([1, 2, 3, 4]);
    expect([...ours.data]).toEqual([1, 2, 3, 4]);
    recordRow({
      ...row('@napi-rs/canvas'),
      direction: 'out',
      copies: 0,
      writable: 'yes',
      remarks: 'of an OwnedTensor',
    });
  });
});

describe('jpeg-js', () => {
  const encoded = jpeg.encode({ data: Buffer.from(RGBA), width: 3, height: 2 }, 90).data;

  test.each([
    ['a Buffer of RGBA', {}, 4],
    ['a Uint8Array of RGBA', { useTArray: true }, 4],
    ['RGB', { formatAsRGBA: false }, 3],
  ] as const)('what it decodes comes in by one copy: %s', (_, options, channels) => {
    const theirs = jpeg.decode(encoded, options);
    using ours = expectOneCopyIn(() => fromImageData(theirs), theirs.data);
    expect({ shape: ours.shape, values: [...ours.view()] }).toEqual({
      shape: [2, 3, channels],
      values: [...theirs.data],
    });
    recordRow({ ...row('jpeg-js'), direction: 'in', copies: 1, writable: 'no', remarks: 'decode' });
    using shared = expectNoCopyIn(() => fromImageData(theirs, { copy: false }) as Tensor, theirs.data);
    expect(shared.toArray()).toEqual(ours.toArray());
    recordRow({ ...row('jpeg-js'), direction: 'in', copies: 0, writable: 'no', remarks: 'copy: false' });
  });

  test('it encodes a tensor out of its own memory', () => {
    using ours = Tensor.from(RGBA, { shape: [2, 3, 4] });
    const theirs = toImageData(ours);
    expectNoCopyOut(ours, theirs.data);
    expect([...jpeg.encode(theirs, 90).data]).toEqual([...encoded]);
    recordRow({ ...row('jpeg-js'), direction: 'out', copies: 0, writable: 'no', remarks: 'encode' });
  });
});

describe('pngjs', () => {
  const encoded = PNG.sync.write({ data: Buffer.from(RGBA), width: 3, height: 2 });

  test('what it decodes comes in by one copy', () => {
    const theirs = PNG.sync.read(encoded);
    using ours = expectOneCopyIn(() => fromImageData(theirs), theirs.data);
    expect({ shape: ours.shape, values: [...ours.view()] }).toEqual({ shape: [2, 3, 4], values: [...RGBA] });
    recordRow({ ...row('pngjs'), direction: 'in', copies: 1, writable: 'no', remarks: 'PNG.sync.read' });
    using shared = expectNoCopyIn(() => fromImageData(theirs, { copy: false }) as Tensor, theirs.data);
    expect(shared.toArray()).toEqual(ours.toArray());
    recordRow({ ...row('pngjs'), direction: 'in', copies: 0, writable: 'no', remarks: 'copy: false' });
  });

  test('it encodes a tensor out of its own memory', () => {
    using ours = Tensor.from(RGBA, { shape: [2, 3, 4] });
    const theirs = toImageData(ours, null);
    expectNoCopyOut(ours, theirs.data);
    const file = PNG.sync.write(theirs);
    expect([...PNG.sync.read(file).data]).toEqual([...RGBA]);
    recordRow({ ...row('pngjs'), direction: 'out', copies: 0, writable: 'no', remarks: 'PNG.sync.write' });
  });
});

describe('any picture', () => {
  test('keeps the dtype of its data: 16-bit and float pictures', () => {
    using wide = fromImageData({ data: new Uint16Array([1, 65535, 3, 4]), width: 1, height: 1 });
    expect({ dtype: wide.dtype, values: wide.toArray() }).toEqual({ dtype: 'uint16', values: [[[1, 65535, 3, 4]]] });
    using floats = fromImageData({ data: new Float32Array([0.5]), width: 1, height: 1 }, { copy: true });
    expect(floats.at(0, 0, 0)).toBe(0.5);
  });

  test('of another layout goes out by a copy, or an error with copy: false', () => {
    using base = Tensor.from(RGBA, { shape: [3, 2, 4] });
    using ours = base.transpose([1, 0, 2]);
    const theirs = unmoved(() => toImageData(ours));
    expectCopyOut(base, theirs.data);
    expect([...theirs.data]).toEqual([...ours.toTypedArray()]);
    unmoved(() =>
      expectBufferError(() => toImageData(ours, null, { copy: false }), /^toImageData needs a contiguous tensor/),
    );
    using straight = Tensor.from(RGBA, { shape: [2, 3, 4] });
    const copy = unmoved(() => toImageData(straight, canvas, { copy: true }));
    expectCopyOut(straight, copy.data);
    for (const library of ['@napi-rs/canvas', 'jpeg-js', 'pngjs'])
      recordRow({
        ...row(library),
        direction: 'out',
        copies: 1,
        writable: 'yes',
        remarks: 'other layouts; copy: true',
      });
  });

  test('that is none is an error by name, and leaves nothing', () => {
    const data = new Uint8Array(12);
    unmoved(() => {
      expectTypeError(
        () => fromImageData({} as ImageDataLike<Uint8Array>),
        /^fromImageData was given an object; it takes a picture/,
      );
      expectTypeError(
        () => fromImageData({ data: [1, 2, 3], width: 1, height: 1 } as unknown as ImageDataLike<Uint8Array>),
        /whose data is a typed array/,
      );
      for (const copy of [null, true, false] as const) {
        expectRangeError(
          () => fromImageData({ data, width: 5, height: 1 }, { copy }),
          /^fromImageData: width is 5 and height is 1; data has 12 elements/,
        );
        expectRangeError(() => fromImageData({ data, width: 0, height: 0 }, { copy }), /^fromImageData: width is 0/);
        expectRangeError(() => fromImageData({ data, width: -3, height: -1 }, { copy }), /^fromImageData: width is -3/);
      }
      expectTypeError(() => fromImageData({ data, width: '3' as unknown as number, height: 1 }), /^width is '3'/);
    });
    const shapes: readonly (readonly number[])[] = [[2, 3, 3], [4], [2, 2], [0, 2, 4], [1, 1, 1, 4]];
    for (const shape of shapes) {
      using ours = OwnedTensor.allocate(shape, 'uint8');
      unmoved(() =>
        expectBufferError(() => toImageData(ours), /^toImageData: shape is \[.*; a picture is \[height, width, 4\]/),
      );
    }
    using floats = OwnedTensor.allocate([1, 1, 4], 'float32');
    using ours = OwnedTensor.allocate([1, 1, 4], 'uint8');
    unmoved(() => {
      expectBufferError(() => toImageData(floats), /^toImageData: ImageData has no float32/);
      expectTypeError(
        () => toImageData(ours, {} as typeof canvas),
        /it takes a canvas library as imported, which has ImageData/,
      );
      expectTypeError(() => toImageData(null as unknown as Tensor), /^toImageData was given null/);
    });
    expect(addressOf(ours.data)).not.toBe(0n);
  });
});
