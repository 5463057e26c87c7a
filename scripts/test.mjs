// Every test, from a bare clone: `npm test`; `npm test -- views` runs the jest files whose names match. Ends with the counts of all of them.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { buildTests } from './build-tests.mjs';
import { root, tryRun } from './steps.mjs';

const patterns = process.argv.slice(2);

buildTests();

const total = { passed: 0, failed: 0, skipped: 0 };

if (patterns.length === 0) {
  // The core, without Node. Its last line is its own count.
  const counts = path.join(root, 'build/core-tests/counts.json');
  rmSync(counts, { force: true });
  const status = tryRun(process.execPath, ['scripts/core-tests.mjs', '--counts', counts]);
  addCounts(counts, status, 'native tests of the core');

  // The types as users meet them: each expected compile error must be one.
  for (const lib of ['es2022', 'es2025']) {
    const ok =
      tryRun(process.execPath, ['node_modules/typescript/bin/tsc', '-p', `test/types/tsconfig.${lib}.json`]) === 0;
    console.log(`${ok ? 'PASS' : 'FAIL'} types under lib ${lib}`);
    total[ok ? 'passed' : 'failed'] += 1;
  }
}

const report = path.join(root, 'dist-test/jest.json');
rmSync(report, { force: true });
const status = tryRun(process.execPath, [
  '--expose-gc',
  'node_modules/jest/bin/jest.js',
  '--json',
  `--outputFile=${report}`,
  ...patterns,
]);
if (existsSync(report)) {
  const result = JSON.parse(readFileSync(report, 'utf8'));
  total.passed += result.numPassedTests;
  total.failed += result.numFailedTests + result.numRuntimeErrorTestSuites;
  total.skipped += result.numPendingTests + result.numTodoTests;
  for (const file of result.testResults) {
    for (const test of file.assertionResults) {
      if (test.status === 'pending' || test.status === 'todo') console.log(`skipped: ${test.fullName}`);
    }
  }
  if (status !== 0 && result.numFailedTests + result.numRuntimeErrorTestSuites === 0) total.failed += 1;
} else {
  total.failed += 1;
}

console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 || total.passed === 0 ? 1 : 0);

function addCounts(file, exitCode, what) {
  if (!existsSync(file)) {
    console.error(`FAIL ${what}: no result (exit ${exitCode})`);
    total.failed += 1;
    return;
  }
  const { passed, failed } = JSON.parse(readFileSync(file, 'utf8'));
  total.passed += passed;
  total.failed += failed + (exitCode !== 0 && failed === 0 ? 1 : 0);
}
