/** `readSafetensors`: named tensors in one file, as model weights are published. */
import { endianness } from 'node:os';
import { bufferError, rangeError, show, typeError } from '../errors';
import { isOptions } from '../protocol';
import { eachIs, isArray } from '../shape';
import type { AnyTensor } from '../tensor';
import { quote } from './npy-header';
import { readSafetensorsHeader, type SafetensorsHeader } from './safetensors-header';
import { withSource, type FileSource, type OpenSource } from './source';

/** What to read of a file. */
export interface ReadSafetensorsOptions {
  /** These tensors alone; all by default. */
  readonly names?: readonly string[] | undefined;
}

/** What is in a safetensors file. */
export interface Safetensors {
  /** By name. `scope` disposes them, or lets them pass when this object is returned. */
  readonly tensors: Readonly<Record<string, AnyTensor>>;
  /** What the writer noted, text by text; empty where there is nothing. */
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The tensors in a safetensors file, each in aligned native memory of its own, whatever the alignment in the file. A
 * file on disk is read once, straight there, and only what was asked for; bytes are copied (`zeroCopy` is false).
 *
 * ```ts
 * const header = '{"bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}';
 * const file = Buffer.concat([Buffer.from([header.length, 0, 0, 0, 0, 0, 0, 0]), Buffer.from(header), Buffer.alloc(8)]);
 * const { tensors } = readSafetensors(file, { names: ['bias'] }); // or a path: 'model.safetensors'
 * console.log(tensors['bias']?.dtype, tensors['bias']?.shape); // -> float32 [ 2 ]
 * ```
 *
 * @param source a path, a `file:` URL, or the bytes of a file
 * @param options `{ names }`: these tensors alone
 * @throws BufferError (`ERR_DLPACK_BUFFER`) that names the file, the tensor and what is wrong: a header that is no JSON
 *   or too long, unknown dtypes and packed ones, offsets that overlap, leave gaps, pass the end or differ from what the
 *   shape says. All of this is found before the bytes of any tensor are read. RangeError (`ERR_OUT_OF_RANGE`) for a
 *   name that is not in the file; what `fs` throws, as it is; TypeError (`ERR_INVALID_ARG_TYPE`) for arguments that
 *   cannot be; RangeError (`ERR_DLPACK_MEMORY`) without memory
 */
export function readSafetensors(source: FileSource, options?: ReadSafetensorsOptions): Safetensors {
  const names = parseNames(options);
  return withSource(source, 'readSafetensors', (open) => {
    if (endianness() !== 'LE') throw bufferError(`${open.name}: safetensors are little-endian; this machine is not`);
    const header = readSafetensorsHeader(open);
    const known = new Set(header.entries.map(({ name }) => name));
    const missing = names?.find((name) => !known.has(name));
    if (missing !== undefined) {
      throw rangeError(`names has ${show(missing)}; ${open.name} has ${[...known].slice(0, 8).map(quote).join(', ')}`);
    }
    const wanted = names === undefined ? known : new Set(names);
    return { tensors: readTensors(open, header, wanted), metadata: header.metadata };
  });
}

function parseNames(options: unknown): readonly string[] | undefined {
  if (options === undefined) return undefined;
  if (!isOptions(options)) throw typeError(`options is ${show(options)}; it must be an object: { names }`);
  const { names } = options;
  if (names === undefined) return undefined;
  if (!isArray(names) || !eachIs(names, (name) => typeof name === 'string')) {
    throw typeError(`names is ${show(names)}; it must be an array of strings`);
  }
  return names;
}

function readTensors(
  source: OpenSource,
  { entries }: SafetensorsHeader,
  wanted: ReadonlySet<string>,
): Readonly<Record<string, AnyTensor>> {
  // Names come from the file: without a prototype none of them means something else.
  const tensors = Object.create(null) as Record<string, AnyTensor>;
  try {
    for (const { name, begin, shape, dtype } of entries) {
      if (wanted.has(name)) tensors[name] = source.tensor(begin, shape, dtype.name) as AnyTensor;
    }
    return tensors;
  } catch (error) {
    for (const tensor of Object.values(tensors)) tensor.dispose();
    throw error;
  }
}
