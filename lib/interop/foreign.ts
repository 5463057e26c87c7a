/**
 * What the objects of other libraries hold, read without trusting it: by shape, never by class, since a library is here
 * only where a user brings it, and may be loaded in two copies or another realm. Each field is read once, as it may be
 * a getter that answers something else the second time.
 */
import { types } from 'node:util';
import { DTYPES, type DType, type DTypeInfo } from '../dtype';
import { show, typeError } from '../errors';
import {
  bufferOf,
  byteLengthOf,
  byteOffsetOf,
  isDetached,
  isTypedArray,
  makeBits,
  type AnyTypedArray,
} from '../typed-arrays';
import { notA } from './words';

/** The fields of an object, to be read once each. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Objects with fields: class instances, functions with properties too (a library may be either).
 * @throws TypeError that says what was expected
 */
export function fieldsOf(value: unknown, operation: string, expected: string): Fields {
  if (!hasFields(value)) throw notA(operation, value, expected);
  return value;
}

/**
 * A library as its user imported it.
 * @param names the functions or classes of it that are needed; none where it is a function itself
 * @throws TypeError when it is something else
 */
export function requireLibrary<L>(library: L, names: readonly string[], operation: string, title: string): L {
  const has = (name: string): boolean => hasFields(library) && typeof library[name] === 'function';
  if (names.length === 0 ? typeof library === 'function' : names.every(has)) return library;
  const what = names.length === 0 ? 'a function' : `which has ${names.join(', ')}`;
  throw typeError(`${operation} was given ${show(library)} as the library; it takes ${title} as imported, ${what}`);
}

/** Can fields be read from it? */
export function hasFields(value: unknown): value is Fields {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/**
 * The elements that lie behind a library's own array class (a BoolArray, a Complex64Array): a typed array of their bits
 * over the same buffer. Undefined for anything else.
 */
export function elementsBehind(array: unknown, dtype: DTypeInfo): AnyTypedArray | undefined {
  if (isTypedArray(array)) return array;
  if (!hasFields(array)) return undefined;
  const { buffer, byteOffset, length, BYTES_PER_ELEMENT: itemsize } = array;
  if (!isArrayBuffer(buffer) || !isCount(byteOffset) || !isCount(length) || itemsize !== dtype.itemsize)
    return undefined;
  const perElement = entriesPerElement(dtype.name);
  // What cannot be there would be an error of the engine's, which names no field.
  if (byteOffset % (itemsize / perElement) !== 0 || byteOffset + length * itemsize > buffer.byteLength)
    return undefined;
  return makeBits(dtype.name, buffer, byteOffset, length * perElement);
}

/** Elements of complex dtypes are two entries of their array. */
export function entriesPerElement(dtype: DType): number {
  return DTYPES[dtype].kind === 'complex' ? 2 : 1;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** An ArrayBuffer or SharedArrayBuffer of any realm, as what typed arrays can be made over. */
export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  return types.isAnyArrayBuffer(value);
}

/**
 * Some bytes of a buffer.
 * @throws TypeError when they are not there (any more): a getter that ran meanwhile may have detached or resized it
 */
export function bytesAt(buffer: ArrayBufferLike, start: number, length: number, operation: string): DataView {
  try {
    return new DataView(buffer, start, length);
  } catch {
    throw typeError(`${operation} was given memory that is detached, or shorter than it was`);
  }
}

/** The bytes of a typed array or DataView itself, whatever its own properties say. @throws TypeError as `bytesAt` */
export function bytesOfView(view: AnyTypedArray | DataView, operation: string): DataView {
  if (isDetached(view)) throw typeError(`${operation} was given memory that is detached, or shorter than it was`);
  return bytesAt(bufferOf(view), byteOffsetOf(view), byteLengthOf(view), operation);
}
