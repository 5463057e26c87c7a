/**
 * Memory of the engine, for copies of tensors' bytes and elements. The engine's own errors say neither what was asked
 * nor what helps; there are sizes of which it makes a buffer but no typed array over it; and where its heap runs full
 * it ends the process.
 */
import { constants } from 'node:buffer';
import { faultOf } from './call';
import { memoryError } from './errors';
import { FAULT_CODES } from './faults';

/**
 * An ArrayBuffer of zeros that any typed array can lie over.
 * @throws BufferError for more bytes than the engine's typed arrays reach; RangeError (`ERR_DLPACK_MEMORY`) where there
 *   is no memory for them
 */
export function makeBuffer(byteLength: number, operation: string): ArrayBuffer {
  const limit = constants.MAX_LENGTH;
  if (byteLength > limit) {
    throw faultOf(FAULT_CODES.kTooLarge, { operation }, { value: BigInt(byteLength), limit: BigInt(limit) });
  }
  try {
    return new ArrayBuffer(byteLength);
  } catch {
    throw memoryError(`The engine cannot make an ArrayBuffer of ${byteLength} bytes; slice() first`);
  }
}

/** So few values are made without asking. */
const FEW = 1_000_000;
/** What a value or an array takes of the heap at least. */
const LEAST_BYTES = 8;

/**
 * Can the heap hold so many values? Refuses only what cannot fit at all.
 * @throws RangeError (`ERR_DLPACK_MEMORY`)
 */
export function checkHeap(values: number, operation: string): void {
  if (values <= FEW) return;
  // Here and not above: its load would be a seventh of every start of ours.
  const { getHeapStatistics } = require('node:v8') as typeof import('node:v8');
  if (values * LEAST_BYTES <= getHeapStatistics().total_available_size) return;
  throw memoryError(`${operation} would make ${values} values and arrays, more than fit into the heap; slice() first`);
}
