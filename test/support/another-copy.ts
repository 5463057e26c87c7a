/**
 * A second copy of the package in this process: its own files and its own binary, so its own classes, symbols and
 * counters, as when two packages depend on different versions.
 */
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path = require('node:path');

const root = path.resolve(__dirname, '../..');
const copy = path.join(root, 'dist-test', `another-copy-${process.pid}`);
const binary = 'build/Release/node_dlpack.node';

/** Loads it. Its files go when the process ends. */
export function loadAnotherCopy(): typeof import('../../dist/index.js') {
  if (!existsSync(copy)) {
    mkdirSync(path.join(copy, path.dirname(binary)), { recursive: true });
    cpSync(path.join(root, 'dist'), path.join(copy, 'dist'), { recursive: true });
    cpSync(path.join(root, binary), path.join(copy, binary));
    process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
  }
  return require(path.join(copy, 'dist/index.js')) as typeof import('../../dist/index.js');
}
