/**
 * Tokens: memory on its way to another thread of this process, or to another language in it. A token is a plain string,
 * so anything carries it; the table behind it is native and knows no environment, so the sender may end first.
 *
 * A token is good for one claim. Until then it counts as an alias of the memory (`intoDLPack()` refuses, a loan does not
 * end), and it is no tensor: a scope that ends leaves it.
 */
import { check, failure, isHandle } from './call';
import { rangeError, show, typeError } from './errors';
import { entomb } from './lifetime';
import { makeOwned, makeTensor } from './make';
import { native, type Handle } from './native';
import type { AnyOwnedTensor } from './owned-tensor';
import { isOptions } from './protocol';
import type { AnyTensor } from './tensor';
import { State, surelyLiveHandle, type TensorBase } from './tensor-base';

/** The options of `share` and `transfer`. */
export interface TokenOptions {
  /** For how many milliseconds the token can be claimed; 60,000 by default. */
  readonly ttl?: number | undefined;
}

const DEFAULT_TTL = 60_000;

/** @throws TypeError for options that are no object or a ttl that is no number; RangeError for one that cannot be */
function parseTtl(options: unknown, operation: string): number {
  if (options === undefined) return DEFAULT_TTL;
  if (!isOptions(options))
    throw typeError(`${operation} was given ${show(options)} as options; it takes an object: { ttl }`);
  const { ttl } = options;
  if (ttl === undefined) return DEFAULT_TTL;
  if (typeof ttl !== 'number') throw typeError(`ttl is ${show(ttl)}; it must be a number of milliseconds`);
  if (!Number.isSafeInteger(ttl) || ttl < 1)
    throw rangeError(`ttl is ${ttl}; it must be a whole number of milliseconds, at least 1`);
  return ttl;
}

function parseToken(token: unknown, operation: string): string {
  if (typeof token === 'string') return token;
  throw typeError(
    `${operation} was given ${show(token)}; it takes a token, the string that share() or transfer() returned`,
  );
}

export function shareToken(tensor: TensorBase, options: unknown): string {
  const operation = 'share';
  surelyLiveHandle(tensor);
  const ttl = parseTtl(options, operation);
  const answer = native.shareToken(surelyLiveHandle(tensor), ttl);
  if (typeof answer === 'number') throw failure(answer, { operation, tensor });
  return answer;
}

/** `ready`: what must be done, or refused, right before the memory leaves; answers the handle. */
export function transferToken(owned: TensorBase, options: unknown, ready: () => Handle): string {
  const operation = 'transfer';
  const ttl = parseTtl(options, operation);
  const handle = ready();
  const answer = native.transferToken(handle, ttl);
  if (typeof answer === 'number') throw failure(answer, { operation, tensor: owned });
  entomb(owned, State.Consumed);
  return answer;
}

export function claimShared(token: unknown): AnyTensor {
  const operation = 'Tensor.fromShared';
  const answer = native.claimShared(parseToken(token, operation));
  if (!isHandle(answer)) throw failure(answer, { operation });
  // Which dtype it has is known at run time alone.
  return makeTensor(answer) as AnyTensor;
}

export function claimTransfer(token: unknown): AnyOwnedTensor {
  const operation = 'OwnedTensor.fromTransfer';
  const answer = native.claimTransfer(parseToken(token, operation));
  if (!isHandle(answer)) throw failure(answer, { operation });
  return makeOwned(answer) as AnyOwnedTensor;
}

/**
 * Gives up a token that nobody has claimed, and with it the reference that it stands for: the memory of a `transfer()`
 * is freed.
 *
 * ```ts
 * const tensor = Tensor.from([1, 2, 3]);
 * const token = tensor.share();
 * revokeToken(token); // the worker that should have claimed it is gone
 * console.log(tensor.isUnique); // -> true
 * ```
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when it is no string; DLPackStateError (`ERR_DLPACK_TOKEN`) when it is
 *   unknown in this process, was claimed or revoked before, or has expired
 */
export function revokeToken(token: string): void {
  const operation = 'revokeToken';
  check(native.revokeToken(parseToken(token, operation)), { operation });
}
