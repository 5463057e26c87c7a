/**
 * Indices, slices and axes as NumPy means them, normalised against a shape before they cross to native: negative ones
 * count from the end, ranges are clamped, single indices and axes are not.
 */
import { rangeError, show, typeError } from './errors';
import { formatShape, isArray, MAX_NDIM, parseInteger } from './shape';

/**
 * What to take of one axis: an index (negative from the end), which drops the axis; null, the whole axis; or `[start,
 * stop, step]`, nulls and negatives as in NumPy's `start:stop:step` (`step` may be left out).
 *
 * ```ts
 * const lastRowBackwards: SliceSpec[] = [-1, [null, null, -1]];
 * console.log(Tensor.from([[1, 2], [3, 4]]).slice(...lastRowBackwards).toArray()); // -> [ 4, 3 ]
 * ```
 */
export type SliceSpec =
  number | null | readonly [start: number | null, stop: number | null, step?: number | null | undefined];

/** One axis of a slice, normalised: an index drops the axis, a range keeps `extent` elements from `start` by `step`. */
export interface AxisSlice {
  readonly isIndex: boolean;
  readonly start: number;
  readonly extent: number;
  readonly step: number;
}

/**
 * `slice(...specs)` against a shape. `what` they were given to, for messages. Missing trailing axes are whole, and left out of the answer.
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for a spec of another form; RangeError (`ERR_OUT_OF_RANGE`) for an index
 *   out of bounds, a number that is no integer, a step of 0, or more specs than axes
 */
export function normalizeSlices(specs: readonly unknown[], shape: readonly number[], what = 'slice'): AxisSlice[] {
  const { length } = specs;
  if (length > shape.length) {
    throw rangeError(
      `${what} was given ${length} specs; the tensor has ${axes(shape.length)} (shape ${formatShape(shape)})`,
    );
  }
  const slices: AxisSlice[] = [];
  // By index, since the array may be somebody's own class, or have holes.
  for (let axis = 0; axis < length; axis++) slices.push(normalizeSpec(specs[axis], shape[axis] ?? 0, axis));
  return slices;
}

/** The shape after slicing: indexed axes are gone, missing trailing ones whole. */
export function slicedShape(slices: readonly AxisSlice[], shape: readonly number[]): number[] {
  const kept = shape.slice(slices.length);
  for (let axis = slices.length - 1; axis >= 0; axis--) {
    const slice = slices[axis];
    if (slice !== undefined && !slice.isIndex) kept.unshift(slice.extent);
  }
  return kept;
}

function normalizeSpec(spec: unknown, extent: number, axis: number): AxisSlice {
  if (spec === null) return { isIndex: false, start: 0, extent, step: 1 };
  const field = `spec ${axis}`;
  if (typeof spec === 'number')
    return { isIndex: true, start: boundedIndex(spec, extent, axis, field), extent: 1, step: 1 };
  if (isArray(spec) && (spec.length === 2 || spec.length === 3)) return normalizeRange(spec, extent, field);
  throw typeError(`${field} is ${show(spec)}; it must be an index, null for the whole axis, or [start, stop, step]`);
}

/**
 * Python's rule for `start:stop:step`: bounds are clamped to the axis, and the last element is the last before `stop`.
 */
function normalizeRange(spec: readonly unknown[], extent: number, field: string): AxisSlice {
  const step = optionalInteger(spec[2], `${field}[2]`) ?? 1;
  if (step === 0) throw rangeError(`${field}[2] is 0; a step must not be 0`);
  const lowest = step > 0 ? 0 : -1;
  const highest = step > 0 ? extent : extent - 1;
  const clamp = (bound: number | undefined, whole: number): number => {
    if (bound === undefined) return whole;
    return Math.min(Math.max(bound < 0 ? bound + extent : bound, lowest), highest);
  };
  const start = clamp(optionalInteger(spec[0], `${field}[0]`), step > 0 ? lowest : highest);
  const stop = clamp(optionalInteger(spec[1], `${field}[1]`), step > 0 ? highest : lowest);
  const count = Math.max(Math.ceil((stop - start) / step), 0);
  // An empty range starts nowhere: 0 keeps it inside the axis whatever was asked.
  return { isIndex: false, start: count === 0 ? 0 : start, extent: count, step };
}

function optionalInteger(value: unknown, field: string): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'number') throw typeError(`${field} is ${show(value)}; it must be an integer or null`);
  return parseInteger(value, field);
}

/**
 * `at(...index)`: as many integers as the tensor has axes, negative ones from the end.
 * @throws TypeError for what is no number; RangeError out of bounds, for a fraction, or for too few or too many
 */
export function normalizeIndex(index: readonly unknown[], shape: readonly number[]): number[] {
  if (index.length !== shape.length) {
    throw rangeError(
      `${index.length} ${index.length === 1 ? 'index' : 'indices'} given; the tensor has ` +
        `${axes(shape.length)} (shape ${formatShape(shape)})`,
    );
  }
  return index.map((entry, axis) => boundedIndex(entry, shape[axis] ?? 0, axis, `index[${axis}]`));
}

function boundedIndex(value: unknown, extent: number, axis: number, field: string): number {
  const index = parseInteger(value, field);
  if (index >= extent || index < -extent) {
    throw rangeError(
      extent === 0
        ? `${field} is ${index}; axis ${axis} is empty`
        : `${field} is ${index}; axis ${axis} has extent ${extent}, so it must be from -${extent} to ${extent - 1}`,
    );
  }
  return index < 0 ? index + extent : index;
}

/**
 * An axis, from -ndim to ndim - 1.
 * @returns the axis, from 0
 * @throws TypeError when it is not a number; RangeError when there is no such axis
 */
export function normalizeAxis(axis: unknown, ndim: number, field = 'axis'): number {
  const number = parseInteger(axis, field);
  if (number >= ndim || number < -ndim) {
    throw rangeError(
      ndim === 0
        ? `${field} is ${number}; a 0-d tensor has no axes`
        : `${field} is ${number}; the tensor has ${axes(ndim)}, so it must be from -${ndim} to ${ndim - 1}`,
    );
  }
  return number < 0 ? number + ndim : number;
}

/**
 * Where `expandDims` puts the new axis: from -(ndim + 1) to ndim.
 * @throws TypeError when it is not a number; RangeError when there is no such place, or the tensor has 64 axes already
 */
export function normalizeNewAxis(axis: unknown, ndim: number): number {
  const place = parseInteger(axis, 'axis');
  if (ndim >= MAX_NDIM) throw rangeError(`the tensor has ${ndim} axes already; a tensor has at most ${MAX_NDIM}`);
  if (place > ndim || place < -ndim - 1) {
    throw rangeError(
      `axis is ${place}; the tensor has ${axes(ndim)}, so the new one must be from -${ndim + 1} to ${ndim}`,
    );
  }
  return place < 0 ? place + ndim + 1 : place;
}

/**
 * `transpose(axes?)`: every axis once, in the new order; undefined reverses them.
 * @throws TypeError when it is not an array of numbers; RangeError when it is not a permutation
 */
export function normalizePermutation(order: unknown, ndim: number): number[] {
  if (order === undefined) return Array.from({ length: ndim }, (_, axis) => ndim - 1 - axis);
  if (!isArray(order))
    throw typeError(`axes is ${show(order)}; it must be an array of axes, or left out to reverse them`);
  const permutation = distinctAxes(order, ndim, 'axes');
  if (permutation.length !== ndim) {
    throw rangeError(
      `axes has ${permutation.length} entries; the tensor has ${axes(ndim)}, and each must be named once`,
    );
  }
  return permutation;
}

/**
 * `squeeze(axis?)`: the axes to drop, ascending. One axis or an array of them; undefined: every axis of extent 1.
 * @throws TypeError for what is no axis; RangeError when there is no such axis, it is named twice, or its extent is not
 *   1
 */
export function normalizeSqueeze(axis: unknown, shape: readonly number[]): number[] {
  if (axis === undefined) return [...shape.keys()].filter((candidate) => shape[candidate] === 1);
  const dropped = isArray(axis) ? distinctAxes(axis, shape.length, 'axis') : [normalizeAxis(axis, shape.length)];
  for (const entry of dropped) {
    if (shape[entry] !== 1)
      throw rangeError(`axis ${entry} has extent ${shape[entry]}; only axes of extent 1 can be squeezed`);
  }
  return [...shape.keys()].filter((candidate) => dropped.includes(candidate));
}

function distinctAxes(values: readonly unknown[], ndim: number, field: string): number[] {
  const found: number[] = [];
  for (const [position, value] of values.entries()) {
    const axis = normalizeAxis(value, ndim, `${field}[${position}]`);
    const before = found.indexOf(axis);
    if (before >= 0)
      throw rangeError(
        `${field}[${position}] is axis ${axis}, and ${field}[${before}] is too; an axis can be named once`,
      );
    found.push(axis);
  }
  return found;
}

function axes(ndim: number): string {
  return ndim === 1 ? '1 axis' : `${ndim} axes`;
}
