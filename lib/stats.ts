/** What is alive in this process: for tests, and for finding what a program forgot to dispose. */
import { check } from './call';
import { slot } from './metadata';
import { native, Slot } from './native';

/** Numbers of the whole process, all threads and all copies of this addon's library included. */
export interface Stats {
  /** Tensors and owners that are alive: not disposed, consumed or collected. */
  readonly tensors: number;
  /** Exports whose deleter has not been called, unconsumed capsules included. */
  readonly exports: number;
  /** ArrayBuffers over tensors' memory that are not released. */
  readonly views: number;
  /** Tokens that nobody claimed. */
  readonly tokens: number;
  /** Pieces of memory that this library holds, its own and foreign ones. */
  readonly blocks: number;
  /** Their bytes. */
  readonly bytes: number;
}

/**
 * Counts what is alive in this process now, after whatever release is due in this thread.
 *
 * ```ts
 * const tensor = Tensor.from(new Float32Array(256));
 * const part = tensor.slice([0, 10]);
 * console.log(stats().tensors, stats().blocks, stats().bytes >= 1024); // -> 2 1 true
 * part.dispose();
 * console.log(stats().tensors); // -> 1
 * ```
 */
export function stats(): Stats {
  check(native.stats(), { operation: 'stats' });
  return {
    tensors: slot(Slot.Element),
    exports: slot(Slot.Element + 1),
    views: slot(Slot.Element + 2),
    tokens: slot(Slot.Element + 3),
    blocks: slot(Slot.Element + 4),
    bytes: slot(Slot.Element + 5),
  };
}
