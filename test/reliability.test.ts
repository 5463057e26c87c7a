/** docs/reliability.md names a test and a command for each promise: they must be there to be run. */
import { expect, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path = require('node:path');
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const root = path.join(__dirname, '..');
const page = readFileSync(path.join(root, 'docs/reliability.md'), 'utf8');
const rows = page
  .slice(page.indexOf('## Promises'), page.indexOf('## Nets'))
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| Promise '))
  .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')));
const scripts = Object.keys(
  (JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { scripts: object }).scripts,
);
const tests = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' });
const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');

/** What is wrong with a command; undefined: nothing. */
function faultOf(command: string): string | undefined {
  const words = command.split(' ');
  if (words[0] === 'node') return existsSync(path.join(root, words[1] ?? '')) ? undefined : 'no such script';
  const script = words[1] === 'run' ? words[2] : words[1];
  if (words[0] !== 'npm' || !scripts.includes(script ?? '')) return 'no such script of the package';
  const [target, ...others] = words.includes('--') ? words.slice(words.indexOf('--') + 1) : [];
  if (target === undefined) return undefined;
  if (script === 'fuzz') return existsSync(path.join(root, 'fuzz', `${target}.cc`)) ? undefined : 'no such target';
  if (script !== 'test') return undefined;
  const without = [target, ...others].find(
    (name) => !tests.some((file) => file.endsWith('.test.ts') && file.includes(name)),
  );
  return without === undefined ? undefined : `no test file matches ${without}`;
}

test.each(rows)('%s', (_promise, heldBy = '', repeatedBy = '') => {
  const files = quoted(heldBy).filter(
    (name) => /^(test|fuzz|models|scripts|runtimes)\/.*\.\w+$/.test(name) && !name.includes('*'),
  );
  expect(files.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  const commands = quoted(repeatedBy);
  expect(commands.length).toBeGreaterThan(0);
  expect(commands.map((command) => [command, faultOf(command)]).filter(([, fault]) => fault !== undefined)).toEqual([]);
});

test('every net of the continuous run is a row', () => {
  const commands = rows.flatMap(([, , repeatedBy = '']) => quoted(repeatedBy)).join('\n');
  for (const net of [
    'model',
    'fuzz',
    'soak',
    'test:sanitized',
    'test:threads',
    'test:valgrind',
    'test:staging',
    'runtimes',
  ]) {
    expect(commands).toMatch(new RegExp(`npm run ${net}\\b`));
  }
});
