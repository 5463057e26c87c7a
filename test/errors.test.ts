import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path = require('node:path');
import { inspect } from 'node:util';
import {
  bufferError,
  consumedError,
  disposedError,
  DLPackBufferError,
  DLPackStateError,
  memoryError,
  notBuiltError,
  rangeError,
  show,
  tokenError,
  typeError,
} from '../dist/errors.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

// what makes it, its class, name and code
const TABLE = [
  ['bufferError', () => bufferError('m'), DLPackBufferError, 'BufferError', 'ERR_DLPACK_BUFFER', 'm'],
  [
    'consumedError',
    () => consumedError(),
    DLPackStateError,
    'DLPackStateError',
    'ERR_DLPACK_CONSUMED',
    'Tensor already consumed',
  ],
  [
    'consumedError',
    () => consumedError('Capsule'),
    DLPackStateError,
    'DLPackStateError',
    'ERR_DLPACK_CONSUMED',
    'Capsule already consumed',
  ],
  [
    'disposedError',
    () => disposedError(),
    DLPackStateError,
    'DLPackStateError',
    'ERR_DLPACK_DISPOSED',
    'Tensor already disposed',
  ],
  ['tokenError', () => tokenError('m'), DLPackStateError, 'DLPackStateError', 'ERR_DLPACK_TOKEN', 'm'],
  ['typeError', () => typeError('m'), TypeError, 'TypeError', 'ERR_INVALID_ARG_TYPE', 'm'],
  ['rangeError', () => rangeError('m'), RangeError, 'RangeError', 'ERR_OUT_OF_RANGE', 'm'],
  ['memoryError', () => memoryError('m'), RangeError, 'RangeError', 'ERR_DLPACK_MEMORY', 'm'],
  ['notBuiltError', () => notBuiltError('m'), Error, 'Error', 'ERR_DLPACK_NOT_BUILT', 'm'],
] as const;

describe.each(TABLE)('%s', (maker, make, Class, name, code, message) => {
  test(`is an Error with name ${name} and code ${code}`, () => {
    const error = make();
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(Class);
    expect(error).toMatchObject({ name, code, message, help: `npx node-dlpack explain ${code}` });
  });

  test('starts its stack where it was made, not in the function that makes it', () => {
    const error = make();
    expect(error.stack?.startsWith(`${name}: ${message}\n`)).toBe(true);
    expect(error.stack).not.toContain(`at ${maker} `);
    expect(error.stack?.split('\n')[1]).toContain('errors.test');
  });
});

test('the name is not listed among the properties', () => {
  expect(Object.keys(bufferError('m'))).toEqual(['code', 'help']);
  expect(inspect(bufferError('m'))).toContain("code: 'ERR_DLPACK_BUFFER'");
});

test('a BufferError says who else holds the memory, and that cannot be changed', () => {
  const aliases = { tensors: 1, exports: 2, views: 0, tokens: 0 };
  const error = bufferError('m', aliases);
  aliases.tensors = 9;
  expect(error.aliases).toEqual({ tensors: 1, exports: 2, views: 0, tokens: 0 });
  expect(Object.isFrozen(error.aliases)).toBe(true);
  expect('aliases' in bufferError('m')).toBe(false);
});

test('what kept the addon from loading stays as the cause', () => {
  const cause = new Error('no such file');
  expect(notBuiltError('m', cause).cause).toBe(cause);
});

describe('a value in a message', () => {
  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [1.5, '1.5'],
    [NaN, 'NaN'],
    [3n, '3n'],
    [true, 'true'],
    ['cpu', "'cpu'"],
    ['x'.repeat(100), `'${'x'.repeat(37)}...'`],
    [Symbol('s'), 'a symbol'],
    [() => 1, 'a function'],
    [{ toString: () => 'evil' }, 'an object'],
    [[1, 'a', [2], null], "[1, 'a', [...], null]"],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], '[1, 2, 3, 4, 5, 6, 7, 8, ... 2 more]'],
  ])('%p', (value, text) => {
    expect(show(value)).toBe(text);
  });
});

describe('docs/errors', () => {
  const folder = path.resolve(__dirname, '../docs/errors');
  const pages = readdirSync(folder).filter((name) => name.startsWith('ERR_'));
  const sources = readdirSync(path.resolve(__dirname, '../lib'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(path.resolve(__dirname, '../lib', name), 'utf8'));
  const codes = new Set(
    sources.flatMap((source) => source.match(/'ERR_[A-Z_]+'/g) ?? []).map((text) => text.slice(1, -1)),
  );
  // Node's own, which the loader tells from other failures.
  codes.delete('ERR_DLOPEN_DISABLED');

  test('have a page for each code that the library throws, and none for another', () => {
    expect(new Set(TABLE.map(([, , , , code]) => code))).toEqual(codes);
    expect(new Set(pages.map((page) => page.replace('.md', '')))).toEqual(codes);
  });

  test.each(pages)('%s begins with its code, and the table leads there', (page) => {
    const code = page.replace('.md', '');
    expect(readFileSync(path.join(folder, page), 'utf8').startsWith(`# ${code}\n`)).toBe(true);
    expect(readFileSync(path.join(folder, 'README.md'), 'utf8')).toContain(`[\`${code}\`](${page})`);
  });

  test('a user finds the page from the error, without a network', () => {
    const { help } = bufferError('m');
    expect(help).toBe('npx node-dlpack explain ERR_DLPACK_BUFFER');
    // What Node prints of an error that nobody caught.
    expect(inspect(rangeError('m'))).toContain("help: 'npx node-dlpack explain ERR_OUT_OF_RANGE'");
  });

  test('quote only texts that the library says', () => {
    const words = sources.join('\n');
    for (const page of pages) {
      const text = readFileSync(path.join(folder, page), 'utf8').replaceAll(/\s+/g, ' ');
      for (const [, quoted = ''] of text.matchAll(/\*\*`(?:\.\.\. )?([^`]*)`/g)) {
        expect(words).toContain(quoted.replace(/ cuda:0$|\.$/, ''));
      }
    }
  });
});
