/**
 * Functions that borrow something for as long as they run, synchronously or until the promise that they return has
 * settled.
 */

/** What comes back: the result itself, or a promise of it. */
export type Settled<R> = R extends PromiseLike<unknown> ? Promise<Awaited<R>> : R;

/**
 * Runs `use`, then `end` exactly once: at its return, at its throw, or when the thenable that it returned settles. An
 * error of `use` wins over one of `end`; the result of `use` is passed on otherwise.
 *
 * A thenable's `then` is called once only: some (query builders) start their work anew at every call. What it calls
 * back with counts once only, too: a second callback would end what somebody else has begun since, a running loan for
 * one. Promises are no exception, as anybody may give one a `then` of its own.
 */
export function settle<R>(use: () => R, end: () => void): Settled<R> {
  let result: R;
  let pending: boolean;
  try {
    result = use();
    pending = isThenable(result);
  } catch (error) {
    endQuietly(end);
    throw error;
  }
  if (!pending) {
    end();
    return result as Settled<R>;
  }
  return new Promise((resolve) => resolve(result)).then(
    (value) => {
      end();
      return value;
    },
    (error: unknown) => {
      endQuietly(end);
      throw error;
    },
  ) as Settled<R>;
}

/** Anything with a `then` function; reading it may run code of the value's own. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    typeof Reflect.get(value, 'then') === 'function'
  );
}

function endQuietly(end: () => void): void {
  try {
    end();
  } catch {
    // The error that is already on its way says more.
  }
}
