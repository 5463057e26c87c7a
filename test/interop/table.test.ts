/**
 * The table of docs/interop.md: what was proven goes in, and what was proven before and is no longer makes the run
 * fail.
 */
import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { expectCountersAtZero } from '../support/counters.js';

expectCountersAtZero();

const root = path.resolve(__dirname, '../..');
const workplace = path.join(root, 'dist-test/interop-table');

/** What an expression over the functions of scripts/interop.mjs comes to, in a process that can import it. */
function evaluate(expression: string): unknown {
  mkdirSync(workplace, { recursive: true });
  const file = path.join(workplace, 'evaluate.mjs');
  const script = JSON.stringify(path.join(root, 'scripts/interop.mjs'));
  writeFileSync(
    file,
    `import * as interop from ${script};\nconst { collect, formatPage, lost, parsePage } = interop;\nconsole.log(JSON.stringify(${expression}));\n`,
  );
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout);
}

function row(changes: object = {}): object {
  return {
    library: 'a',
    version: '1.0',
    direction: 'in',
    struct: 'typed array',
    copies: 0,
    writable: 'no',
    remarks: 'x',
    ...changes,
  };
}

function lines(rows: readonly object[]): string {
  return JSON.stringify(rows.map((entry) => JSON.stringify(entry)));
}

test('rows stand in one order, each exchange once, with all remarks', () => {
  const rows = [row({ library: 'b' }), row({ direction: 'out' }), row({ remarks: 'y' }), row(), row({ remarks: 'y' })];
  expect(evaluate(`collect(${lines(rows)})`)).toEqual([
    row({ remarks: 'x · y' }),
    row({ direction: 'out' }),
    row({ library: 'b' }),
  ]);
});

test('a page reads back as it was written', () => {
  const rows = [row(), row({ library: 'b', copies: 1, writable: 'yes' })];
  const page = `formatPage(new Map([['One', collect(${lines(rows)})], ['Two', collect(${lines(rows.slice(1))})]]))`;
  expect(evaluate(`formatPage(parsePage(${page})) === ${page}`)).toBe(true);
  expect(evaluate(`[...parsePage(${page}).keys()]`)).toEqual(['One', 'Two']);
});

test('an exchange that is gone, copies more or cannot be written any more is lost; a new version or remark is not', () => {
  const before = [row(), row({ library: 'b', writable: 'yes' }), row({ library: 'c' }), row({ library: 'd' })];
  const now = [row({ copies: 1 }), row({ library: 'b' }), row({ library: 'd', version: '2.0', remarks: 'other' })];
  const page = `parsePage(formatPage(new Map([['One', collect(${lines(before)})]]))).get('One')`;
  expect(evaluate(`lost(${page}, collect(${lines(now)}))`)).toEqual([
    'a | in | typed array | 0 | no',
    'b | in | typed array | 0 | yes',
    'c | in | typed array | 0 | no',
  ]);
});

test('a row that is not whole, or would break the table, is refused', () => {
  expect(() => evaluate(`collect(${lines([{ library: 'a' }])})`)).toThrow();
  expect(() => evaluate(`collect(${lines([row({ remarks: 'a | b' })])})`)).toThrow();
});

test('a part that does not exist is named, and nothing is run', () => {
  const { status, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts/interop.mjs'), 'nothing'], {
    encoding: 'utf8',
  });
  expect({ status, stderr: stderr.trim() }).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^there is no part nothing; the parts are js/),
  });
});
