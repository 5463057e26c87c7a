// The package as npm would publish it, unpacked into a folder of its own with its one dependency: what is tried is what is shipped.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root, run } from '../steps.mjs';

const TARBALLS = path.join(root, '.cache/tarball');
const FOLDER = path.join(root, '.cache/package');

/** The tarball's path. */
export function pack() {
  rmSync(TARBALLS, { recursive: true, force: true });
  mkdirSync(TARBALLS, { recursive: true });
  const answer = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', TARBALLS], {
    cwd: root,
    encoding: 'utf8',
  });
  return path.join(TARBALLS, JSON.parse(answer)[0].filename);
}

/** The folder of the package, in a folder where its dependency is found. */
export function unpack() {
  const tarball = pack();
  rmSync(FOLDER, { recursive: true, force: true });
  const modules = path.join(FOLDER, 'node_modules');
  const target = path.join(modules, 'node-dlpack');
  mkdirSync(target, { recursive: true });
  run('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
  for (const name of ['bindings', 'file-uri-to-path']) {
    cpSync(path.join(root, 'node_modules', name), path.join(modules, name), { recursive: true });
  }
  return target;
}
