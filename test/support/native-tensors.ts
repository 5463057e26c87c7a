/**
 * Tensors by their bare handles, for tests of the addon itself: no class, no negotiation, no words. Usable outside
 * jest.
 */
import { native, scratch, scratchBits, Slot, type Handle, type Status } from '../../dist/native.js';
import { collect, collectUntil as collectWith } from './collect.js';

const packed = (code: number, bits: number, padded = false): number => code | (bits << 8) | (padded ? 1 << 16 : 0);

export const DTYPE = {
  int32: packed(0, 32),
  int64: packed(0, 64),
  uint8: packed(1, 8),
  uint64: packed(1, 64),
  float32: packed(2, 32),
  float64: packed(2, 64),
  complex64: packed(5, 64),
  bool: packed(6, 8),
  float4: packed(17, 4),
} as const;

const FAULT_NAMES = new Map(Object.entries(native.faults).map(([name, code]) => [code, name]));

/** The name of the fault that a call answered with; 'none' for success. */
export function fault(result: unknown): string {
  if (typeof result !== 'number' || result >= 0) return 'none';
  return FAULT_NAMES.get(-result) ?? `unknown code ${-result}`;
}

function succeed(status: Status): void {
  if (status < 0) throw new Error(`expected success, got ${fault(status)}`);
}

function isHandle(result: Handle | Status): result is Handle {
  return result > 0;
}

/** What keeps each handle from being collected. */
const owners = new Map<Handle, object>();

/** Lets go of the owners of all handles. */
export function dropAll(): void {
  owners.clear();
}

/** The handle that a call made, owned by an object until it is released or dropped. */
export function made(result: Handle | Status): Handle {
  if (!isHandle(result)) throw new Error(`expected a handle, got ${fault(result)}`);
  const owner = {};
  native.ring[scratch[Slot.Ring] ?? -1] = owner;
  owners.set(result, owner);
  return result;
}

/** The capsule that a call made, placed for collection. */
export function madeCapsule(result: object | Status): object {
  if (typeof result === 'number') throw new Error(`expected a capsule, got ${fault(result)}`);
  native.ring[scratch[Slot.Ring] ?? -1] = result;
  return result;
}

/** The ArrayBuffer that a call made. */
export function madeBuffer(result: ArrayBuffer | Status): ArrayBuffer {
  if (typeof result === 'number') throw new Error(`expected an ArrayBuffer, got ${fault(result)}`);
  return result;
}

export function release(...handles: readonly Handle[]): void {
  for (const handle of handles) {
    succeed(native.release(handle));
    owners.delete(handle);
  }
}

/** Lets go of the object that owns the handle, as a user does who never disposes. */
export function drop(handle: Handle): void {
  owners.delete(handle);
}

export function input(numbers: readonly number[], at = 0): void {
  numbers.forEach((number, index) => (scratch[Slot.Input + at + index] = number));
}

export function allocate(shape: readonly number[], dtype: number = DTYPE.float32): Handle {
  input(shape);
  return made(native.allocate(shape.length, dtype));
}

/** A tensor, not an owner, over fresh memory with these elements. */
export function tensorOf(source: ArrayBufferView, shape: readonly number[], dtype: number): Handle {
  return made(fromBytes(source, shape, dtype, undefined, 0, false));
}

export function ownerOf(source: ArrayBufferView, shape: readonly number[], dtype: number): Handle {
  return made(fromBytes(source, shape, dtype, undefined, 0, true));
}

export function fromBytes(
  source: ArrayBufferView,
  shape: readonly number[],
  dtype: number,
  strides: readonly number[] | undefined,
  offset: number,
  owned: boolean,
): Handle | Status {
  input([...shape, ...(strides ?? []), offset]);
  return native.fromBytes(source, shape.length, dtype, strides !== undefined, owned);
}

export function bytesOf(handle: Handle): Uint8Array {
  succeed(native.describe(handle));
  const bytes = new Uint8Array(scratch[Slot.ByteLength] ?? 0);
  succeed(native.copyOut(handle, bytes));
  return bytes;
}

/** The elements, row by row. */
export const float32Of = (handle: Handle): number[] => [...new Float32Array(bytesOf(handle).buffer)];
export const int32Of = (handle: Handle): number[] => [...new Int32Array(bytesOf(handle).buffer)];

export function shapeOf(handle: Handle): number[] {
  succeed(native.describe(handle));
  return [...scratch.subarray(Slot.Dims, Slot.Dims + (scratch[Slot.Ndim] ?? 0))];
}

export function flagsOf(handle: Handle): number {
  succeed(native.describe(handle));
  return scratch[Slot.Flags] ?? 0;
}

export function addressOf(handle: Handle): bigint {
  succeed(native.dataAddress(handle));
  return BigInt.asUintN(64, scratchBits[Slot.Element] ?? 0n);
}

export interface Aliases {
  readonly tensors: number;
  readonly exports: number;
  readonly views: number;
  readonly tokens: number;
}

/** The aliases of others that the last fault was about. */
export function lastAliases(): Aliases {
  const [tensors = 0, exports = 0, views = 0, tokens = 0] = scratch.subarray(Slot.Aliases, Slot.Aliases + 4);
  return { tensors, exports, views, tokens };
}

export interface Stats extends Aliases {
  readonly blocks: number;
  readonly bytes: number;
}

export function nativeStats(): Stats {
  native.stats();
  const [tensors = 0, exports = 0, views = 0, tokens = 0, blocks = 0, bytes = 0] = scratch.subarray(Slot.Element);
  return { tensors, exports, views, tokens, blocks, bytes };
}

/** `collect`, with what waits to be registered for collection. */
export async function collectOnce(): Promise<void> {
  native.settle();
  await collect();
}

/** `collectUntil`, with what waits to be registered for collection. */
export function collectUntil(done: () => boolean): Promise<boolean> {
  return collectWith(done, collectOnce);
}
