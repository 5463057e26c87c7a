/** Errors as the tests expect them: class, code and words, and nothing left behind. */
import { expect } from '@jest/globals';
import { DLPackBufferError, DLPackStateError, stats } from '../../dist/index.js';

/** What `run` throws; a run that does not throw fails the test. */
export function thrownBy(run: () => unknown): unknown {
  let result: unknown;
  try {
    result = run();
  } catch (error) {
    return error;
  }
  throw new Error(`nothing was thrown; the result was ${String(result)}`);
}

function expectCoded(error: unknown, name: string, code: string, text: RegExp | string): void {
  expect(error).toMatchObject({ name, code, message: text instanceof RegExp ? expect.stringMatching(text) : text });
}

/** A DLPackBufferError; answers it. */
export function expectBufferError(run: () => unknown, text: RegExp | string): DLPackBufferError {
  const error = thrownBy(run);
  expectCoded(error, 'BufferError', 'ERR_DLPACK_BUFFER', text);
  if (!(error instanceof DLPackBufferError)) throw new Error(`not a DLPackBufferError: ${String(error)}`);
  return error;
}

export function expectStateError(
  run: () => unknown,
  code: 'ERR_DLPACK_CONSUMED' | 'ERR_DLPACK_DISPOSED' | 'ERR_DLPACK_TOKEN',
  text: RegExp | string,
): void {
  const error = thrownBy(run);
  expect(error).toBeInstanceOf(DLPackStateError);
  expectCoded(error, 'DLPackStateError', code, text);
}

export function expectTypeError(run: () => unknown, text: RegExp | string): void {
  const error = thrownBy(run);
  expect(error).toBeInstanceOf(TypeError);
  expectCoded(error, 'TypeError', 'ERR_INVALID_ARG_TYPE', text);
}

export function expectRangeError(run: () => unknown, text: RegExp | string): void {
  const error = thrownBy(run);
  expect(error).toBeInstanceOf(RangeError);
  expectCoded(error, 'RangeError', 'ERR_OUT_OF_RANGE', text);
}

/** Runs something that fails, and holds that it left every counter of the process where it was. */
export function leavingNothing<Result>(run: () => Result): Result {
  const before = stats();
  const result = run();
  expect(stats()).toEqual(before);
  return result;
}
