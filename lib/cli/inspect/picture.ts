/**
 * A tensor that looks like a picture, drawn with characters: two pixels a character in a terminal with colours, a ramp
 * of ASCII characters elsewhere.
 */
import { isRealDType } from '../../dtype';
import { scope } from '../../scope';
import type { Tensor } from '../../tensor';
import type { Summary } from './summary';

export interface PictureOptions {
  readonly colours: boolean;
  /** Characters in a line. */
  readonly columns: number;
}

/** Smaller ones are matrices to be read, not looked at. */
const LEAST = 8;
const MOST_COLUMNS = 100;
const MOST_LINES = 40;
const RAMP = ' .:-=+*#%@';

/** Undefined for what does not look like a picture: see the help of `node-dlpack inspect`. */
export function drawPicture(
  tensor: Tensor,
  summary: Summary,
  { colours, columns }: PictureOptions,
): string | undefined {
  return scope(() => {
    const picture = asPicture(tensor);
    const range = picture === undefined ? undefined : rangeOf(picture, summary);
    if (picture === undefined || range === undefined) return undefined;
    const [height = 0, width = 0] = picture.shape;
    // In both renderings a line is two units high, a column one wide.
    const scale = Math.min(Math.min(columns, MOST_COLUMNS) / width, (MOST_LINES * 2) / height, 1);
    const columnsDrawn = Math.max(1, Math.round(width * scale));
    const linesDrawn = Math.max(1, Math.round((height * scale) / 2));
    const pixels = new Pixels(picture, colours ? linesDrawn * 2 : linesDrawn, columnsDrawn, range);
    return Array.from({ length: linesDrawn }, (_, line) =>
      colours ? colourLine(pixels, line) : asciiLine(pixels, line),
    ).join('\n');
  });
}

/** `[height, width, channels]`, whatever the order of the axes was. */
function asPicture(tensor: Tensor): Tensor | undefined {
  if (!isRealDType(tensor.dtype) || tensor.size === 0) return undefined;
  let picture = tensor;
  while (picture.ndim > 3 && picture.shape[0] === 1) picture = picture.slice(0);
  const [first = 0, second = 0, third = 0] = picture.shape;
  const isLarge = (height: number, width: number): boolean => height >= LEAST && width >= LEAST;
  if (picture.ndim === 2 && isLarge(first, second)) return picture.expandDims(2);
  if (picture.ndim !== 3) return undefined;
  if ([1, 3, 4].includes(third) && isLarge(first, second)) return picture;
  if ([1, 3].includes(first) && isLarge(second, third)) return picture.transpose([1, 2, 0]);
  return undefined;
}

/** Which numbers are black and white. */
function rangeOf({ dtype }: Tensor, { min, max }: Summary): readonly [black: number, white: number] | undefined {
  if (min === undefined || max === undefined) return undefined;
  if (dtype === 'uint8') return [0, 255];
  const [lowest, highest] = [Number(min), Number(max)];
  if (lowest >= 0 && highest <= 1) return [0, 1];
  return lowest === highest ? [lowest - 1, lowest] : [lowest, highest];
}

/** A coarser raster, each place the mean of what lies there, as intensities from 0 to 1. */
class Pixels {
  readonly channels: number;
  readonly #values: Float64Array;

  constructor(
    picture: Tensor,
    rows: number,
    readonly columns: number,
    private readonly range: readonly [black: number, white: number],
  ) {
    const [height = 1, width = 1, channels = 1] = picture.shape;
    this.channels = channels;
    this.#values = new Float64Array(rows * columns * channels);
    for (let row = 0; row < rows; row++) {
      const { from, to } = span(row, rows, height);
      // Band by band, so that a large picture is not converted all at once.
      scope(() => this.#fillRow(row, picture.slice([from, to]).to('float64').data, width));
    }
  }

  /** `band`: as many rows of the picture as lie in this one. */
  #fillRow(row: number, band: Float64Array, width: number): void {
    const { channels, columns } = this;
    const high = band.length / (width * channels);
    for (let column = 0; column < columns; column++) {
      const across = span(column, columns, width);
      for (let channel = 0; channel < channels; channel++) {
        let sum = 0;
        let count = 0;
        for (let y = 0; y < high; y++) {
          for (let x = across.from; x < across.to; x++) {
            const value = this.#intensity(band[(y * width + x) * channels + channel] ?? NaN);
            if (Number.isNaN(value)) continue;
            sum += value;
            count += 1;
          }
        }
        this.#values[(row * columns + column) * channels + channel] = sum / count; // NaN where there are no numbers
      }
    }
  }

  /** Red, green, blue; undefined where the picture has no number. What is transparent lies on black. */
  at(row: number, column: number): readonly [number, number, number] | undefined {
    const from = (row * this.columns + column) * this.channels;
    const [first = NaN, second = NaN, third = NaN, alpha = 1] = Array.from(
      this.#values.subarray(from, from + this.channels),
    );
    const colour: readonly [number, number, number] =
      this.channels === 1 ? [first, first, first] : [first * alpha, second * alpha, third * alpha];
    return colour.some(Number.isNaN) ? undefined : colour;
  }

  #intensity(value: number): number {
    const [black, white] = this.range;
    return Math.min(Math.max((value / 2 - black / 2) / (white / 2 - black / 2), 0), 1);
  }
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Which of `extent` pixels lie at one of `places`: at least one. */
function span(place: number, places: number, extent: number): Span {
  const from = Math.min(Math.floor((place * extent) / places), extent - 1);
  return { from, to: Math.max(from + 1, Math.floor(((place + 1) * extent) / places)) };
}

/** Where there is no number. */
const MAGENTA = [1, 0, 1] as const;

/** The upper half block: what is drawn is the upper pixel, the ground the lower one. */
function colourLine(pixels: Pixels, line: number): string {
  let text = '';
  for (let column = 0; column < pixels.columns; column++) {
    const upper = codes(pixels.at(2 * line, column) ?? MAGENTA);
    const lower = codes(pixels.at(2 * line + 1, column) ?? MAGENTA);
    text += `\u001b[38;2;${upper};48;2;${lower}m\u2580`;
  }
  return `${text}\u001b[0m`;
}

function codes(colour: readonly number[]): string {
  return colour.map((part) => Math.round(part * 255)).join(';');
}

function asciiLine(pixels: Pixels, line: number): string {
  let text = '';
  for (let column = 0; column < pixels.columns; column++) {
    const colour = pixels.at(line, column);
    if (colour === undefined) {
      text += '?';
      continue;
    }
    const [red, green, blue] = colour;
    const brightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    text += RAMP[Math.min(Math.floor(brightness * RAMP.length), RAMP.length - 1)];
  }
  return text.trimEnd();
}
