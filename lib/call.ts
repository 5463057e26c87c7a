/**
 * What a native call answered: a handle, an object, or a fault that becomes an error. The values of a fault stand in
 * the scratch memory only until the next call, so whoever gets a negative number comes here at once.
 */
import type { DType } from './dtype';
import type { AliasCounts } from './errors';
import { fieldsOf } from './fields';
import { faultError, type FaultValues } from './faults';
import { slot } from './metadata';
import { scratchBits, Slot, type Handle, type Status } from './native';
import { loanKey, LoanState, State, stateOf, type TensorBase } from './tensor-base';

/** What was going on, for the words of an error. */
export interface CallContext {
  /** The public function, as the text shall name it. */
  readonly operation: string;
  /** Whose numbers may be wrong: the caller's (RangeError) or those of a struct from outside (BufferError). */
  readonly about?: 'argument' | 'struct' | undefined;
  /** The tensor that was asked: says what became of a stale handle. */
  readonly tensor?: TensorBase | undefined;
  readonly dtype?: DType | undefined;
  readonly shape?: readonly number[] | undefined;
}

export function isHandle(result: Handle | Status): result is Handle {
  return result > 0;
}

/** The error for a negative answer, to be thrown by the caller. Must be called before anything else runs. */
export function failure(status: Status, context: CallContext): Error {
  return faultError(-status, readFaultValues(), {
    operation: context.operation,
    about: context.about,
    state: context.tensor !== undefined && stateOf(context.tensor) === State.Consumed ? 'consumed' : 'disposed',
    dtype: context.dtype,
    shape: context.shape,
    loanEnding: context.tensor !== undefined && fieldsOf(context.tensor)[loanKey] === LoanState.Ending,
  });
}

/** @throws the error of a fault */
export function check(status: Status, context: CallContext): void {
  if (status < 0) throw failure(status, context);
}

/** For what JavaScript finds out by itself, in the words that native's answer would get. */
export function faultOf(code: number, context: Omit<CallContext, 'tensor'>, values: Partial<FaultValues> = {}): Error {
  return faultError(code, { index: 0, value: 0n, limit: 0n, ...values }, context);
}

function readFaultValues(): FaultValues {
  return {
    index: slot(Slot.FaultIndex),
    value: scratchBits[Slot.FaultValue] ?? 0n,
    limit: scratchBits[Slot.FaultLimit] ?? 0n,
    aliases: readAliases(),
  };
}

function readAliases(): AliasCounts {
  return {
    tensors: slot(Slot.Aliases),
    exports: slot(Slot.Aliases + 1),
    views: slot(Slot.Aliases + 2),
    tokens: slot(Slot.Aliases + 3),
  };
}
