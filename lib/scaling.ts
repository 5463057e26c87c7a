/**
 * `scale` and `offset`, the numbers that a conversion multiplies by and adds: one for all, or one for each index of an
 * axis.
 */
import { rangeError, show, typeError } from './errors';
import { isArray } from './shape';
import { normalizeAxis } from './slicing';
import { isTypedArray } from './typed-arrays';

/** One number for all elements, or one for each index of an axis. */
export type ScaleFactors =
  | number
  | readonly number[]
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array
  | Float32Array
  | Float64Array;

/** The options of a conversion. */
export interface ScalingOptions {
  /** Multiplied first. Default: 1. */
  readonly scale?: ScaleFactors | undefined;
  /** Added then. Default: 0. */
  readonly offset?: ScaleFactors | undefined;
  /** The axis that arrays of `scale` and `offset` run along, negative ones from the end; 0 by default. */
  readonly axis?: number | undefined;
}

/** What native takes: undefined where there is nothing to do. */
export interface Scaling {
  readonly axis: number;
  readonly scale: Float64Array | undefined;
  readonly offset: Float64Array | undefined;
}

/** Nothing to multiply by, nothing to add. */
export const NO_SCALING: Scaling = { axis: 0, scale: undefined, offset: undefined };

/**
 * Validated against the shape of what is converted.
 * @throws TypeError for anything but numbers and arrays of them; RangeError for an axis that is none, or an array of
 *   another length than 1 or the extent of the axis
 */
export function parseScaling(options: Readonly<Record<string, unknown>>, shape: readonly number[]): Scaling {
  const { scale, offset, axis } = options;
  if (scale === undefined && offset === undefined && axis === undefined) return NO_SCALING;
  const position = axis === undefined ? 0 : normalizeAxis(axis, shape.length);
  const extent = shape[position] ?? 1;
  return {
    axis: position,
    scale: parseFactors(scale, 'scale', position, extent),
    offset: parseFactors(offset, 'offset', position, extent),
  };
}

function parseFactors(value: unknown, field: string, axis: number, extent: number): Float64Array | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number') return Float64Array.of(value);
  if (!isArray(value) && !isTypedArray(value)) {
    throw typeError(`${field} is ${show(value)}; it must be a number, or an array or typed array of numbers`);
  }
  const items: ArrayLike<unknown> = value;
  const { length } = items;
  // Before anything is read: an array may say that it has 4 billion entries, all of them holes.
  if (length !== 1 && length !== extent) {
    throw rangeError(`${field} has ${length} numbers; it must have 1, or ${extent} as axis ${axis} has`);
  }
  const factors = new Float64Array(length);
  for (let index = 0; index < length; index++) {
    const item = items[index];
    if (typeof item !== 'number') throw typeError(`${field}[${index}] is ${show(item)}; it must be a number`);
    factors[index] = item;
  }
  return factors;
}
