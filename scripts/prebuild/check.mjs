// What a binary may export, ask of the system and carry, whatever its platform: without being run, so for those too that cannot be run here.
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import path from 'node:path';
import { root } from '../steps.mjs';
import { binaryOf } from './targets.mjs';

const require = createRequire(import.meta.url);
const { symbols } = require('node-api-headers');

const LARGEST = 600 << 10;
const MACHINES = {
  ELF: { x64: 'X86_64', arm64: 'AARCH64' },
  'Mach-O': { x64: 'X86_64', arm64: 'ARM64' },
  PE: { x64: 'AMD64', arm64: 'ARM64' },
};
/** In every darwin library: where it begins. */
const OF_THE_LINKER = new Set(['_mh_dylib_header', '__dso_handle']);
const FORMATS = { linux: 'ELF', darwin: 'Mach-O', win32: 'PE' };
/** What comes with every system of that kind. */
const LIBRARIES = {
  glibc: /^(libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|ld-linux-(x86-64|aarch64)\.so\.[12])$/,
  musl: /^libc\.so$/,
  darwin: /^\/usr\/lib\/libSystem\.B\.dylib$/,
  win32: /^(KERNEL32|bcrypt|api-ms-win-crt-[a-z]+-l1-1-0)\.dll$/i,
};

/** The C functions that the public and the Python header declare, and the two that the runtime looks for. */
function expectedExports() {
  const declared = ['include/node_dlpack_tokens.h', 'src-native/core/python_functions.h'].flatMap((file) => {
    const text = readFileSync(path.join(root, file), 'utf8');
    return [...text.matchAll(/^NODE_DLPACK_\w+_EXPORT [^;(]*?\b(node_dlpack_\w+)\(/gm)].map((match) => match[1]);
  });
  return [...declared, 'napi_register_module_v1', 'node_api_module_get_api_version_v1'].toSorted();
}

function newerThan(version, limit) {
  const [left, right] = [version, limit].map((text) => text.split('.').map(Number));
  const at = left.findIndex((part, i) => part !== (right[i] ?? 0));
  return at >= 0 && left[at] > (right[at] ?? 0);
}

function faultsOf(target, seen) {
  const faults = [];
  const expect = (fact, text) => {
    if (!fact) faults.push(text);
  };
  const format = FORMATS[target.platform];
  expect(seen.format === format, `is ${seen.format}, not ${format}`);
  expect(seen.machine === MACHINES[format][target.arch], `is for ${seen.machine}`);

  const exported = seen.exports
    .filter((name) => !OF_THE_LINKER.has(name))
    .toSorted()
    .join();
  expect(exported === expectedExports().join(), `exports ${exported}`);
  expect(seen.data_exports.length === 0, `exports data: ${seen.data_exports}`);

  const nodeApi = new Set([...symbols.v9.js_native_api_symbols, ...symbols.v9.node_api_symbols]);
  const asked = seen.imports.filter((name) => /^(napi|node_api)_/.test(name));
  expect(
    asked.every((name) => nodeApi.has(name)),
    `asks for more than Node-API 9: ${asked.filter((name) => !nodeApi.has(name))}`,
  );
  // On Windows it names no program, but takes the functions from whatever loads it.
  expect(asked.length > 0 === (target.platform !== 'win32'), `asks for ${asked.length} functions of Node-API`);
  const foreign = seen.imports.filter(
    (name) => name.startsWith('_Z') || (name.startsWith('__cxa') && !/_finalize|_atexit/.test(name)),
  );
  expect(foreign.length === 0, `asks the system for a C++ library: ${foreign}`);

  const allowed = LIBRARIES[target.libc ?? target.platform];
  expect(
    seen.libraries.every((name) => allowed.test(name)),
    `needs ${seen.libraries}`,
  );
  if (target.libc === 'glibc') {
    const newer = seen.versions.filter((name) => !/^GLIBC_[0-9.]+$/.test(name) || newerThan(name.slice(6), '2.28'));
    expect(newer.length === 0, `needs ${newer}`);
  }
  if (target.platform === 'darwin') {
    expect(seen.install_name.join() === '@rpath/node_dlpack.node', `has the install name ${seen.install_name}`);
    expect(!newerThan(seen.versions[0], '11.0'), `needs macOS ${seen.versions}`);
    // Apple's arm64 processors run nothing unsigned; the linker's own signature is enough.
    if (target.arch === 'arm64') expect(seen.signed, 'is not signed');
  }
  expect(seen.debug_sections.length === 0, `carries ${seen.debug_sections}`);

  const file = path.join(root, binaryOf(target));
  const bytes = readFileSync(file);
  for (const where of [root, homedir()]) {
    if (where.length > 1) expect(!bytes.includes(where), `carries the path ${where}`);
  }
  expect(statSync(file).size <= LARGEST, `has ${statSync(file).size} bytes`);
  return faults;
}

/** Faults as lines of text; none when all is well. `python` is where lief is installed. */
export function checkBinaries(python, targets) {
  const files = targets.map(binaryOf);
  const answer = execFileSync(python, ['scripts/prebuild/inspect_binary.py', ...files], {
    cwd: root,
    encoding: 'utf8',
  });
  const seen = JSON.parse(answer);
  return targets.flatMap((target) =>
    faultsOf(target, seen[binaryOf(target)]).map((fault) => `${binaryOf(target)} ${fault}`),
  );
}

/** Whose code is compiled in, and where its licence lies; `zig` is the compiler's folder. The package holds the same text. */
export function checkLicences(zig) {
  const texts = {
    'llvm.txt': path.join(zig, 'lib/libcxx/LICENSE.TXT'),
    'mingw-w64.txt': path.join(zig, 'lib/libc/mingw/COPYING'),
    'zig.txt': path.join(zig, 'LICENSE'),
    'node-addon-api.txt': path.join(root, 'node_modules/node-addon-api/LICENSE.md'),
  };
  const differs = ([name, source]) => !readFileSync(path.join(root, 'licenses', name)).equals(readFileSync(source));
  return Object.entries(texts)
    .filter(differs)
    .map(([name, source]) => `licenses/${name} differs from ${path.basename(source)} of what is compiled in`);
}
