/**
 * What the bench says of its own figures: which of them are good enough, and that docs/performance.md holds what was
 * measured. Without this the page could praise figures that nobody has seen.
 */
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const root = path.resolve(__dirname, '..');
const workplace = path.join(root, 'dist-test/bench');

/** What an expression over the functions of some modules of bench/lib comes to, in a process that can import them. */
function evaluate(expression: string): unknown {
  mkdirSync(workplace, { recursive: true });
  const file = path.join(workplace, 'evaluate.mjs');
  const modules = ['measure', 'row', 'table', 'results'];
  const imports = modules.map(
    (name) => `import * as ${name} from ${JSON.stringify(path.join(root, `bench/lib/${name}.mjs`))};`,
  );
  writeFileSync(file, `${imports.join('\n')}\nconsole.log(JSON.stringify(await (async () => ${expression})()));\n`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout);
}

const figure = (value: number): string => `{ best: ${value}, median: ${value}, iterations: 1 }`;

/** A row of ours beside peers a and b. */
function rowOf(ours: number, a: number, b: number, must: string): string {
  return `row.row({ ours: ${figure(ours)}, a: ${figure(a)}, b: ${figure(b)} }, { what: 'x', must: ${must} })`;
}

describe('a row', () => {
  test('is met when ours is within the part of the peer that it may take', () => {
    const met = (ours: number): unknown => evaluate(`${rowOf(ours, 100, 10, "row.atMost('a', 0.7)")}.met`);
    expect([met(70), met(71)]).toEqual([true, false]);
  });

  test('names the best of the peers where it must be beaten', () => {
    expect(
      evaluate(`(({ must, met }) => ({ must, met }))(${rowOf(6, 100, 10, "row.timesFaster('best', 2)")})`),
    ).toEqual({
      must: { peer: 'b', ratio: 0.5 },
      met: false,
    });
  });

  test('must reach all of several marks, and is not judged without one, or without its peer', () => {
    const both = (ours: number): string => rowOf(ours, 100, 50, "[row.atMost('a', 0.5), row.atMost('b', 0.5)]");
    expect(evaluate(`[${both(25)}.met, ${both(26)}.met]`)).toEqual([true, false]);
    const missing = rowOf(1, 100, 50, "row.atMost('c', 1)");
    expect(evaluate(`[${rowOf(1, 2, 3, 'undefined')}.met, ${missing}.met]`)).toEqual([null, null]);
  });

  test('is printed with its verdict, and a line for each peer', () => {
    const text = String(evaluate(`table.formatRows([${rowOf(50, 1234, 25, "row.atMost('a', 0.7)")}])`));
    const cells = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    expect(cells.slice(2)).toEqual([
      ['', 'x', '50 ns', 'a', '1.23 us', '0.0405', '24.7', '≤ 0.700: met', '', ''],
      ['', '', '', 'b', '25 ns', '2', '0.500', '', '', ''],
    ]);
  });
});

describe('figures', () => {
  test('have three digits that count, in the unit that needs the fewest', () => {
    const figures =
      "[[999, 'ns'], [1000, 'ns'], [2.5e9, 'ns'], [0.5, 'ns'], [1536, 'bytes'], [0, 'bytes'], [0.25, 'x']]";
    expect(evaluate(`${figures}.map((args) => table.formatFigure(...args))`)).toEqual([
      '999 ns',
      '1 us',
      '2.50 s',
      '0.500 ns',
      '1.50 KiB',
      '0 bytes',
      '0.250 x',
    ]);
  });

  test('are the best and the median of rounds that take turns', () => {
    expect(evaluate('[measure.summary([3, 1, 2]), measure.summary([4, 1, 2, 3])]')).toEqual([
      { best: 1, median: 2 },
      { best: 1, median: 2.5 },
    ]);
    // Each says how long it took: the first is disturbed now and then, and the best round is not.
    const order = `const calls = []; let n = 0;
      const results = await measure.race({
        a: (times) => { calls.push('a'); return times * (n++ % 2 === 0 ? 1000 : 9000); },
        b: (times) => { calls.push('b'); return times * 2000; },
      }, { rounds: 4, roundNs: 1e6 });
      return { best: [results.a.best, results.b.best], order: calls.slice(-8).join('') };`;
    expect(evaluate(`{ ${order} }`)).toEqual({ best: [1000, 2000], order: 'abbaabba' });
  });
});

describe('results', () => {
  test('of one part take the place of its last ones, on the same machine', () => {
    const run = (date: string, cpu: string, ...ids: string[]): string =>
      JSON.stringify({ date, machine: { CPU: cpu }, parts: ids.map((id) => ({ id })) });
    const merged = (cpu: string): unknown =>
      evaluate(`results.withParts(${run('1', 'A', 'x', 'y')}, ${run('2', cpu, 'x')}).parts`);
    expect(merged('A')).toEqual([{ id: 'x', date: '2' }, { id: 'y' }]);
    expect(merged('B')).toEqual([{ id: 'x', date: '2' }]);
    expect(evaluate(`results.withParts(undefined, ${run('2', 'A', 'x')}).parts`)).toEqual([{ id: 'x', date: '2' }]);
  });
});

describe('docs/performance.md', () => {
  test('holds the newest of the results, word by word', () => {
    expect(evaluate('results.pageWith(results.readPage(), results.newestResults()) === results.readPage()')).toBe(true);
  });

  test('holds every part of the bench', () => {
    expect(evaluate('results.newestResults().parts.map(({ id }) => id)')).toEqual(
      expect.arrayContaining(['handoff', 'javascript', 'layout', 'pipeline']),
    );
  });
});
