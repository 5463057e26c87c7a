/** `writeNpy` and `toNpy`: what is written is read back the same, whatever the layout; NumPy's word is in the interop tests. */
import { describe, expect, test } from '@jest/globals';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { pathToFileURL } from 'node:url';
import { readNpy, toNpy, writeNpy } from '../../dist/files/index.js';
import { eachPart } from '../../dist/files/parts.js';
import { fromDLPack, OwnedTensor, scope, stats, Tensor, type DType } from '../../dist/index.js';
import { bufferErrorWith, errorOf, typeErrorWith } from '../support/error-of.js';
import { makeStruct } from '../support/lab.js';
import { callWith } from '../support/values.js';
import { temporaryFolder, vector, vectorBytes } from './vectors.js';
import { expectCountersAtZero } from '../support/counters.js';

expectCountersAtZero();

const folder = temporaryFolder();
const file = path.join(folder, 'written.npy');

describe('files of NumPy come out as they went in', () => {
  const names = 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128';
  test.each([...names.split(' '), 'scalar', 'row', 'empty', 'fortran', 'fortran-3d'])(
    '%s.npy, byte by byte',
    (name) => {
      using tensor = readNpy(vector(`${name}.npy`));
      writeNpy(file, tensor);
      expect(readFileSync(file)).toEqual(vectorBytes(`${name}.npy`));
      expect(Buffer.from(toNpy(tensor))).toEqual(vectorBytes(`${name}.npy`));
    },
  );

  test.each(['bfloat16', 'float8_e4m3fn'] as const)('%s as bare bytes', (dtype) => {
    using tensor = readNpy(vector(`${dtype}.npy`), { dtype });
    using again = readNpy(toNpy(tensor), { dtype });
    expect(again.toArray()).toEqual(tensor.toArray());
  });
});

describe('layouts', () => {
  const whole = (): Tensor<'int32'> =>
    Tensor.from(
      Int32Array.from({ length: 24 }, (_, i) => i),
      { shape: [2, 3, 4] },
    );
  test.each<[string, (tensor: Tensor<'int32'>) => Tensor<'int32'>, boolean]>([
    ['row-major', (tensor) => tensor.slice(), false],
    ['columns, without a copy', (tensor) => tensor.transpose(), true],
    ['other orders of the axes', (tensor) => tensor.transpose([1, 0, 2]), false],
    ['steps', (tensor) => tensor.slice(null, [null, null, 2]), false],
    ['backwards', (tensor) => tensor.flip(2), false],
    ['broadcast', (tensor) => scope(() => tensor.slice(0, [0, 1]).broadcastTo([2, 3, 4])), false],
    ['behind others', (tensor) => tensor.slice(1, 2), false],
    ['nothing', (tensor) => tensor.slice([0, 0]), false],
  ])('%s', (_, derive, fortran) => {
    const before = stats();
    {
      using tensor = whole();
      using derived = derive(tensor);
      writeNpy(pathToFileURL(file), derived);
      expect(readFileSync(file, 'latin1').includes("'fortran_order': True")).toBe(fortran);
      using again = readNpy(file);
      expect([again.dtype, again.shape, again.toArray()]).toEqual(['int32', derived.shape, derived.toArray()]);
    }
    expect(stats()).toEqual(before);
  });

  test('of an owner, which is an owner still', () => {
    using owned = OwnedTensor.from([[1, 2, 3]], { dtype: 'float32' });
    writeNpy(file, owned);
    owned.data[0] = 9;
    using again = readNpy(file);
    expect([again.toArray(), owned.isUnique]).toEqual([[[1, 2, 3]], true]);
  });

  test('memory from outside, whose pages may be protected', () => {
    const struct = makeStruct({ flags: 1n, shape: [2, 3] });
    using tensor = fromDLPack(struct.producer());
    using again = readNpy(toNpy(tensor));
    expect(again.toArray()).toEqual(tensor.toArray());
  });

  test('every other dtype that has bytes', () => {
    const others: DType[] = ['float8_e5m2', 'float8_e8m0fnu', 'float4_e2m1fn_padded', 'float6_e2m3fn_padded'];
    for (const dtype of others) {
      using tensor = Tensor.from([1, 2, 4], { dtype });
      using again = readNpy(toNpy(tensor), { dtype });
      expect([again.dtype, again.toArray()]).toEqual([dtype, [1, 2, 4]]);
    }
  });
});

describe('refused', () => {
  test('packed elements', () => {
    using tensor = Tensor.from(new Uint8Array(2), { shape: [4], dtype: 'float4_e2m1fn' });
    expect(errorOf(() => toNpy(tensor))).toEqual(
      bufferErrorWith(
        "toNpy cannot write packed float4_e2m1fn, whose elements are no bytes; convert it with to('float4_e2m1fn_padded') first",
      ),
    );
  });

  test('tombstones, and then the file is left as it is', () => {
    writeFileSync(file, 'mine');
    const gone = Tensor.from([1]);
    gone.dispose();
    expect(errorOf(() => writeNpy(file, gone))).toMatchObject({ code: 'ERR_DLPACK_DISPOSED' });
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  test('an owner that is lent', () => {
    using owned = OwnedTensor.allocate([2], 'float32');
    owned.lend(() => expect(errorOf(() => toNpy(owned))).toEqual(bufferErrorWith(/lent/)));
  });

  test('what no host can read', () => {
    const struct = makeStruct({ device: [2, 0], shape: [2, 3] });
    using tensor = fromDLPack(struct.producer());
    expect(errorOf(() => toNpy(tensor))).toEqual(bufferErrorWith(/cuda:0/));
  });

  test.each([undefined, [1], new Float32Array(2)])('%p is no tensor', (value) => {
    expect(errorOf(() => callWith({ toNpy }, 'toNpy', value))).toEqual(typeErrorWith(/it takes a tensor/));
  });

  test('a target that is none', () => {
    using tensor = Tensor.from([1]);
    expect(errorOf(() => callWith({ writeNpy }, 'writeNpy', tensor, file))).toEqual(
      typeErrorWith(/a path or a file: URL/),
    );
  });

  test('a folder that is not there is the error of fs; nothing stays open', () => {
    using tensor = Tensor.from([1]);
    const before = stats();
    expect(() => writeNpy(path.join(folder, 'none', 'x.npy'), tensor)).toThrow('ENOENT');
    expect(stats()).toEqual(before);
  });
});

describe('parts', () => {
  test('cover every byte once, in order, however small they are', () => {
    using tensor = Tensor.from(Float32Array.from({ length: 100 }, (_, i) => i));
    const bytes = new Uint8Array(400).fill(255);
    const places: number[] = [];
    eachPart(
      tensor,
      (part, from) => {
        places.push(from);
        bytes.set(part, from);
      },
      { partBytes: 100 },
    );
    expect(places).toEqual([0, 96, 192, 288, 384]);
    expect([...new Float32Array(bytes.buffer)]).toEqual([...tensor.toTypedArray()]);
  });

  test('of packed elements begin on whole bytes', () => {
    using tensor = Tensor.from(
      Uint8Array.from({ length: 30 }, (_, i) => i),
      { shape: [40], dtype: 'float6_e2m3fn' },
    );
    const bytes: number[] = [];
    eachPart(tensor, (part, from) => (expect(from).toBe(bytes.length), bytes.push(...part)), { partBytes: 1 });
    expect(bytes).toEqual(Array.from({ length: 30 }, (_, i) => i));
  });

  test('of a writable loan are written through', () => {
    using owned = OwnedTensor.allocate([50], 'uint8');
    owned.lend((loan) => eachPart(loan, (part, from) => part.fill(from), { writable: true, partBytes: 16 }), {
      writable: true,
    });
    expect([owned.at(0), owned.at(15), owned.at(16), owned.at(49)]).toEqual([0, 0, 16, 48]);
  });
});

test('what is written begins its elements at a multiple of 64 bytes', () => {
  using tensor = Tensor.from(new Uint8Array(3), { shape: [1, 1, 3] });
  writeNpy(file, tensor);
  expect((statSync(file).size - 3) % 64).toBe(0);
});
