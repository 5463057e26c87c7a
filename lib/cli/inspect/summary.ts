/**
 * What the elements of a tensor are like: extremes and mean of the finite ones, how many are not, a histogram. Read in
 * parts, so that a large tensor needs no second memory of its size.
 */
import { DTYPES, isRealDType } from '../../dtype';
import { scope } from '../../scope';
import type { Tensor } from '../../tensor';

export interface Bin {
  /** Elements from here up to the next bin's `from`; the last bin includes the largest. */
  readonly from: number;
  readonly count: number;
}

/** Undefined where there is no finite element, and for complex numbers, which have no order. */
export interface Summary {
  readonly min: number | bigint | undefined;
  readonly max: number | bigint | undefined;
  /** Of complex numbers, both parts. */
  readonly mean: number | readonly number[] | undefined;
  readonly nan: number;
  readonly positiveInfinity: number;
  readonly negativeInfinity: number;
  readonly histogram: readonly Bin[];
}

const MOST_BINS = 10;
const PART = 2 ** 18;

export function summarize(tensor: Tensor): Summary {
  return scope(() => {
    const flat = anyOrder(tensor).reshape([-1]);
    if (!isRealDType(tensor.dtype)) return summarizeComplex(flat);
    return DTYPES[tensor.dtype].element === 'bigint' ? summarizeLong(flat) : summarizeReal(flat);
  });
}

/** The same elements in a row; in which order does not matter here. */
function anyOrder(tensor: Tensor): Tensor {
  const columns = tensor.transpose();
  return columns.isContiguous ? columns : tensor.contiguous();
}

function eachPart(flat: Tensor, use: (part: Tensor) => void): void {
  for (let from = 0; from < flat.size; from += PART) {
    scope(() => use(flat.slice([from, Math.min(from + PART, flat.size)])));
  }
}

function eachNumbers(flat: Tensor, use: (values: Float64Array) => void): void {
  eachPart(flat, (part) => use(part.to('float64').data));
}

function summarizeReal(flat: Tensor): Summary {
  const tally = new Tally();
  eachNumbers(flat, (values) => tally.add(values));
  const { min, max, finite } = tally;
  const isWhole = DTYPES[flat.dtype].kind !== 'float';
  return {
    ...tally.counts(),
    min: finite === 0 ? undefined : min,
    max: finite === 0 ? undefined : max,
    mean: tally.mean(),
    histogram: finite === 0 ? [] : histogram(flat, min, max, isWhole),
  };
}

/** 64-bit integers: the extremes are exact, the rest as near as a number comes. */
function summarizeLong(flat: Tensor): Summary {
  const tally = new Tally();
  eachNumbers(flat, (values) => tally.add(values));
  let min: bigint | undefined;
  let max: bigint | undefined;
  eachPart(flat, (part) => {
    if (!part.is('int64') && !part.is('uint64')) return;
    for (const value of part.toTypedArray()) {
      if (min === undefined || value < min) min = value;
      if (max === undefined || value > max) max = value;
    }
  });
  const bins = tally.finite === 0 ? [] : histogram(flat, tally.min, tally.max, true);
  return { ...tally.counts(), min, max, mean: tally.mean(), histogram: bins };
}

/** A number is NaN, or infinite, when one of its parts is. */
function summarizeComplex(flat: Tensor): Summary {
  const parts = [new Tally(), new Tally()] as const;
  let nan = 0;
  eachPart(flat, (part) => {
    const interleaved = Float64Array.from(part.toTypedArray({ bits: true }) as Float32Array | Float64Array);
    for (let i = 0; i < interleaved.length; i += 2) {
      if (Number.isNaN(interleaved[i]) || Number.isNaN(interleaved[i + 1])) nan += 1;
    }
    parts.forEach((tally, at) => tally.add(interleaved.filter((_, index) => index % 2 === at)));
  });
  const [re, im] = parts;
  const mean = [re.mean(), im.mean()];
  return {
    min: undefined,
    max: undefined,
    mean: mean.every((value) => value !== undefined) ? mean : undefined,
    nan,
    positiveInfinity: re.positiveInfinity + im.positiveInfinity,
    negativeInfinity: re.negativeInfinity + im.negativeInfinity,
    histogram: [],
  };
}

class Tally {
  min = Infinity;
  max = -Infinity;
  finite = 0;
  nan = 0;
  positiveInfinity = 0;
  negativeInfinity = 0;
  #sum = 0;
  /** What the sum has lost by rounding. */
  #lost = 0;

  add(values: Float64Array): void {
    for (const value of values) {
      if (Number.isFinite(value)) this.#addFinite(value);
      else if (Number.isNaN(value)) this.nan += 1;
      else if (value > 0) this.positiveInfinity += 1;
      else this.negativeInfinity += 1;
    }
  }

  #addFinite(value: number): void {
    this.finite += 1;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    const sum = this.#sum + value;
    this.#lost += Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - sum + value : value - sum + this.#sum;
    this.#sum = sum;
  }

  mean(): number | undefined {
    return this.finite === 0 ? undefined : (this.#sum + this.#lost) / this.finite;
  }

  counts(): Pick<Summary, 'nan' | 'positiveInfinity' | 'negativeInfinity'> {
    return { nan: this.nan, positiveInfinity: this.positiveInfinity, negativeInfinity: this.negativeInfinity };
  }
}

/** Bins of equal width; of integers a bin for each value where these are few. */
function histogram(flat: Tensor, min: number, max: number, isWhole: boolean): Bin[] {
  const few = isWhole && max - min < MOST_BINS;
  const bins = min === max ? 1 : few ? max - min + 1 : MOST_BINS;
  const counts = Array.from({ length: bins }, () => 0);
  // By halves: the distance between the largest doubles is no double.
  const width = few ? 1 : max / 2 - min / 2;
  eachNumbers(flat, (values) => {
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      const place = few ? value - min : ((value / 2 - min / 2) / width) * bins;
      const bin = bins === 1 ? 0 : Math.min(Math.floor(place), bins - 1);
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
  });
  return counts.map((count, bin) => ({ from: few ? min + bin : min + ((2 * width) / bins) * bin, count }));
}
