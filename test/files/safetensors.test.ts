/** safetensors files: what the reference library wrote is read right; every lie is found before a tensor's bytes are read. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import path = require('node:path');
import { firstDuplicate } from '../../dist/files/json-keys.js';
import { readSafetensors, type Safetensors } from '../../dist/files/index.js';
import { DLPackBufferError, scope, stats } from '../../dist/index.js';
import { bufferErrorWith, errorOf, rangeErrorWith, typeErrorWith } from '../support/error-of.js';
import { callWith } from '../support/values.js';
import { safetensorsFile, temporaryFolder, vector, vectorBytes } from './vectors.js';
import { expectCountersAtZero } from '../support/counters.js';

expectCountersAtZero();

const folder = temporaryFolder();

function dispose({ tensors }: Safetensors): void {
  for (const tensor of Object.values(tensors)) tensor.dispose();
}

describe('what the safetensors library wrote', () => {
  test.each([
    ['disk', vector('weights.safetensors')],
    ['bytes', vectorBytes('weights.safetensors')],
  ])('from %s', (_, source) => {
    const file = readSafetensors(source);
    const { tensors, metadata } = file;
    expect({ ...metadata }).toEqual({ 'made by': 'a test' });
    expect(
      Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, [tensor.dtype, tensor.toArray()]])),
    ).toEqual({
      float32: [
        'float32',
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ],
      int64: ['int64', [0n, 1n, 2n]],
      bfloat16: [
        'bfloat16',
        [
          [0, 1],
          [2, 3],
        ],
      ],
      float8: ['float8_e4m3fn', [0, 1, 2]],
      bool: ['bool', [false, true]],
      float16: ['float16', [0, 1]],
      scalar: ['float64', 7],
      empty: ['uint8', []],
      complex64: [
        'complex64',
        [
          [0, 0.5],
          [1, 0.5],
        ],
      ],
    });
    expect(tensors['empty']?.shape).toEqual([0, 4]);
    dispose(file);
  });

  test('some of them: only those are made', () => {
    const before = stats();
    const file = readSafetensors(vector('weights.safetensors'), { names: ['int64', 'scalar', 'int64'] });
    expect(Object.keys(file.tensors)).toEqual(['int64', 'scalar']);
    expect(stats().tensors - before.tensors).toBe(2);
    dispose(file);
    expect(stats()).toEqual(before);
  });

  test('each is unique, and passes a scope when the file is returned', () => {
    const before = stats();
    const { tensors } = scope(() => {
      readSafetensors(vector('weights.safetensors'));
      return readSafetensors(vector('weights.safetensors'), { names: ['float32'] });
    });
    expect(stats().tensors - before.tensors).toBe(1);
    tensors['float32']?.intoDLPack().dispose();
    expect(stats()).toEqual(before);
  });

  test('a name that is not there', () => {
    expect(errorOf(() => readSafetensors(vector('weights.safetensors'), { names: ['nobody'] }))).toEqual(
      rangeErrorWith(/^names has 'nobody'; .*weights\.safetensors has "int64", "scalar", /),
    );
  });
});

const F32 = (from: number, to: number, shape: readonly number[] = [(to - from) / 4]): object => ({
  dtype: 'F32',
  shape,
  data_offsets: [from, to],
});

describe('whatever the alignment of the data', () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7])(
    '%i past a multiple of 8: aligned memory, and bytes say that they were copied',
    (past) => {
      const header = JSON.stringify({ a: F32(0, 8) });
      const blanks = (16 + past - ((8 + header.length) % 8)) % 8;
      const file = safetensorsFile(header + ' '.repeat(blanks), Buffer.from(Float32Array.of(1.5, -2).buffer));
      expect((file.length - 8) % 8).toBe(past);
      const fromBytes = readSafetensors(file);
      expect([fromBytes.tensors['a']?.zeroCopy, fromBytes.tensors['a']?.toArray()]).toEqual([false, [1.5, -2]]);
      dispose(fromBytes);
      const onDisk = path.join(folder, `past-${past}.safetensors`);
      writeFileSync(onDisk, file);
      const fromDisk = readSafetensors(onDisk);
      expect([...(fromDisk.tensors['a']?.view() ?? [])]).toEqual([1.5, -2]);
      dispose(fromDisk);
    },
  );
});

describe('refused, before anything is made', () => {
  const cases: [string, string | object, number, string][] = [
    ['no JSON', '{"a"', 0, 'its header is no JSON: '],
    ['no object', '[]', 0, "its header does not begin with '{'"],
    ['blanks before it', ' {}', 0, "its header does not begin with '{'"],
    ['no UTF-8', `{"\u00e4"`, 0, 'its header is no JSON: '],
    [
      'a name twice',
      '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
      0,
      'its header has the key "a" twice',
    ],
    [
      'a key twice',
      '{"a":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}}',
      0,
      'its header has the key "shape" twice',
    ],
    ['a tensor that is no object', { a: [1] }, 0, '"a": is no JSON object'],
    [
      'an unknown key',
      { a: { ...F32(0, 4), more: 1 } },
      4,
      '"a": has the key "more"; it can have dtype, shape and data_offsets',
    ],
    ['no dtype', { a: { shape: [], data_offsets: [0, 4] } }, 4, '"a": dtype is missing, or no string'],
    ['an unknown dtype', { a: { ...F32(0, 4), dtype: 'F31' } }, 4, '"a": dtype is "F31"; there is no such dtype here'],
    ['packed elements', { a: { ...F32(0, 4), dtype: 'F4' } }, 4, '"a": dtype is F4, packed elements'],
    ['no shape', { a: { dtype: 'F32', data_offsets: [0, 4] } }, 4, '"a": shape is missing'],
    ['a negative extent', { a: F32(0, 4, [-1]) }, 4, '"a": shape is missing, or no array of integers >= 0'],
    ['a fraction', { a: F32(0, 4, [1.5]) }, 4, '"a": shape is missing, or no array of integers >= 0'],
    ['a text', { a: { ...F32(0, 4), shape: ['1'] } }, 4, '"a": shape is missing, or no array of integers >= 0'],
    [
      '65 axes',
      {
        a: F32(
          0,
          4,
          Array.from({ length: 65 }, () => 1),
        ),
      },
      4,
      '"a": shape has 65 axes; a tensor has at most 64',
    ],
    [
      'a product that wraps',
      { a: F32(0, 0, [2 ** 32, 2 ** 32]) },
      0,
      '"a": shape is [4294967296, 4294967296]; its extents multiply to more',
    ],
    ['no offsets', { a: { dtype: 'F32', shape: [] } }, 4, '"a": data_offsets is missing, or no pair'],
    [
      'three offsets',
      { a: { dtype: 'F32', shape: [], data_offsets: [0, 4, 8] } },
      4,
      '"a": data_offsets is missing, or no pair',
    ],
    [
      'offsets beyond integers',
      { a: { dtype: 'U8', shape: [], data_offsets: [2 ** 60, 2 ** 60 + 1] } },
      1,
      '"a": data_offsets is missing, or no pair',
    ],
    [
      'offsets in reverse',
      { a: F32(4, 0, [0]) },
      4,
      '"a": data_offsets are [4, 0], -4 bytes; shape is [0], 0 bytes of float32',
    ],
    [
      'offsets that differ from the shape',
      { a: F32(0, 4, [2]) },
      8,
      '"a": data_offsets are [0, 4], 4 bytes; shape is [2], 8 bytes of float32',
    ],
    [
      'an overlap',
      { a: F32(0, 8), b: F32(4, 12) },
      12,
      '"b": data_offsets are [4, 12], which overlaps the tensor before it',
    ],
    [
      'one inside another',
      { a: F32(0, 12), b: F32(4, 8) },
      12,
      '"b": data_offsets are [4, 8], which overlaps the tensor before it',
    ],
    [
      'a gap',
      { a: F32(0, 4), b: F32(8, 12) },
      12,
      '"b": data_offsets are [8, 12]; the 4 bytes before it belong to no tensor',
    ],
    [
      'an end past the file',
      { a: F32(0, 8) },
      7,
      '"a": data_offsets are [0, 8]; the file has 7 bytes after its header',
    ],
    ['bytes behind', { a: F32(0, 4) }, 6, 'its last 2 bytes belong to no tensor'],
    ['metadata that is no object', { __metadata__: 'x' }, 0, '__metadata__ is no JSON object'],
    ['metadata that is no text', { __metadata__: { a: 1 } }, 0, '__metadata__ has "a", which is no string'],
  ];
  test.each(cases)('%s', (_, header, bytes, text) => {
    const before = stats();
    const file = safetensorsFile(header, new Uint8Array(bytes));
    if (_ === 'no UTF-8') file[10] = 0xff;
    const { code, message } = errorOf(() => readSafetensors(file));
    expect([code, message]).toEqual([
      'ERR_DLPACK_BUFFER',
      expect.stringContaining(
        `the bytes: ${text.startsWith('its header does') ? 'is no safetensors file: ' : ''}${text}`,
      ),
    ]);
    expect(stats()).toEqual(before);
  });

  test('a length that the file does not have, or that no file may have', () => {
    const file = safetensorsFile({});
    file.writeBigUInt64LE(3n);
    expect(errorOf(() => readSafetensors(file))).toEqual(
      bufferErrorWith('the bytes: ends at byte 10, within its header, which goes to 11'),
    );
    file.writeBigUInt64LE(2n ** 64n - 1n);
    expect(errorOf(() => readSafetensors(file))).toEqual(
      bufferErrorWith(/its header has 18446744073709551615 bytes; at most 100000000 may be$/),
    );
    expect(errorOf(() => readSafetensors(new Uint8Array(7)))).toEqual(
      bufferErrorWith('the bytes: has 7 bytes; a safetensors file begins with 8'),
    );
  });

  test.each([null, 3, { names: 'a' }, { names: [1] }])('options %p', (options) => {
    expect(
      errorOf(() => callWith({ readSafetensors }, 'readSafetensors', vector('weights.safetensors'), options)),
    ).toEqual(typeErrorWith(/^(options|names) is/));
  });
});

test('names that mean something to JavaScript are names', () => {
  const names = ['__proto__', 'constructor', 'toString', ''];
  const entries = names.map(
    (name, index) => `${JSON.stringify(name)}:${JSON.stringify(F32(index * 4, index * 4 + 4))}`,
  );
  const file = safetensorsFile(`{${entries.join()}}`, Buffer.from(Float32Array.of(0, 1, 2, 3).buffer));
  const read = readSafetensors(file);
  expect(Object.keys(read.tensors)).toEqual(names);
  expect(names.map((name) => read.tensors[name]?.toArray())).toEqual([[0], [1], [2], [3]]);
  dispose(read);
});

describe('damaged files', () => {
  // Many thousand errors: their stacks would take most of the time.
  const { stackTraceLimit } = Error;
  beforeAll(() => {
    Error.stackTraceLimit = 0;
  });
  afterAll(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });

  const data = Buffer.from(Float32Array.of(1, 2, 3).buffer);
  const whole = safetensorsFile({ a: F32(0, 8), b: F32(8, 12) }, data);

  /** undefined: refused, in the library's own words. */
  function read(file: Uint8Array): Record<string, [string, readonly number[], Buffer]> | undefined {
    try {
      const { tensors } = scope(() => readSafetensors(file));
      return Object.fromEntries(
        Object.entries(tensors).map(([name, tensor]) => {
          const bits = tensor.toTypedArray({ bits: true });
          tensor.dispose();
          return [name, [tensor.dtype, tensor.shape, Buffer.from(bits.buffer, bits.byteOffset, bits.byteLength)]];
        }),
      );
    } catch (error) {
      if (error instanceof DLPackBufferError && error.message.startsWith('the bytes: ')) return undefined;
      throw error;
    }
  }

  test('cut off anywhere: refused', () => {
    for (let length = 0; length < whole.length; length++) expect(read(whole.subarray(0, length))).toBeUndefined();
  });

  test('with any byte changed to any other: refused, or what the header then says', () => {
    const before = stats();
    const file = Buffer.from(whole);
    const begin = whole.length - data.length;
    let refused = 0;
    for (let position = 0; position < file.length; position++) {
      const original = file[position] ?? 0;
      for (let value = 0; value < 256; value++) {
        if (value === original) continue;
        file[position] = value;
        const tensors = read(file);
        if (tensors === undefined) {
          refused += 1;
          continue;
        }
        const header = JSON.parse(file.toString('utf8', 8, begin)) as Record<
          string,
          { shape: number[]; data_offsets: [number, number] }
        >;
        const said = Object.entries(header).map(
          ([
            name,
            {
              shape,
              data_offsets: [from, to],
            },
          ]) => [name, shape, file.subarray(begin + from, begin + to)],
        );
        const found = Object.entries(tensors).map(([name, [, shape, bytes]]) => [name, shape, bytes]);
        if (JSON.stringify(found) !== JSON.stringify(said)) expect(found).toEqual(said);
      }
      file[position] = original;
    }
    expect(refused).toBeGreaterThan(10_000);
    expect(stats()).toEqual(before);
  });
});

test.each([
  ['{}', undefined],
  ['{"a":{"a":1},"b":[{"a":1},{"a":2}]}', undefined],
  ['{"a":"a:","b":":"}', undefined],
  ['{"a":1,"b":{"c":2,"c" : 3}}', 'c'],
  ['{"a\\"":1,"x":["a"],"a\\u0022":2}', 'a"'],
  ['[{"a":1},{"a":1,"a":2}]', 'a'],
])('the key that %s has twice', (text, key) => {
  expect(firstDuplicate(text)).toBe(key);
});
