/** What a failing call throws, reduced to what programs test. */
import { inspect } from 'node:util';

export interface Thrown {
  readonly name: string;
  readonly code: unknown;
  readonly message: string;
}

/** The error that `call` throws; itself an error when it throws none, so that a test cannot pass by accident. */
export function errorOf(call: () => unknown): Thrown {
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    if (!(error instanceof Error)) throw new Error('threw something that is no Error', { cause: error });
    return { name: error.name, code: Reflect.get(error, 'code'), message: error.message };
  }
  throw new Error(`threw nothing and returned ${inspect(result)}`);
}

/** A TypeError with `ERR_INVALID_ARG_TYPE` and this text. */
export function typeErrorWith(message: string | RegExp): Record<string, unknown> {
  return { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', message: text(message) };
}

/** A RangeError with `ERR_OUT_OF_RANGE` and this text. */
export function rangeErrorWith(message: string | RegExp): Record<string, unknown> {
  return { name: 'RangeError', code: 'ERR_OUT_OF_RANGE', message: text(message) };
}

/** A DLPackBufferError with this text. */
export function bufferErrorWith(message: string | RegExp): Record<string, unknown> {
  return { name: 'BufferError', code: 'ERR_DLPACK_BUFFER', message: text(message) };
}

function text(message: string | RegExp): unknown {
  return typeof message === 'string' ? message : expectMatching(message);
}

function expectMatching(pattern: RegExp): unknown {
  return {
    asymmetricMatch: (value: unknown) => typeof value === 'string' && pattern.test(value),
    toString: () => String(pattern),
  };
}
