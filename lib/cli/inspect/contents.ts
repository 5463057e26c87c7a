/** A file becomes a tensor, or a list of those in it. */
import { closeSync, openSync, readSync } from 'node:fs';
import path = require('node:path');
import type { DType } from '../../dtype';
import { readNpy, readSafetensors } from '../../files';
import { readSafetensorsHeader } from '../../files/safetensors-header';
import { withSource } from '../../files/source';
import { fromSharp } from '../../interop/sharp';
import type { Tensor } from '../../tensor';
import { UsageError } from '../arguments';
import { requireFrom } from '../peers';

export interface Entry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly byteLength: number;
}

export interface Contents {
  readonly file: string;
  readonly format: string;
  /** Of the tensor within the file. */
  readonly name?: string | undefined;
  /** Undefined where there are several. */
  readonly tensor?: Tensor | undefined;
  /** Of a file with several. */
  readonly entries: readonly Entry[];
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Wanted {
  readonly tensor: string | undefined;
  readonly dtype: DType | undefined;
}

/** @throws UsageError for an option that the kind of file has no use for; what the readers throw */
export async function openFile(file: string, wanted: Wanted): Promise<Contents> {
  const kind = kindOf(file);
  if (kind !== 'npy' && wanted.dtype !== undefined) throw new UsageError('--dtype is for .npy files');
  if (kind !== 'safetensors' && wanted.tensor !== undefined) throw new UsageError('--tensor is for .safetensors files');
  if (kind === 'npy') {
    const tensor: Tensor = readNpy(file, wanted.dtype === undefined ? {} : { dtype: wanted.dtype });
    return { file, format: 'npy', tensor, entries: [], metadata: {} };
  }
  return kind === 'safetensors' ? openSafetensors(file, wanted.tensor) : openPicture(file);
}

const NPY_MAGIC = Buffer.from('\x93NUMPY', 'latin1');

function kindOf(file: string): 'npy' | 'safetensors' | 'picture' {
  const head = Buffer.alloc(NPY_MAGIC.length);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, head, 0, head.length, 0);
  } finally {
    closeSync(descriptor);
  }
  const extension = path.extname(file).toLowerCase();
  if (head.equals(NPY_MAGIC) || extension === '.npy') return 'npy';
  return extension === '.safetensors' ? 'safetensors' : 'picture';
}

function openSafetensors(file: string, wanted: string | undefined): Contents {
  const { entries, metadata } = withSource(file, 'inspect', readSafetensorsHeader);
  const listed = entries.map(({ name, dtype, shape, byteLength }) => ({ name, dtype: dtype.name, shape, byteLength }));
  const name = wanted ?? (entries.length === 1 ? entries[0]?.name : undefined);
  const format = 'safetensors';
  if (name === undefined) return { file, format, entries: listed, metadata };
  const { tensors } = readSafetensors(file, { names: [name] });
  return { file, format, name, tensor: tensors[name], entries: listed, metadata };
}

/** As much of sharp as is used. */
type Sharp = (file: string) => { raw(): { toBuffer(options: { resolveWithObject: true }): Promise<unknown> } };

async function openPicture(file: string): Promise<Contents> {
  let sharp: unknown;
  try {
    sharp = requireFrom(process.cwd())('sharp');
  } catch (error) {
    throw new Error(
      `${file} is neither an .npy nor a .safetensors file. For pictures sharp must be installed in this folder ` +
        `(npm install sharp): ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`,
      { cause: error },
    );
  }
  // What it gives is checked by fromSharp.
  const output = await (sharp as Sharp)(file).raw().toBuffer({ resolveWithObject: true });
  const tensor: Tensor = fromSharp(output as Parameters<typeof fromSharp>[0]);
  return { file, format: 'pixels, by sharp', tensor, entries: [], metadata: {} };
}
