// What a run leaves behind: bench/results/<date>.json, and the table on docs/performance.md, which is made from the newest
// of them and from nothing else.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../../scripts/steps.mjs';
import { formatMarks, formatPart } from './table.mjs';

const FOLDER = path.join(root, 'bench/results');
const PAGE = path.join(root, 'docs/performance.md');
const BEGIN = '<!-- Written by `npm run bench -- --write`; a change by hand lasts until the next run. -->';
const END = '<!-- end -->';

export const fileOf = (date) => path.join(FOLDER, `${date}.json`);

export function writeResults(results) {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(fileOf(results.date), `${JSON.stringify(results, null, 2)}\n`);
}

export function newestResults() {
  if (!existsSync(FOLDER)) return undefined;
  const newest = readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .at(-1);
  return newest === undefined ? undefined : JSON.parse(readFileSync(path.join(FOLDER, newest), 'utf8'));
}

/**
 * `now`, and of the parts that it has not, what `before` says, in one order; nothing of `before` if that was another
 * machine.
 */
export function withParts(before, now) {
  const dated = now.parts.map((part) => ({ ...part, date: now.date }));
  if (before === undefined || before.machine.CPU !== now.machine.CPU) return { ...now, parts: dated };
  const kept = before.parts.filter(({ id }) => !dated.some((part) => part.id === id));
  return { ...now, parts: [...kept, ...dated].toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
}

export function formatResults({ date, machine, parts }) {
  const facts = Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`);
  const marks = formatMarks(parts.flatMap(({ rows }) => rows));
  const text = [`${date}: ${marks}.`, '', ...facts, '', ...parts.flatMap((part) => [formatPart(part), ''])].join('\n');
  return text.replaceAll('__', String.raw`\_\_`); // or __dlpack__ would be bold
}

/** The page's text with `results` between its marks. */
export function pageWith(text, results) {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error('docs/performance.md has lost the marks around its table');
  return `${text.slice(0, begin + BEGIN.length)}\n\n${formatResults(results)}${text.slice(end)}`;
}

export const readPage = () => readFileSync(PAGE, 'utf8');
export const writePage = (results) => writeFileSync(PAGE, pageWith(readPage(), results));
