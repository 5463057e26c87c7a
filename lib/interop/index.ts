/**
 * `node-dlpack/interop`: the arrays of JavaScript libraries, in and out in one call.
 *
 * `fromX(array, { copy })` makes a tensor: one copy into native memory by default, none with `copy: false`.
 * `toX(tensor, library, { copy })` gives the library's own object over the tensor's memory, without a copy wherever it
 * takes typed arrays. `withX(tensor, library, fn)` does that for as long as `fn` or its promise runs, for libraries
 * that work in other threads. No library is a dependency: each is recognised by its shape, and brought by the caller.
 * @module node-dlpack/interop
 */
export { fromArrow, toArrow, type ArrowDType, type ArrowLibrary, type ArrowVector, type DTypeOfArrow } from './arrow';
export { fromImageData, toImageData, type ImageDataLibrary, type ImageDataLike, type PlainImage } from './image-data';
export type { FromOptions, Incoming } from './incoming';
export {
  fromBuffer,
  fromDataView,
  fromWasm,
  toBuffer,
  toDataView,
  toWasm,
  type BytesOptions,
  type ToWasmOptions,
  type WasmMemory,
} from './memory';
export { fromNdarray, toNdarray, type Ndarray, type NdarrayDType, type NdarrayLibrary } from './ndarray';
export {
  fromOrt,
  toOrt,
  withOrt,
  type DTypeOfOrt,
  type OrtDType,
  type OrtElements,
  type OrtLibrary,
  type OrtTensor,
} from './ort';
export type { AnySource, Elements, Source, ToOptions } from './outgoing';
export {
  fromSharp,
  toSharp,
  withSharp,
  type FromSharpOptions,
  type SharpDType,
  type SharpLibrary,
  type SharpOutput,
  type SharpPixels,
  type SharpRaw,
} from './sharp';
export { fromStdlib, toStdlib, type StdlibDType, type StdlibLibrary, type StdlibNdarray } from './stdlib';
export { fromTfjs, toTfjs, type TfjsDType, type TfjsElements, type TfjsLibrary, type TfjsTensor } from './tfjs';
export {
  fromZarrita,
  toZarrita,
  type DTypeOfZarrita,
  type ZarritaChunk,
  type ZarritaData,
  type ZarritaLibrary,
  type ZarritaSource,
} from './zarrita';
