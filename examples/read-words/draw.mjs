// The picture with the lines that were read drawn on it.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { addon, dataAddress } from './dlpack.mjs';

const folder = fileURLToPath(new URL('out/', import.meta.url));

function outline({ left, right, top, height, slope }) {
  const [from, to] = [top + slope * left, top + slope * right];
  const corners = [
    [left, from],
    [right, to],
    [right, to + height],
    [left, from + height],
  ];
  return `<polygon points="${corners.map((corner) => corner.map((value) => value.toFixed(1)).join(',')).join(' ')}"/>`;
}

/**
 * Writes out/<name>.png; returns its path. sharp reads the pixels in our memory, which cannot be released before it is
 * done.
 */
export async function draw(pixels, lines, name, handOvers) {
  const [height, width, channels] = pixels.shape;
  const output = path.join(folder, `${name}.png`);
  const style = 'fill="#d0021b" fill-opacity="0.08" stroke="#d0021b" stroke-width="1.2"';
  const outlines = lines.map(({ box }) => outline(box)).join('');
  const svg = 'http://www.w3.org/2000/svg';
  const overlay = Buffer.from(
    `<svg xmlns="${svg}" width="${width}" height="${height}"><g ${style}>${outlines}</g></svg>`,
  );
  await mkdir(folder, { recursive: true });
  await pixels.withView(async (view) => {
    const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
    await sharp(bytes, { raw: { width, height, channels } })
      .toColourspace('srgb')
      .composite([{ input: overlay }])
      .png()
      .toFile(output);
    handOvers.record('picture -> sharp', {
      what: `uint8[${pixels.shape}]`,
      given: dataAddress(pixels),
      received: addon.addressOf(bytes),
      flags: 'view, held until the file is written',
      bytes: bytes.byteLength,
      again: () => pixels.withView((once) => void Buffer.from(once.buffer, once.byteOffset, once.byteLength)),
      sample: () => pixels.toTypedArray(),
    });
  });
  return output;
}
