/**
 * Shapes, strides and offsets as they come from JavaScript, validated into plain arrays of numbers that may cross to
 * native.
 *
 * Everything here is in elements. Native checks every product and span again: this file words what a caller can get
 * wrong.
 */
import { rangeError, show, typeError } from './errors';

/** The most axes a tensor can have. */
export const MAX_NDIM = 64;

/** Is it an array, of any realm? (A guard that gives `unknown` elements where `Array.isArray` gives `any`.) */
export function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** `[2, 3]`. */
export function formatShape(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

/** The number of elements; infinite or inexact where no tensor can be that large. 1 for a 0-d shape. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (const extent of shape) {
    if (extent === 0) return 0;
    size *= extent;
  }
  return size;
}

/** The strides of compact row-major memory, in elements. */
export function rowMajorStrides(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= Math.max(shape[axis] ?? 1, 1);
  }
  return strides;
}

/**
 * An argument that must be an integer.
 * @throws TypeError when it is not a number; RangeError when it is not an integer that a double holds exactly
 */
export function parseInteger(value: unknown, field: string): number {
  if (typeof value !== 'number') throw typeError(`${field} is ${show(value)}; it must be an integer`);
  if (!Number.isSafeInteger(value))
    throw rangeError(`${field} is ${show(value)}; it must be an integer from -(2^53 - 1) to 2^53 - 1`);
  return value + 0; // -0 becomes 0
}

/**
 * A shape: an array of at most 64 extents, each from 0 to 2^53 - 1, with a product that stays below 2^53 elements.
 * @throws TypeError when it is not an array of numbers; RangeError for a bad extent, too many axes or too many elements
 */
export function parseShape(value: unknown, field = 'shape'): number[] {
  const shape = integers(value, field);
  const negative = shape.findIndex((extent) => extent < 0);
  if (negative >= 0) throw rangeError(`${field}[${negative}] is ${shape[negative]}; extents must be >= 0`);
  checkNdim(shape, field);
  if (!Number.isSafeInteger(sizeOf(shape))) {
    throw rangeError(`${field} is ${formatShape(shape)}; its extents multiply to more elements than 2^53 - 1`);
  }
  return shape;
}

/**
 * A shape in which one extent may be -1: what is left of `size` elements.
 * @throws as `parseShape`, and RangeError when the shape does not hold exactly `size` elements or has more than one -1
 */
export function resolveShape(value: unknown, size: number, field = 'shape'): number[] {
  const shape = integers(value, field);
  checkNdim(shape, field);
  const open = shape.indexOf(-1);
  if (open < 0) {
    const whole = parseShape(shape, field);
    if (sizeOf(whole) !== size)
      throw rangeError(`${field} is ${formatShape(whole)}, ${sizeOf(whole)} elements; the tensor has ${size}`);
    return whole;
  }
  const second = shape.indexOf(-1, open + 1);
  if (second >= 0)
    throw rangeError(`${field}[${second}] is -1, and ${field}[${open}] is too; only one extent can be left open`);
  const known = sizeOf(
    parseShape(
      shape.map((extent, axis) => (axis === open ? 1 : extent)),
      field,
    ),
  );
  if (known === 0 || size % known !== 0) {
    throw rangeError(
      `${field} is ${formatShape(shape)}; the tensor's ${size} elements do not divide by the ${known} of ` +
        'the other axes',
    );
  }
  shape[open] = size / known;
  return shape;
}

/**
 * Strides, in elements, one for each axis; negative and zero ones too.
 * @throws TypeError when it is not an array of numbers; RangeError when an entry is not an integer or their number is
 *   not `ndim`
 */
export function parseStrides(value: unknown, ndim: number, field = 'strides'): number[] {
  const strides = integers(value, field);
  if (strides.length !== ndim) {
    throw rangeError(
      `${field} has ${strides.length} entries; shape has ${ndim}, and each axis needs one stride (in elements)`,
    );
  }
  return strides;
}

function integers(value: unknown, field: string): number[] {
  if (!isArray(value)) throw typeError(`${field} is ${show(value)}; it must be an array of integers`);
  // By index: an iterator may be somebody's own and never end, and holes count.
  const read: number[] = [];
  const { length } = value;
  for (let index = 0; index < length; index++) {
    const entry = value[index];
    // The name of a field that is fine is not needed, and costs more than all the rest.
    read.push(Number.isSafeInteger(entry) ? (entry as number) + 0 : parseInteger(entry, `${field}[${index}]`));
  }
  return read;
}

/** As `every`, but a hole is an item too, and ends it: an array may have billions. */
export function eachIs<T>(values: readonly unknown[], is: (value: unknown) => value is T): values is readonly T[] {
  const { length } = values;
  for (let index = 0; index < length; index++) if (!is(values[index])) return false;
  return true;
}

function checkNdim(shape: readonly number[], field: string): void {
  if (shape.length > MAX_NDIM) throw rangeError(`${field} has ${shape.length} axes; a tensor has at most ${MAX_NDIM}`);
}
