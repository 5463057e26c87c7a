// From a line in the picture to pieces that the recogniser reads well: upright, 48 pixels high, not too long.
import { OwnedTensor, dataAddress, scope } from './dlpack.mjs';
import { HandOverError } from './errors.mjs';
import { resample } from './resample.mjs';

export const HEIGHT = 48;
/** The recogniser was trained on short lines; in long ones it loses the spaces first, then letters. */
export const LONGEST_PIECE = 8 * HEIGHT;
const LONGEST_STRIP = 8192;
/**
 * Between words the paper shows for at least a sixth of a line's height, and for clearly longer than between letters.
 */
const SPACE = HEIGHT / 6;
const SPACE_TO_GAP = 2.5;
/** So much higher than wide, and the text runs downwards. */
const UPRIGHT = 3;

const levelOf = ({ left, right, top, height, slope }) => top + height / 2 + slope * ((left + right) / 2);

/** Lines in the order of reading: rows from the top, each from the left. (Columns of text are read across.) */
export function inReadingOrder(lines) {
  const rows = [];
  for (const line of lines.toSorted((a, b) => levelOf(a) - levelOf(b))) {
    const row = rows.at(-1);
    if (row && levelOf(line) - levelOf(row[0]) < 0.5 * Math.min(line.height, row[0].height)) row.push(line);
    else rows.push([line]);
  }
  return rows.flatMap((row) => row.toSorted((a, b) => a.left - b.left));
}

/** Where the line lies in the picture (as whole rows and columns), and where in that slice. */
function placeOf(picture, { left, right, top, height, slope }) {
  const [rows, columns] = picture.shape;
  const ends = [top + slope * left, top + slope * right];
  const x = wholePixels(left, right, columns);
  const y = wholePixels(Math.min(...ends), Math.max(...ends) + height, rows);
  return { x, y, left: left - x[0], top: top + slope * x[0] - y[0] };
}

/** The pixels that [from, to] touches, at least one, within `limit`. */
function wholePixels(from, to, limit) {
  const first = Math.min(limit - 1, Math.max(0, Math.floor(from)));
  return [first, Math.min(limit, Math.max(first + 1, Math.ceil(to)))];
}

/**
 * A line's slice of the picture. No byte moves: a slice is an address, extents and strides, and this says which address
 * it must be.
 */
function sliceOf(picture, { x, y }) {
  const slice = picture.slice(y, x);
  const expected = dataAddress(picture) + BigInt(y[0] * picture.strides[0] + x[0] * picture.strides[1]);
  if (dataAddress(slice) !== expected) throw new HandOverError('a slice of the picture does not lie in the picture');
  return slice;
}

export class Strip {
  #pixels = OwnedTensor.allocate([HEIGHT, LONGEST_STRIP, 3], 'uint8');

  /** Fills the strip with one line of the picture, straightened. Returns its width. */
  fill(picture, line, handOvers) {
    const place = placeOf(picture, line);
    const width = line.right - line.left;
    if (line.height > UPRIGHT * width) return this.#fillTurned(picture, place, handOvers);
    const step = line.height / HEIGHT;
    const columns = stripWidth(width / step);
    const placement = { left: place.left, top: place.top, stepX: width / columns, stepY: step, slope: line.slope };
    resample(
      'line crop',
      () => sliceOf(picture, place),
      this.#pixels,
      { width: columns, height: HEIGHT },
      placement,
      handOvers,
    );
    return columns;
  }

  /** Text that runs downwards, turned a quarter to the left: axes exchanged, one of them backwards. Strides again. */
  #fillTurned(picture, place, handOvers) {
    const turned = () => scope(() => sliceOf(picture, place).transpose([1, 0, 2]).flip(0));
    const step = (place.x[1] - place.x[0]) / HEIGHT;
    const columns = stripWidth((place.y[1] - place.y[0]) / step);
    const placement = { left: 0, top: 0, stepX: (place.y[1] - place.y[0]) / columns, stepY: step, slope: 0 };
    resample('line crop', turned, this.#pixels, { width: columns, height: HEIGHT }, placement, handOvers);
    return columns;
  }

  /** The strip as a read-only tensor [48, width, 3], for as long as `use` takes. */
  lend(width, use) {
    return this.#pixels.lend((loan) => use(loan.slice(null, [0, width])));
  }

  /**
   * The line in pieces of at most LONGEST_PIECE columns, cut at the widest gaps: { from, to, spaceBefore, spaces },
   * where `spaces` are the gaps between words inside the piece, { from, to } in its own columns.
   */
  pieces(width) {
    const contrast = this.lend(width, columnContrast);
    const gaps = gapsIn(contrast);
    const space = spaceAmong(gaps);
    const pieces = cut(contrast, gaps, space, 0, width, true);
    const spaces = gaps.filter((gap) => gap.to - gap.from >= space);
    for (const piece of pieces) {
      const { from, to } = piece;
      const inside = spaces.filter((gap) => gap.from > from && gap.to < to);
      piece.spaces = inside.map((gap) => ({ from: gap.from - from, to: gap.to - from }));
    }
    return pieces;
  }

  dispose() {
    this.#pixels.dispose();
  }
}

/** How much the green channel varies within each column of the strip: next to nothing where there is only paper. */
function columnContrast(strip) {
  const { data, offset, shape, strides } = strip.strided();
  const [height, width] = shape;
  const margin = Math.floor(height / 8);
  const contrast = new Float32Array(width);
  for (let column = 0; column < width; column++) {
    let low = 255;
    let high = 0;
    for (let row = margin; row < height - margin; row++) {
      const value = data[offset + row * strides[0] + column * strides[1] + strides[2]];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    contrast[column] = high - low;
  }
  return contrast;
}

const stripWidth = (wanted) => Math.max(1, Math.min(LONGEST_STRIP, Math.round(wanted)));

/** The runs of columns that show paper only: { from, to }. */
function gapsIn(contrast) {
  const sorted = contrast.toSorted();
  const paper = sorted[Math.floor(sorted.length * 0.05)];
  const ink = sorted[Math.floor(sorted.length * 0.9)];
  const threshold = paper + 0.3 * (ink - paper);
  const gaps = [];
  let from = -1;
  contrast.forEach((value, column) => {
    if (value > threshold) {
      if (from >= 0) gaps.push({ from, to: column });
      from = -1;
    } else if (from < 0) from = column;
  });
  if (from >= 0) gaps.push({ from, to: contrast.length });
  return gaps;
}

/**
 * How wide a gap must be to part words in this line. Most gaps are between letters, so in spaced letters it must be
 * wider.
 */
function spaceAmong(gaps) {
  const widths = gaps.map(({ from, to }) => to - from).toSorted((a, b) => a - b);
  return Math.max(SPACE, SPACE_TO_GAP * (widths[Math.floor(widths.length / 2)] ?? 0));
}

function cut(contrast, gaps, space, from, to, spaceBefore) {
  if (to - from <= LONGEST_PIECE) return [{ from, to, spaceBefore }];
  // Not near the ends: two halves, not a crumb and the rest.
  const quarter = Math.floor((to - from) / 4);
  const { middle, width } = bestCut(contrast, gaps, from + quarter, to - quarter);
  return [
    ...cut(contrast, gaps, space, from, middle, spaceBefore),
    ...cut(contrast, gaps, space, middle, to, width >= space),
  ];
}

/** The middle of the widest gap; where there is none, the column with the least contrast. */
function bestCut(contrast, gaps, from, to) {
  let best = { middle: from, width: 0 };
  for (const gap of gaps) {
    const middle = Math.floor((gap.from + gap.to) / 2);
    if (middle >= from && middle < to && gap.to - gap.from > best.width) best = { middle, width: gap.to - gap.from };
  }
  if (best.width > 0) return best;
  for (let column = from; column < to; column++) {
    if (contrast[column] < contrast[best.middle]) best.middle = column;
  }
  return best;
}
