/**
 * How many threads a large copy may take. One unless someone says otherwise, here or with NODE_DLPACK_THREADS: a server
 * has plans for its other cores.
 */
import { check } from './call';
import { rangeError, show, typeError } from './errors';
import { native } from './native';

const MOST = 64;

/**
 * How many threads a copy or conversion of several megabytes may take (`contiguous`, `copy`, `to`, `set`,
 * `toTypedArray`, exports that copy), the calling one included; it still returns when all is done. With a `count` the
 * number is set, for the whole process, from the next copy on; smaller copies stay on the calling thread. The threads
 * live no longer than the copy: none keeps the process alive.
 *
 * Before the first call it is NODE_DLPACK_THREADS, or 1.
 *
 * ```ts
 * copyThreads(2); // at most two threads copy and convert
 * console.log(copyThreads()); // -> 2
 * ```
 *
 * @param count 1 to 64
 * @returns the number that is in force from now on
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) unless `count` is an integer or undefined; RangeError (`ERR_OUT_OF_RANGE`)
 *   beyond 1 to 64
 */
export function copyThreads(count?: number): number {
  if (count === undefined) return native.copyThreads();
  if (!Number.isInteger(count)) throw typeError(`count is ${show(count)}; it must be an integer from 1 to ${MOST}`);
  if (count < 1 || count > MOST) throw rangeError(`count is ${count}; it must be from 1 to ${MOST}`);
  check(native.setCopyThreads(count, false), { operation: 'copyThreads' });
  return count;
}

/** A value that is no number of threads gets a warning, as NODE_DLPACK_DEBUG does. */
export function applyThreadsFromEnvironment(text: string | undefined): void {
  if (text === undefined || text.trim() === '') return;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MOST) {
    check(native.setCopyThreads(count, true), { operation: 'copyThreads' });
  } else {
    process.emitWarning(`NODE_DLPACK_THREADS is '${text}'; it must be an integer from 1 to ${MOST}`);
  }
}
