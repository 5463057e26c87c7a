// Exchanges tensors with real libraries and writes docs/interop.md from what it just saw: `npm run interop`, or `npm run interop -- js` for single
// parts. Fails when a part fails, and when a row that stands in docs/interop.md was not proven again; then the file is left as it is. A row that
// shall go is deleted from the file by hand first. Parts that were not run keep their rows.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildTests } from './build-tests.mjs';
import { buildExampleAddons, testExampleAddons } from './example-addons.mjs';
import { HEAVY, findHeavy, installPython } from './python-peers.mjs';
import { installPackages, root, tryRun } from './steps.mjs';

/** The answer of a part that cannot run here, and has said why: its rows stay as they are. */
const SKIPPED = -1;

/**
 * The parts, in the order of the page. `id`: its name on the command line. `title`: its heading. `byDefault`: false where the libraries are too
 * heavy to be installed every time. `run(results)`: does everything and returns the exit code; what it proved it appends to the file `results`,
 * one JSON object a line: { library, version, direction: 'in' | 'out', struct, copies, writable: 'yes' | 'no', remarks }.
 */
export const parts = [
  {
    id: 'js',
    title: 'JavaScript libraries',
    byDefault: true,
    run: (results) => {
      installPackages('interop/js');
      return runPeerTests(
        ['arrow', 'image-data', 'memory', 'ndarray', 'ort', 'recipes', 'sharp', 'stdlib', 'tfjs', 'zarrita'],
        results,
      );
    },
  },
  {
    id: 'python',
    title: 'Python libraries, in the same process',
    byDefault: true,
    run: (results) => {
      const variables = installPython();
      // One after the other, each in a process of its own: there is one Python in a process.
      const names = [
        'tvm-ffi',
        'python-koffi',
        'python-node-calls-python',
        'python-lifetime',
        'python-recipes',
        'python-files',
      ];
      return Math.max(...names.map((name) => runPeerTests([name], results, variables)));
    },
  },
  {
    id: 'addons',
    title: 'Native addons, built apart, with two headers in common',
    byDefault: true,
    run: (results) => {
      const addons = buildExampleAddons();
      const missing = Object.values(addons).find((addon) => addon.missing !== undefined);
      if (missing !== undefined) {
        console.log(`skipped: ${missing.missing}`);
        return SKIPPED;
      }
      return testExampleAddons(addons, [], { NODE_DLPACK_INTEROP_RESULTS: results });
    },
  },
  ...Object.entries(HEAVY).map(([id, title]) => ({
    id,
    title,
    byDefault: false,
    run: (results) => {
      const variables = findHeavy(id);
      return variables === undefined ? SKIPPED : runPeerTests(['python-heavy'], results, variables);
    },
  })),
];

/** Runs test/interop/<name>.peer.ts for each name. Everything they need of this package has been built. */
export function runPeerTests(names, results, env = {}) {
  return tryRun(
    process.execPath,
    // ES modules can be imported in jest's sandbox only behind this flag.
    [
      '--expose-gc',
      '--experimental-vm-modules',
      '--no-warnings=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--config',
      'jest.interop.config.json',
      `dist-test/interop/(${names.join('|')})\\.peer\\.js$`,
    ],
    { env: { ...env, NODE_DLPACK_INTEROP_RESULTS: results } },
  );
}

const PAGE = path.join(root, 'docs/interop.md');
const COLUMNS = ['library', 'version', 'direction', 'struct', 'copies', 'writable', 'remarks'];
/** What makes a row the same exchange as before; versions and remarks may change. */
const IDENTITY = ['library', 'direction', 'struct', 'copies', 'writable'];

const INTRO = `<!-- Written by \`npm run interop\`; a change by hand lasts until the next run. -->
# What has been exchanged with what

Each row was proven by a test against the real library of that version: values, strides, dtype, addresses (a copy is another address, no copy the
same) and that every counter came back to zero.

- **direction**: \`in\`, from the library to a tensor of this one; \`out\`, the other way.
- **struct**: what crossed: a DLPack struct, or JavaScript's own memory.
- **copies**: of the elements, on the whole way.
- **writable**: may the receiver write? \`no\` is a promise where the language cannot enforce it.

How each is done in a few lines: [recipes](recipes/README.md).
`;

export const keyOf = (row) => IDENTITY.map((column) => String(row[column])).join(' | ');

/** Rows by key; the remarks of several tests that proved one row stand side by side. */
export function collect(lines) {
  const rows = new Map();
  for (const line of lines.filter((text) => text.trim() !== '')) {
    const row = JSON.parse(line);
    for (const column of COLUMNS) {
      if (row[column] === undefined || /[|\n]/.test(String(row[column])))
        throw new Error(`a row without a proper ${column}: ${line}`);
    }
    const known = rows.get(keyOf(row));
    if (known === undefined) rows.set(keyOf(row), row);
    else known.remarks = [...new Set([...known.remarks.split(' · '), row.remarks])].toSorted().join(' · ');
  }
  return [...rows.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The rows of each section of the page, by its heading. */
export function parsePage(text) {
  const sections = new Map();
  let rows;
  for (const line of text.split('\n')) {
    const title = /^## (.+)$/.exec(line)?.[1];
    if (title !== undefined) sections.set(title, (rows = []));
    const cells = /^\| (.+) \|$/.exec(line)?.[1].split(' | ');
    if (rows === undefined || cells?.length !== COLUMNS.length || cells[0] === COLUMNS[0]) continue;
    rows.push(Object.fromEntries(COLUMNS.map((column, index) => [column, cells[index]])));
  }
  return sections;
}

function formatSection([title, rows]) {
  return [
    `## ${title}`,
    '',
    `| ${COLUMNS.join(' | ')} |`,
    `|${'---|'.repeat(COLUMNS.length)}`,
    ...rows.map((row) => `| ${COLUMNS.map((column) => row[column]).join(' | ')} |`),
  ].join('\n');
}

export function formatPage(sections) {
  return `${INTRO}\n${[...sections].map(formatSection).join('\n\n')}\n`;
}

/** Rows that stood on the page and were not proven again. */
export function lost(before, now) {
  const proven = new Set(now.map(keyOf));
  return before.map(keyOf).filter((key) => !proven.has(key));
}

function main(asked) {
  const unknown = asked.filter((id) => !parts.some((part) => part.id === id));
  if (unknown.length > 0) {
    console.error(`there is no part ${unknown.join(', ')}; the parts are ${parts.map((part) => part.id).join(', ')}`);
    return 2;
  }
  buildTests();

  const before = existsSync(PAGE) ? parsePage(readFileSync(PAGE, 'utf8')) : new Map();
  const sections = new Map();
  let failures = 0;
  for (const part of parts) {
    const old = before.get(part.title) ?? [];
    if (asked.length > 0 ? !asked.includes(part.id) : !part.byDefault) {
      if (old.length > 0) sections.set(part.title, old);
      continue;
    }
    console.log(`> ${part.title}`);
    const results = path.join(root, 'dist-test/interop-results', `${part.id}.jsonl`);
    mkdirSync(path.dirname(results), { recursive: true });
    rmSync(results, { force: true });
    const status = part.run(results);
    if (status === SKIPPED) {
      if (old.length > 0) sections.set(part.title, old);
      continue;
    }
    const rows = collect(existsSync(results) ? readFileSync(results, 'utf8').split('\n') : []);
    const gone = lost(old, rows);
    for (const key of gone) console.error(`FAIL no longer proven: ${key}`);
    if (status !== 0) console.error(`FAIL ${part.title} (exit ${status})`);
    if (rows.length === 0) console.error(`FAIL ${part.title}: nothing was exchanged`);
    failures += gone.length + (status === 0 ? 0 : 1) + (rows.length === 0 ? 1 : 0);
    sections.set(part.title, rows);
    console.log(`${part.title}: ${rows.length} rows`);
  }
  if (failures > 0) {
    console.error(`docs/interop.md is left as it was; failures: ${failures}`);
    return 1;
  }
  writeFileSync(PAGE, formatPage(sections));
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exit(main(process.argv.slice(2)));
