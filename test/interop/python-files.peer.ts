/**
 * Files and texts, held against those who define them: NumPy loads what `writeNpy` wrote and prints what `util.inspect`
 * prints, and the committed vectors are what NumPy and safetensors write today.
 */
import { afterAll, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path = require('node:path');
import { writeNpy } from '../../dist/files/index.js';
import { scope, Tensor, type DType, type RealDType } from '../../dist/index.js';
import { vectors } from '../files/vectors.js';
import { expectedOf, parsePrinted, printOf } from '../support/printed.js';

const folder = mkdtempSync(path.join(tmpdir(), 'node-dlpack-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const environment = process.env['NODE_DLPACK_INTEROP_PYTHON'] ?? '';

function python(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(path.join(environment, 'bin/python3'), args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(`python ended with ${status}: ${stderr}`);
  return stdout;
}

test('the committed vectors are what NumPy and safetensors write', () => {
  const fresh = path.join(folder, 'vectors');
  mkdirSync(fresh);
  python(path.resolve(__dirname, '../../interop/python/file_vectors.py'), fresh);
  expect(new Set(readdirSync(fresh))).toEqual(new Set(readdirSync(vectors)));
  for (const name of readdirSync(fresh)) {
    expect([name, readFileSync(path.join(vectors, name))]).toEqual([name, readFileSync(path.join(fresh, name))]);
  }
});

/** What NumPy says of each file: dtype, shape, order, elements. Bare bytes are looked at as what they are. */
const LOAD = `
import json, sys, ml_dtypes, numpy
said = {}
for file, dtype in json.loads(sys.argv[1]):
    array = numpy.load(file)
    if array.dtype.kind == "V":
        array = array.view(getattr(ml_dtypes, dtype))
    columns = array.flags.f_contiguous and not array.flags.c_contiguous
    elements = [[z.real, z.imag] for z in array.ravel().tolist()] if array.dtype.kind == "c" else array.astype("float64").ravel().tolist()
    said[file] = [array.dtype.name, list(array.shape), bool(columns), elements]
print(json.dumps(said))
`;

const LAYOUTS: Readonly<Record<string, (tensor: Tensor) => Tensor>> = {
  rows: (tensor) => tensor.slice(),
  columns: (tensor) => tensor.transpose(),
  steps: (tensor) => tensor.slice(null, [null, null, 2]),
  backwards: (tensor) => tensor.flip(0),
  scalar: (tensor) => tensor.slice(1, 2),
  nothing: (tensor) => tensor.slice([0, 0]),
};

const REAL: readonly RealDType[] = [
  'bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float16', 'float32', 'float64',
  'bfloat16', 'float8_e4m3fn', 'float8_e5m2', 'float8_e8m0fnu',
]; // prettier-ignore

function elementsOf(tensor: Tensor): unknown[] {
  const nested: unknown = tensor.toArray();
  const elements: unknown[] = [nested].flat(Infinity);
  if (!tensor.dtype.startsWith('complex')) return elements.map(Number);
  return Array.from({ length: elements.length / 2 }, (_, i) => elements.slice(2 * i, 2 * i + 2));
}

test('NumPy loads what writeNpy wrote: every dtype, every layout', () => {
  const expected: Record<string, unknown> = {};
  const files: [string, DType][] = [];
  scope(() => {
    const numbers = Tensor.from([
      [1, 2, 4, 8],
      [16, 32, 64, 1],
      [1, 1, 2, 4],
    ]);
    const complex = Tensor.from(
      Float64Array.from({ length: 24 }, (_, i) => i),
      { shape: [3, 4], dtype: 'complex128' },
    );
    const tensors: Tensor[] = [...REAL.map((dtype) => numbers.to(dtype).freeze() as Tensor), complex];
    for (const tensor of tensors) {
      for (const [name, derive] of Object.entries(LAYOUTS)) {
        const derived = derive(tensor);
        const file = path.join(folder, `${tensor.dtype}-${name}.npy`);
        writeNpy(file, derived);
        files.push([file, tensor.dtype]);
        expected[file] = [tensor.dtype, derived.shape, name === 'columns', elementsOf(derived)];
      }
    }
  });
  expect(files).toHaveLength(17 * 6);
  expect(JSON.parse(python('-c', LOAD, JSON.stringify(files)))).toEqual(expected);
});

test('util.inspect prints what NumPy prints', () => {
  const script = path.resolve(__dirname, '../../interop/python/print_vectors.py');
  const committed = readFileSync(path.resolve(__dirname, '../../test/vectors/printed.jsonl'), 'utf8');
  expect(python(script, 'few')).toBe(committed);
  const all = parsePrinted(python(script));
  expect(all.length).toBeGreaterThan(1000);
  expect(all.filter((record) => printOf(record) !== expectedOf(record))).toEqual([]);
});
