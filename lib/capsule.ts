/**
 * Capsules as JavaScript sees them: opaque objects whose one visible property is which struct they hold, and whether
 * they still do.
 */
import { check } from './call';
import { CAPSULE_NAMES, native } from './native';

/** The names that DLPack gives capsules. A used one has been consumed or released. */
export type CapsuleName = 'dltensor' | 'dltensor_versioned' | 'used_dltensor' | 'used_dltensor_versioned';

/**
 * The name of a DLPack capsule, or undefined for anything else, other addons' Externals included (whose pointer is not
 * read).
 *
 * ```ts
 * const capsule = Tensor.from([1]).__dlpack__(); // no version asked for: the legacy struct
 * console.log(capsuleName(capsule), capsuleName({})); // -> dltensor undefined
 * ```
 */
export function capsuleName(x: unknown): CapsuleName | undefined {
  return CAPSULE_NAMES[native.capsuleState(x)];
}

/**
 * Releases a capsule that nobody consumed: its struct's deleter runs now instead of at its collection. Does nothing to
 * a used one.
 *
 * ```ts
 * const tensor = Tensor.from([1]);
 * const capsule = tensor.__dlpack__({ max_version: [1, 3] });
 * releaseCapsule(capsule); // nobody wants it after all
 * console.log(tensor.isUnique, capsuleName(capsule)); // -> true used_dltensor_versioned
 * ```
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when it is not a DLPack capsule
 */
export function releaseCapsule(x: unknown): void {
  check(native.releaseCapsule(x), { operation: 'releaseCapsule' });
}
