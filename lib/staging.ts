/**
 * Runtimes that forbid ArrayBuffers over memory that is not the engine's own (Electron, and whatever the debug switch
 * simulates): what would be a view is a JavaScript buffer with a copy of the bytes there.
 *
 * Rule: whether the runtime forbids them is found out by trying, once, since no runtime says so. What breaks without
 * this file: `view()`, `data` and `withView` all fail on Electron.
 */
import { FAULT_CODES } from './faults';
import { native, scratch, Slot, ViewMode, type Handle } from './native';

let forbidden: boolean | undefined;

/** Does looking at bytes copy them here? */
export function mustStage(): boolean {
  return (forbidden ??= probe());
}

/** Is it the answer of a runtime that forbids them? */
export function isRefusal(status: number): boolean {
  if (-status !== FAULT_CODES.kNoExternalBuffers) return false;
  forbidden = true;
  return true;
}

/**
 * Opens a view of one byte and looks. Where the probe itself fails (no memory), nothing was learned and the answer is
 * that of most runtimes.
 */
function probe(): boolean {
  const UINT8 = 1 | (8 << 8);
  scratch[Slot.Input] = 1;
  const handle = native.allocate(1, UINT8);
  if (handle < 0) return false;
  native.ring[scratch[Slot.Ring] ?? 0] = {};
  const view = native.view(handle as Handle, ViewMode.Writable);
  native.release(handle as Handle);
  return typeof view === 'number' && isRefusal(view);
}

/** Makes a staging buffer unusable, as the end of a real view would; one that the user moved away is so already. */
export function detach(buffer: ArrayBuffer): void {
  if (buffer.byteLength === 0) return; // Node 22 and later refuse to transfer a detached buffer
  structuredClone(buffer, { transfer: [buffer] });
}
