/**
 * The struct laboratory: a second native addon that makes managed tensors with anything in their fields, counts what
 * happens to them, and consumes those of others like a library written in C.
 */
import { lab, type Bits, type StructSpec } from './lab-addon.js';
import { elementAddresses, elements, pictureAt, type StructPicture } from './struct-picture.js';

export { lab, type Bits, type StructSpec } from './lab-addon.js';
export * from './struct-picture.js';

/** Steps in elements of a compact row-major layout. */
export function rowMajor(shape: readonly Bits[]): bigint[] {
  const strides: bigint[] = [];
  let step = 1n;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    strides[axis] = step;
    step = BigInt.asIntN(64, step * BigInt(shape[axis] ?? 0));
  }
  return strides;
}

/** The bytes of a typed array, for `StructSpec.bytes`. */
export function bytesOf(data: NodeJS.TypedArray): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** The elements 0, 1, 2, … as float32. */
export function ramp(count: number): Float32Array {
  return Float32Array.from({ length: count }, (_, index) => index);
}

/** Anything with the two protocol methods. */
export interface Producer {
  __dlpack__(options?: object): object;
  __dlpack_device__(): readonly [number, number];
}

const made = new Set<LabStruct>();

/** A struct that the laboratory made and counts. */
export class LabStruct {
  readonly id: number;
  readonly address: bigint;
  /** Where `bytes` lie. */
  readonly data: bigint;
  readonly versioned: boolean;
  readonly hasDeleter: boolean;
  /** Somebody else owns it now and owes the deleter call. */
  handedOut = false;
  private readonly device: readonly [number, number];

  constructor(spec: StructSpec) {
    const shape = spec.shape === undefined ? [] : spec.shape;
    const strides = spec.strides === undefined ? rowMajor(shape ?? []) : spec.strides;
    const result = lab.makeStruct({ ...spec, shape, strides });
    this.id = result.id;
    this.address = result.address;
    this.data = result.data;
    this.versioned = spec.versioned ?? true;
    this.hasDeleter = spec.deleter ?? true;
    this.device = spec.device ?? [1, 0];
    made.add(this);
  }

  /** In a capsule made with the public kit; a collected unused capsule runs the deleter. */
  capsule(): object {
    this.handedOut = true;
    return lab.makeCapsule(this.id);
  }

  /** A producer whose one answer is this struct. */
  producer(): Producer & { calls: unknown[][] } {
    const calls: unknown[][] = [];
    return {
      calls,
      __dlpack__: (...received: unknown[]) => {
        calls.push(received);
        return this.capsule();
      },
      __dlpack_device__: () => this.device,
    };
  }

  get deleterCalls(): number {
    return lab.structState(this.id).deleterCalls;
  }

  /** Nobody wrote to struct, shape or strides up to now, or up to the deleter. */
  get unchanged(): boolean {
    return lab.structState(this.id).unchanged;
  }

  get deletedOnThisThread(): boolean {
    return lab.structState(this.id).deletedOnThisThread;
  }

  /**
   * Frees its memory, once nobody holds it any more. Each struct has several mappings, of which a process can only have
   * so many.
   */
  forget(): void {
    made.delete(this);
    lab.forgetStruct(this.id);
  }
}

/** A struct over float32 elements 0, 1, 2, … unless the spec says otherwise. */
export function makeStruct(spec: StructSpec = {}): LabStruct {
  const shape = spec.shape === undefined ? [2, 3] : spec.shape;
  const bytes = spec.bytes ?? (spec.data === undefined ? bytesOf(ramp(Math.min(4096, countOf(shape)))) : undefined);
  return new LabStruct({ ...spec, shape, ...(bytes === undefined ? {} : { bytes }) });
}

function countOf(shape: readonly Bits[] | null): number {
  return (
    Math.max(
      0,
      (shape ?? [1]).reduce<number>((product, extent) => product * Number(extent), 1),
    ) || 0
  );
}

/** What every struct that was handed out must have come to; tests call it when everything is collected. */
export function structsNotDeletedOnce(): string[] {
  return [...made]
    .filter((struct) => struct.handedOut && struct.hasDeleter && struct.deleterCalls !== 1)
    .map(
      (struct) =>
        `struct ${struct.id} (${struct.versioned ? 'versioned' : 'legacy'}): ${struct.deleterCalls} deleter calls`,
    );
}

// --- a consumer in C ------------------------------------------------------------------------------------------------------------------------

/** Takes a capsule's struct and keeps it, as a library written in C does. */
export class Holder {
  readonly id: number;

  /**
   * `upgraded`: a legacy struct arrives in a versioned one, as the kit offers to consumers that want to know one kind
   * only.
   */
  constructor(capsule: object, upgraded = false) {
    this.id = upgraded ? lab.takeVersioned(capsule) : lab.takeCapsule(capsule);
  }

  picture(): StructPicture {
    const { address, versioned } = lab.lookAtHeld(this.id);
    return pictureAt(address, versioned);
  }

  elements(): (number | bigint)[] {
    return elements(this.picture());
  }

  /** Writes the bytes of one element at its row-major position. */
  write(position: number, bytes: Uint8Array): void {
    const address = elementAddresses(this.picture())[position];
    if (address === undefined) throw new Error(`there is no element ${position}`);
    lab.poke(address, bytes);
  }

  /** Overwrites everything but the deleter. */
  scramble(): void {
    lab.scrambleHeld(this.id);
  }

  release(): void {
    lab.releaseHeld(this.id);
  }

  /** Hands it on: a fresh capsule owns it now. */
  intoCapsule(): object {
    return lab.capsuleOfHeld(this.id);
  }

  /** On a plain native thread. */
  releaseOnThread(): void {
    lab.releaseHeldOnThread(this.id);
  }

  releaseLater(milliseconds: number): void {
    lab.releaseHeldLater(this.id, milliseconds);
  }

  releaseAfterEnvironment(milliseconds: number): void {
    lab.releaseHeldAfterEnvironment(this.id, milliseconds);
  }

  releaseAtExit(): void {
    lab.releaseHeldAtExit(this.id);
  }
}
