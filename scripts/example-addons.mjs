// The example addons, each built by itself and by its own means, as a stranger builds it. What cannot be built here, since a tool is missing,
// says so.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { addonSources } from './build.mjs';
import { buildAddon, jobs, root, run, step, tryRun } from './steps.mjs';

const headers = ['include', 'package-lock.json'];

function has(tool) {
  return spawnSync(tool, ['--version'], { stdio: 'ignore' }).status === 0;
}

function byNodeGyp(name) {
  buildAddon(`addon-${name}`, `examples/addon-${name}`, [`examples/addon-${name}`, ...addonSources]);
  return { file: `examples/addon-${name}/build/Release/addon_${name}.node` };
}

function byCMake() {
  if (!has('cmake')) return { missing: 'cmake is not installed' };
  const folder = path.join(root, 'examples/addon-cpp');
  step(
    'addon-cpp by CMake',
    { inputs: ['examples/addon-cpp', ...headers], output: 'examples/addon-cpp/build/cmake' },
    () => {
      run('cmake', ['-S', folder, '-B', path.join(folder, 'build/cmake'), '-DCMAKE_BUILD_TYPE=Release'], {
        quiet: true,
      });
      run('cmake', ['--build', path.join(folder, 'build/cmake'), '--config', 'Release', '-j', String(jobs)], {
        quiet: true,
      });
    },
  );
  return { file: 'examples/addon-cpp/build/cmake/addon_cpp.node' };
}

function byCargo() {
  if (!has('cargo')) return { missing: 'cargo is not installed' };
  const folder = path.join(root, 'examples/addon-rust');
  const file = 'examples/addon-rust/build/addon_rust.node';
  step('addon-rust', { inputs: ['examples/addon-rust', ...headers], output: 'examples/addon-rust/build' }, () => {
    run('cargo', ['build', '--release', '--locked', '--quiet'], {
      cwd: folder,
      env: { CARGO_TARGET_DIR: 'build/cargo' },
    });
    const library = { darwin: 'libaddon_rust.dylib', win32: 'addon_rust.dll' }[process.platform] ?? 'libaddon_rust.so';
    mkdirSync(path.join(folder, 'build'), { recursive: true });
    copyFileSync(path.join(folder, 'build/cargo/release', library), path.join(root, file));
  });
  return { file };
}

/** By name: the file, absolute, or why there is none. */
export function buildExampleAddons() {
  const built = { c: byNodeGyp('c'), cpp: byNodeGyp('cpp'), 'cpp (CMake)': byCMake(), rust: byCargo() };
  return Object.fromEntries(
    Object.entries(built).map(([name, { file, missing }]) => [
      name,
      missing === undefined ? { file: path.join(root, file) } : { missing },
    ]),
  );
}

/** Runs test/addons over them; returns the exit code. */
export function testExampleAddons(addons, args = [], env = {}) {
  return tryRun(
    process.execPath,
    ['--expose-gc', 'node_modules/jest/bin/jest.js', '-c', 'jest.addons.config.json', ...args],
    { env: { ...env, NODE_DLPACK_EXAMPLE_ADDONS: JSON.stringify(addons) } },
  );
}
