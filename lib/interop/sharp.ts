/**
 * sharp's raw pixels: `[height, width, channels]`. Out of `sharp(...).raw().toBuffer({ resolveWithObject: true })`, and
 * into `sharp(pixels, { raw })`, which reads them where they are, in other threads, when the pipeline runs.
 */
import { parseDType, type DType } from '../dtype';
import { bufferError, show, typeError } from '../errors';
import { formatShape, parseInteger } from '../shape';
import { metadataOf, type TensorBase } from '../tensor-base';
import type { Settled } from '../thenable';
import { isTypedArray } from '../typed-arrays';
import { bytesOfView, fieldsOf, requireLibrary } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import {
  parseToOptions,
  requireTensor,
  throughWithView,
  withCompact,
  type AnySource,
  type Elements,
  type ToOptions,
} from './outgoing';
import { foreignDType, noSuchDType, notA } from './words';

/** The dtypes of libvips' pixels that a raw buffer can come out with. */
export type SharpDType =
  'uint8' | 'int8' | 'uint16' | 'int16' | 'uint32' | 'int32' | 'float32' | 'float64' | 'complex64' | 'complex128';

/** libvips' own names, as `raw({ depth })` takes and `info.depth` gives them. */
const DEPTHS: Readonly<Record<string, SharpDType>> = {
  uchar: 'uint8',
  char: 'int8',
  ushort: 'uint16',
  short: 'int16',
  uint: 'uint32',
  int: 'int32',
  float: 'float32',
  double: 'float64',
  complex: 'complex64',
  dpcomplex: 'complex128',
};

/** What goes in: sharp tells the depth by the class of the typed array. */
const IN: ReadonlySet<DType> = new Set<DType>([
  'uint8',
  'int8',
  'uint16',
  'int16',
  'uint32',
  'int32',
  'float32',
  'float64',
]);

/** What `toBuffer({ resolveWithObject: true })` resolves to. */
export interface SharpOutput {
  /** The pixels. */
  readonly data: Uint8Array;
  /** What they are; `depth` is there since sharp says it. */
  readonly info: { readonly width: number; readonly height: number; readonly channels: number };
}

/** The options of `fromSharp`. */
export interface FromSharpOptions<D extends SharpDType, C extends boolean | null | undefined> extends FromOptions<C> {
  /**
   * The dtype that is expected: an error if the pixels are of another, never a conversion. Required where sharp does
   * not say the depth and a channel has more than a byte.
   */
  readonly dtype?: D | undefined;
}

/** The library: `import sharp from 'sharp'`. */
export type SharpLibrary<R> = (pixels: SharpPixels, options: { readonly raw: SharpRaw }) => R;

/** The pixels that sharp takes. */
export type SharpPixels =
  | Uint8Array<ArrayBuffer>
  | Int8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

/** What sharp wants to know of them. */
export interface SharpRaw {
  /** In pixels. */
  width: number;
  /** In pixels. */
  height: number;
  /** 1 to 4. */
  channels: 1 | 2 | 3 | 4;
}

/**
 * Raw pixels as `[height, width, channels]`.
 *
 * ```ts
 * import sharp from 'sharp';
 *
 * const output = await sharp('picture.png').raw().toBuffer({ resolveWithObject: true });
 * const pixels = fromSharp(output, { dtype: 'uint8' });
 * console.log(pixels.shape, pixels.at(0, 1, 0)); // -> [ 2, 3, 3 ] 30
 * ```
 *
 * @param output what `sharp(...).raw().toBuffer({ resolveWithObject: true })` resolved to
 * @returns one copy by default; with `copy: false` a tensor over sharp's own buffer
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for what is no such output; BufferError (`ERR_DLPACK_BUFFER`) for an
 *   encoded image, for pixels of another dtype than was asked for, and for `copy: false` in a worker; RangeError
 *   (`ERR_OUT_OF_RANGE`) where data and info do not fit each other
 */
export function fromSharp<D extends SharpDType = SharpDType, C extends boolean | null | undefined = null>(
  output: SharpOutput,
  options?: FromSharpOptions<D, C>,
): Incoming<D, C> {
  const operation = 'fromSharp';
  const { copy, given } = parseFromOptions(options, operation);
  const expected = 'what toBuffer({ resolveWithObject: true }) resolves to: { data, info }';
  const { data, info: infoGiven } = fieldsOf(output, operation, expected);
  if (!isTypedArray(data)) throw notA(operation, output, expected);
  const info = fieldsOf(infoGiven, operation, expected);
  const { format } = info;
  if (format !== undefined && format !== 'raw')
    throw bufferError(
      `${operation}: the data is an encoded image (info.format is ${show(format)}); ask for raw() pixels`,
    );
  const shape = [
    parseInteger(info['height'], 'info.height'),
    parseInteger(info['width'], 'info.width'),
    parseInteger(info['channels'], 'info.channels'),
  ];
  const bytes = bytesOfView(data, operation);
  const dtype = pixelType(
    info['depth'],
    given['dtype'],
    bytes.byteLength / shape.reduce((a, b) => a * b, 1),
    operation,
  );
  return incoming({ data: bytes, dtype, shape }, copy, operation);
}

/** What the pixels are: by their depth, which must be what was asked for. */
function pixelType(depth: unknown, asked: unknown, itemsize: number, operation: string): DType {
  const wanted = asked === undefined ? undefined : parseDType(asked).name;
  if (depth === undefined) {
    if (wanted !== undefined) return wanted;
    if (itemsize === 1) return 'uint8';
    throw typeError(
      `${operation}: dtype is missing; info has no depth, and ${itemsize} bytes a channel can be several dtypes`,
    );
  }
  const found = typeof depth === 'string' && Object.hasOwn(DEPTHS, depth) ? DEPTHS[depth] : undefined;
  if (found === undefined)
    throw foreignDType(operation, 'info.depth', depth, `it can be ${Object.keys(DEPTHS).join(', ')}`);
  if (wanted === undefined || wanted === found) return found;
  throw bufferError(
    `${operation}: dtype is '${wanted}', and the pixels are ${found} (info.depth is ${show(depth)}); ` +
      `ask sharp for raw({ depth }), or convert with to('${wanted}')`,
  );
}

/**
 * A sharp pipeline that reads its pixels from the tensor's own memory, when it runs. Release nothing before it has run;
 * `withSharp` sees to that.
 *
 * ```ts
 * import sharp from 'sharp';
 *
 * const picture = OwnedTensor.allocate([48, 64, 3], 'uint8').fill(200);
 * const png = await toSharp(picture, sharp).png().toBuffer(); // picture stays alive meanwhile: it is used below
 * console.log((await sharp(png).metadata()).width, picture.shape); // -> 64 [ 48, 64, 3 ]
 * ```
 *
 * @param tensor `[height, width, channels]` or `[height, width]`, of 1 to 4 channels
 * @param sharp the library
 * @returns the pipeline; row-major pixels are not copied
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for a dtype or shape that sharp does not take, and with `copy: false` where
 *   a copy would be needed
 */
export function toSharp<R>(tensor: AnySource, sharp: SharpLibrary<R>, options?: ToOptions): R {
  const operation = 'toSharp';
  const copy = parseToOptions(options, operation);
  const source = requireTensor(tensor, operation);
  const raw = rawOf(source, operation);
  const make = requireLibrary(sharp, [], operation, 'sharp');
  return withCompact(source, { operation, copy }, (data) => make(pixelsOf(data), { raw }));
}

/**
 * Calls `fn` with a sharp pipeline over the tensor's memory, and keeps that memory in place until `fn` ends, or the
 * promise that it returns.
 *
 * ```ts
 * import sharp from 'sharp';
 *
 * const picture = OwnedTensor.allocate([48, 64, 3], 'uint8').fill(200);
 * const png = await withSharp(picture, sharp, (image) => image.png().toBuffer());
 * console.log((await sharp(png).metadata()).width); // -> 64
 * ```
 *
 * @param tensor row-major; nothing is copied
 * @returns what `fn` returned
 * @throws BufferError (`ERR_DLPACK_BUFFER`) as `toSharp`, and for a layout that is not row-major (`contiguous()`
 *   first); what `fn` throws
 */
export function withSharp<T, R>(tensor: AnySource, sharp: SharpLibrary<T>, fn: (image: T) => R): Settled<R> {
  const operation = 'withSharp';
  const source = requireTensor(tensor, operation);
  const raw = rawOf(source, operation);
  const make = requireLibrary(sharp, [], operation, 'sharp');
  if (typeof fn !== 'function') throw typeError(`${operation} was called with ${show(fn)}; it takes a function`);
  return throughWithView(source, { operation }, (data) => fn(make(pixelsOf(data), { raw })));
}

/** Elements of the dtypes in IN are in one of these arrays. */
function pixelsOf(data: Elements): SharpPixels {
  return data as SharpPixels;
}

function rawOf(tensor: TensorBase, operation: string): SharpRaw {
  const { dtype, shape } = metadataOf(tensor);
  if (!IN.has(dtype.name)) throw noSuchDType(operation, 'raw input of sharp', dtype.name);
  const [height = 0, width = 0, channels = 1] = shape;
  if (shape.length < 2 || shape.length > 3 || height < 1 || width < 1 || !isChannels(channels)) {
    throw bufferError(
      `${operation}: shape is ${formatShape(shape)}; sharp takes [height, width] or [height, width, channels], of at ` +
        'least one pixel and 1 to 4 channels',
    );
  }
  return { width, height, channels };
}

function isChannels(count: number): count is SharpRaw['channels'] {
  return count >= 1 && count <= 4;
}
