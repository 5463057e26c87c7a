// Format and lint: C and C++ by clang-format and clang-tidy, TypeScript by prettier and by oxlint with type information, Python by ruff and mypy, Markdown by markdownlint.
// `--fix` writes what can be written. The tools for C++ and Python come from PyPI into a folder of their own, at the versions of scripts/lint-requirements.txt.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { installPackages, installPython, jobs, root, run, runTool } from './steps.mjs';

const fix = process.argv.includes('--fix');
const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length);

installPackages('.');
const python = installPython('.cache/lint', 'scripts/lint-requirements.txt');

const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
}).stdout.split('\n');
const present = (file) => existsSync(path.join(root, file));
const typescript = listed.filter(
  (file) => /^(lib|test|scripts|examples|bench|runtimes)\/.*\.(ts|mjs|cjs)$/.test(file) && present(file),
);
const native = listed.filter((file) => /\.(c|cc|h|hpp)$/.test(file) && present(file));

if (only === undefined || only === 'format') {
  run(path.join(python, 'clang-format'), [...(fix ? ['-i'] : ['--dry-run', '--Werror']), ...native]);
}
if (only === undefined || only === 'typescript') {
  runTool('prettier/bin/prettier.cjs', [fix ? '--write' : '--check', '--log-level', 'warn', ...typescript]);
  runTool('oxlint/bin/oxlint', ['--type-aware', ...(fix ? ['--fix'] : []), 'lib', 'test']);
  // Plain JavaScript has no types to be aware of.
  runTool('oxlint/bin/oxlint', [...(fix ? ['--fix'] : []), 'scripts', 'examples', 'bench', 'runtimes']);
}
if (only === undefined || only === 'markdown') {
  runTool('markdownlint-cli2/markdownlint-cli2-bin.mjs', fix ? ['--fix'] : []);
}
if (only === undefined || only === 'python') {
  const modules = ['python', 'interop/python', 'bench/lib'];
  run(path.join(python, 'ruff'), ['format', '-q', ...(fix ? [] : ['--check']), ...modules]);
  run(path.join(python, 'ruff'), ['check', '-q', ...(fix ? ['--fix'] : []), ...modules]);
  run(path.join(python, 'mypy'), [
    '--strict',
    '--no-error-summary',
    '--cache-dir',
    '.cache/mypy',
    'python/node_dlpack',
  ]);
}
if (only === undefined || only === 'tidy') {
  // Not the tests: they do on purpose what the analyzer warns of (objects after a move, sizes of zero, leaks by a foreign hand).
  const units = native.filter((file) => /^(src-native|examples)\/.*\.(c|cc)$/.test(file));
  const includes = [
    'include',
    'src-native/core',
    'src-native/binding',
    'test/core',
    'test/kit',
    'node_modules/node-addon-api',
    'node_modules/node-api-headers/include',
  ];
  const tidy = (file) => [
    '--quiet',
    file,
    '--',
    ...(file.endsWith('.c') ? ['-std=c11'] : ['-std=c++17', '-fno-exceptions']),
    '-DNAPI_VERSION=9',
    '-D_GNU_SOURCE',
    '-DNODE_ADDON_API_DISABLE_CPP_EXCEPTIONS=',
    ...includes.map((folder) => (folder.startsWith('node_modules') ? `-isystem${folder}` : `-I${folder}`)),
  ];
  // One process a file, as many at once as there are cores: xargs is on every machine that has a C++ compiler.
  const lines = units
    .map((file) =>
      tidy(file)
        .map((argument) => `'${argument}'`)
        .join(' '),
    )
    .join('\n');
  const result = spawnSync('xargs', ['-P', String(jobs), '-L', '1', path.join(python, 'clang-tidy')], {
    cwd: root,
    input: lines,
    stdio: ['pipe', 'inherit', 'pipe'],
    encoding: 'utf8',
  });
  if (result.status !== 0) {
    process.stderr.write(result.stderr);
    process.exit(1);
  }
}
console.log('lint: clean');
