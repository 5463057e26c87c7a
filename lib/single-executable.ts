/**
 * Single executable applications: a library of the system is loaded from a file, and such a program is one file. The
 * binary travels as its asset `node_dlpack.node`, and is written to the folder for temporary files when it is needed.
 *
 * Every thread must load the same file, or there would be two copies of what is one in each process; so the path follows
 * from the content. Others can write to that folder too: what lies there is believed only if it is ours and says what
 * the asset says.
 */
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path = require('node:path');

/** What Node offers of `node:sea`, as far as it is needed. */
interface Sea {
  isSea(): boolean;
  getRawAsset(key: string): ArrayBuffer;
}

/** undefined where this is no single executable application, or it has no such asset. */
function assetOf(name: string): Buffer | undefined {
  try {
    const sea = require('node:sea') as Sea; // Node 20.12
    return sea.isSea() ? Buffer.from(sea.getRawAsset(name)) : undefined;
  } catch {
    return undefined;
  }
}

function isSame(file: string, bytes: Buffer): boolean {
  try {
    return readFileSync(file).equals(bytes);
  } catch {
    return false;
  }
}

/**
 * Writes `bytes` to a file `name` that nobody else can change, unless it is there from before.
 *
 * @param parent the folder for temporary files; a parameter for tests
 * @returns the path of the file
 * @throws Error when a folder of that name belongs to somebody else, or cannot be made
 */
export function extract(name: string, bytes: Buffer, parent = tmpdir()): string {
  const user = process.getuid?.();
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const folder = path.join(parent, `node-dlpack-${user ?? 'user'}-${digest}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(folder);
  // Windows has a folder for temporary files for each user.
  if (user !== undefined && (uid !== user || (mode & 0o170077) !== 0o040000))
    throw new Error(`${folder} is open to other users, so nothing is loaded from it`);
  const file = path.join(folder, name);
  if (!isSame(file, bytes)) {
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, bytes, { mode: 0o700 });
    renameSync(draft, file);
  }
  return file;
}

/** Loads the addon that this program carries as an asset; undefined where it carries none. */
export function loadAsset(name: string): unknown {
  const bytes = assetOf(name);
  if (bytes === undefined) return undefined;
  const module = { exports: {} as unknown };
  process.dlopen(module, extract(name, bytes)); // the `require` of such a program finds no files
  return module.exports;
}
