/** Libraries that tensors can be exchanged with, as far as they are installed where the command runs. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path = require('node:path');

/** Those that `node-dlpack/interop` and `node-dlpack/python` speak to. */
const PEERS = [
  '@napi-rs/canvas',
  '@stdlib/ndarray',
  '@tensorflow/tfjs-core',
  'apache-arrow',
  'koffi',
  'ndarray',
  'node-calls-python',
  'onnxruntime-node',
  'onnxruntime-web',
  'sharp',
  'zarrita',
];

/** A `require` as a program in this folder would have it. */
export function requireFrom(folder: string): NodeJS.Require {
  return createRequire(path.join(folder, 'package.json'));
}

/** The versions of those found, by name. Nothing of them is loaded. */
export function findPeers(folder: string): Readonly<Record<string, string>> {
  const places = requireFrom(folder).resolve.paths('x') ?? [];
  const found: Record<string, string> = {};
  for (const name of PEERS) {
    const manifest = places.map((place) => path.join(place, name, 'package.json')).find((file) => existsSync(file));
    if (manifest !== undefined) found[name] = versionIn(manifest);
  }
  return found;
}

function versionIn(manifest: string): string {
  try {
    const content: unknown = JSON.parse(readFileSync(manifest, 'utf8'));
    const version: unknown = typeof content === 'object' && content !== null ? Reflect.get(content, 'version') : '';
    return typeof version === 'string' ? version : 'unknown';
  } catch {
    return 'unreadable';
  }
}
