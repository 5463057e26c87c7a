/**
 * The words of what cannot cross, and which dtype is called what over there. A dtype that the other library has no name
 * for is refused by name, never relabelled: what arrives must say what it is, or the next reader takes bfloat16 for
 * uint16.
 */
import { DTYPES, type DType } from '../dtype';
import { bufferError, show, typeError, type DLPackBufferError } from '../errors';

/** What to write instead, for a dtype that the other side does not have. */
function wayOut(dtype: DType): string {
  const { kind } = DTYPES[dtype];
  if (kind === 'complex') return 'view({ bits: true }) gives the real and imaginary parts in turn';
  return `to('${kind === 'bool' ? 'uint8' : kind === 'float' ? 'float32' : 'int32'}') converts`;
}

/** Out: the library has no such dtype. */
export function noSuchDType(operation: string, library: string, dtype: DType): DLPackBufferError {
  return bufferError(`${operation}: ${library} has no ${dtype}; ${wayOut(dtype)}`);
}

/** In: there is no dtype here for what the library holds. `found` is its own name for it. */
export function foreignDType(operation: string, field: string, found: unknown, hint: string): DLPackBufferError {
  return bufferError(`${operation}: ${field} is ${show(found)}, for which there is no dtype here; ${hint}`);
}

/** In: the argument is not what the function takes. */
export function notA(operation: string, found: unknown, expected: string): TypeError {
  return typeError(`${operation} was given ${show(found)}; it takes ${expected}`);
}

/** `copy: false`, and it takes a copy: in the words of the exchange. */
export function copyNeeded(operation: string, why: string): DLPackBufferError {
  return bufferError(`${operation}: copy: false cannot be kept: ${why}. Leave copy null to let it be copied`);
}
