// What can be known of the binaries on one Linux machine: each is inspected, and run where something runs it. `npm run prebuilds:test`; with names of
// targets, those alone. `--write` writes docs/targets.md anew; otherwise what ran must be what that table says, so that it hides nothing.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { installPython, root, tryRun } from './steps.mjs';
import { checkBinaries, checkLicences } from './prebuild/check.mjs';
import { unpack } from './prebuild/package.mjs';
import { installRuntimes, runners } from './prebuild/runners.mjs';
import { DENO_ENDS, DENO_TRIES } from './prebuild/deno.mjs';
import { binaryOf, chosen } from './prebuild/targets.mjs';
import { installZig } from './prebuild/zig.mjs';

const TABLE = 'docs/targets.md';
const write = process.argv.includes('--write');
const names = process.argv.slice(2).filter((argument) => argument !== '--write');
const targets = chosen(names);
if (write && names.length > 0) {
  console.error('the table has a row for every target: --write goes with no names');
  process.exit(2);
}

const absent = targets.filter((target) => !existsSync(path.join(root, binaryOf(target))));
if (absent.length > 0) {
  console.error(`not built: ${absent.map(({ name }) => name).join(', ')}. \`npm run prebuilds\` builds them.`);
  process.exit(1);
}

const python = path.join(installPython('.cache/zig', 'scripts/prebuild/requirements.txt'), 'python3');
const faults = [...checkBinaries(python, targets), ...checkLicences(installZig())];
for (const fault of faults) console.error(`FAIL ${fault}`);
const total = {
  passed: targets.length - new Set(faults.map((fault) => fault.split(' ')[0])).size,
  failed: faults.length,
  skipped: 0,
};
console.log(`${total.passed} of ${targets.length} binaries export, ask for and carry what they should`);

installRuntimes();
const folder = unpack();
const smoke = path.join(root, 'scripts/prebuild/smoke.cjs');
const report = path.join(root, '.cache/prebuild/smoke.json');
const NO_RESULT = { passed: 0, failed: 1, binary: '', faults: ['no result'] };
const ran = [];
for (const { target, runtime, command, prepare } of runners) {
  if (!targets.some(({ name }) => name === target)) continue;
  const { why, env = {} } = prepare?.() ?? {};
  if (why !== undefined) {
    console.log(`skipped: ${target} under ${runtime}: ${why}`);
    total.skipped += 1;
    continue;
  }
  const [file, ...before] = command;
  let status;
  let result;
  for (let tries = 1; ; tries += 1) {
    rmSync(report, { force: true });
    status = tryRun(file, [...before, smoke, folder, report], { env });
    result = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : NO_RESULT;
    const aborted = status !== 0 && (result === NO_RESULT || result.failed === 0);
    if (!aborted || !runtime.startsWith('Deno') || tries === DENO_TRIES) break;
    console.log(`once more: ${runtime} aborted, ${DENO_ENDS}`);
  }
  // A binary of another target, or the repository's own build, would prove nothing.
  const loaded = result.binary.replaceAll('\\', '/').endsWith(`node-dlpack/${binaryOf({ name: target })}`);
  const ok = status === 0 && result.failed === 0 && result.passed > 0 && loaded;
  console.log(`${ok ? 'PASS' : 'FAIL'} ${target} under ${runtime}: ${result.passed} passed, ${result.failed} failed`);
  if (!ok) console.error(`exit ${status}, loaded ${result.binary || 'nothing'}\n${result.faults.join('\n')}`);
  total[ok ? 'passed' : 'failed'] += 1;
  if (ok) ran.push({ target, runtime });
}

const table = tableOf();
if (write) writeFileSync(path.join(root, TABLE), table);
else if (names.length === 0 && total.skipped === 0 && readFileSync(path.join(root, TABLE), 'utf8') !== table) {
  console.error(`FAIL ${TABLE} does not say what ran: \`npm run prebuilds:test -- --write\``);
  total.failed += 1;
}
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 ? 1 : 0);

function tableOf() {
  const rows = targets.map(({ name, platform, libc }) => {
    const runs = ran.filter(({ target }) => target === name);
    const needs = { linux: libc === 'musl' ? 'musl' : 'glibc 2.28', darwin: 'macOS 11.0', win32: 'Windows 10' }[
      platform
    ];
    const cells = runs.map(({ runtime }) => runtime);
    return `| \`${name}\` | ${needs} | yes | ${cells.length > 0 ? cells.join('; ') : 'nothing here: see below'} |`;
  });
  return [
    '# Targets',
    '',
    'The package carries one binary for each of these. All are made on one Linux machine by `npm run prebuilds`, and tried by',
    '`npm run prebuilds:test`, which writes this page.',
    '',
    '| target | needs at least | inspected | smoke suite run under |',
    '|---|---|---|---|',
    ...rows,
    '',
    '**Inspected**: the binary is for that machine; it exports what the runtime and other languages look for and nothing',
    'else; it asks for nothing beyond Node-API 9, the C library of that system and, on Windows, the random numbers of it; it',
    'carries no path, no symbols and no time. Two builds give the same bytes: `npm run prebuilds -- --again` compares them.',
    '',
    '**Smoke suite**: `scripts/prebuild/smoke.cjs`, over the package as it is published. Where nothing ran here, the binary',
    'links and is inspected, and that is all that is known of it until `.github/workflows/prebuilds.yml` has run the same',
    'suite natively, on a hosted machine of that kind.',
    '',
    'Elsewhere `npx node-dlpack build` compiles the addon from the sources in the package.',
    '',
  ].join('\n');
}
