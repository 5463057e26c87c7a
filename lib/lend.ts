/**
 * Loans: an owner's memory as a Tensor, for as long as a function (or its promise) runs. The only way in which memory
 * is writable and shared, and it ends: the owner cannot be touched meanwhile, and everything made from the loan on this
 * thread is gone afterwards.
 *
 * If a consumer elsewhere still holds the memory when the function returns, the owner stays locked; each use tries to
 * end the loan again.
 */
import { failure, faultOf, isHandle } from './call';
import { show, typeError } from './errors';
import type { DType } from './dtype';
import { fieldsOf, setField } from './fields';
import { FAULT_CODES } from './faults';
import { makeUntrackedTensor } from './make';
import { native, type Handle } from './native';
import type { OwnedTensor } from './owned-tensor';
import { isOptions } from './protocol';
import type { Tensor } from './tensor';
import { loanKey, LoanState, type TensorBase } from './tensor-base';
import { settle, type Settled } from './thenable';
import { parseFlag } from './view';

/** Of an owner; undefined for what is none. */
export function loanOf(owned: TensorBase): LoanState | undefined {
  return fieldsOf(owned)[loanKey];
}

/** The options of `lend`. */
export interface LendOptions {
  /** true: the loan's exports carry no READ_ONLY flag, and consumers may write. Default false. */
  readonly writable?: boolean | undefined;
}

/** @throws TypeError for options that are no object or a `writable` that is no boolean */
export function parseLendOptions(options: unknown): boolean {
  if (options === undefined) return false;
  if (!isOptions(options))
    throw typeError(`lend was given ${show(options)} as options; it takes an object: { writable }`);
  return parseFlag(options['writable'], 'writable');
}

/** `ended`: called when the memory is the owner's again. */
export function lendTo<D extends DType, R>(
  owned: OwnedTensor<D>,
  handle: Handle,
  writable: boolean,
  fn: (loan: Tensor<D>) => R,
  ended: () => void,
): Settled<R> {
  const answer = native.lendBegin(handle, writable);
  if (!isHandle(answer)) throw failure(answer, { operation: 'lend', tensor: owned });
  const loan = makeUntrackedTensor<D>(answer);
  setField(owned, loanKey, LoanState.Running);
  return settle(
    () => fn(loan),
    () => {
      setField(owned, loanKey, LoanState.Ending);
      endLoan(owned, handle, 'lend');
      ended();
    },
  );
}

/**
 * Unlocks the owner if the loan can end.
 * @throws BufferError while it is lent
 */
export function endLoan(owned: TensorBase, handle: Handle, operation: string): void {
  if (loanOf(owned) === LoanState.Running) throw faultOf(FAULT_CODES.kLent, { operation });
  const status = native.lendEnd(handle);
  if (status < 0) throw failure(status, { operation, tensor: owned });
  setField(owned, loanKey, LoanState.None);
}

/** For who only asks: unlocks an owner whose function has ended, if the loan can end by now. */
export function tryEndLoan(owned: TensorBase, handle: Handle): boolean {
  if (native.lendEnd(handle) < 0) return false;
  setField(owned, loanKey, LoanState.None);
  return true;
}
