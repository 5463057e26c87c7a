// What the runs under sanitizers and valgrind have in common: a copy of the tree whose addons are built with their flags, so that the ordinary build
// stays as it is; jest over it; and the planted faults, each of which has to be found.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { jobs, root, run } from './steps.mjs';

const leftOut = new Set(['node_modules', 'build', 'out', 'target', '.git', '.cache']);

/** Where the copy of a kind of instrumentation lies. `npm test` must have built the tests before. */
export function instrumentedCopy(kind, flags) {
  const copy = path.join(root, '.cache/instrumented', kind);
  mkdirSync(copy, { recursive: true });
  for (const name of readdirSync(root)) {
    if (leftOut.has(name)) continue;
    rmSync(path.join(copy, name), { recursive: true, force: true });
    cpSync(path.join(root, name), path.join(copy, name), {
      recursive: true,
      preserveTimestamps: true,
      filter: (source) => !leftOut.has(path.basename(source)),
    });
  }
  if (!existsSync(path.join(copy, 'node_modules')))
    symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  const gyp = path.join(root, 'node_modules/node-gyp/bin/node-gyp.js');
  const all = `${flags} -O1 -g -fno-omit-frame-pointer -DNODE_DLPACK_PLANTED_FAULTS`;
  for (const folder of ['.', 'test/native', 'test/kit']) {
    run(process.execPath, [gyp, '-C', path.join(copy, folder), '--silent', '-j', String(jobs), 'configure', 'build'], {
      env: { CXXFLAGS: all, CFLAGS: all, LDFLAGS: flags },
    });
  }
  return copy;
}

/** The shared library of one of gcc's sanitizers, to be loaded before Node, which is not built with it. */
export function sanitizerLibrary(name) {
  const { stdout } = spawnSync(process.env.CC ?? 'gcc', [`-print-file-name=lib${name}.so`], { encoding: 'utf8' });
  return stdout.trim();
}

/** Arguments for node: jest in one process, since its own workers are ended before anything could look for leaks. */
export const jestArguments = (args) => [
  '--expose-gc',
  '--require',
  './scripts/children-keep.cjs',
  'node_modules/jest/bin/jest.js',
  '--runInBand',
  ...args,
];

/** What LeakSanitizer says when it fell over itself before it could look: it reads the storage of threads that are just ending. Not a finding, and no proof. */
export const FELL_OVER = 'LeakSanitizer has encountered a fatal error';
/** How often something is run at most until LeakSanitizer has looked. */
export const ATTEMPTS = 3;

/**
 * Runs a command once for each planted fault and demands that it fails and says what it found. `faults`: name -> a pattern of the finding.
 * Answers whether all were found.
 */
export function demandFindings(title, faults, command, args, { cwd, env }) {
  let ok = true;
  for (const [fault, pattern] of Object.entries(faults)) {
    let result;
    let output = FELL_OVER;
    for (let i = 0; i < ATTEMPTS && output.includes(FELL_OVER); i++) {
      result = spawnSync(command, args, {
        cwd,
        env: { ...process.env, ...env, NODE_DLPACK_PLANTED_FAULT: fault },
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      });
      output = `${result.stdout}${result.stderr}`;
    }
    const found = (result.status !== 0 || result.signal !== null) && pattern.test(output);
    console.log(`${found ? 'PASS' : 'FAIL'} ${title}: the planted ${fault.replaceAll('_', ' ')} is found`);
    if (!found) console.error(output.slice(-4000));
    ok = ok && found;
  }
  return ok;
}
