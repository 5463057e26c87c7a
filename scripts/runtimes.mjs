// Runs the test suite on other runtimes and writes what differs, and why, into docs/runtimes.md: `npm run runtimes`, or `npm run runtimes -- bun
// node-24` for some of them. `--bounded` takes the files on ownership, views and the end of environments alone. On Node jest runs, as ever; elsewhere the same
// compiled files run over runtimes/jest-globals.cjs, one process a file. Fails when something differs that runtimes/differences.mjs does not explain,
// and when something no longer differs that it does.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { DIFFERENCES } from '../runtimes/differences.mjs';
import { buildTests } from './build-tests.mjs';
import { installPackages, jobs, root, tryRun } from './steps.mjs';

const packages = path.join(root, 'runtimes/node_modules');
const results = path.join(root, 'dist-test/runtimes');
/** A process that says nothing for so long hangs. The slowest file takes a tenth of it. */
const TIME_LIMIT_MS = 300_000;
/** The files of a bounded run: ownership, exchange, views, and how environments end. Runtimes differ there if anywhere. */
const BOUNDED = /^(1\d\d-|2[0-7]\d-|environment$|views$|view-death$|collector$|interop\/)/;

const node = (major) => ({
  id: `node-${major}`,
  command: [path.join(packages, `node-${major}/bin/node`), '--expose-gc'],
  jest: true,
});

/** `command`: starts a JavaScript file with a collector that can be called. */
export const RUNTIMES = [
  node(22),
  node(24),
  node(26),
  { id: 'bun', command: [path.join(packages, '@oven/bun-linux-x64/bin/bun'), '--expose-gc'], jest: false },
  {
    id: 'deno',
    command: [path.join(packages, '@deno/linux-x64-glibc/deno'), 'run', '-A', '--quiet', '--v8-flags=--expose-gc'],
    jest: false,
  },
];

/** One test: { file, name, status: 'passed' | 'failed' | 'skipped', message }. */
function withJest({ id, command }, files) {
  const report = path.join(results, `${id}.json`);
  rmSync(report, { force: true });
  const [program, ...args] = command;
  tryRun(program, [...args, 'node_modules/jest/bin/jest.js', '--silent', '--json', `--outputFile=${report}`, ...files]);
  if (!existsSync(report)) return [{ file: '(all)', name: '(jest)', status: 'failed', message: 'no report' }];
  return JSON.parse(readFileSync(report, 'utf8')).testResults.flatMap(({ name, message, assertionResults }) => {
    const file = path.relative(path.join(root, 'dist-test'), name).slice(0, -'.test.js'.length);
    if (assertionResults.length === 0) return [{ file, name: '(file)', status: 'failed', message }];
    return assertionResults.map(({ fullName, status, failureMessages }) => ({
      file,
      name: fullName,
      status: status === 'passed' || status === 'failed' ? status : 'skipped',
      message: failureMessages.join('\n'),
    }));
  });
}

/** Runs one file to its end: its results, and one more where the process did not end well. */
function runFile({ command }, file) {
  return new Promise((resolve) => {
    const [program, ...args] = command;
    const child = spawn(program, [...args, 'runtimes/suite.cjs', `dist-test/${file}.test.js`], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIME_LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('close', (code, signal) => {
      const lines = output.split('\n').filter((line) => line.startsWith('@result '));
      const tests = lines.map((line) => ({ file, ...JSON.parse(line.slice('@result '.length)) }));
      const ended = tests.at(-1)?.status === 'end';
      if (ended) tests.pop();
      if (!ended || code !== 0) {
        const tail = output.trim().split('\n').slice(-12).join('\n');
        tests.push({
          file,
          name: ended ? '(process end)' : '(not finished)',
          status: 'failed',
          message: `the process ended with ${signal ?? `exit code ${code}`}\n${tail}`,
        });
      }
      resolve(tests);
    });
  });
}

export async function withoutJest(runtime, files) {
  const waiting = [...files];
  const all = [];
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      // oxlint-disable-next-line no-await-in-loop -- each worker runs one process at a time
      all.push(...(await runFile(runtime, file)));
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return all;
}

function matches(difference, id, test) {
  return (
    difference.runtimes.includes(id) &&
    difference.file.test(test.file) &&
    difference.test.test(test.name) &&
    (difference.message === undefined || difference.message.test(test.message))
  );
}

/** What of a run is not as it should be: failures without a reason, and reasons without a failure. */
export function judge(id, tests, files, only, differences = DIFFERENCES) {
  const known = differences.filter(({ runtimes }) => runtimes.includes(id));
  const failed = tests.filter(({ status }) => status === 'failed');
  const unexplained = failed.filter((test) => !known.some((difference) => matches(difference, id, test)));
  const gone = known.filter(
    (difference) =>
      difference.sometimes !== true &&
      only === undefined &&
      files.some((file) => difference.file.test(file)) &&
      !failed.some((test) => matches(difference, id, test)),
  );
  return { unexplained, gone };
}

function version({ command }) {
  const report = path.join(results, 'version.cjs');
  writeFileSync(
    report,
    'const { bun, deno, node, v8 } = process.versions;\n' +
      'console.log(bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`);\n',
  );
  const [program, ...args] = command;
  const out = path.join(results, 'version.txt');
  tryRun('sh', ['-c', '"$0" "$@" > "$OUT"', program, ...args, report], { env: { OUT: out } });
  return readFileSync(out, 'utf8').trim();
}

const PAGE = path.join(root, 'docs/runtimes.md');
const [BEGIN, END] = ['<!-- begin: written by `npm run runtimes` -->', '<!-- end -->'];

/** The part of the page that this script writes, from the rows of this run and those of runtimes that were not run. */
export function formatTable(rows, before) {
  const head = ['| runtime | passed | differ | skipped |', '|---|---|---|---|'];
  const kept = before.filter((line) => /^\| (Node|Bun|Deno) /.test(line));
  const major = (line) => /^\| (Node \d+|Bun|Deno)/.exec(line)?.[1];
  const now = new Map([...kept, ...rows].map((line) => [major(line), line]));
  const reasons = DIFFERENCES.map(
    ({ runtimes, what, why, sometimes }) =>
      `| ${runtimes.join(', ')} | ${what}${sometimes === true ? ' (not at every run)' : ''} | ${why} |`,
  );
  return [
    ...head,
    ...[...now].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line),
    '',
    '| where | what differs | why |',
    '|---|---|---|',
    ...reasons,
  ];
}

function writePage(rows) {
  const text = readFileSync(PAGE, 'utf8');
  const [start, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (start < 0 || end < 0) throw new Error('docs/runtimes.md has lost its markers');
  const table = formatTable(rows, text.slice(start, end).split('\n'));
  writeFileSync(PAGE, `${text.slice(0, start)}${BEGIN}\n\n${table.join('\n')}\n\n${text.slice(end)}`);
}

async function main(args) {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    console.log('skipped: runtimes/package.json lists the runtimes for Linux x64 alone');
    return 0;
  }
  const bounded = args.includes('--bounded');
  const only = args.find((arg) => arg.startsWith('--only='))?.slice('--only='.length);
  const asked = args.filter((arg) => !arg.startsWith('--'));
  const unknown = asked.filter((id) => !RUNTIMES.some((runtime) => runtime.id === id));
  if (unknown.length > 0) {
    console.error(`there is no ${unknown.join(', ')}; there are ${RUNTIMES.map(({ id }) => id).join(', ')}`);
    return 2;
  }
  buildTests();
  installPackages('runtimes');
  mkdirSync(results, { recursive: true });
  const all = readdirSync(path.join(root, 'dist-test'), { recursive: true })
    .filter((name) => name.endsWith('.test.js') && !name.includes('node_modules'))
    .map((name) => name.slice(0, -'.test.js'.length))
    .toSorted()
    .filter((name) => (only === undefined || name.includes(only)) && (!bounded || BOUNDED.test(name)));

  const rows = [];
  let failures = 0;
  for (const runtime of RUNTIMES.filter(({ id }) => asked.length === 0 || asked.includes(id))) {
    const name = version(runtime);
    console.log(`> ${name}`);
    // oxlint-disable-next-line no-await-in-loop -- one runtime after the other: each uses every core
    const tests = await (runtime.jest
      ? withJest(
          runtime,
          all.map((file) => `dist-test/${file}.test.js$`),
        )
      : withoutJest(runtime, all));
    const count = (status) => tests.filter((test) => test.status === status).length;
    const { unexplained, gone } = judge(runtime.id, tests, all, only);
    for (const { file, name: test, message } of unexplained) console.error(`FAIL ${file}: ${test}\n${message}\n`);
    for (const { what } of gone) console.error(`FAIL ${runtime.id} no longer differs: ${what}`);
    for (const { file, name: test } of tests.filter(({ status }) => status === 'skipped')) {
      console.log(`skipped: ${file}: ${test}`);
    }
    failures += unexplained.length + gone.length + (count('passed') === 0 ? 1 : 0);
    console.log(`${name}: ${count('passed')} passed, ${count('failed')} differ, ${count('skipped')} skipped`);
    rows.push(`| ${name} | ${count('passed')} | ${count('failed')} | ${count('skipped')} |`);
  }
  if (failures > 0) {
    console.error(`failures: ${failures}`);
    return 1;
  }
  if (!bounded && only === undefined) writePage(rows);
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exit(await main(process.argv.slice(2)));
