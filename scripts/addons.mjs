// The example addons exchange tensors with the library, and with each other without it, and are held against the rules: `npm run test:addons`.
// Apart from `npm test`, since it needs more tools: CMake and cargo. What is missing is skipped, by name, and counted.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { buildTests } from './build-tests.mjs';
import { buildExampleAddons, testExampleAddons } from './example-addons.mjs';
import { root, tryRun } from './steps.mjs';

buildTests();

const addons = buildExampleAddons();
const total = { passed: 0, failed: 0, skipped: 0 };
for (const [name, { missing }] of Object.entries(addons)) {
  if (missing === undefined) continue;
  console.log(`skipped: addon-${name}: ${missing}`);
  total.skipped += 1;
}

const report = path.join(root, 'dist-test/jest-addons.json');
rmSync(report, { force: true });
const status = testExampleAddons(addons, ['--json', `--outputFile=${report}`, ...process.argv.slice(2)]);
if (existsSync(report)) {
  const result = JSON.parse(readFileSync(report, 'utf8'));
  total.passed += result.numPassedTests;
  total.failed += result.numFailedTests + result.numRuntimeErrorTestSuites;
  total.skipped += result.numPendingTests;
} else {
  total.failed += 1;
}

for (const [name, { file }] of Object.entries(addons)) {
  if (file === undefined) continue;
  const broken = tryRun(process.execPath, [path.join(root, 'dist/cli/main.js'), 'check', file], { quiet: true }) !== 0;
  console.log(`${broken ? 'FAIL' : 'PASS'} node-dlpack check of addon-${name}`);
  total[broken ? 'failed' : 'passed'] += 1;
}

console.log(`\naddons: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 || total.passed === 0 || (status !== 0 && total.failed === 0) ? 1 : 0);
