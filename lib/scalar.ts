/** One value from JavaScript, on its way into elements of a dtype. */
import { DTYPES, type Complex, type DTypeInfo } from './dtype';
import { rangeError, show, typeError } from './errors';
import { scratch, scratchBits, ScalarKind, Slot } from './native';
import { isArray } from './shape';

const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * A value that was read already.
 * `dtype`: the smallest table row that holds it as it is, before the one conversion to where it goes.
 */
export type Scalar = { readonly kind: ScalarKind; readonly dtype: DTypeInfo } & (
  | { readonly kind: ScalarKind.Float; readonly value: number }
  | { readonly kind: ScalarKind.Int | ScalarKind.UInt; readonly value: bigint }
  | { readonly kind: ScalarKind.Complex; readonly value: Complex }
);

/** Can it be a scalar at all? An array of two numbers is one for complex dtypes only. */
export function isScalar(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
}

/**
 * A value for elements of `dtype`.
 * @throws TypeError when it is no number, bigint, boolean, or (for a complex dtype) pair of numbers; RangeError for a
 *   bigint beyond 64 bits
 */
export function parseScalar(value: unknown, dtype: DTypeInfo): Scalar {
  if (typeof value === 'number') return { kind: ScalarKind.Float, dtype: DTYPES.float64, value };
  if (typeof value === 'boolean') return { kind: ScalarKind.Int, dtype: DTYPES.bool, value: value ? 1n : 0n };
  if (typeof value === 'bigint') return parseBigInt(value);
  if (dtype.element === 'complex') return { kind: ScalarKind.Complex, dtype, value: parseComplex(value, dtype) };
  throw typeError(`value is ${show(value)}; an element of ${dtype.name} is a number, a bigint or a boolean`);
}

function parseBigInt(value: bigint): Scalar {
  if (value < INT64_MIN || value > UINT64_MAX) throw rangeError(`value is ${value}n; it must fit into 64 bits`);
  if (value < 0n) return { kind: ScalarKind.Int, dtype: DTYPES.int64, value };
  return { kind: ScalarKind.UInt, dtype: DTYPES.uint64, value };
}

/** The value as the argument of a call: Slot.Element. Nothing may run between this and the call. */
export function writeScalar(scalar: Scalar): ScalarKind {
  if (scalar.kind === ScalarKind.Float) {
    scratch[Slot.Element] = scalar.value;
  } else if (scalar.kind === ScalarKind.Complex) {
    [scratch[Slot.Element], scratch[Slot.Element + 1]] = scalar.value;
  } else {
    scratchBits[Slot.Element] = scalar.value; // keeps the low 64 bits, which are the number in either reading
  }
  return scalar.kind;
}

function parseComplex(value: unknown, dtype: DTypeInfo): Complex {
  if (isArray(value) && value.length === 2) {
    const [re, im] = value;
    if (typeof re === 'number' && typeof im === 'number') return [re, im];
  }
  throw typeError(`value is ${show(value)}; an element of ${dtype.name} is a number or a pair of them, [re, im]`);
}
