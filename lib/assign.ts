/** Writing elements: one native pass from any layout and any real dtype into any, with scaling on the way. */
import { check, failure, isHandle } from './call';
import { parseData, type DataSource } from './data-source';
import { parseDType, type DType } from './dtype';
import { rangeError, show, typeError } from './errors';
import { assignWhole } from './hot-calls';
import { writeSlices } from './layout';
import { makeOwned, withTemporary } from './make';
import { native, type Handle } from './native';
import type { OwnedTensor } from './owned-tensor';
import { isOptions } from './protocol';
import { isScalar, parseScalar, writeScalar, type Scalar } from './scalar';
import { NO_SCALING, parseScaling, type Scaling, type ScalingOptions } from './scaling';
import { isArray } from './shape';
import { normalizeSlices, slicedShape, type AxisSlice, type SliceSpec } from './slicing';
import { copyIn } from './source';
import { isTensorBase, liveHandle, metadataOf, surelyLiveHandle, type TensorBase } from './tensor-base';

/** The options of `OwnedTensor.set`. */
export interface SetOptions extends ScalingOptions {
  /** The part to write, as `slice(...specs)` takes it (a single index or spec may stand alone); all by default. */
  readonly at?: number | readonly SliceSpec[] | undefined;
}

/** Where and how `set` writes. */
export interface Assignment {
  /** Axes of the part. */
  readonly ndim: number;
  readonly slices: readonly AxisSlice[];
  readonly scaling: Scaling;
}

/** The options of `set`, each read once, against the target's shape. @throws TypeError, RangeError */
export function parseAssignment(options: unknown, shape: readonly number[]): Assignment {
  if (options === undefined) return { ndim: shape.length, slices: [], scaling: NO_SCALING };
  const read = readOptions(options, 'set', '{ at, scale, offset, axis }');
  const slices = normalizeSlices(parseAt(read['at']), shape, 'at');
  const part = slicedShape(slices, shape);
  return { ndim: part.length, slices, scaling: parseScaling(read, part) };
}

/** What `set` takes the elements from: a tensor, or what becomes one for the moment. */
export type AssignSource = TensorBase | DataSource | Scalar;

/** @throws TypeError for what has no elements */
export function parseAssignSource(source: unknown, target: TensorBase): AssignSource {
  if (isTensorBase(source)) return source;
  const { dtype } = metadataOf(target);
  if (dtype.element === 'complex') {
    // Nothing converts to complex, so what JavaScript gives is read as complex from the start: [re, im] pairs, as deep
    // as there are axes.
    if (isScalar(source)) return { ...parseScalar(source, dtype), dtype };
    if (isArray(source)) return parseData(source, { dtype: dtype.name });
  }
  return isScalar(source) ? parseScalar(source, dtype) : parseData(source, undefined);
}

/** Writes `source` into `target`, which lives. Everything is parsed by now: no code of the user's runs in here. */
export function assign(target: TensorBase, source: AssignSource, assignment: Assignment): void {
  const handle = liveHandle(target);
  if (isTensorBase(source)) surelyLiveHandle(source);
  const ndim = sourceNdim(source);
  if (ndim > assignment.ndim) {
    throw rangeError(
      `the source has ${ndim} axes, and the part to write has ${assignment.ndim}; broadcasting drops none`,
    );
  }
  if (isTensorBase(source)) {
    assignHandle(target, handle, liveHandle(source), assignment);
    return;
  }
  const write = (from: Handle): void => assignHandle(target, handle, from, assignment);
  if ('kind' in source) withScalarTensor(source, write);
  else withTemporary(copyIn(source, false, 'set'), write);
}

function sourceNdim(source: AssignSource): number {
  if (isTensorBase(source)) return metadataOf(source).ndim;
  return 'kind' in source ? 0 : source.shape.length;
}

function assignHandle(target: TensorBase, handle: Handle, source: Handle, { slices, scaling }: Assignment): void {
  const status =
    slices.length === 0 && scaling === NO_SCALING
      ? assignWhole(handle, source)
      : native.assign(handle, source, writeSlices(slices), scaling.axis, scaling.scale, scaling.offset);
  if (status < 0) throw failure(status, { operation: 'set', tensor: target });
}

/** A value as a 0-d tensor. */
function withScalarTensor(scalar: Scalar, use: (handle: Handle) => void): void {
  const handle = native.allocate(0, scalar.dtype.packed);
  if (!isHandle(handle)) throw failure(handle, { operation: 'set' });
  withTemporary(handle, (temporary) => {
    check(native.fill(temporary, writeScalar(scalar)), { operation: 'set' });
    use(temporary);
  });
}

/** All elements of a tensor in another dtype, in fresh memory. */
export function convert<D extends DType>(tensor: TensorBase, dtype: unknown, options: unknown): OwnedTensor<D> {
  surelyLiveHandle(tensor);
  const target = parseDType(dtype);
  const { shape } = metadataOf(tensor);
  const scaling = parseScaling(readOptions(options, 'to', '{ scale, offset, axis }'), shape);
  const handle = surelyLiveHandle(tensor);
  const converted = native.convert(handle, target.packed, scaling.axis, scaling.scale, scaling.offset);
  if (!isHandle(converted)) throw failure(converted, { operation: 'to', tensor, dtype: target.name, shape });
  return makeOwned<D>(converted);
}

function readOptions(options: unknown, operation: string, names: string): Readonly<Record<string, unknown>> {
  if (options === undefined) return {};
  if (!isOptions(options))
    throw typeError(`${operation} was given ${show(options)} as options; it takes an object: ${names}`);
  return options;
}

function parseAt(at: unknown): readonly unknown[] {
  if (at === undefined) return [];
  if (typeof at === 'number') return [at];
  if (isArray(at)) return at;
  throw typeError(`at is ${show(at)}; it must be an index or an array of slice specs, such as [0, [1, 3]]`);
}
