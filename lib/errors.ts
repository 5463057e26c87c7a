/**
 * The errors of this library. Each carries a `code`, and the code is what programs should test: classes of one copy of
 * the package, or of one jest realm, are not those of another. Each says with which command its code is explained, which
 * Node prints below the stack of an error that nobody caught.
 *
 * Every message says what was asked, what was found, and what to do where there is something to do. All errors are made
 * here, in the caller's realm, never natively.
 */

/**
 * Who else holds the memory of a tensor; what `intoDLPack()` found in its way. The tensor that was asked itself is not
 * counted.
 */
export interface AliasCounts {
  /**
   * Other tensors over the same memory: slices, other threads' too, empty ones too, and dropped ones that nobody
   * collected yet.
   */
  readonly tensors: number;
  /** Exports whose deleter has not been called. */
  readonly exports: number;
  /** ArrayBuffers over the memory that were not released, the tensor's own view included. */
  readonly views: number;
  /** Tokens that nobody claimed. */
  readonly tokens: number;
}

/** A property of its own, whatever accessors a program has given to Object.prototype. */
function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, enumerable: true, configurable: true });
}

/**
 * On the prototype and not enumerable, as the engine's own errors have it, so that inspecting an error does not list
 * it.
 */
function nameErrors(prototype: Error, name: string): void {
  Object.defineProperty(prototype, 'name', { value: name, writable: true, configurable: true });
}

/** The `help` of an error. A command, not an address: the page is in the package, and of the version in use. */
function helpFor(code: string): string {
  return `npx node-dlpack explain ${code}`;
}

/**
 * The memory cannot be exported, imported, moved or viewed as asked, or a struct from outside is not what it should be.
 * Nothing has changed. Its `name` is `BufferError`, as in the array API standard.
 *
 * ```ts
 * const tensor = Tensor.from([1, 2, 3]);
 * const part = tensor.slice(0);
 * try {
 *   tensor.intoDLPack();
 * } catch (error) {
 *   if (error instanceof DLPackBufferError) console.log(error.code, error.aliases?.tensors); // -> ERR_DLPACK_BUFFER 1
 * }
 * ```
 */
export class DLPackBufferError extends Error {
  static {
    nameErrors(this.prototype, 'BufferError');
  }

  /**
   * Always `ERR_DLPACK_BUFFER`.
   *
   * ```ts
   * console.log(new DLPackBufferError('why').code); // -> ERR_DLPACK_BUFFER
   * ```
   */
  readonly code = 'ERR_DLPACK_BUFFER';
  /**
   * The command that prints what the code means and the ways out.
   *
   * ```ts
   * console.log(new DLPackBufferError('why').help); // -> npx node-dlpack explain ERR_DLPACK_BUFFER
   * ```
   */
  readonly help: string = helpFor('ERR_DLPACK_BUFFER');
  /**
   * Who else holds the memory; present where that is the reason.
   *
   * ```ts
   * const tensor = Tensor.from([1, 2, 3]);
   * const view = tensor.view();
   * try {
   *   tensor.intoDLPack();
   * } catch (error) {
   *   if (error instanceof DLPackBufferError) console.log(error.aliases?.views, view.length); // -> 1 3
   * }
   * ```
   */
  declare readonly aliases?: AliasCounts;

  constructor(message: string, options?: ErrorOptions & { readonly aliases?: AliasCounts | undefined }) {
    super(message, options);
    if (options?.aliases !== undefined) define(this, 'aliases', Object.freeze({ ...options.aliases }));
  }
}

/** The codes of `DLPackStateError`. */
export type StateCode = 'ERR_DLPACK_CONSUMED' | 'ERR_DLPACK_DISPOSED' | 'ERR_DLPACK_TOKEN';

/**
 * A tombstone was touched, or a capsule or a token used twice.
 *
 * ```ts
 * const owned = OwnedTensor.allocate([2], 'float32');
 * owned.freeze();
 * try {
 *   owned.fill(1);
 * } catch (error) {
 *   if (error instanceof DLPackStateError) console.log(error.code); // -> ERR_DLPACK_CONSUMED
 * }
 * ```
 */
export class DLPackStateError extends Error {
  static {
    nameErrors(this.prototype, 'DLPackStateError');
  }

  /**
   * Which state it was.
   *
   * ```ts
   * try {
   *   Tensor.fromShared('no token');
   * } catch (error) {
   *   if (error instanceof DLPackStateError) console.log(error.code); // -> ERR_DLPACK_TOKEN
   * }
   * ```
   */
  readonly code: StateCode;
  /**
   * The command that prints what the code means and the ways out.
   *
   * ```ts
   * console.log(new DLPackStateError('ERR_DLPACK_TOKEN', 'why').help); // -> npx node-dlpack explain ERR_DLPACK_TOKEN
   * ```
   */
  readonly help: string;

  constructor(code: StateCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.help = helpFor(code);
  }
}

/** Any error of this library. */
export interface CodedError extends Error {
  /** What programs should test. */
  readonly code: string;
  /** The command that prints what the code means and the ways out. */
  readonly help: string;
}

type Hidden = (...args: never[]) => unknown;

/**
 * Adds the code and where it is explained, and cuts the maker out of the stack, so that it starts where the error was
 * thrown.
 */
function coded<E extends Error>(error: E, code: string, maker: Hidden): E & CodedError {
  Error.captureStackTrace(error, maker);
  define(error, 'code', code);
  define(error, 'help', helpFor(code));
  return error as E & CodedError;
}

/** `ERR_DLPACK_BUFFER`. `cause`: why it is so, where the text itself is fixed. */
export function bufferError(message: string, aliases?: AliasCounts, cause?: string): DLPackBufferError {
  const error = new DLPackBufferError(message, cause === undefined ? { aliases } : { aliases, cause });
  Error.captureStackTrace(error, bufferError);
  return error;
}

/** `ERR_DLPACK_CONSUMED`: `Tensor already consumed`, or `Capsule already consumed`. */
export function consumedError(what: 'Tensor' | 'Capsule' = 'Tensor'): DLPackStateError {
  const error = new DLPackStateError('ERR_DLPACK_CONSUMED', `${what} already consumed`);
  Error.captureStackTrace(error, consumedError);
  return error;
}

/** `ERR_DLPACK_DISPOSED`: `Tensor already disposed`. */
export function disposedError(): DLPackStateError {
  const error = new DLPackStateError('ERR_DLPACK_DISPOSED', 'Tensor already disposed');
  Error.captureStackTrace(error, disposedError);
  return error;
}

/** `ERR_DLPACK_TOKEN`. */
export function tokenError(message: string): DLPackStateError {
  const error = new DLPackStateError('ERR_DLPACK_TOKEN', message);
  Error.captureStackTrace(error, tokenError);
  return error;
}

/** `ERR_INVALID_ARG_TYPE`, a TypeError: wrong kind or form of argument. */
export function typeError(message: string): TypeError & CodedError {
  return coded(new TypeError(message), 'ERR_INVALID_ARG_TYPE', typeError);
}

/** `ERR_OUT_OF_RANGE`, a RangeError: the right kind of argument with a value that cannot be. */
export function rangeError(message: string): RangeError & CodedError {
  return coded(new RangeError(message), 'ERR_OUT_OF_RANGE', rangeError);
}

/** `ERR_DLPACK_MEMORY`, a RangeError: there is no memory for what was asked. */
export function memoryError(message: string): RangeError & CodedError {
  return coded(new RangeError(message), 'ERR_DLPACK_MEMORY', memoryError);
}

/** `ERR_DLPACK_NOT_BUILT`: there is no binary for this platform. The message is the manual. */
export function notBuiltError(message: string, cause?: unknown): Error & CodedError {
  return coded(new Error(message, { cause }), 'ERR_DLPACK_NOT_BUILT', notBuiltError);
}

/** A value as an error message shows it: short, one line, never running code of the value's own. */
export function show(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? `'${value.slice(0, 37)}...'` : `'${value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (typeof value !== 'object' || value === null) return String(value); // number, boolean, undefined, null
  return Array.isArray(value) ? showArray(value) : 'an object';
}

function showArray(items: readonly unknown[]): string {
  const shown = items.slice(0, 8).map((item) => (Array.isArray(item) ? '[...]' : show(item)));
  return `[${shown.join(', ')}${items.length > 8 ? `, ... ${items.length - 8} more` : ''}]`;
}
