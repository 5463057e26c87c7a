/**
 * The channels of `node:diagnostics_channel` for what costs something without a word: `node-dlpack:copy`, a copy that
 * nobody asked for, and `node-dlpack:collected`, memory that was left to the collector. Each costs one property read
 * while nobody listens.
 */
import { channel } from 'node:diagnostics_channel';
import type { DType } from './dtype';

/** The name of the channel. */
export const COPY_CHANNEL = 'node-dlpack:copy';

/**
 * What subscribers of `node-dlpack:copy` get.
 *
 * ```ts
 * import { subscribe } from 'node:diagnostics_channel';
 *
 * subscribe('node-dlpack:copy', (message) => {
 *   const { reason, byteLength } = message as CopyMessage;
 *   console.log(reason, byteLength); // -> legacy 12
 * });
 * Tensor.from(new Float32Array(3)).__dlpack__(); // no version was asked for
 * ```
 */
export interface CopyMessage {
  /**
   * `legacy`: a consumer asked for no version, and a legacy struct cannot say read-only. `misaligned`: foreign data was
   * not aligned to its element. `not-copied`: a copy was asked of a producer that gave none. `no-external-buffers`: the
   * runtime forbids views of native memory.
   */
  readonly reason: 'legacy' | 'misaligned' | 'not-copied' | 'no-external-buffers';
  /** The public function that copied, e.g. `__dlpack__`. */
  readonly operation: string;
  /** Of what was copied. */
  readonly dtype: DType;
  /** Of what was copied. */
  readonly shape: readonly number[];
  /** Bytes copied. */
  readonly byteLength: number;
}

const copies = channel(COPY_CHANNEL);

/** Publishes what `describe` returns; it is not called while nobody listens. */
export function publishCopy(describe: () => CopyMessage): void {
  if (copies.hasSubscribers) copies.publish(describe());
}

/** The name of the channel. */
export const COLLECTED_CHANNEL = 'node-dlpack:collected';

/**
 * What subscribers of `node-dlpack:collected` get: a tensor was collected that nobody had disposed, so its memory was
 * held until then. Only of tensors that were made while somebody listened.
 */
export interface CollectionMessage {
  /** Of what was collected. */
  readonly className: 'Tensor' | 'OwnedTensor';
  /** Of what was collected. */
  readonly dtype: DType;
  /** Of what was collected. */
  readonly shape: readonly number[];
  /** Bytes of its elements; the memory is free now unless something else holds it. */
  readonly byteLength: number;
  /** The line that made it; present with `NODE_DLPACK_DEBUG=leaks`. */
  readonly madeAt?: string;
}

const collections = channel(COLLECTED_CHANNEL);

/** Does anybody want to know of collections? */
export function hasCollectionSubscribers(): boolean {
  return collections.hasSubscribers;
}

/** Publishes what `describe` returns; it is not called while nobody listens. */
export function publishCollection(describe: () => CollectionMessage): void {
  if (collections.hasSubscribers) collections.publish(describe());
}
