/**
 * `node-dlpack/python`: where the Python module lies, for any embedder that runs Python in this process. Tokens are
 * plain strings, so strings are all that has to cross: `tensor.share()` here and `node_dlpack.claim(token)` there, or
 * `node_dlpack.offer(array)` there and `Tensor.fromShared(token)` here.
 * @module node-dlpack/python
 */
import path = require('node:path');
import { native } from './native';

/** The folder to put on `sys.path`; the module in it is `node_dlpack`. */
export const pythonPath: string = path.join(__dirname, '..', 'python');

/** The addon as it is loaded in this process, which `node_dlpack.attach(addonPath)` finds. */
export const addonPath: string = native.addonPath;

/**
 * Both, as Python source: run it once, in the interpreter, before the first token. Raises there what `attach` raises.
 */
export const bootstrap: string = [
  'import sys',
  `sys.path.insert(0, ${pythonText(pythonPath)})`,
  'import node_dlpack',
  `node_dlpack.attach(${pythonText(addonPath)})`,
  '',
].join('\n');

/** A string as Python source: what JSON escapes, Python reads the same way. */
function pythonText(value: string): string {
  return JSON.stringify(value);
}
