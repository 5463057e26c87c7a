/**
 * Damaged files: every truncation and every change of a single byte of small valid files is read right or refused by
 * name, and leaves nothing behind. What is right is said by a second, naive reading of the header, which can be trusted
 * only where the strict one has accepted it.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readNpy } from '../../dist/files/index.js';
import { DLPackBufferError, stats, type Tensor } from '../../dist/index.js';
import { vectorBytes } from './vectors.js';
import { expectCountersAtZero } from '../support/counters.js';

expectCountersAtZero();

const FILES = ['bool.npy', 'fortran.npy', 'scalar.npy', 'version-2.npy'];

// A hundred thousand errors: their stacks would take most of the time.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

/** The bytes of all elements in the order of the file, and what the header says of them. */
function naive(file: Buffer): { descr: string; shape: number[]; data: Buffer } {
  const long = file[6] !== 1;
  const begin = long ? 12 : 10;
  const length = long ? file.readUInt32LE(8) : file.readUInt16LE(8);
  const text = file.toString('latin1', begin, begin + length);
  const json = text
    .replaceAll(/\s+/g, '')
    .replaceAll("'", '"')
    .replaceAll('(', '[')
    .replaceAll(')', ']')
    .replaceAll(/(\d)L/g, '$1')
    .replaceAll(/,([\]}])/g, '$1')
    .replace('True', '1')
    .replace('False', '0');
  const { descr, shape } = JSON.parse(json) as { descr: string; shape: number[] };
  return { descr, shape, data: file.subarray(begin + length) };
}

const NAMES: Readonly<Record<string, string>> = { b: 'bool', i: 'int', u: 'uint', f: 'float', c: 'complex' };

function expectRight(tensor: Tensor, file: Buffer): void {
  const { descr, shape, data } = naive(file);
  const [, letter = '', size = ''] = /^[<>|=]?([a-z])(\d+)$/.exec(descr) ?? [];
  const dtype = letter === 'b' ? 'bool' : `${NAMES[letter]}${Number(size) * 8}`;
  const inOrder = tensor.isContiguous ? tensor : tensor.transpose();
  const bits = inOrder.toTypedArray({ bits: true });
  if (inOrder !== tensor) inOrder.dispose();
  const bytes = Buffer.from(bits.buffer, bits.byteOffset, bits.byteLength);
  if (tensor.dtype !== dtype || !bytes.equals(data) || String(tensor.shape) !== String(shape)) {
    expect({ dtype: tensor.dtype, shape: tensor.shape, bytes }).toEqual({ dtype, shape, bytes: data });
  }
}

/** Reads; answers whether it was accepted. What is accepted must be right, what is refused named. */
function tryFile(file: Buffer): boolean {
  let tensor: Tensor;
  try {
    tensor = readNpy(file);
  } catch (error) {
    if (error instanceof DLPackBufferError && error.message.startsWith('the bytes: ')) return false;
    throw error;
  }
  expectRight(tensor, file);
  tensor.dispose();
  return true;
}

test.each([...FILES, 'complex64.npy', 'row.npy'])('%s cut off anywhere is refused', (name) => {
  const file = vectorBytes(name);
  const before = stats();
  for (let length = 0; length < file.length; length++) {
    if (tryFile(file.subarray(0, length))) throw new Error(`${name} was read from its first ${length} bytes`);
  }
  expect(stats()).toEqual(before);
});

test.each(FILES)('%s with any byte changed to any other is read right or refused', (name) => {
  const file = vectorBytes(name);
  const before = stats();
  const counts = { read: 0, refused: 0 };
  for (let position = 0; position < file.length; position++) {
    const original = file[position] ?? 0;
    for (let value = 0; value < 256; value++) {
      if (value === original) continue;
      file[position] = value;
      counts[tryFile(file) ? 'read' : 'refused'] += 1;
    }
    file[position] = original;
  }
  expect(counts.read).toBeGreaterThan(255); // at least wherever an element was changed
  expect(counts.refused).toBeGreaterThan(10_000);
  expect(stats()).toEqual(before);
});
