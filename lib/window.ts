/**
 * `withView`: an ArrayBuffer of its own for the duration of a function, or of the promise that it returns. While it is
 * open nothing can take the memory away: this is what native or asynchronous work must be given (an inference run, a
 * file write), since it keeps on using the memory whatever becomes of the typed array.
 */
import { check, failure, faultOf } from './call';
import type { BitsOf, DataOf, DType } from './dtype';
import { FAULT_CODES } from './faults';
import { native, TensorFlag, ViewMode, type Handle } from './native';
import { detach, isRefusal } from './staging';
import { metadataOf, type TensorBase } from './tensor-base';
import { settle, type Settled } from './thenable';
import { canStage, closeCopy, faceOf, openCopy, recordOf, refuse, stage, type Look, type ViewRecord } from './view';

/** Calls `use` with the array, and closes the window when it ends, one way or the other; then `closed` is called. */
export function throughWindow<D extends DType, R>(
  tensor: TensorBase<D>,
  handle: Handle,
  request: Look,
  use: (face: DataOf<D> | BitsOf<D>) => R,
  closed: () => void = () => undefined,
): Settled<R> {
  const metadata = metadataOf(tensor);
  if (!metadata.has(TensorFlag.Contiguous)) throw faultOf(FAULT_CODES.kNotContiguous, { operation: request.operation });
  refuse(metadata, request);
  const record = openWindow(tensor, handle, request);
  return settle(
    () => use(faceOf(record, metadata, request)),
    () => {
      closeWindow(tensor, handle, record, request);
      closed();
    },
  );
}

function openWindow<D extends DType>(tensor: TensorBase<D>, handle: Handle, { mode, operation }: Look): ViewRecord<D> {
  const metadata = metadataOf(tensor);
  if (metadata.size === 0) {
    check(native.holdWindow(handle), { operation, tensor });
    return recordOf(new ArrayBuffer(0), true);
  }
  const answer = native.openWindow(handle, mode);
  if (typeof answer !== 'number') return recordOf(answer, false);
  if (!isRefusal(answer) || !canStage(metadata, mode)) throw failure(answer, { operation, tensor });
  const make = (): ViewRecord<D> => stage(tensor, handle, metadata, operation);
  const record = mode === ViewMode.Writable ? openCopy(tensor, handle, make) : make();
  check(native.holdWindow(handle), { operation, tensor });
  return record;
}

function closeWindow(tensor: TensorBase, handle: Handle, record: ViewRecord, { mode, operation }: Look): void {
  const { buffer, staged } = record;
  if (!staged) return check(native.closeWindow(handle, buffer), { operation, tensor });
  const writes = mode === ViewMode.Writable && buffer.byteLength !== 0;
  try {
    // Over no bytes there are none; of a buffer that the user moved away went with it what he wrote.
    if (writes) check(native.writeSpan(handle, new Uint8Array(buffer)), { operation, tensor });
  } finally {
    check(native.dropWindow(handle), { operation, tensor });
    if (mode !== ViewMode.Writable || closeCopy(tensor, handle)) detach(buffer);
  }
}
