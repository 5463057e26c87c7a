/** The command `node-dlpack` as people meet it: what it prints, its exit codes, and what it says of a wrong command line. */
import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { writeNpy } from '../dist/files/index.js';
import { Tensor } from '../dist/index.js';
import { safetensorsFile, temporaryFolder, vector } from './files/vectors.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const root = path.join(__dirname, '..');
const folder = temporaryFolder();

interface Ending {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function runIn(
  cwd: string,
  main: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ending> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, NODE_DLPACK_DEBUG: '', ...env } };
    execFile(process.execPath, [main, ...args], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

const run = (...args: string[]): Promise<Ending> => runIn(folder, path.join(root, 'dist/cli/main.js'), args);

async function jsonOf(...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await run(...args, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

describe('the command line', () => {
  test('--version', async () => {
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
    expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  test.each([
    ['--help'],
    ['-h'],
    ['info', '--help'],
    ['inspect', '-h'],
    ['check', '--help'],
    ['inspect', 'x', '--nonsense', '--help'],
  ])('%s %s is help, and tells the exit codes', async (...args) => {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/exit codes?:/i);
  });

  test.each([
    [[], 'Usage:'],
    [['nonsense'], "there is no command 'nonsense'"],
    [['--nonsense'], "there is no option '--nonsense'"],
    [['info', '--jsn'], "node-dlpack info: there is no option '--jsn'; the options are --json, --help"],
    [['info', '-j'], "there is no option '-j'"],
    [['info', '--json=yes'], "--json takes no value, and was given 'yes'"],
    [['info', 'more'], "'more' is one word too many"],
    [['inspect'], 'node-dlpack inspect: a file is missing'],
    [['inspect', 'x', '--tensor'], '--tensor needs a value'],
    [['inspect', 'x', '--dtype', 'f4'], "--dtype is 'f4'; the dtypes are bool, int8"],
    [['inspect', '--json', 'none.npy'], 'ENOENT'],
    [['inspect', vector('refused-objects.npy')], 'Python objects'],
    [['inspect', vector('float32.npy'), '--tensor', 'x'], '--tensor is for .safetensors files'],
    [['inspect', vector('weights.safetensors'), '--dtype', 'uint8'], '--dtype is for .npy files'],
    [['inspect', vector('weights.safetensors'), '--tensor', 'x'], "names has 'x'"],
    [['check', 'x', '--only', 'X99'], "--only names 'X99', and there is no such rule"],
    [['check', '--only'], '--only needs a value'],
  ])('%j cannot be asked: 2, and why', async (args, text) => {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(text);
  });
});

describe('info', () => {
  test('names the binary, the limits of the engine, and the libraries of this folder', async () => {
    mkdirSync(path.join(folder, 'node_modules/sharp'), { recursive: true });
    writeFileSync(path.join(folder, 'node_modules/sharp/package.json'), '{"name":"sharp","version":"1.2.3"}');
    mkdirSync(path.join(folder, 'node_modules/ndarray'), { recursive: true });
    writeFileSync(path.join(folder, 'node_modules/ndarray/package.json'), '{');
    expect(await jsonOf('info')).toEqual({
      version: expect.any(String),
      platform: process.platform,
      arch: process.arch,
      runtime: `Node.js ${process.versions.node}`,
      nodeApi: process.versions['napi'],
      binary: {
        path: expect.stringMatching(/node_dlpack\.node$/),
        byteLength: expect.any(Number),
        dlpack: '1.3',
        externalArrayBuffers: true,
      },
      largestTypedArray: expect.any(Number),
      heapLimit: expect.any(Number),
      float16Array: Reflect.has(globalThis, 'Float16Array'),
      debug: '',
      libraries: { sharp: '1.2.3', ndarray: 'unreadable' },
    });
    const { stdout, code } = await run('info');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^external ArrayBuffers +allowed$/m);
    expect(stdout).toMatch(/^ {2}sharp +1\.2\.3$/m);
  });

  test('a runtime that forbids external ArrayBuffers', async () => {
    const main = path.join(root, 'dist/cli/main.js');
    const { stdout } = await runIn(folder, main, ['info'], { NODE_DLPACK_DEBUG: 'no-external-buffers' });
    expect(stdout).toMatch(/^external ArrayBuffers +forbidden/m);
    expect(stdout).toMatch(/^NODE_DLPACK_DEBUG +no-external-buffers$/m);
  });

  test('without a binary it says why, and answers 1', async () => {
    const copy = path.join(folder, 'copy');
    for (const name of ['dist', 'package.json', 'node_modules/bindings', 'node_modules/file-uri-to-path']) {
      cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
    }
    const main = path.join(copy, 'dist/cli/main.js');
    const { code, stdout } = await runIn(folder, main, ['info']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^binary +The native addon of node-dlpack cannot be loaded on /m);
    expect((await runIn(folder, main, ['--version'])).code).toBe(0);
    const inspected = await runIn(folder, main, ['inspect', vector('row.npy')]);
    expect(inspected).toMatchObject({ code: 2, stdout: '' });
    expect(inspected.stderr).toMatch(/\n`npx node-dlpack explain ERR_DLPACK_NOT_BUILT` says more\n$/);
  });

  test('without a binary every command has help', async () => {
    const main = path.join(folder, 'copy', 'dist/cli/main.js');
    for (const name of ['info', 'inspect', 'explain', 'check', 'build']) {
      const { code, stdout, stderr } = await runIn(folder, main, [name, '--help']);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout.startsWith(`node-dlpack ${name} `)).toBe(true);
    }
  });
});

describe('explain', () => {
  test.each(['ERR_DLPACK_BUFFER', 'err_dlpack_buffer'])(
    '%s: the page of the code, without marks that a terminal does not show',
    async (code) => {
      const { code: exit, stdout, stderr } = await run('explain', code);
      expect([exit, stderr]).toEqual([0, '']);
      expect(stdout.startsWith('# ERR_DLPACK_BUFFER\n')).toBe(true);
      expect(stdout).not.toMatch(/\*\*|\]\(/);
    },
  );

  test('every code has a page there, and without one they are listed', async () => {
    const codes = (await jsonOf('explain')) as string[];
    expect(codes).toContain('ERR_DLPACK_NOT_BUILT');
    expect((await run('explain')).stdout.trim().split('\n')).toEqual(codes);
    for (const code of codes) expect(await jsonOf('explain', code)).toMatchObject({ code });
  });

  test('what is no code is answered with the codes', async () => {
    const { code, stdout, stderr } = await run('explain', 'ERR_NONE');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/there is no code ERR_NONE; the codes are ERR_DLPACK_BUFFER, /);
  });
});

describe('inspect', () => {
  test('an array', async () => {
    const { code, stdout } = await run('inspect', vector('fortran.npy'));
    expect([code, stdout.split('\n')]).toEqual([
      0,
      [
        `${vector('fortran.npy')}: npy`,
        '  dtype    int32',
        '  shape    [2, 3]',
        '  strides  [1, 2], column-major',
        '  size     6 elements, 24 bytes',
        '  min      0',
        '  max      5',
        '  mean     2.5',
        '  NaN      0',
        ...[0, 1, 2, 3, 4, 5].map((value) => `  ${value} | ${'#'.repeat(40)} 1`),
        'Tensor<int32> [2, 3] read-only',
        '[[0, 1, 2],',
        ' [3, 4, 5]]',
        '',
      ],
    ]);
  });

  test('the same as JSON', async () => {
    expect(await jsonOf('inspect', vector('fortran.npy'))).toEqual({
      file: vector('fortran.npy'),
      format: 'npy',
      metadata: {},
      dtype: 'int32',
      shape: [2, 3],
      strides: [1, 2],
      order: 'column-major',
      size: 6,
      byteLength: 24,
      summary: {
        min: 0,
        max: 5,
        mean: 2.5,
        nan: 0,
        positiveInfinity: 0,
        negativeInfinity: 0,
        histogram: [0, 1, 2, 3, 4, 5].map((from) => ({ from, count: 1 })),
      },
    });
  });

  test('an empty array, and bare bytes whose dtype is told', async () => {
    expect(await jsonOf('inspect', vector('empty.npy'))).toMatchObject({ size: 0, summary: { histogram: [] } });
    expect(await jsonOf('inspect', vector('bfloat16.npy'), '--dtype', 'bfloat16')).toMatchObject({ dtype: 'bfloat16' });
  });

  test('a file with several tensors: a list, or one of them', async () => {
    const file = vector('weights.safetensors');
    const list = await run('inspect', file);
    expect(list.stdout).toContain(`${file}: safetensors, 9 tensors\n  made by  'a test'\n`);
    expect(list.stdout).toMatch(/^ {2}float8 +float8_e4m3fn \[3\] 3 bytes$/m);
    expect(await jsonOf('inspect', file)).toMatchObject({
      metadata: { 'made by': 'a test' },
      tensors: expect.arrayContaining([{ name: 'int64', dtype: 'int64', shape: [3], byteLength: 24 }]),
    });
    expect(await jsonOf('inspect', file, '--tensor', 'int64')).toMatchObject({
      name: 'int64',
      summary: { min: 0, max: 2 },
    });
  });

  test('a file with one tensor: that one', async () => {
    const file = path.join(folder, 'one.safetensors');
    writeFileSync(file, safetensorsFile({ a: { dtype: 'U8', shape: [2], data_offsets: [0, 2] } }, Uint8Array.of(3, 4)));
    expect(await jsonOf('inspect', file)).toMatchObject({ name: 'a', summary: { min: 3, max: 4 } });
  });

  test('what looks like a picture is drawn, in ASCII where nobody sees colours', async () => {
    const file = path.join(folder, 'picture.npy');
    using ramp = Tensor.from(
      Float32Array.from({ length: 400 }, (_, i) => (i % 20) / 19),
      { shape: [20, 20] },
    );
    writeNpy(file, ramp);
    const { stdout } = await run('inspect', file);
    expect(stdout.trimEnd().split('\n').slice(-10)).toEqual(Array.from({ length: 10 }, () => '  ..::--==++**##%%@@'));
    expect(stdout).not.toContain('\u001b');
    expect((await run('inspect', file, '--no-picture')).stdout).toMatch(/^\[\[ *0\. +, /m);
  });

  test('a picture file takes sharp, and says so', async () => {
    const file = path.join(folder, 'picture.png');
    writeFileSync(file, 'no picture');
    const without = path.join(folder, 'without');
    mkdirSync(without);
    const main = path.join(root, 'dist/cli/main.js');
    const missing = await runIn(root, main, ['inspect', file]);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('npm install sharp')]);
    writeFileSync(
      path.join(folder, 'node_modules/sharp/index.js'),
      `module.exports = () => ({ raw: () => ({ toBuffer: async () => ({
        data: new Uint8Array(10 * 10 * 3).fill(255), info: { width: 10, height: 10, channels: 3 } }) }) });`,
    );
    const drawn = await run('inspect', file);
    expect(drawn.stdout).toContain(': pixels, by sharp\n');
    expect(drawn.stdout).toMatch(/(^@{10}\n){5}$/m);
  });
});
