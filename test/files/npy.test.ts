/** npy files: those that NumPy wrote are read right, what cannot be read is refused by name, before anything is made. */
import { describe, expect, test } from '@jest/globals';
import { closeSync, ftruncateSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { pathToFileURL } from 'node:url';
import { readNpy } from '../../dist/files/index.js';
import { scope, stats, type DType } from '../../dist/index.js';
import { bufferErrorWith, errorOf, rangeErrorWith, typeErrorWith } from '../support/error-of.js';
import { thrownBy } from '../support/refusals.js';
import { callWith } from '../support/values.js';
import { npyFile, temporaryFolder, vector, vectorBytes, vectors } from './vectors.js';
import { expectCountersAtZero } from '../support/counters.js';

expectCountersAtZero();

const folder = temporaryFolder();

const SIX = [
  [0, 1, 2],
  [3, 4, 5],
];
const AROUND_ZERO = [
  [-2.5, -1.5, -0.5],
  [0.5, 1.5, 2.5],
];

function complex(rows: readonly (readonly number[])[]): number[][][] {
  return rows.map((row) => row.map((re) => [re, 0]));
}

describe('what NumPy wrote', () => {
  test.each<[string, DType, readonly number[], unknown]>([
    ['bool', 'bool', [2, 3], SIX.map((row) => row.map((value) => value !== 0))],
    ['int8', 'int8', [2, 3], SIX],
    ['int16', 'int16', [2, 3], SIX],
    ['int32', 'int32', [2, 3], SIX],
    ['int64', 'int64', [2, 3], SIX.map((row) => row.map(BigInt))],
    ['uint8', 'uint8', [2, 3], SIX],
    ['uint16', 'uint16', [2, 3], SIX],
    ['uint32', 'uint32', [2, 3], SIX],
    ['uint64', 'uint64', [2, 3], SIX.map((row) => row.map(BigInt))],
    ['float16', 'float16', [2, 3], AROUND_ZERO],
    ['float32', 'float32', [2, 3], AROUND_ZERO],
    ['float64', 'float64', [2, 3], AROUND_ZERO],
    ['complex64', 'complex64', [2, 3], complex(AROUND_ZERO)],
    ['complex128', 'complex128', [2, 3], complex(AROUND_ZERO)],
    ['scalar', 'float32', [], 7],
    ['row', 'int16', [5], [0, 1, 2, 3, 4]],
    ['empty', 'float32', [2, 0, 3], [[], []]],
    ['version-2', 'float32', [2, 3], SIX],
    ['version-3', 'float32', [2, 3], SIX],
  ])('%s.npy, from disk and from bytes', (name, dtype, shape, elements) => {
    for (const source of [vector(`${name}.npy`), vectorBytes(`${name}.npy`)]) {
      using tensor = readNpy(source);
      expect([tensor.dtype, tensor.shape, tensor.toArray()]).toEqual([dtype, shape, elements]);
    }
  });

  test('axes up to 31', () => {
    using deep = readNpy(vector('deep.npy'));
    expect([deep.ndim, [...deep.toTypedArray()]]).toEqual([31, [0, 1]]);
  });

  test('Fortran order is strides: the bytes stay as they lie in the file', () => {
    using flat = readNpy(vector('fortran.npy'), { dtype: 'int32' });
    expect([flat.shape, flat.strides, flat.toArray()]).toEqual([[2, 3], [1, 2], SIX]);
    expect([...flat.strided().data]).toEqual([0, 3, 1, 4, 2, 5]);
    using deep = readNpy(vector('fortran-3d.npy'));
    expect([deep.shape, deep.strides, [...deep.toTypedArray()]]).toEqual([
      [2, 3, 4],
      [1, 2, 6],
      Array.from({ length: 24 }, (_, i) => i),
    ]);
  });

  test.each(['bfloat16', 'float8_e4m3fn'] as const)('%s, which NumPy calls bare bytes, when it is said so', (dtype) => {
    const file = vector(`${dtype}.npy`);
    using tensor = readNpy(file, { dtype });
    expect([tensor.dtype, tensor.toArray()]).toEqual([dtype, SIX]);
    expect(errorOf(() => readNpy(file))).toEqual(
      bufferErrorWith(
        `${file}: descr is "<V${dtype === 'bfloat16' ? 2 : 1}", bare bytes without a dtype; say what they are with { dtype }`,
      ),
    );
    expect(errorOf(() => readNpy(file, { dtype: 'float32' }))).toEqual(bufferErrorWith(/float32 has 4 bytes$/));
    expect(errorOf(() => readNpy(file, { dtype: 'float4_e2m1fn' }))).toEqual(bufferErrorWith(/has 4 bits$/));
  });

  test('every file there is either read above or refused below', () => {
    expect(readdirSync(vectors).filter((name) => name.endsWith('.npy'))).toHaveLength(34);
  });
});

describe('the memory', () => {
  test.each(['float32.npy', 'fortran.npy', 'empty.npy'])('of %s belongs to nobody else: Door 2 is open', (name) => {
    const tensor = readNpy(vector(name));
    expect([tensor.readOnly, tensor.isUnique, tensor.zeroCopy]).toEqual([true, true, true]);
    tensor.intoDLPack().dispose();
  });

  test('of bytes is a copy, and says so; what is written into them later is not seen', () => {
    const bytes = vectorBytes('uint8.npy');
    using tensor = readNpy(bytes);
    bytes.fill(9);
    expect([tensor.zeroCopy, tensor.toArray()]).toEqual([false, SIX]);
  });

  test('is given back by dispose() and by a scope', () => {
    const before = stats();
    scope(() => void readNpy(vector('fortran-3d.npy')).at(0, 0, 0));
    readNpy(vector('float64.npy')).dispose();
    expect(stats()).toEqual(before);
  });
});

describe('sources', () => {
  const bytes = vectorBytes('int16.npy');
  const backing = new Uint8Array(bytes.length + 3);
  backing.set(bytes, 3);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);

  test.each<[string, string | URL | Uint8Array | ArrayBuffer]>([
    ['a file: URL', pathToFileURL(vector('int16.npy'))],
    ['an ArrayBuffer', Uint8Array.from(bytes).buffer],
    ['a view at an odd offset', backing.subarray(3)],
    ['shared memory', shared],
  ])('%s', (_, source) => {
    using tensor = readNpy(source, { dtype: 'int16' });
    expect(tensor.toArray()).toEqual(SIX);
  });

  test.each([undefined, 5, {}, [bytes], new Uint16Array(4), new DataView(new ArrayBuffer(8))])('not %p', (source) => {
    expect(errorOf(() => callWith({ readNpy }, 'readNpy', source))).toEqual(
      typeErrorWith(/^readNpy was called with .*; it takes a path, a file: URL, or the bytes of a file/),
    );
  });

  test('a detached view', () => {
    const gone = Uint8Array.from(bytes);
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    expect(errorOf(() => readNpy(gone))).toEqual(typeErrorWith(/detached/));
  });

  test('a file that is not there is the error of fs, untouched', () => {
    expect(thrownBy(() => readNpy(path.join(folder, 'none.npy')))).toMatchObject({ code: 'ENOENT', syscall: 'open' });
  });

  test('a folder', () => {
    mkdirSync(path.join(folder, 'folder.npy'));
    expect(errorOf(() => readNpy(path.join(folder, 'folder.npy')))).toEqual(bufferErrorWith(/is no regular file/));
  });
});

describe('options', () => {
  const file = vector('float32.npy');
  test('another dtype than the file holds', () => {
    expect(errorOf(() => readNpy(file, { dtype: 'float64' }))).toEqual(
      bufferErrorWith(
        `${file} holds float32, and dtype is 'float64'; read it as it is, and convert with to('float64')`,
      ),
    );
  });

  test.each([5, null, 'float32'])('%p', (options) => {
    expect(errorOf(() => callWith({ readNpy }, 'readNpy', file, options))).toEqual(typeErrorWith(/^options is/));
  });

  test('a dtype that is none', () => {
    expect(errorOf(() => callWith({ readNpy }, 'readNpy', file, { dtype: 'f4' }))).toEqual(rangeErrorWith(/^dtype is/));
  });
});

describe('refused by name', () => {
  test.each([
    ['refused-big-endian', /descr is ">f4", big-endian; this machine is not\. Save it with astype\('<f4'\)$/],
    ['refused-big-endian-integers', /descr is ">i8", big-endian/],
    ['refused-objects', /descr is "\|O": Python objects: they are pickled/],
    ['refused-strings', /descr is "<U2": strings/],
    ['refused-bytes', /descr is "\|S2": byte strings/],
    ['refused-dates', /descr is "<M8\[D\]": dates/],
    ['refused-durations', /descr is "<m8\[s\]": durations/],
    ['refused-structured', /descr is "\[\('a', '<i4'\), \('b', '<f8'\)\], 'fortra\.\.\.", a structured dtype/],
    ['refused-structured-unicode', /a structured dtype/],
    ['refused-long-double', /descr is "<f16"; there is no such dtype here/],
  ])('%s.npy', (name, text) => {
    const before = stats();
    const file = vector(`${name}.npy`);
    const { message, ...error } = errorOf(() => readNpy(file));
    expect([error, message]).toEqual([{ name: 'BufferError', code: 'ERR_DLPACK_BUFFER' }, expect.stringMatching(text)]);
    expect(message.startsWith(`${file}: `)).toBe(true);
    expect(stats()).toEqual(before);
  });

  test.each([
    ["'=f4'", 'descr is "=f4", which does not say its byte order; \'<f4\' does'],
    ["'f4'", 'descr is "f4", which does not say its byte order; \'<f4\' does'],
    ["'<f3'", 'descr is "<f3"; there is no such dtype here'],
    ["'<f4[s]'", 'descr is "<f4[s]"; there is no such dtype here'],
    ["'<V0'", 'descr is "<V0"; there is no such dtype here'],
    ["'float32'", 'descr is "float32", which is no dtype of NumPy\'s'],
    ["''", 'descr is "", which is no dtype of NumPy\'s'],
  ])('descr %s', (descr, text) => {
    const file = npyFile(`{'descr': ${descr}, 'fortran_order': False, 'shape': (1,), }\n`, new Uint8Array(4));
    expect(errorOf(() => readNpy(file))).toEqual(bufferErrorWith(`the bytes: ${text}`));
  });
});

const ONE = new Uint8Array(1);
const header = (shape: string, more = ''): string =>
  `{'descr': '|u1', 'fortran_order': False, 'shape': ${shape}, ${more}}`;

describe('the header', () => {
  test.each([
    ['no newline at its end', header('(1,)')],
    ['other order and quotes', '{"shape": (1,), "descr": "|u1", "fortran_order": True}'],
    ['no blanks', "{'descr':'|u1','fortran_order':False,'shape':(1,)}"],
    ['line breaks and tabs', `{\n\t'descr': '|u1',\r\n 'fortran_order': False, 'shape': (\n1,)}\n\n`],
    ['long integers of Python 2', header('(1L,)')],
    ['a trailing comma in shape', header('(1, 1,)')],
    ['a byte order where there is none', header('(1,)').replace('|u1', '>u1')],
  ])('may have %s', (_, text) => {
    using tensor = readNpy(npyFile(text, ONE));
    expect([tensor.dtype, tensor.size]).toEqual(['uint8', 1]);
  });

  test.each([
    ['nothing', '', "expected '{' at character 0, found the end"],
    ['no dictionary', '[1]', 'expected \'{\' at character 0, found "[1]"'],
    ['an unknown key', header('(1,)', "'more': 1"), 'its header has the key "more"'],
    ['a key twice', header('(1,)', "'shape': (1,)"), 'its header has the key shape twice'],
    ['no descr', "{'fortran_order': False, 'shape': (1,)}", 'its header lacks descr'],
    ['no order', "{'descr': '|u1', 'shape': (1,)}", 'its header lacks fortran_order'],
    ['no shape', "{'descr': '|u1', 'fortran_order': False}", 'its header lacks shape'],
    ['a number as order', header('(1,)').replace('False', '0'), 'expected True or False for fortran_order'],
    ['a longer word', header('(1,)').replace('False', 'Falsehood'), 'expected True or False for fortran_order'],
    ['a number as shape', header('1'), "expected '('"],
    ['a number in brackets', header('(1)'), 'shape is (1), a number; one axis is (1,)'],
    ['a list as shape', header('[1]'), "expected '('"],
    ['a negative extent', header('(-1,)'), 'expected an extent >= 0 of shape at character 51, found "-1,), }"'],
    ['a fraction', header('(1.0,)'), 'expected an extent >= 0'],
    ['an exponent', header('(1e0,)'), 'expected an extent >= 0'],
    ['a leading zero', header('(01,)'), 'expected an extent >= 0'],
    ['two commas', header('(1,,)'), 'expected an extent >= 0'],
    ['no comma', header('(1 1)'), "expected ',' or ')' in shape"],
    ['no comma between entries', header('(1,)').replace("', 'fort", "' 'fort"), "expected ',' or '}'"],
    ['a huge extent', header('(99999999999999999999,)'), 'shape[0] is 99999999999999999999, past 2^53 - 1'],
    ['a product that wraps', header('(4294967296, 4294967296)'), 'its extents multiply to more elements than 2^53 - 1'],
    ['65 axes', header(`(${'1, '.repeat(65)})`), 'shape has 65 axes; a tensor has at most 64'],
    ['more behind it', `${header('(1,)')} x`, 'expected its end at character'],
    ['an escape', header('(1,)').replace('|u1', '\\x7cu1'), 'expected a string for descr'],
    ['no closing brace', header('(1,)').slice(0, -1), 'expected a string for a key'],
    ['a subarray dtype', header('(1,)').replace("'|u1'", "('|u1', (2,))"), 'a structured dtype'],
  ])('must not have %s', (_, text, found) => {
    const { message, code } = errorOf(() => readNpy(npyFile(text, ONE)));
    expect([code, message]).toEqual(['ERR_DLPACK_BUFFER', expect.stringContaining(found)]);
    expect(message).not.toMatch(/[\n\r]/);
  });

  test('is read up to 64 KiB, whatever length it says', () => {
    using long = readNpy(npyFile(header('(1,)').padEnd(65_536), ONE, 2));
    expect(long.size).toBe(1);
    expect(errorOf(() => readNpy(npyFile(header('(1,)').padEnd(65_537), ONE, 2)))).toEqual(
      bufferErrorWith('the bytes: its header has 65537 bytes; at most 65536 are read'),
    );
  });

  test.each([
    [0, 0],
    [4, 0],
    [1, 1],
    [2, 1],
  ])('of version %i.%i is unknown', (major, minor) => {
    const file = npyFile(header('(1,)'), ONE);
    file[6] = major;
    file[7] = minor;
    expect(errorOf(() => readNpy(file))).toEqual(
      bufferErrorWith(`the bytes: npy format is ${major}.${minor}; 1.0, 2.0 and 3.0 can be read`),
    );
  });

  test('of something else', () => {
    expect(errorOf(() => readNpy(Buffer.from('PK\x03\x04 an archive')))).toEqual(
      bufferErrorWith('the bytes: is no npy file: it does not begin with \\x93NUMPY'),
    );
  });
});

describe('the size', () => {
  test('bytes that are missing, and bytes that are too many', () => {
    const whole = vectorBytes('float32.npy');
    expect(errorOf(() => readNpy(whole.subarray(0, -1)))).toEqual(
      bufferErrorWith(
        'the bytes: shape is (2, 3), 24 bytes of float32; after the header there are 23: the file was cut off',
      ),
    );
    expect(errorOf(() => readNpy(Buffer.concat([whole, whole])))).toEqual(
      bufferErrorWith(/after the header there are 176\. One array in a file can be read$/),
    );
  });

  test('a shape of terabytes costs nothing: the file is too short for it', () => {
    const file = path.join(folder, 'huge.npy');
    writeFileSync(file, npyFile(header('(1099511627776,)'), ONE));
    const before = stats();
    expect(errorOf(() => readNpy(file))).toEqual(bufferErrorWith(/1099511627776 bytes of uint8/));
    expect(stats()).toEqual(before);
  });

  test('an empty array with huge extents is refused or read, and nothing is allocated for it', () => {
    using tensor = readNpy(npyFile(header('(0, 4294967296)')));
    expect([tensor.shape, tensor.byteLength]).toEqual([[0, 4294967296], 0]);
  });

  test('a file with a hole of 100 MiB is read whole', () => {
    const file = path.join(folder, 'sparse.npy');
    const start = npyFile(header('(104857600,)'));
    writeFileSync(file, start);
    const descriptor = openSync(file, 'r+');
    ftruncateSync(descriptor, start.length + 104_857_600);
    closeSync(descriptor);
    using tensor = readNpy(file);
    expect([tensor.size, tensor.at(-1)]).toEqual([104_857_600, 0]);
  });
});
