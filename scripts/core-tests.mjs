// Builds the core and its tests without Node, and runs them: `node scripts/core-tests.mjs [--sanitize | --thread | --arm64] [--counts <file>] [part of a rule or file]`.
// --sanitize: AddressSanitizer and UndefinedBehaviorSanitizer; --thread: ThreadSanitizer. The compilers are those of CXX and CC.
// --arm64: for that processor, by a cross compiler and under qemu where it is not the one at hand: what NEON does is seen nowhere else.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildPrograms, commonFlags, sourcesIn } from './native-program.mjs';
import { aptInstall, has, root } from './steps.mjs';

const modes = {
  plain: { folder: 'build/core-tests', flags: ['-O2'] },
  sanitize: {
    folder: 'build/core-tests-sanitize',
    flags: ['-O1', '-g', '-fno-omit-frame-pointer', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'],
  },
  thread: { folder: 'build/core-tests-thread', flags: ['-O1', '-g', '-fsanitize=thread'] },
  arm64:
    process.arch === 'arm64'
      ? { folder: 'build/core-tests', flags: ['-O2'] }
      : {
          folder: 'build/core-tests-arm64',
          flags: ['-O2'],
          needs: ['g++-aarch64-linux-gnu', 'qemu-user'],
          compilers: ['aarch64-linux-gnu-g++', 'aarch64-linux-gnu-gcc'],
          link: ['-static'],
          runner: 'qemu-aarch64',
        },
};

const options = { mode: 'plain', counts: undefined, filter: [] };
const given = process.argv.slice(2);
while (given.length > 0) {
  const argument = given.shift();
  if (['--sanitize', '--thread', '--arm64'].includes(argument)) options.mode = argument.slice(2);
  else if (argument === '--counts') options.counts = given.shift();
  else options.filter.push(argument);
}
const mode = modes[options.mode];
if (mode.needs !== undefined && ![mode.runner, ...mode.compilers].every(has)) aptInstall(mode.needs);
const [cxx, cc] = mode.compilers ?? [process.env.CXX ?? 'c++', process.env.CC ?? 'cc'];
const flags = [...mode.flags, ...commonFlags];

const { 'core-tests': program } = await buildPrograms({
  title: `core tests${options.mode === 'plain' ? '' : ` (${options.mode})`}`,
  folder: mode.folder,
  sources: ['src-native/core', 'test/core'].flatMap(sourcesIn),
  programs: { 'core-tests': [] },
  compilers: {
    '.cc': [cxx, '-std=c++17', '-fno-exceptions', '-fno-rtti', ...flags],
    '.c': [cc, '-std=c11', ...flags],
  },
  linkFlags: mode.link ?? [],
});

const [command, ...first] = mode.runner === undefined ? [program] : [mode.runner, program];
const run = spawnSync(command, [...first, ...options.filter], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
  encoding: 'utf8',
});
process.stdout.write(run.stdout ?? '');
const counted = /^(\d+) passed, (\d+) failed$/m.exec(run.stdout ?? '');
if (options.counts !== undefined && counted !== null) {
  mkdirSync(path.dirname(path.resolve(root, options.counts)), { recursive: true });
  writeFileSync(
    path.resolve(root, options.counts),
    `${JSON.stringify({ passed: Number(counted[1]), failed: Number(counted[2]) })}\n`,
  );
}
if (run.error) throw run.error;
if (run.status !== 0)
  console.error(run.signal === null ? `core tests: exit ${run.status}` : `core tests: ended by ${run.signal}`);
process.exit(run.status ?? 1);
