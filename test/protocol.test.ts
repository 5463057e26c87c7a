import { describe, expect, test } from '@jest/globals';
import { DLPACK_VERSION, parseCopy, parseExportOptions, parseMaxVersion, parseStream } from '../dist/protocol.js';
import { errorOf, rangeErrorWith, typeErrorWith } from './support/error-of.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

test('the version is 1.3, and cannot be changed', () => {
  expect(DLPACK_VERSION).toEqual([1, 3]);
  expect(Object.isFrozen(DLPACK_VERSION)).toBe(true);
});

describe('the options of __dlpack__', () => {
  test('none at all asks for the legacy struct where it lies', () => {
    expect(parseExportOptions(undefined)).toEqual({ versioned: false, copy: null, device: null });
    expect(parseExportOptions({})).toEqual({ versioned: false, copy: null, device: null });
  });

  test('null means absent, for each', () => {
    expect(parseExportOptions({ stream: null, max_version: null, dl_device: null, copy: null })).toEqual({
      versioned: false,
      copy: null,
      device: null,
    });
  });

  test('are taken as they are', () => {
    expect(parseExportOptions({ max_version: [1, 3], dl_device: [2, 1], copy: true })).toEqual({
      versioned: true,
      copy: true,
      device: [2, 1],
    });
  });

  test('of unknown names are ignored', () => {
    expect(parseExportOptions({ max_version: [1, 0], pin_memory: 7, maxVersion: 'x' })).toEqual({
      versioned: true,
      copy: null,
      device: null,
    });
  });

  test('are read once each', () => {
    const reads: string[] = [];
    const options = new Proxy(
      {},
      {
        get(_, key) {
          reads.push(String(key));
          return undefined;
        },
      },
    );
    parseExportOptions(options);
    expect(new Set(reads)).toEqual(new Set(['copy', 'dl_device', 'max_version', 'stream']));
    expect(reads.length).toBe(4);
  });

  test.each([
    [null, 'null'],
    [1, '1'],
    ['cpu', "'cpu'"],
    [true, 'true'],
    [[1, 3], '[1, 3]'],
    [() => 0, 'a function'],
  ])('%p is a positional value: TypeError', (value, shown) => {
    expect(errorOf(() => parseExportOptions(value))).toMatchObject(
      typeErrorWith(
        `__dlpack__ was called with ${shown}; it takes one object of named options: { stream, max_version, ` +
          'dl_device, copy }',
      ),
    );
  });

  test('errors come from each option', () => {
    expect(errorOf(() => parseExportOptions({ stream: 1 }))).toMatchObject(rangeErrorWith(/^stream is 1/));
    expect(errorOf(() => parseExportOptions({ max_version: 1 }))).toMatchObject(typeErrorWith(/^max_version is 1/));
    expect(errorOf(() => parseExportOptions({ dl_device: 1 }))).toMatchObject(typeErrorWith(/^dl_device is 1/));
    expect(errorOf(() => parseExportOptions({ copy: 1 }))).toMatchObject(typeErrorWith(/^copy is 1/));
  });
});

describe('stream', () => {
  test.each([null, undefined])('%p is fine', (value) => {
    expect(parseStream(value)).toBeUndefined();
  });

  test.each([
    [0, '0'],
    [-1, '-1'],
    [2n, '2n'],
    ['x', "'x'"],
    [false, 'false'],
    [{}, 'an object'],
  ])('%p: RangeError', (value, shown) => {
    expect(errorOf(() => parseStream(value))).toMatchObject(
      rangeErrorWith(`stream is ${shown}; it must be null: host memory has no streams`),
    );
  });
});

describe('max_version', () => {
  test.each([null, undefined])('%p asks for the legacy struct', (value) => {
    expect(parseMaxVersion(value)).toBe(false);
  });

  test.each([
    [0, 0],
    [0, 8],
    [0, 999],
  ])('[%i, %i] asks for the legacy struct', (major, minor) => {
    expect(parseMaxVersion([major, minor])).toBe(false);
  });

  test.each([
    [1, 0],
    [1, 3],
    [1, 99],
    [2, 0],
    [100, 3],
  ])('[%i, %i] asks for the versioned struct', (major, minor) => {
    expect(parseMaxVersion([major, minor])).toBe(true);
  });

  test.each([
    [1, '1'],
    ['1.3', "'1.3'"],
    [[], '[]'],
    [[1], '[1]'],
    [[1, 3, 0], '[1, 3, 0]'],
    [[1, '3'], "[1, '3']"],
    [[1.5, 0], '[1.5, 0]'],
    [[1, -1], '[1, -1]'],
    [[-1, 0], '[-1, 0]'],
    [[1n, 3n], '[1n, 3n]'],
    [[NaN, 0], '[NaN, 0]'],
    [[Infinity, 0], '[Infinity, 0]'],
    [[null, 0], '[null, 0]'],
    [{ 0: 1, 1: 3, length: 2 }, 'an object'],
    [true, 'true'],
  ])('%p is malformed: TypeError', (value, shown) => {
    expect(errorOf(() => parseMaxVersion(value))).toMatchObject(
      typeErrorWith(`max_version is ${shown}; it must be null or [major, minor], two integers >= 0, such as [1, 3]`),
    );
  });
});

describe('copy', () => {
  test.each([
    [true, true],
    [false, false],
    [null, null],
    [undefined, null],
  ])('%p means %p', (value, copy) => {
    expect(parseCopy(value)).toBe(copy);
  });

  test.each([
    [0, '0'],
    [1, '1'],
    ['true', "'true'"],
    [{}, 'an object'],
    [[], '[]'],
  ])('%p: TypeError', (value, shown) => {
    expect(errorOf(() => parseCopy(value))).toMatchObject(
      typeErrorWith(`copy is ${shown}; it must be true, false or null`),
    );
  });
});
