/** The end of a tensor: explicit and immediate. The collector is only the safety net for what nobody disposed. */
import { failure } from './call';
import { setField } from './fields';
import { release } from './hot-calls';
import { handleOf, State, stateKey, stateOf, type TensorBase } from './tensor-base';
import { dropView } from './view';

/**
 * Drops the alias and detaches the view. Does nothing on a tombstone.
 * @throws BufferError while a window (`withView`) or a loan is open; nothing has changed then
 */
export function disposeTensor(tensor: TensorBase): void {
  const handle = handleOf(tensor);
  if (stateOf(tensor) !== State.Live) return;
  const status = release(handle);
  if (status < 0) throw failure(status, { operation: 'dispose', tensor });
  entomb(tensor, State.Disposed);
}

/** What is left is the metadata. The handle is dead natively. */
export function entomb(tensor: TensorBase, state: State.Consumed | State.Disposed): void {
  setField(tensor, stateKey, state);
  dropView(tensor);
}
