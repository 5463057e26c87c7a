/**
 * `node-dlpack/files`: tensors in files, read straight into native memory and written from it. Strict readers: what a
 * file does not say clearly is an error that names the place, never a guess.
 * @module node-dlpack/files
 */
export { readNpy, toNpy, writeNpy, type ReadNpyOptions } from './npy';
export { readSafetensors, type ReadSafetensorsOptions, type Safetensors } from './safetensors';
export type { FileSource, FileUrl } from './source';
