/** The Python libraries, in a virtual environment of their own, and what reaches them: both installed by `npm run interop`. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path = require('node:path');

const root = path.resolve(__dirname, '../..');
export const pythonFolder = path.join(root, 'interop/python');

/** Its environment; that of a heavy library where the run is about one. */
export const pythonEnvironment = path.resolve(
  process.env['NODE_DLPACK_INTEROP_PYTHON'] ?? path.join(root, '.cache/interop-python'),
);

if (!existsSync(pythonEnvironment) || !existsSync(path.join(pythonFolder, 'node_modules')))
  throw new Error('the Python peers are not installed: use npm run interop -- python');

const requirePeer = createRequire(path.join(pythonFolder, 'package.json'));

/** koffi or node-calls-python, as `require` gives it; T says what the test uses of it. */
// The caller alone knows the package's shape.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function pythonPeer<T>(name: 'koffi' | 'node-calls-python'): T {
  return requirePeer(name) as T;
}

/** The Python library that an embedder loads: that of the interpreter which the environment was made with. */
export const libpython = findLibpython();

/** Where the environment's packages lie. */
export const sitePackages = findSitePackages();

function findLibpython(): string {
  const python = path.join(pythonEnvironment, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
  const source =
    'import os, sysconfig as c; print(os.path.join(c.get_config_var("LIBDIR"), c.get_config_var("INSTSONAME")))';
  const file = spawnSync(python, ['-c', source], { encoding: 'utf8' }).stdout.trim();
  if (!existsSync(file)) throw new Error(`this Python cannot be embedded: it has no shared library (${file})`);
  return file;
}

function findSitePackages(): string {
  const lib = path.join(pythonEnvironment, 'lib');
  const version = readdirSync(lib).find((name) => name.startsWith('python3'));
  if (version === undefined) throw new Error(`${lib} has no Python in it`);
  return path.join(lib, version, 'site-packages');
}

/** The installed version of a distribution, by its name; undefined where it is not installed. */
export function pythonVersionOf(distribution: string): string | undefined {
  const prefix = `${distribution.replaceAll('-', '_').toLowerCase()}-`;
  const suffix = '.dist-info';
  const folder = readdirSync(sitePackages).find((name) => {
    return name.toLowerCase().startsWith(prefix) && name.endsWith(suffix);
  });
  return folder?.slice(prefix.length, -suffix.length);
}
