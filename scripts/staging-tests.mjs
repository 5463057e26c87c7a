// The test suite as where external ArrayBuffers are forbidden (Electron): `npm run test:staging`; `-- views` runs the files whose names match, `-- --ci`
// leaves out what takes long and looks at no memory. Fails when a test fails that runtimes/staging.mjs does not explain, and when one that it explains
// no longer does. The files of `npm test`, over the stand-in for jest that other runtimes have, one process a file: what tests that must fail leave behind
// would be counted in the files after them.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { DIFFERENCES } from '../runtimes/staging.mjs';
import { buildTests } from './build-tests.mjs';
import { judge, withoutJest } from './runtimes.mjs';
import { root } from './steps.mjs';

const ID = 'staging';
const runtime = { id: ID, command: [process.execPath, '--expose-gc'] };
/** They test the compiler, the documentation, the command line, the loader, arithmetic: nothing that a view could change, or that takes this long. */
const LOOK_AT_NOTHING =
  /^(readme|bench|cli|cli-inspect|350-headers|360-check|420-process-flags|185-load-orders|copy-threads|native-layout|ownership-model|single-executable|load|platform|package\/.*|130-capsules|135-capsule-endings|150-malformed|memory-report|files\/npy-mutations)$/;

const args = process.argv.slice(2);
const bounded = args.includes('--ci');
const only = args.find((arg) => !arg.startsWith('--'));

process.env.NODE_DLPACK_DEBUG = 'no-external-buffers';
buildTests();

const files = readdirSync(path.join(root, 'dist-test'), { recursive: true })
  .filter((name) => name.endsWith('.test.js') && !name.includes('node_modules'))
  .map((name) => name.slice(0, -'.test.js'.length))
  .toSorted()
  .filter((name) => (only === undefined || name.includes(only)) && !(bounded && LOOK_AT_NOTHING.test(name)));
const tests = await withoutJest(runtime, files);
const { unexplained, gone } = judge(ID, tests, files, only, DIFFERENCES);
for (const { file, name, message } of unexplained) console.error(`FAIL ${file}: ${name}\n${message}\n`);
for (const { what } of gone) console.error(`FAIL no longer differs: ${what}`);
const count = (status) => tests.filter((test) => test.status === status).length;
for (const { file, name } of tests.filter(({ status }) => status === 'skipped'))
  console.log(`skipped: ${file}: ${name}`);
console.log(`staging: ${count('passed')} passed, ${count('failed')} differ, ${count('skipped')} skipped`);
process.exit(unexplained.length + gone.length > 0 || count('passed') === 0 ? 1 : 0);
