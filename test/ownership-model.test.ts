/**
 * docs/ownership-model.md says which function does which step of the models. The proof is worth something only as long
 * as those functions exist: whoever renames or removes one comes by here, and looks at the model. The search itself is
 * `npm run model`.
 */
import { describe, expect, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path = require('node:path');
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const root = path.join(__dirname, '..');
const page = readFileSync(path.join(root, 'docs/ownership-model.md'), 'utf8');
const models = readdirSync(path.join(root, 'models')).filter((name) => name.endsWith('.pml'));

interface Row {
  readonly step: string;
  readonly function: string;
  readonly file: string;
}

/** The sections of the page about models, with the rows of their tables. */
const sections = page.split('\n### ').flatMap((section) => {
  const heading = section.slice(0, section.indexOf('\n'));
  const files = [...heading.matchAll(/`([\w/]+\.pml)`/g)].map((match) => match[1] ?? '');
  const rows: Row[] = [...section.matchAll(/^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$/gm)].map((match) => ({
    step: match[1] ?? '',
    function: match[2] ?? '',
    file: match[3] ?? '',
  }));
  return files.length > 0 ? [{ files, rows }] : [];
});

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

test('every model has its section, and every section its table', () => {
  const described = sections.flatMap(({ files }) => files).filter((file) => !file.startsWith('shared/'));
  expect(new Set(described)).toEqual(new Set(models));
  expect(described).toHaveLength(models.length);
  for (const { rows } of sections) expect(rows.length).toBeGreaterThan(4);
});

describe.each(sections)('$files', ({ files, rows }) => {
  const text = files.map((file) => readFileSync(path.join(root, 'models', file), 'utf8')).join('\n');

  test.each(rows)('$step is done by $function of $file', ({ step, function: name, file }) => {
    // An inline, a process or a label of the model.
    expect(text).toMatch(new RegExp(String.raw`^((inline|proctype) ${escaped(step)}\(|${escaped(step)}:)`, 'm'));
    expect(existsSync(path.join(root, file))).toBe(true);
    expect(readFileSync(path.join(root, file), 'utf8')).toMatch(new RegExp(String.raw`(?<!\w)${escaped(name)}\(`));
  });
});

test('every model can be made to fail', () => {
  for (const model of models) {
    const text = readFileSync(path.join(root, 'models', model), 'utf8');
    const planted = new Set(text.match(/\bPLANTED_[A-Z_]+\b/g));
    expect([model, planted.size >= 4]).toEqual([model, true]);
  }
});
