/**
 * `scope(fn)`: everything made inside is disposed at the end, except what is returned.
 *
 * Only synchronous functions can have a scope: with an asynchronous one, whatever else runs meanwhile would be caught
 * in it. While no scope is open, making a tensor costs one comparison for it.
 */
import { types } from 'node:util';
import { show, typeError } from './errors';
import { disposeTensor } from './lifetime';
import { CAPSULE_NAMES, native } from './native';
import type { DLPackCapsule } from './protocol';
import { isArray } from './shape';
import { isTensorBase, State, stateOf, type TensorBase } from './tensor-base';
import { isThenable } from './thenable';

/** A scope keeps what it was told of until it ends; at this many objects it first forgets what was disposed inside. */
const FIRST_SWEEP = 1024;

class Scope {
  #tensors: TensorBase[] = [];
  #capsules: DLPackCapsule[] = [];
  #sweepAt = FIRST_SWEEP;

  constructor(readonly outer: Scope | undefined) {}

  addTensor(tensor: TensorBase): void {
    this.#tensors.push(tensor);
    if (this.#tensors.length + this.#capsules.length >= this.#sweepAt) this.#sweep();
  }

  addCapsule(capsule: DLPackCapsule): void {
    this.#capsules.push(capsule);
    if (this.#tensors.length + this.#capsules.length >= this.#sweepAt) this.#sweep();
  }

  /**
   * Disposes everything, last made first, but for what is kept, which passes to the outer scope.
   * @throws the first error, after all the rest
   */
  end(kept: ReadonlySet<unknown>): void {
    const errors: unknown[] = [];
    for (let i = this.#tensors.length - 1; i >= 0; i--) {
      const tensor = this.#tensors[i];
      if (tensor === undefined) continue;
      if (kept.has(tensor)) {
        this.outer?.addTensor(tensor);
        continue;
      }
      try {
        disposeTensor(tensor);
      } catch (error) {
        errors.push(error);
      }
    }
    for (const capsule of this.#capsules) {
      if (kept.has(capsule)) this.outer?.addCapsule(capsule);
      else native.releaseCapsule(capsule);
    }
    if (errors.length > 0) throw errors[0];
  }

  #sweep(): void {
    this.#tensors = this.#tensors.filter((tensor) => stateOf(tensor) === State.Live);
    this.#capsules = this.#capsules.filter((capsule) => !isUsed(capsule));
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * (this.#tensors.length + this.#capsules.length));
  }
}

let innermost: Scope | undefined;

/** Tells the open scope, if there is one, of a tensor that was made. */
export function track(tensor: TensorBase): void {
  if (innermost !== undefined) innermost.addTensor(tensor);
}

/** The same for a capsule. */
export function trackCapsule(capsule: DLPackCapsule): void {
  if (innermost !== undefined) innermost.addCapsule(capsule);
}

/**
 * Runs `fn` and disposes every tensor and capsule that was made inside, except those that it returns: directly, or in
 * plain arrays and objects, however deep. What it returns passes to the scope around this one, if there is one. When
 * `fn` throws, all are disposed.
 *
 * ```ts
 * const first = scope(() => {
 *   const columns = Tensor.from([[1, 2], [3, 5]]).transpose(); // both tensors end with the scope
 *   return columns.slice(0).copy(); // what is returned does not
 * });
 * console.log(first.data.join(' '), stats().tensors); // -> 1 3 1
 * ```
 *
 * @param fn synchronous. Asynchronous code uses `using`, `withView` and `lend`
 * @returns what `fn` returned
 * @throws what `fn` throws; TypeError (`ERR_INVALID_ARG_TYPE`) when `fn` is not a function or returns a thenable (all
 *   are disposed then); BufferError (`ERR_DLPACK_BUFFER`) when something made inside cannot be disposed since a window
 *   (`withView`) or a loan over it is still open (everything else is)
 */
export function scope<R>(fn: () => R extends PromiseLike<unknown> ? never : R): R {
  if (typeof fn !== 'function') throw typeError(`scope was called with ${show(fn)}; it takes a function`);
  const current = new Scope(innermost);
  innermost = current;
  let result: R;
  let kept: ReadonlySet<unknown>;
  try {
    result = fn();
    refuseThenable(result);
    kept = tensorsIn(result);
  } catch (error) {
    innermost = current.outer;
    try {
      current.end(new Set());
    } catch {
      // The error that is already on its way says more.
    }
    throw error;
  }
  innermost = current.outer;
  current.end(kept);
  return result;
}

function refuseThenable(result: unknown): void {
  if (!isThenable(result)) return;
  // A promise will most likely reject, as its tensors are gone; the TypeError is the report of that, an unhandled
  // rejection would end the process. Other thenables are let be: they may only begin their work when they are asked.
  if (types.isPromise(result)) void Promise.prototype.then.call(result, undefined, () => undefined);
  throw typeError(
    'scope: fn returned a promise; a scope ends with its function, so it must be synchronous. ' +
      'Use using, withView or lend in async code',
  );
}

/**
 * The objects in a result, the tensors and capsules among them. Plain containers are searched, each once; results can
 * be large (`toArray()`), so neither recursion nor argument lists are used.
 */
function tensorsIn(result: unknown): ReadonlySet<unknown> {
  const seen = new Set<unknown>();
  const waiting: object[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    waiting.push(value);
  };
  visit(result);
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (isTensorBase(value)) continue;
    // What is there, not what lies between: an array may have billions of holes.
    if (isArray(value) || isPlainObject(value)) Object.values(value).forEach(visit);
  }
  return seen;
}

/** Made by `{}` in any realm, or without a prototype. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || (typeof prototype === 'object' && Object.getPrototypeOf(prototype) === null);
}

function isUsed(capsule: DLPackCapsule): boolean {
  return CAPSULE_NAMES[native.capsuleState(capsule)]?.startsWith('used') === true;
}
