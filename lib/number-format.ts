/**
 * Numbers in columns, as NumPy prints them: the fewest digits that tell a number of the dtype from its neighbours, at
 * most eight after the point, points below each other, and one scientific notation for all where they differ too much.
 */
import type { Complex, DType } from './dtype';

/** NumPy's `precision`. */
const MOST_DIGITS = 8;

/**
 * Of the dtypes that are coarser than a JavaScript number: bits of the fraction, and the exponent of the smallest normal
 * number, below which numbers lie no closer.
 */
const COARSE: { readonly [D in DType]?: readonly [fractionBits: number, leastExponent: number] } = {
  float32: [23, -126],
  complex64: [23, -126],
  float16: [10, -14],
  bfloat16: [7, -126],
  float8_e3m4: [4, -2],
  float8_e4m3: [3, -6],
  float8_e4m3b11fnuz: [3, -10],
  float8_e4m3fn: [3, -6],
  float8_e4m3fnuz: [3, -7],
  float8_e5m2: [2, -14],
  float8_e5m2fnuz: [2, -15],
  float8_e8m0fnu: [0, -127],
  float6_e2m3fn: [3, 0],
  float6_e3m2fn: [2, -2],
  float4_e2m1fn: [1, 0],
  float6_e2m3fn_padded: [3, 0],
  float6_e3m2fn_padded: [2, -2],
  float4_e2m1fn_padded: [1, 0],
};

export type Format<V> = (value: V) => string;

/** For floats that are printed together. All texts have one width. */
export function floatFormat(values: readonly number[], dtype: DType): Format<number> {
  return columnFormat(values, dtype, '');
}

/** For complex numbers: each part has a column of its own, and the second always a sign. */
export function complexFormat(values: readonly Complex[], dtype: DType): Format<Complex> {
  const reals = values.map(([re]) => re);
  const imaginaries = values.map(([, im]) => im);
  const real = columnFormat(reals, dtype, '');
  const imaginary = columnFormat(imaginaries, dtype, '+');
  return ([re, im]) => {
    const padded = imaginary(im);
    const text = padded.trimEnd();
    return `${real(re)}${text}i${padded.slice(text.length)}`;
  };
}

/** `plus`: the sign of what is not negative. */
function columnFormat(values: readonly number[], dtype: DType, plus: '' | '+'): Format<number> {
  const finite = values.filter(Number.isFinite);
  const write = isScientific(finite, MOST_POSITIONAL[dtype] ?? 1e8) ? scientific : positional;
  const texts = write(finite.map((value) => decimalOf(Math.abs(value), dtype)));
  const known = new Map<number, string>();
  for (const [index, value] of finite.entries()) {
    known.set(keyOf(value), `${value < 0 || Object.is(value, -0) ? '-' : plus}${texts[index] ?? ''}`);
  }
  const textOf = (value: number): string =>
    Number.isFinite(value) ? (known.get(keyOf(value)) ?? String(value)) : word(value, plus);
  const width = longest(values.map(textOf));
  return (value) => textOf(value).padStart(width);
}

/** A map takes -0 for 0; here they are two. No other finite number is the key of this string's. */
function keyOf(value: number): number {
  return Object.is(value, -0) ? NaN : value;
}

function word(value: number, plus: string): string {
  if (Number.isNaN(value)) return `${plus}nan`;
  return value > 0 ? `${plus}inf` : '-inf';
}

function longest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, text.length), 0);
}

/** From here on NumPy writes an exponent: where a dtype has fewer digits, zeros would pretend to be some. */
const MOST_POSITIONAL: { readonly [D in DType]?: number } = { float16: 1e3, float32: 1e6, complex64: 1e6 };

/** Are they too large, too small or too different for a fixed point? NumPy's limits. */
function isScientific(finite: readonly number[], limit: number): boolean {
  let smallest = Infinity;
  let largest = 0;
  for (const value of finite) {
    const magnitude = Math.abs(value);
    if (magnitude === 0) continue;
    if (magnitude < smallest) smallest = magnitude;
    if (magnitude > largest) largest = magnitude;
  }
  return largest !== 0 && (largest >= limit || smallest < 1e-4 || largest / smallest > 1000);
}

/** A magnitude: 0.digits x 10^point, without zeros at the end. No digits for 0. */
interface Digits {
  readonly digits: string;
  readonly point: number;
}

/** The digits that are needed, and as good as all: those that are printed where others in the column need more. */
interface Decimal extends Digits {
  readonly exact: Digits;
}

/** Points below each other; what is shorter is filled with blanks. */
function positional(decimals: readonly Decimal[]): string[] {
  const texts = decimals.map((decimal) => {
    const { digits, point } = decimal.digits.length - decimal.point > MOST_DIGITS ? cut(decimal) : decimal;
    const whole = digits.slice(0, Math.max(point, 0)).padEnd(point, '0') || '0';
    return {
      whole,
      fraction: `${'0'.repeat(Math.max(-point, 0))}${digits.slice(Math.max(point, 0))}`.replace(/0+$/, ''),
    };
  });
  const width = longest(texts.map(({ fraction }) => fraction));
  return texts.map(({ whole, fraction }) => `${whole}.${fraction.padEnd(width)}`);
}

/** To `MOST_DIGITS` after the point. */
function cut({ exact }: Decimal): Digits {
  return rounded(exact, exact.point + MOST_DIGITS);
}

/** One digit, the point, and for all as many as the longest needs. */
function scientific(decimals: readonly Decimal[]): string[] {
  const needed = Math.min(longest(decimals.map(({ digits }) => digits)), MOST_DIGITS + 1);
  const parts = decimals.map(({ digits, exact, point }) => {
    // Those that are complete stay as they are; the others show what they are closest to.
    const best = digits.length === needed ? { digits, point } : rounded(exact, needed);
    return { digits: best.digits.padEnd(needed, '0'), exponent: best.digits === '' ? 0 : best.point - 1 };
  });
  const fraction = longest(parts.map(({ digits }) => digits.slice(1).replace(/0+$/, '')));
  const width = Math.max(2, longest(parts.map(({ exponent }) => String(Math.abs(exponent)))));
  return parts.map(({ digits, exponent }) => {
    const power = String(Math.abs(exponent)).padStart(width, '0');
    return `${digits.charAt(0) || '0'}.${digits.slice(1, fraction + 1).padEnd(fraction, '0')}e${exponent < 0 ? '-' : '+'}${power}`;
  });
}

/** Enough to tell what lies exactly in the middle from what does not. */
const EXACT_DIGITS = 60;

function decimalOf(magnitude: number, dtype: DType): Decimal {
  const exact = parse(magnitude.toExponential(EXACT_DIGITS));
  return {
    ...(COARSE[dtype] === undefined ? parse(String(magnitude)) : shortest(magnitude, exact, COARSE[dtype])),
    exact,
  };
}

/** What JavaScript writes, of a number >= 0. */
function parse(text: string): Digits {
  const [mantissa = '', exponent = '0'] = text.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = `${whole}${fraction}`;
  const digits = all.replace(/^0+/, '');
  const point = whole.length + Number(exponent) - (all.length - digits.length);
  return { digits: digits.replace(/0+$/, ''), point: digits === '' ? 0 : point };
}

/** To so many digits; what lies in the middle, to the even one. */
function rounded(decimal: Digits, count: number): Digits {
  const { digits } = decimal;
  if (count >= digits.length) return decimal;
  const rest = count < 0 ? '' : digits.slice(count);
  const isUp = /^50*$/.test(rest) ? '13579'.includes(digits.charAt(count - 1) || '0') : rest >= '5';
  return isUp ? roundedUp(decimal, count) : roundedDown(decimal, count);
}

function roundedDown({ digits, point }: Digits, count: number): Digits {
  return trimmed(digits.slice(0, Math.max(count, 0)), point);
}

function roundedUp({ digits, point }: Digits, count: number): Digits {
  const up = String(BigInt(`0${digits.slice(0, count)}`) + 1n).padStart(count, '0');
  return trimmed(up, up.length > count ? point + 1 : point);
}

function trimmed(digits: string, point: number): Digits {
  const bare = digits.replace(/0+$/, '');
  return { digits: bare, point: bare === '' ? 0 : point };
}

/** The fewest digits that read as this number of a dtype. */
function shortest(
  magnitude: number,
  exact: Digits,
  [fractionBits, leastExponent]: readonly [fractionBits: number, leastExponent: number],
): Digits {
  if (magnitude === 0) return exact;
  const normal = 2 ** leastExponent;
  const binade = Math.max(2 ** Math.floor(Math.log2(magnitude)), normal);
  const above = binade / 2 ** (fractionBits + 1);
  // Numbers below a power of two lie twice as close.
  const below = magnitude === binade && binade > normal ? above / 2 : above;
  // What lies in the middle between two numbers reads as the even one.
  const isEven = (magnitude / (2 * above)) % 2 === 0;
  const reads = ({ digits, point }: Digits): boolean => {
    const distance = Number(`0.${digits}e${point}`) - magnitude;
    const room = distance < 0 ? below : above;
    return Math.abs(distance) < room || (isEven && Math.abs(distance) === room);
  };
  for (let count = 1; count < exact.digits.length; count++) {
    const [down, up] = [roundedDown(exact, count), roundedUp(exact, count)];
    const [isDown, isUp] = [reads(down), reads(up)];
    if (isDown && isUp) return rounded(exact, count);
    if (isDown || isUp) return isDown ? down : up;
  }
  return exact;
}
