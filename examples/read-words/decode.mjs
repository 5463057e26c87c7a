// From a file to a tensor [height, width, channels] of bytes.
import { stat } from 'node:fs/promises';
import sharp from 'sharp';
import { addon, adopt, dataAddress } from './dlpack.mjs';
import { PictureError, firstLine } from './errors.mjs';

// Files are read once: a cache of decoded pictures would only hold memory (and a file, open).
sharp.cache(false);

const GREY = new Set(['b-w', 'grey16']);

/** What stat says before any decoder is asked: its own words for these are longer and less clear. */
async function mustBeFile(file) {
  let found;
  try {
    found = await stat(file);
  } catch (error) {
    throw new PictureError(
      file,
      error.code === 'ENOENT' ? 'no such file' : `cannot be read (${error.code ?? firstLine(error)})`,
    );
  }
  if (found.isDirectory()) throw new PictureError(file, 'is a folder, not a picture');
  if (!found.isFile()) throw new PictureError(file, 'is not a regular file');
  if (found.size === 0) throw new PictureError(file, 'is empty');
}

// A truncated picture is refused, but not one with an oddity that every viewer forgives.
const open = (file) => sharp(file, { failOn: 'error' });

/**
 * Reads the header alone: the size after turning the picture upright (a camera notes how it was held), and whether it
 * has colours.
 */
export async function peek(file) {
  await mustBeFile(file);
  let header;
  try {
    header = await open(file).metadata();
  } catch (error) {
    throw new PictureError(file, `not a picture that can be read (${firstLine(error)})`);
  }
  const { width, height } = header.autoOrient;
  if (!(width > 0 && height > 0)) throw new PictureError(file, 'a picture without a size');
  return { file, width, height, grey: GREY.has(header.space) };
}

/**
 * Decodes a picture and takes its pixels over **where the decoder put them**: the Buffer that sharp returns lies over
 * memory of libvips, and `adopt` makes it a tensor without copying. It is JavaScript's memory then, pinned for as long
 * as the tensor lives, and read-only to all.
 *
 * Every picture becomes 8-bit sRGB, or one grey channel: CMYK, 16 bits, palettes and profiles are sharp's business;
 * what is transparent is seen before white paper.
 */
export async function decode({ file, grey }, handOvers) {
  let decoded;
  try {
    decoded = await open(file)
      .autoOrient()
      .flatten({ background: '#ffffff' })
      .toColourspace(grey ? 'b-w' : 'srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
  } catch (error) {
    throw new PictureError(file, `a picture that cannot be decoded (${firstLine(error)})`);
  }
  const { data, info } = decoded;
  const shape = [info.height, info.width, info.channels];
  const pixels = adopt(data, { shape });
  handOvers.record('picture <- sharp', {
    what: `uint8[${shape}]`,
    given: addon.addressOf(data),
    received: dataAddress(pixels),
    flags: 'adopted (read-only)',
    bytes: data.byteLength,
    again: () => adopt(data, { shape }).dispose(),
    // A Buffer's own slice() is a view; a Uint8Array's copies, as meant here.
    sample: () => new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  });
  return pixels;
}

/**
 * [height, width, 3]: a grey picture's one channel is seen three times, by a stride of 0. An alias; the caller owns
 * both tensors.
 */
export function inColour(pixels) {
  const [height, width] = pixels.shape;
  return pixels.broadcastTo([height, width, 3]);
}
