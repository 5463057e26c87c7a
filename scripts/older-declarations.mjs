// The declarations as TypeScript before 5.7 can read them. Since then a typed array's type says what kind of buffer it lies over; before, it takes no
// argument. package.json names this folder for those compilers; the rest of a declaration is the same.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './steps.mjs';

export const OLDER = 'dist/typescript-5.6';

/** `Uint8Array<ArrayBuffer>` -> `Uint8Array`; so for Buffer and DataView. */
export function older(text) {
  return text.replaceAll(
    /\b((?:[A-Z]\w*)?Array|Buffer|DataView)<(?:ArrayBuffer|SharedArrayBuffer|ArrayBufferLike)>/g,
    '$1',
  );
}

export function writeOlderDeclarations() {
  for (const entry of readdirSync(path.join(root, 'dist'), { recursive: true })) {
    const file = entry.replaceAll('\\', '/');
    if (!file.endsWith('.d.ts') || file.startsWith('cli/') || file.startsWith('typescript-')) continue;
    const target = path.join(root, OLDER, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, older(readFileSync(path.join(root, 'dist', file), 'utf8')));
  }
}
