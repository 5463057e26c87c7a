/**
 * When an owner may be worked with: it is alive and not lent. And where its `data` is a staging buffer, what each side
 * wrote must reach the other: before native reads the memory, and after it wrote there.
 */
import { check, faultOf } from './call';
import { FAULT_CODES } from './faults';
import { isLive } from './hot-calls';
import { endLoan, loanOf } from './lend';
import { native, type Handle } from './native';
import { handleOf, liveHandle, LoanState, metadataOf, surelyLiveHandle, type TensorBase } from './tensor-base';
import { standIn, viewOf, wasMovedAway } from './view';

/**
 * The handle of an owner that may be worked with: alive, not lent, and with what was written into a staging buffer
 * written back.
 * @throws DLPackStateError on a tombstone; BufferError while it is lent
 */
export function freeHandle(owned: TensorBase, operation: string): Handle {
  const handle = liveHandle(owned);
  if (!isLive(handle)) surelyLiveHandle(owned);
  if (loanOf(owned) === LoanState.None) {
    writeBack(owned, operation);
  } else {
    endLoan(owned, handle, operation);
    readBack(owned, operation); // the loan may have written, so its bytes are the newer ones
  }
  return handle;
}

/**
 * The same, when the memory is about to leave.
 * @throws BufferError while a window is open, or when the bytes of `data` were moved away
 */
export function movableHandle(owned: TensorBase, operation: string): Handle {
  // Where nothing is lent and no copy stands in, there is nothing that native does not ask in the call that follows.
  if (loanOf(owned) === LoanState.None && standIn(owned) === undefined) return liveHandle(owned);
  const handle = freeHandle(owned, operation);
  const record = viewOf(owned);
  if (record?.staged === true && wasMovedAway(record.buffer, metadataOf(owned))) {
    throw faultOf(FAULT_CODES.kMovedAway, { operation });
  }
  return handle;
}

/** What the user wrote into the copy that stands for the memory reaches it. Where views are real it costs nothing. */
export function writeBack(owned: TensorBase, operation: string): void {
  const bytes = stagedBytes(owned);
  if (bytes === undefined) return;
  check(native.writeSpan(handleOf(owned), bytes), { operation, tensor: owned });
}

/** What native wrote reaches that copy. */
export function readBack(owned: TensorBase, operation: string): void {
  const bytes = stagedBytes(owned);
  if (bytes === undefined) return;
  check(native.readSpan(handleOf(owned), bytes), { operation, tensor: owned });
}

/** The copy that stands in, unless there is none, or the user moved it away: what he wrote went with it. */
function stagedBytes(owned: TensorBase): Uint8Array | undefined {
  const record = standIn(owned);
  if (record === undefined || wasMovedAway(record.buffer, metadataOf(owned))) return undefined;
  return new Uint8Array(record.buffer);
}
