// The ownership protocol, proved: every model in models/ is searched to the end by Spin, and must fail, by an assertion or a deadlock, with
// each fault that it can have planted in it (`#ifdef PLANTED_…`): a model that cannot fail proves nothing. `npm run model`; names of models
// restrict it; `--steps N` lets the threads of the models that bound their steps take more of them, and the search more time.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { aptInstall, has, jobs, root } from './steps.mjs';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { steps: { type: 'string' } } });
const folder = path.join(root, 'models');
const MEGABYTES = values.steps === undefined ? 1500 : 12_000;

function start(command, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (text) => (output += text));
    child.stderr.on('data', (text) => (output += text));
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, output }));
  });
}

/** One search: Spin writes a program in C, which visits every state there is. */
async function search({ model, fault, defines }) {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'model-'));
  try {
    const text = path.join(folder, model);
    const made = await start('spin', ['-a', ...defines.map((name) => `-D${name}`), text], directory);
    if (made.status !== 0 || !existsSync(path.join(directory, 'pan.c'))) return { broken: made.output };
    // SAFETY: assertions and deadlocks are what is looked for. NOFAIR, MEMLIM: no more than is needed.
    const flags = [fault ? '-O0' : '-O1', '-w', '-DSAFETY', '-DNOFAIR', `-DMEMLIM=${MEGABYTES}`];
    const compiled = await start('gcc', [...flags, '-o', 'pan', 'pan.c'], directory);
    if (compiled.status !== 0) return { broken: compiled.output };
    const searched = await start('./pan', ['-m1000000'], directory);
    return { ...read(searched.output), output: searched.output };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function read(output) {
  const number = (pattern) => Number(pattern.exec(output)?.[1] ?? NaN);
  const fault = /^pan:\d+: (assertion violated .*|invalid end state) \(at depth/m.exec(output)?.[1];
  // A search that was cut short (memory, depth) has found nothing out.
  const complete = !/max search depth too small|search not completed|out of memory/i.test(output);
  return {
    fault: fault?.replaceAll(/\s+/g, ' '),
    clean: complete && number(/errors: (\d+)/) === 0,
    states: number(/([\d.e+]+) states, stored/),
  };
}

function searchesOf(model) {
  const text = readFileSync(path.join(folder, model), 'utf8');
  const planted = [...new Set(text.match(/\bPLANTED_[A-Z_]+\b/g))].toSorted();
  const steps = values.steps !== undefined && /#ifndef STEPS/.test(text) ? [`STEPS=${values.steps}`] : [];
  return [{ model, defines: steps }, ...planted.map((fault) => ({ model, fault, defines: [fault] }))];
}

if (!has('spin') || !has('gcc')) aptInstall(['spin', 'gcc']);
const models = readdirSync(folder).filter(
  (name) => name.endsWith('.pml') && (positionals.length === 0 || positionals.includes(path.basename(name, '.pml'))),
);
const queue = models.flatMap(searchesOf);
const failures = [];

async function work() {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { model, fault, defines } = next;
    // oxlint-disable-next-line no-await-in-loop -- as many searches at a time as there are processors
    const found = await search(next);
    const right = found.broken === undefined && (fault === undefined ? found.clean : found.fault !== undefined);
    const what = fault === undefined ? `${found.states} states, all sound` : `${fault}: caught, ${found.fault}`;
    if (right) console.log(`ok ${model} ${what}`);
    else failures.push(`${model} ${defines.join(' ')}\n${found.broken ?? found.output}`);
  }
}

await Promise.all(Array.from({ length: Math.min(jobs, 2) }, work));
for (const failure of failures) console.error(`\nFAIL ${failure}`);
if (models.length === 0) console.error('no such model');
process.exit(failures.length > 0 || models.length === 0 ? 1 : 0);
