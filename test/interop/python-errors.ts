/** Errors of node_dlpack in Python: the class there, the code, and the name of the class in JavaScript. */
import { expect } from '@jest/globals';
import type { PythonError } from './python.js';

export interface ErrorShape {
  readonly bases: string;
  readonly code: string;
  readonly there: string;
}

export const BUFFER: ErrorShape = { bases: 'BufferError', code: 'ERR_DLPACK_BUFFER', there: 'DLPackBufferError' };
export const CONSUMED: ErrorShape = {
  bases: 'DLPackStateError',
  code: 'ERR_DLPACK_CONSUMED',
  there: 'DLPackStateError',
};
export const DISPOSED: ErrorShape = {
  bases: 'DLPackStateError',
  code: 'ERR_DLPACK_DISPOSED',
  there: 'DLPackStateError',
};
export const TOKEN: ErrorShape = { bases: 'DLPackStateError', code: 'ERR_DLPACK_TOKEN', there: 'DLPackStateError' };
export const TYPE: ErrorShape = { bases: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', there: 'TypeError' };
export const RANGE: ErrorShape = { bases: 'ValueError', code: 'ERR_OUT_OF_RANGE', there: 'RangeError' };

/** An error of ours in Python: its class there, its code, and the name of its class in JavaScript. */
export function expectError(error: PythonError, shape: ErrorShape, message: RegExp | string = ''): void {
  expect({ bases: error.bases, code: error.code }).toEqual({
    bases: expect.arrayContaining([shape.bases]),
    code: shape.code,
  });
  expect(error.message).toMatch(message);
  expect(error.message).toContain(`[${shape.code}, ${shape.there} in JavaScript]`);
}
