/** The headers as they are shipped: where they are, that they stand alone, and what a build by gyp gets of them. */
import { describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path = require('node:path');
import { includeDir } from '../dist/index.js';
import * as headers from '../dist/include-dir.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const root = path.resolve(__dirname, '..');

test('includeDir is absolute and holds what it promises', () => {
  expect(path.isAbsolute(includeDir)).toBe(true);
  for (const file of [
    'node_dlpack.h',
    'node_dlpack.hpp',
    'node_dlpack.gyp',
    'dlpack/dlpack.h',
    'node_dlpack/capsule.h',
  ]) {
    expect(existsSync(path.join(includeDir, file))).toBe(true);
  }
});

test('node-dlpack/include-dir says the same and loads no addon', () => {
  expect(headers.includeDir).toBe(includeDir);
  expect(new Set(Object.keys(headers))).toEqual(new Set(['gypTarget', 'includeDir']));
  const loaded = execFileSync(
    process.execPath,
    [
      '-p',
      "require('node-dlpack/include-dir'); Object.keys(require.cache).filter((file) => file.endsWith('.node')).length",
    ],
    { cwd: root, encoding: 'utf8' },
  );
  expect(loaded.trim()).toBe('0');
});

test('gypTarget is relative to the working directory, so that a space in the path of a project does no harm', () => {
  const asked = execFileSync(process.execPath, ['-p', "require('node-dlpack/include-dir').gypTarget"], {
    cwd: path.join(root, 'examples/addon-c'),
    encoding: 'utf8',
  });
  expect(asked.trim()).toBe('../../include/node_dlpack.gyp:node_dlpack');
});

const nodeHeaders = path.join(root, 'node_modules/node-api-headers/include');
const kitHeaders = readdirSync(path.join(includeDir, 'node_dlpack')).map((file) => `node_dlpack/${file}`);

describe.each([
  ['C11', 'gcc', ['-std=c11'], 'c'],
  ['C++17', 'g++', ['-std=c++17', '-fno-exceptions', '-fno-rtti'], 'cc'],
  ['C++17 with exceptions', 'g++', ['-std=c++17'], 'cc'],
] as const)('as %s', (_, compiler, flags, extension) => {
  const compile = (file: string, code: string): { status: number | null; output: string } => {
    const folder = mkdtempSync(path.join(tmpdir(), 'node-dlpack-headers-'));
    try {
      const source = path.join(folder, `${file}.${extension}`);
      writeFileSync(source, code);
      const result = spawnSync(
        compiler,
        [
          ...flags,
          '-Wall',
          '-Wextra',
          '-Wpedantic',
          '-Wconversion',
          '-Wshadow',
          '-Werror',
          '-fsyntax-only',
          `-I${includeDir}`,
          `-isystem${nodeHeaders}`,
          source,
        ],
        { encoding: 'utf8' },
      );
      return { status: result.status, output: `${result.stdout}${result.stderr}` };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  const names = [
    'node_dlpack.h',
    'node_dlpack_tokens.h',
    ...kitHeaders,
    ...(extension === 'cc' ? ['node_dlpack.hpp'] : []),
  ];

  test.each(names)('%s compiles alone, twice, and without a warning', (name) => {
    expect(compile('alone', `#include "${name}"\n#include "${name}"\nint used;\n`)).toEqual({ status: 0, output: '' });
  });

  test('an old NAPI_VERSION is refused in words', () => {
    const { status, output } = compile('old', '#define NAPI_VERSION 6\n#include "node_dlpack.h"\n');
    expect(status).not.toBe(0);
    if (extension === 'c') expect(output).toContain('define NAPI_VERSION as 8 or higher');
  });
});

test('the headers need nothing but Node-API, DLPack and the C library', () => {
  const allowed = new Set([
    'node_api.h',
    'stddef.h',
    'stdint.h',
    'stdio.h',
    'stdlib.h',
    'string.h',
    'windows.h',
    'dlfcn.h',
    'intrin.h',
  ]);
  for (const name of ['node_dlpack.h', ...kitHeaders]) {
    const text = readFileSync(path.join(includeDir, name), 'utf8');
    for (const [, system] of text.matchAll(/#include <([^>]+)>/g)) expect(allowed.has(system ?? '')).toBe(true);
  }
});
