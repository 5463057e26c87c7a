// Under valgrind's memcheck, the only one of the tools here that knows memory which was never written: the tests of the core, then a few jest files over
// the very binary that is shipped, then faults planted on purpose, which must be found. `npm test` must have run before. Arguments go to jest, and only
// jest runs then. Linux; installs valgrind where it may.
import path from 'node:path';
import { demandFindings } from './instrumented.mjs';
import { aptInstall, has, root, run } from './steps.mjs';

/** Jest files that go through every kind of call; with all of them it would take an hour. */
const SELECTED = ['derive-native', 'elements-native', 'exchange-native'];
const FOUND = 99;

const chosen = process.argv.slice(2);
if (!has('valgrind')) aptInstall(['valgrind']);

const memcheck = ['--quiet', `--error-exitcode=${FOUND}`, '--num-callers=24'];
const leaks = ['--leak-check=full', '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite'];
const core = path.join(root, 'build/core-tests/core-tests');

if (chosen.length === 0) {
  run(process.execPath, ['scripts/core-tests.mjs', 'dtype']);
  run('valgrind', [...memcheck, ...leaks, core]);
}

const suppressions = path.join(root, 'test/support/valgrind-of-others.supp');
const files = chosen.length > 0 ? chosen : SELECTED;
run('valgrind', [
  ...memcheck,
  `--suppressions=${suppressions}`,
  '--error-limit=no',
  process.execPath,
  '--expose-gc',
  '--jitless',
  'node_modules/jest/bin/jest.js',
  '--runInBand',
  '--testTimeout=600000',
  ...files,
]);

if (chosen.length === 0) {
  const faults = {
    uninitialised: /Conditional jump or move depends on uninitialised value/,
    out_of_bounds: /Invalid write of size 1/,
    use_after_free: /Invalid write of size 1/,
    double_delete: /Invalid free\(\)/,
    leak: /definitely lost/,
  };
  const command = [...memcheck, ...leaks, core, 'managed'];
  process.exit(demandFindings('core', faults, 'valgrind', command, { cwd: root, env: {} }) ? 0 : 1);
}
