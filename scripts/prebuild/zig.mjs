// Compiles the addon for any target on one Linux machine: zig brings a C++ compiler and every platform's C library in one package.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { installPython, jobs, root } from '../steps.mjs';
import { readGyp } from './gyp.mjs';
import { binaryOf } from './targets.mjs';

const require = createRequire(import.meta.url);
const headers = require('node-api-headers');

/** The Node-API of binding/napi_setup.h. */
const NODE_API = 'v9';
const WORK = '.cache/prebuild';
const CACHE = '.cache/zig-cache';
/** What only these binaries need. */
const ADDITIONS = 'src-native/prebuilt';

/** Where zig is; installed when it is not. */
export function installZig() {
  const python = path.join(installPython('.cache/zig', 'scripts/prebuild/requirements.txt'), 'python3');
  const script = 'import os, ziglang; print(os.path.dirname(ziglang.__file__))';
  return execFileSync(python, ['-c', script], { encoding: 'utf8' }).trim();
}

/** Its output on ours; rejected when it fails. What zig makes for itself (C libraries, compiled files) is kept in .cache/. */
function zig({ folder, cache }, args) {
  const shared = path.join(root, CACHE);
  const env = { ...process.env, ZIG_GLOBAL_CACHE_DIR: shared, ZIG_LOCAL_CACHE_DIR: path.join(root, cache) };
  return new Promise((resolve, reject) => {
    const child = spawn(path.join(folder, 'zig'), args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`zig ${args.join(' ')}: exit ${code}`))));
  });
}

/** What the binary exports: where the runtime enters, and the C functions for other languages. */
const EXPORTS = ['napi_register_module_v1', 'node_api_module_get_api_version_v1', 'node_dlpack_*'];

/** Everything else stays inside: the operators new and delete would be found by other addons too. */
function writeVersionScript() {
  const file = `${WORK}/exports.map`;
  writeFileSync(path.join(root, file), `{ global: ${EXPORTS.map((name) => `${name};`).join(' ')} local: *; };\n`);
  return file;
}

/** The operators new and delete of cxx_runtime.cc are for this binary alone: not every linker can be told so. */
const OWN_OPERATORS = ['-fvisibility-global-new-delete=force-hidden'];

/** The functions that node_api_of_host.c takes from the program that loads it. */
function writeFunctionList() {
  const { js_native_api_symbols: engine, node_api_symbols: node } = headers.symbols[NODE_API];
  const lines = [...engine, ...node].map((name) => `EACH_FUNCTION(${name})\n`);
  writeFileSync(path.join(root, WORK, 'node_api_functions.inc'), lines.join(''));
}

function linkerOptions(target) {
  if (target.platform === 'linux') {
    return ['-Wl,--build-id=none', '-Wl,--gc-sections', `-Wl,--version-script=${writeVersionScript()}`, '-ldl'];
  }
  // Without a name of its own a darwin binary would carry the path it was made at.
  if (target.platform === 'darwin') {
    return ['-Wl,-undefined,dynamic_lookup', '-Wl,-install_name,@rpath/node_dlpack.node', '-Wl,-dead_strip'];
  }
  return ['-lbcrypt'];
}

/** Makes the binary that the package carries. Rejected when a file does not compile. */
export async function compile(folder, target) {
  const made = await build({ folder, cache: CACHE }, target, `${WORK}/${target.name}`);
  const binary = path.join(root, binaryOf(target));
  mkdirSync(path.dirname(binary), { recursive: true });
  renameSync(made, binary);
}

/** Compiles everything once more, from nothing and elsewhere: does that give the same bytes? */
export async function isReproducible(folder, target) {
  const again = '.cache/prebuild-again';
  rmSync(path.join(root, again), { recursive: true, force: true });
  const made = await build({ folder, cache: `${again}/zig-cache` }, target, `${again}/${target.name}`);
  return readFileSync(made).equals(readFileSync(path.join(root, binaryOf(target))));
}

/** Answers the path of the binary, in the folder `output`. */
async function build(compiler, target, output) {
  const gyp = readGyp();
  mkdirSync(path.join(root, WORK), { recursive: true });
  rmSync(path.join(root, output), { recursive: true, force: true });
  mkdirSync(path.join(root, output), { recursive: true });
  writeFunctionList();

  const flags = [
    `--target=${target.zig}`,
    ...gyp.flags,
    '-O2',
    '-g0',
    '-DNDEBUG',
    '-DBUILDING_NODE_EXTENSION', // as node-gyp does: on Windows, functions of Node's are then imported
    '-fPIC',
    '-fno-sanitize=all',
    '-Werror',
    '-ffunction-sections',
    '-fdata-sections',
    // No exception passes through. Windows walks stacks by these tables whatever happens.
    ...(target.platform === 'win32' ? [] : ['-fno-asynchronous-unwind-tables', '-fno-unwind-tables']),
    ...[...gyp.includeDirs, path.relative(root, headers.include_dir), WORK].map((include) => `-I${include}`),
  ];
  const additions = readdirSync(path.join(root, ADDITIONS)).map((file) => `${ADDITIONS}/${file}`);
  // Threads on Windows are no matter of libc++'s headers alone.
  if (target.platform === 'win32')
    additions.push(path.join(compiler.folder, 'lib/libcxx/src/support/win32/thread_win32.cpp'));

  // The layout tests must compile; they are no part of the binary.
  const sources = [...gyp.sources, ...additions.toSorted()];
  const waiting = [...gyp.layoutTests, ...sources];
  const objectOf = (file) => `${output}/${path.basename(path.dirname(file))}-${path.basename(file)}.o`;
  const compileNext = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const [language, own] = file.endsWith('.c') ? ['cc', gyp.flagsC] : ['c++', [...gyp.flagsCxx, ...OWN_OPERATORS]];
      await zig(compiler, [language, ...flags, ...own, '-c', file, '-o', objectOf(file)]);
    }
  };
  await Promise.all(Array.from({ length: jobs }, compileNext));

  // By the C compiler: the C++ library is not linked.
  const made = `${output}/node_dlpack.node`;
  const objects = sources.map(objectOf);
  await zig(compiler, [
    'cc',
    `--target=${target.zig}`,
    '-O2',
    '-shared',
    '-s',
    ...objects,
    ...linkerOptions(target),
    '-o',
    made,
  ]);

  return path.join(root, made);
}
