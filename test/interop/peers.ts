/** The real libraries, which `npm run interop` installs in interop/js at exact versions. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path = require('node:path');

export const peersFolder = path.resolve(__dirname, '../../interop/js');
if (!existsSync(path.join(peersFolder, 'node_modules')))
  throw new Error('the peers are not installed: use npm run interop, or npm ci --ignore-scripts in interop/js');

const requirePeer = createRequire(path.join(peersFolder, 'package.json'));

/** A CommonJS library, as `require` gives it; T says what the test uses of it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function peer<T>(name: string): T {
  return requirePeer(name) as T;
}

/** An ES module. */
export async function importPeer<T>(name: string, entry: string): Promise<T> {
  return (await import(path.join(peersFolder, 'node_modules', name, entry))) as T;
}

/** The version that is installed. */
export function versionOf(name: string): string {
  const manifest: unknown = JSON.parse(
    readFileSync(path.join(peersFolder, 'node_modules', name, 'package.json'), 'utf8'),
  );
  const version: unknown =
    typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'version') : undefined;
  if (typeof version !== 'string') throw new Error(`${name} has no version`);
  return version;
}
