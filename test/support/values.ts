/** Values and memory as tests need them, with what TypeScript's older libs do not know. */
import { fromDLPack, OwnedTensor, Tensor, type DLPackProducer } from '../../dist/index.js';

/** [[0, 1, 2], [3, 4, 5]]. */
export function sample(): Tensor<'float32'> {
  return Tensor.from(Float32Array.of(0, 1, 2, 3, 4, 5), { shape: [2, 3] });
}

/** The same, to write to. */
export function ownedSample(): OwnedTensor<'float32'> {
  return OwnedTensor.from(Float32Array.of(0, 1, 2, 3, 4, 5), { shape: [2, 3] });
}

/** Nested arrays as one flat list. */
export function flat(nested: unknown): unknown[] {
  return Array.isArray(nested) ? nested.flatMap((item: unknown) => flat(item)) : [nested];
}

/** The bytes of whatever typed array it is, read-only faces too. */
export function rawBytes(view: {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
}): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** Imports what is known to be float32. */
export function importFloat(producer: DLPackProducer | object): Tensor<'float32'> {
  const tensor = fromDLPack(producer);
  if (!tensor.is('float32')) throw new Error(`expected float32, got ${tensor.dtype}`);
  return tensor;
}

/** Calls a method with anything at all, also what its types forbid. */
export function callWith(receiver: object, method: string, ...args: unknown[]): unknown {
  const found: unknown = Reflect.get(receiver, method);
  if (typeof found !== 'function') throw new Error(`there is no method ${method}`);
  const result: unknown = Reflect.apply(found, receiver, args);
  return result;
}

/** A typed array whose memory has gone elsewhere. */
export function detachedArray(length: number): Float32Array<ArrayBuffer> {
  const array = new Float32Array(new ArrayBuffer(length * 4));
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

/** The memory of a WebAssembly module. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

export function wasmMemory(initial: number, maximum: number): WasmMemory {
  const { WebAssembly } = globalThis as unknown as { WebAssembly: { Memory: new (limits: object) => WasmMemory } };
  return new WebAssembly.Memory({ initial, maximum });
}
