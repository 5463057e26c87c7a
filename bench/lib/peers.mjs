// What we are measured beside, installed here at exact versions: packages from npm, those of the interop tests among
// them, and Python's libraries in a virtual environment under .cache/, the light ones always and the heavy ones only for a
// full run.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { installPackages, root, run, step } from '../../scripts/steps.mjs';

const FOLDERS = ['bench/peers', 'interop/js'];
const ENVIRONMENT = '.cache/bench-python';
const LIGHT = 'bench/peers/requirements.txt';
const HEAVY = 'bench/peers/requirements-heavy.txt';
/** Gigabytes with its CUDA packages: measured where somebody has installed it, never fetched. */
const TORCH = '.cache/interop-torch';

const requires = FOLDERS.map((folder) => createRequire(path.join(root, folder, 'package.json')));

/** Installs the packages of bench/peers and interop/js. */
export function installNpmPeers() {
  FOLDERS.forEach(installPackages);
}

const folderOf = (name) => FOLDERS.findIndex((folder) => existsSync(path.join(root, folder, 'node_modules', name)));

/** A package of theirs. */
export const requirePeer = (name) => requires[folderOf(name)](name);

/** `ndarray 1.1.1` */
export function npmVersion(name) {
  const file = path.join(root, FOLDERS[folderOf(name)], 'node_modules', name, 'package.json');
  return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`;
}

/** The package itself, by its own name, as a user's program finds it. */
export const requireOurs = createRequire(path.join(root, 'package.json'));

const install = (title, requirements) =>
  step(title, { inputs: [requirements], output: ENVIRONMENT }, () => {
    if (!existsSync(path.join(root, ENVIRONMENT, 'bin/python'))) run('python3', ['-m', 'venv', ENVIRONMENT]);
    const pip = path.join(root, ENVIRONMENT, 'bin/pip');
    run(pip, ['install', '-q', '--disable-pip-version-check', '-r', requirements]);
  });

/**
 * Python with the peers: { python, skipped }, where `skipped` says which are not there, and why. `heavy` brings jax and
 * mlx too.
 */
export function pythonPeers({ heavy = false } = {}) {
  install("bench's light Python peers", LIGHT);
  const skipped = [];
  if (heavy) install("bench's heavy Python peers", HEAVY);
  else skipped.push('jax, mlx: heavy, only in a full run');
  return { python: path.join(root, ENVIRONMENT, 'bin/python'), skipped };
}

/** A Python with torch: { python } or { skipped: why }. */
export function torchPeer() {
  const python = path.join(root, TORCH, 'bin/python');
  if (existsSync(python)) return { python };
  const how = `python3 -m venv ${TORCH} && ${TORCH}/bin/pip install -r interop/python/heavy/torch.txt`;
  return { skipped: `torch: heavy, measured only where it is installed; to have it: ${how}` };
}
