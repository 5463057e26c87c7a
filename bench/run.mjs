// Figures beside those of peers, in the same run: `npm run bench`, `npm run bench -- handoff layout`, and `--quick` for
// a run that only shows that everything works and is right. `--write` keeps what was measured: in bench/results/<date>.json
// and on docs/performance.md. The exit code tells of failures and wrong results, never of a time.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from '../scripts/build.mjs';
import { root } from '../scripts/steps.mjs';
import { machineFacts } from './lib/machine.mjs';
import { runPart } from './lib/part.mjs';
import { fileOf, newestResults, withParts, writePage, writeResults } from './lib/results.mjs';
import { formatMarks } from './lib/table.mjs';

/** In the order of the report. Each is bench/<part>.mjs; what it must export stands in lib/part.mjs. */
const PARTS = ['handoff', 'layout', 'javascript', 'pipeline'];

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((id) => !PARTS.includes(id));
if (unknown.length > 0) {
  console.error(`there is no part ${unknown.join(', ')}; the parts are ${PARTS.join(', ')}`);
  process.exit(2);
}

const asked = PARTS.filter((id) => positionals.length === 0 || positionals.includes(id));
build();
const started = Date.now();
const machine = machineFacts();
const folder = path.join(root, '.cache/bench');
mkdirSync(folder, { recursive: true });

const parts = [];
const failed = [];
for (const id of asked) {
  const json = path.join(folder, `${id}.json`);
  rmSync(json, { force: true });
  console.log(`\n> ${id}`);
  const status = runPart(id, ['--json', json, ...(options.quick ? ['--quick'] : [])]);
  if (status === 0 && existsSync(json)) parts.push(JSON.parse(readFileSync(json, 'utf8')));
  else failed.push(id);
}

console.log('');
for (const { id, rows } of parts) {
  console.log(`${id}: ${rows.length} rows, ${formatMarks(rows)}${options.quick ? ' (a quick run: no figures)' : ''}`);
}
for (const id of failed) console.error(`FAIL ${id}`);
if (options.write && !options.quick && failed.length === 0) {
  const date = new Date(started).toISOString().slice(0, 10);
  // Parts are measured apart from each other, so one alone may take the place of its last figures.
  const results = withParts(newestResults(), { date, machine, parts });
  writeResults(results);
  writePage(results);
  console.log(`written: ${path.relative(root, fileOf(date))}, docs/performance.md`);
}
process.exit(failed.length > 0 ? 1 : 0);
