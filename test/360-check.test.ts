/** `node-dlpack check`: each rule finds what breaks it, and nothing where nothing is broken. */
import { afterAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { kitPath } from './support/kit-lab.js';
import { BROKEN } from './support/broken-addon.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const command = path.join(__dirname, '../dist/cli/main.js');
const folder = path.join(__dirname, 'broken-addons');
mkdirSync(folder, { recursive: true });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function addonFile(name: string, code: string): string {
  const file = path.join(folder, `${name.replaceAll(/\W+/g, '-')}.js`);
  writeFileSync(file, code);
  return file;
}

function brokenAddon(name: string): string {
  return addonFile(name, `module.exports = require('../support/broken-addon.js').BROKEN[${JSON.stringify(name)}];\n`);
}

interface Ending {
  code: number;
  stdout: string;
  stderr: string;
}

function run(...args: string[]): Promise<Ending> {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, ...args], { timeout: 290_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

interface Report {
  holds: number;
  failed: number;
  warned: number;
  skipped: number;
  rules: { id: string; outcome: string; level: string; found?: string }[];
}

async function report(file: string, rules: readonly string[]): Promise<Report & { code: number }> {
  const { code, stdout, stderr } = await run('check', file, '--json', '--only', rules.join(','));
  if (stdout === '') throw new Error(stderr);
  return { code, ...(JSON.parse(stdout) as Report) };
}

describe('a rule that is broken is found', () => {
  test.each<[name: string, rules: string[], found: string]>([
    ['makes nothing', ['P01'], 'makeTensor() returned undefined'],
    ['makes a stranger’s External', ['P01'], 'makeTensor() returned an object'],
    ['makes one capsule for all', ['P03'], 'one and the same'],
    ['makes legacy structs', ['P02'], 'DLManagedTensor'],
    ['makes version 2', ['P04', 'P15'], '2'],
    ['makes negative extents', ['P05', 'P15'], '-3'],
    ['leaves out strides', ['P06'], 'NULL'],
    ['invents a dtype', ['P07', 'P15'], '31'],
    ['forgets data', ['P08', 'P15'], 'NULL'],
    ['misaligns data', ['P08'], '2 bytes past'],
    ['has data without elements', ['P09'], 'not NULL'],
    ['begins at an offset', ['P10'], '4'],
    ['has a second CPU', ['P11'], '1'],
    ['leaves flags uninitialised', ['P12'], '0xa5a5'],
    ['lends shared elements writable', ['P13'], 'READ_ONLY'],
    ['has no deleter', ['P14'], 'NULL'],
    ['answers anything', ['D01', 'D03', 'D06', 'D08', 'D10'], '[2, 0]'],
    ['moves its elements', ['L01'], 'changed after a collection'],
    ['leaks what it makes', ['L04'], 'MiB'],
    ['miscounts what it holds', ['L08'], 'not back'],
    ['never releases', ['C01', 'C02', 'C03', 'L10'], '0 times'],
    ['releases twice', ['C01'], '2 times'],
    ['looks without taking', ['C01'], 'still unused'],
    ['takes capsules alone', ['C02', 'C16'], 'no capsule'],
    ['asks twice', ['C02'], '2 times'],
    ['asks for no version', ['C02'], 'max_version'],
    ['takes anything', ['C04', 'C05', 'C07', 'M01'], 'taken all the same'],
    ['hides the producer’s error', ['C06'], 'another error'],
    ['writes to read-only memory', ['C11', 'M06'], 'changed'],
    ['writes to the struct', ['C08'], 'wrote to the struct'],
    ['ignores byte_offset', ['C12'], 'the sum is'],
    ['checks nothing', ['M06', 'M09', 'M11', 'M13'], 'without an error'],
    ['ends the process in its deleter', ['C01', 'M01'], 'SIGKILL'],
  ])('an addon that %s: %j', async (name, rules, found) => {
    const answer = await report(brokenAddon(name), rules);
    const broken = answer.rules.filter(({ outcome }) => outcome === 'broken');
    expect(broken.map(({ id }) => id)).toEqual(rules);
    expect(broken[0]?.found).toContain(found);
    expect(answer.code).toBe(broken.some(({ level }) => level === 'must') ? 1 : 0);
  });

  test('every addon of the laboratory is asked', () => {
    expect(Object.keys(BROKEN).length).toBeGreaterThan(30);
  });
});

/** The kit laboratory as an addon that keeps every rule. */
function sound(): string {
  return addonFile(
    'sound',
    `const kit = require(${JSON.stringify(kitPath)});
     exports.makeTensor = () => kit.make(kit.wrap([2, 3], null, 2));
     exports.takeTensor = (x) => ({ sum: kit.cppSum2(x) });
     exports.takes = { dtype: 'float32', shape: [2, 3] };`,
  );
}

describe('what is sound', () => {
  test('breaks no rule', async () => {
    // The rules of memory growth take long, and the example addons are held against them.
    const { stdout: list } = await run('check', '--list');
    const ids = list
      .trim()
      .split('\n')
      .map((line) => line.slice(0, 3))
      .filter((id) => !['L04', 'L05'].includes(id));
    const answer = await report(sound(), ids);
    expect(answer.rules.filter(({ outcome }) => outcome === 'broken')).toEqual([]);
    expect(answer.holds).toBeGreaterThan(45);
    expect(answer.code).toBe(0);
  }, 300_000);

  test('is printed, a line a rule, with what was skipped and why', async () => {
    const { code, stdout } = await run('check', sound(), '--only', 'P01,D01,L08');
    expect(stdout).toMatch(/^ok {4}P01 {2}makeTensor\(\) gives/m);
    expect(stdout).toMatch(/^skip {2}D01 .*\n +makeTensor\(\) returns capsules, which take no options$/m);
    expect(stdout).toMatch(/: 1 rules hold, 0 broken, 0 warnings, 2 skipped\n$/);
    expect(code).toBe(0);
  });
});

test('a warning is no failure', async () => {
  const { code, stdout } = await run('check', brokenAddon('makes legacy structs'), '--only', 'P02');
  expect([code, stdout.startsWith('warn  P02')]).toEqual([0, true]);
});

describe('what cannot be checked', () => {
  test.each([
    ['no such file', () => path.join(folder, 'none.node'), /does not exist/],
    ['no addon', () => addonFile('text', 'this is no program'), /cannot be checked/],
    ['nothing to check', () => addonFile('empty', ''), /neither makeTensor nor takeTensor/],
  ])('%s', async (_, file, text) => {
    const { code, stdout, stderr } = await run('check', file());
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(text);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('a command line that says nothing of use points to the help', async () => {
    for (const args of [
      ['check'],
      ['check', 'a', 'b'],
      ['check', 'a', '--nonsense'],
      ['check', 'a', '--only', 'X99'],
    ]) {
      const { code, stderr } = await run(...args);
      expect([code, stderr]).toEqual([2, expect.stringContaining('`node-dlpack check --help` says more')]);
    }
    const listed = await run('check', '--list', '--json');
    expect(JSON.parse(listed.stdout)).toContainEqual({ id: 'P04', level: 'must', title: 'version.major is 1' });
    const { code, stdout } = await run('check', '--help');
    expect([code, stdout]).toEqual([0, expect.stringContaining('node-dlpack check <addon>')]);
  });
});
