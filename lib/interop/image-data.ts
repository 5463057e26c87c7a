/**
 * Pictures as the web platform holds them, `{ data, width, height }`: ImageData of canvas implementations, what jpeg-js
 * decodes and encodes, pngjs' PNG. As a tensor they are `[height, width, channels]`.
 */
import type { DTypeOfData } from '../data-source';
import { bufferError, rangeError } from '../errors';
import { formatShape, parseInteger } from '../shape';
import { metadataOf } from '../tensor-base';
import { isTypedArray, type AnyTypedArray } from '../typed-arrays';
import { fieldsOf, requireLibrary } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import { parseToOptions, requireTensor, withCompact, type AnySource, type ToOptions } from './outgoing';
import { noSuchDType, notA } from './words';

/** A picture. */
export interface ImageDataLike<A = unknown> {
  /** Its channels, pixel by pixel, row by row. */
  readonly data: A;
  /** In pixels. */
  readonly width: number;
  /** In pixels. */
  readonly height: number;
}

/** A picture as jpeg-js and pngjs take it. */
export interface PlainImage {
  /** RGBA, a byte each. */
  readonly data: Buffer<ArrayBuffer>;
  /** In pixels. */
  readonly width: number;
  /** In pixels. */
  readonly height: number;
}

/** A library with an ImageData class, such as a canvas. */
export interface ImageDataLibrary<R> {
  /** Its class of pictures. */
  readonly ImageData: new (data: Uint8ClampedArray<ArrayBuffer>, width: number, height: number) => R;
}

/**
 * The pixels of a picture, as `[height, width, channels]`; as many channels as its data has (4 for RGBA).
 *
 * ```ts
 * import jpeg from 'jpeg-js';
 *
 * const file = jpeg.encode({ data: Buffer.alloc(2 * 3 * 4, 255), width: 3, height: 2 }).data;
 * const picture = fromImageData(jpeg.decode(file, { useTArray: true }));
 * console.log(picture.shape, picture.at(0, 0, 0)); // -> [ 2, 3, 4 ] 255
 * ```
 *
 * @returns one copy by default; with `copy: false` a tensor over its data
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for what is no picture; RangeError (`ERR_OUT_OF_RANGE`) where data, width
 *   and height do not fit each other; BufferError (`ERR_DLPACK_BUFFER`) for `copy: false` in a worker
 */
export function fromImageData<A extends AnyTypedArray, C extends boolean | null | undefined = null>(
  image: ImageDataLike<A>,
  options?: FromOptions<C>,
): Incoming<DTypeOfData<A>, C> {
  const operation = 'fromImageData';
  const { copy } = parseFromOptions(options, operation);
  const expected = 'a picture: { data, width, height }';
  const { data, width: widthGiven, height: heightGiven } = fieldsOf(image, operation, expected);
  if (!isTypedArray(data)) throw notA(operation, image, `${expected} whose data is a typed array`);
  const width = parseInteger(widthGiven, 'width');
  const height = parseInteger(heightGiven, 'height');
  const channels = data.length / (width * height);
  if (width < 1 || height < 1 || !Number.isInteger(channels) || channels < 1) {
    throw rangeError(
      `${operation}: width is ${width} and height is ${height}; data has ${data.length} elements, which do not ` +
        'divide among the pixels',
    );
  }
  return incoming({ data, shape: [height, width, channels] }, copy, operation);
}

/**
 * A picture over the tensor's own memory: an ImageData where a library with that class is given, else a plain object
 * that `jpeg.encode` and `PNG.sync.write` take.
 *
 * ```ts
 * const picture = OwnedTensor.allocate([2, 3, 4], 'uint8').fill(255).freeze();
 * const { data, width, height } = toImageData(picture); // what jpeg.encode takes
 * console.log(data.length, width, height); // -> 24 3 2
 * ```
 *
 * @param tensor uint8, `[height, width, 4]`
 * @param library what has the ImageData class: a canvas library; null for a plain object
 * @returns the picture. Row-major pixels are not copied here; a canvas copies them when it draws them
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for another dtype or shape, and with `copy: false` where a copy would be
 *   needed
 */
export function toImageData(tensor: AnySource, library?: null, options?: ToOptions): PlainImage;
export function toImageData<R>(tensor: AnySource, library: ImageDataLibrary<R>, options?: ToOptions): R;
export function toImageData<R>(
  tensor: AnySource,
  library?: ImageDataLibrary<R> | null,
  options?: ToOptions,
): R | PlainImage {
  const operation = 'toImageData';
  const copy = parseToOptions(options, operation);
  const source = requireTensor(tensor, operation);
  const { dtype, shape } = metadataOf(source);
  if (dtype.name !== 'uint8') throw noSuchDType(operation, 'ImageData', dtype.name);
  const [height = 0, width = 0, channels] = shape;
  if (shape.length !== 3 || height < 1 || width < 1 || channels !== 4) {
    throw bufferError(
      `${operation}: shape is ${formatShape(shape)}; a picture is [height, width, 4] (RGBA), of at least one pixel`,
    );
  }
  const make = library === undefined || library === null ? undefined : classOf(library, operation);
  return withCompact(source, { operation, copy }, ({ buffer, byteOffset, byteLength }) =>
    make === undefined
      ? { data: Buffer.from(buffer, byteOffset, byteLength), width, height }
      : make(new Uint8ClampedArray(buffer, byteOffset, byteLength), width, height),
  );
}

function classOf<R>(
  library: ImageDataLibrary<R>,
  operation: string,
): (data: Uint8ClampedArray<ArrayBuffer>, width: number, height: number) => R {
  const { ImageData } = requireLibrary(library, ['ImageData'], operation, 'a canvas library');
  return (data, width, height) => new ImageData(data, width, height);
}
