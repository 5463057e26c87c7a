// What `npm pack` would publish: the files that a user needs, nothing else, and no script that runs at install.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './steps.mjs';

const [pack] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root, encoding: 'utf8' }),
);
const files = pack.files.map((file) => file.path);
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

const faults = [];
const allowed =
  /^(dist\/.+\.(js|d\.ts)|docs\/errors\/\w+\.md|include\/.+\.(h|hpp|gyp)|python\/node_dlpack\/(\w+\.py|py\.typed)|prebuilds\/[\w-]+\/node_dlpack\.node|src-native\/(addon\.gypi|\w+\/\w+\.(c|cc|h))|licenses\/[\w-]+\.(txt|md)|UPGRADING\.md|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
for (const file of files) if (!allowed.test(file)) faults.push(`must not be published: ${file}`);
const needed = [
  'dist/index.js',
  'dist/index.d.ts',
  'dist/unsafe.js',
  'dist/unsafe.d.ts',
  'include/dlpack/dlpack.h',
  'include/node_dlpack.h',
  'include/node_dlpack.hpp',
  'include/node_dlpack.gyp',
  'include/node_dlpack/take.h',
  'include/node_dlpack_tokens.h',
  'dist/include-dir.js',
  'dist/cli/main.js',
  'docs/errors/ERR_DLPACK_BUFFER.md',
  'python/node_dlpack/__init__.py',
  'dist/python.js',
  'dist/files/index.js',
  'dist/files/index.d.ts',
  'src-native/addon.gypi',
  'licenses/overview.md',
  'licenses/llvm.txt',
  'licenses/mingw-w64.txt',
  'licenses/node-addon-api.txt',
  'licenses/zig.txt',
  'src-native/binding/module.cc',
  'LICENSE',
  'README.md',
];
for (const file of needed) if (!files.includes(file)) faults.push(`is missing: ${file}`);
for (const script of ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish']) {
  if (manifest.scripts[script] !== undefined) faults.push(`runs at install: ${script}`);
}
if (Object.keys(manifest.dependencies).join() !== 'bindings')
  faults.push(`dependencies at run time: ${Object.keys(manifest.dependencies)}`);

// npm compiles what has one at its root, on machines without a compiler too.
if (files.includes('binding.gyp')) faults.push('has a binding.gyp at its root');
if (pack.size > 3_000_000) faults.push(`has ${pack.size} bytes packed`);

for (const fault of faults) console.error(fault);
console.log(`${files.length} files, ${pack.size} bytes packed`);
process.exit(faults.length > 0 ? 1 : 0);
