/**
 * NODE_DLPACK_DEBUG: a comma-separated list of switches, read once, when the library is loaded in a process.
 *
 * - `protect`: memory shared as Tensor lies on read-only pages of its own, so that a write through a view becomes a
 *   fault at its line.
 * - `no-external-buffers`: the library behaves as on a runtime that forbids external ArrayBuffers (Electron).
 * - `leaks`: at the end of the process, what is still alive and which line made it, on stderr.
 */
import { reportLeaks } from './leaks';
import { Config, native } from './native';

/** What is switched on natively, and what runs here. */
const SWITCHES: Readonly<Record<string, Config | (() => void)>> = {
  protect: Config.ProtectPages,
  'no-external-buffers': Config.NoExternalBuffers,
  leaks: reportLeaks,
};

/**
 * Must run before the first allocation. A name that is no switch gets a warning: a typing error would otherwise switch
 * nothing on, in silence.
 */
export function applyDebugSwitches(list: string | undefined): void {
  let config = 0;
  for (const name of (list ?? '').split(',').map((item) => item.trim())) {
    const found = Object.hasOwn(SWITCHES, name) ? SWITCHES[name] : undefined;
    if (typeof found === 'function') found();
    else if (found !== undefined) config |= found;
    else if (name !== '')
      process.emitWarning(`NODE_DLPACK_DEBUG names '${name}'; the switches are ${Object.keys(SWITCHES).join(', ')}`);
  }
  if (config !== 0) native.configure(config);
}
