/**
 * What a tensor is, without its memory: dtype, layout, device, flags. Read once out of the scratch memory, in the
 * moment in which native has just written it, and immutable from then on, so that it still answers when the tensor is
 * long gone.
 *
 * Tensors of one layout share one object: a pipeline makes the same shapes over and over, and a hand-off should not
 * allocate what it knows.
 */
import { CPU, DEVICE_TYPES, type DLPackDevice } from './device';
import { compactBytes, dtypeFromPacked, type DType, type DTypeInfo } from './dtype';
import { scratch, Slot, TensorFlag } from './native';
import { MAX_NDIM } from './shape';

/**
 * Fields are declared and assigned, not initialised: a field definition costs what a property store does not, and
 * slices make one of these each.
 */
export class Metadata<D extends DType = DType> {
  /** TensorFlag bits. */
  declare readonly flags: number;
  declare readonly dtype: DTypeInfo<D>;
  declare readonly device: DLPackDevice;
  /** Elements. */
  declare readonly size: number;
  /** Elements from the start of the span to the first logical element. */
  declare readonly spanOffset: number;
  /** Bytes of the span, which a view covers. */
  declare readonly spanBytes: number;
  /** Shape, then strides. */
  declare readonly dims: readonly number[];
  /** The public arrays are frozen, which is slow, so at first sight. */
  declare private frozenShape: readonly number[] | undefined;
  declare private frozenStrides: readonly number[] | undefined;
  /** What `withFlags` answered last. */
  declare private sibling: Metadata<D> | undefined;

  static {
    // Nothing is inherited: an accessor that somebody gave Object.prototype would be called in place of an assignment
    // below, and native has made the tensor by then.
    Object.setPrototypeOf(this.prototype, null);
  }

  constructor(
    flags: number,
    dtype: DTypeInfo<D>,
    device: DLPackDevice,
    size: number,
    spanOffset: number,
    spanBytes: number,
    dims: readonly number[],
  ) {
    this.flags = flags;
    this.dtype = dtype;
    this.device = device;
    this.size = size;
    this.spanOffset = spanOffset;
    this.spanBytes = spanBytes;
    this.dims = dims;
    this.frozenShape = undefined;
    this.frozenStrides = undefined;
    this.sibling = undefined;
  }

  get ndim(): number {
    return this.dims.length >> 1;
  }

  /** Bytes of the elements stored compactly. */
  get byteLength(): number {
    return compactBytes(this.dtype, this.size);
  }

  get shape(): readonly number[] {
    return (this.frozenShape ??= Object.freeze(this.dims.slice(0, this.ndim)));
  }

  /** In elements. */
  get strides(): readonly number[] {
    return (this.frozenStrides ??= Object.freeze(this.dims.slice(this.ndim)));
  }

  // What an export wants to know (ExportState).

  get readOnly(): boolean {
    return (this.flags & TensorFlag.ReadOnly) !== 0;
  }

  get padded(): boolean {
    return this.dtype.padded;
  }

  get legacy(): boolean {
    return (this.flags & TensorFlag.Legacy) !== 0;
  }

  has(flag: TensorFlag): boolean {
    return (this.flags & flag) !== 0;
  }

  /** The same with other flags: what an owner is once it is frozen, and a tensor once it was moved out of. */
  withFlags(flags: number): Metadata<D> {
    if (this.flags === flags) return this;
    if (this.sibling?.flags === flags) return this.sibling;
    const { dtype, device, size, spanOffset, spanBytes, dims } = this;
    const sibling = new Metadata(flags, dtype, device, size, spanOffset, spanBytes, dims);
    sibling.sibling = this;
    this.sibling = sibling;
    return sibling;
  }
}

/** One number of the scratch memory. */
export function slot(index: number): number {
  return scratch[index] ?? 0;
}

/** Arguments that do not fit into the call: numbers from Slot.Input on. Nothing may run between this and the call. */
export function writeInput(numbers: readonly number[], from = 0): void {
  for (let i = 0; i < numbers.length; i++) scratch[Slot.Input + from + i] = numbers[i] ?? 0;
}

const MOST_RECENT = 8;
/**
 * The last few, as a pipeline has a few: an owner, what it becomes when it is frozen, what is sliced from that. Without
 * holes: what is written to one goes to a setter of that index, if somebody gave Array.prototype one.
 */
const recent: (Metadata | undefined)[] = Array.from({ length: MOST_RECENT }, () => undefined);
/** The one that was needed last, which is the likeliest. */
let latest: Metadata | undefined;
let next = 0;

function recall(): Metadata {
  for (let i = 0; i < MOST_RECENT; i++) {
    const known = recent[i];
    if (known !== undefined && isCurrent(known)) return known;
  }
  const made = build();
  recent[next] = made;
  next = (next + 1) % MOST_RECENT;
  return made;
}

/**
 * The metadata that the last native call left behind. `D` is what the caller knows of the dtype it asked for.
 * Must be called before anything else runs.
 */
export function readMetadata<D extends DType>(): Metadata<D> {
  const metadata = latest !== undefined && isCurrent(latest) ? latest : (latest = recall());
  // The caller knows the dtype, as it asked for it; native only knows its number.
  return metadata as Metadata<D>;
}

function isCurrent(known: Metadata): boolean {
  const { dims } = known;
  if (
    slot(Slot.Flags) !== known.flags ||
    slot(Slot.DType) !== known.dtype.packed ||
    slot(Slot.Size) !== known.size ||
    slot(Slot.SpanOffset) !== known.spanOffset ||
    slot(Slot.SpanBytes) !== known.spanBytes ||
    slot(Slot.DeviceType) !== known.device[0] ||
    slot(Slot.DeviceId) !== known.device[1] ||
    slot(Slot.Ndim) * 2 !== dims.length
  ) {
    return false;
  }
  for (let i = 0; i < dims.length; i++) {
    if (scratch[Slot.Dims + i] !== dims[i]) return false;
  }
  return true;
}

/** What shape and strides are copied over: again without holes. */
const ZEROS: readonly number[] = Array.from({ length: 2 * MAX_NDIM }, () => 0);

function build(): Metadata {
  const dtype = dtypeFromPacked(slot(Slot.DType));
  if (dtype === undefined)
    throw new Error(
      `The addon names a dtype that this package does not know (${slot(Slot.DType)}); the two are not of one build. Install node-dlpack again`,
    );
  const length = slot(Slot.Ndim) * 2;
  const dims = ZEROS.slice(0, length);
  for (let i = 0; i < length; i++) dims[i] = slot(Slot.Dims + i);
  const type = slot(Slot.DeviceType);
  const id = slot(Slot.DeviceId);
  const device: DLPackDevice = type === DEVICE_TYPES.cpu && id === 0 ? CPU : Object.freeze([type, id] as const);
  return new Metadata(
    slot(Slot.Flags),
    dtype,
    device,
    slot(Slot.Size),
    slot(Slot.SpanOffset),
    slot(Slot.SpanBytes),
    dims,
  );
}
