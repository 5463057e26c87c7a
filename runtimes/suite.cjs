// Runs one compiled test file without jest and prints one line of JSON for each result, marked so that it is told from what the tests print.
'use strict';

const path = require('node:path');
const { globals, run } = require('./jest-globals.cjs');

const [file] = process.argv.slice(2);
const jestGlobals = require.resolve('@jest/globals');
require.cache[jestGlobals] = { id: jestGlobals, filename: jestGlobals, exports: globals, loaded: true, children: [] };

function report(result) {
  process.stdout.write(`\n@result ${JSON.stringify(result)}\n`);
}

async function main() {
  require(path.resolve(file));
  await run(report);
  report({ name: '(end)', status: 'end' });
}

main().catch((error) => {
  report({ name: '(file)', status: 'failed', message: String(error?.stack ?? error) });
  process.exitCode = 1;
});
