/** What people who do this met in practice, and how the module finds the addon. */
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import path = require('node:path');
import { stats, Tensor } from '../../dist/index.js';
import { addonPath, pythonPath } from '../../dist/python.js';
import { dataAddress } from '../../dist/unsafe.js';
import { errorOf } from '../support/error-of.js';
import { labPath } from '../support/lab-addon.js';
import { pythonEnvironment } from './python-peers.js';
import type { Python, PythonError } from './python.js';

export function describeCases(python: () => Python): void {
  const failing = (source: string): PythonError => python().errorOf(() => python().run(source));

  describe('cases', () => {
    test('a read-only NumPy array is read-only here: view() refuses by name, toTypedArray() works', () => {
      const array = python().make('numpy', { dtype: 'float32', shape: [3], layout: 'readonly' });
      const offered = python().offer(array.id);
      const tensor = Tensor.fromShared(offered.token);
      expect(tensor.readOnly).toBe(true);
      const refusal = errorOf(() => tensor.view());
      expect(refusal).toMatchObject({ name: 'BufferError', code: 'ERR_DLPACK_BUFFER' });
      expect(refusal.message).toMatch(/toTypedArray\(\).*unsafeView\(\)/);
      expect(tensor.toTypedArray()).toEqual(Float32Array.of(0, 1, 2));
      tensor.dispose();
      python().drop(array, offered);
    });

    test('bool stays bool and uint8 stays uint8, there and back', () => {
      for (const dtype of ['bool', 'uint8'] as const) {
        const array = python().make('numpy', { dtype, shape: [4] });
        const tensor = Tensor.fromShared(python().run(`result = node_dlpack.offer(objects[${array.id}])`) as string);
        expect(tensor.dtype).toBe(dtype);
        const expected = dtype === 'bool' ? [0, 1, 0, 1] : [0, 1, 2, 3];
        expect(tensor.toTypedArray()).toEqual(Uint8Array.from(expected));
        const claimed = python().claim(tensor.share());
        const taken = python().take('numpy', claimed.id);
        expect({ dtype: taken.dtype, bytes: taken.bytes }).toEqual({ dtype, bytes: array.bytes });
        tensor.dispose();
        python().drop(taken, claimed, array);
      }
    });

    test('bfloat16 and float8 have no typed view, their bits pass unchanged, and they widen rightly', () => {
      for (const [dtype, bits] of [
        ['bfloat16', [0x3f80, 0x7f80, 0x7fc0, 0x8000]],
        ['float8_e5m2', [0x3c, 0x7c, 0x7f, 0x80]],
      ] as const) {
        const Bits = dtype === 'bfloat16' ? Uint16Array : Uint8Array;
        using source = Tensor.from(Bits.from(bits), { dtype });
        const claimed = python().claim(source.share());
        const name = dtype === 'bfloat16' ? 'uint16' : 'uint8';
        const token = python().run(`
import numpy
there = numpy.from_dlpack(objects[${claimed.id}].view('${name}'))
result = node_dlpack.offer(there, dtype='${dtype}')
del there`) as string;
        const back = Tensor.fromShared(token);
        expect({ dtype: back.dtype, address: dataAddress(back) }).toEqual({ dtype, address: dataAddress(source) });
        expect(errorOf(() => back.view()).message).toContain('came from outside');
        using copy = back.copy();
        expect(errorOf(() => copy.data).message).toContain('bits');
        expect([...copy.bits]).toEqual([...bits]);
        using wide = back.to('float32');
        expect([...wide.data]).toEqual([1, Infinity, NaN, -0]);
        back.dispose();
        python().drop(claimed);
      }
    });

    test('an array of the other byte order is refused by NumPy’s own error', () => {
      const error = failing("import numpy\nnode_dlpack.offer(numpy.zeros(3, '>f4'))");
      expect(error.bases).toContain('BufferError');
      expect(error.message).toMatch(/byte.?order/i);
    });

    test('shapes with axes of extent 1, of no axes and of no elements keep their shape both ways', () => {
      for (const shape of [[1, 3, 1], [], [0, 2]]) {
        const array = python().make('numpy', { dtype: 'float32', shape });
        const tensor = Tensor.fromShared(python().run(`result = node_dlpack.offer(objects[${array.id}])`) as string);
        expect(tensor.shape).toEqual(shape);
        const claimed = python().claim(tensor.share());
        const taken = python().take('numpy', claimed.id);
        expect({ shape: taken.shape, bytes: taken.bytes }).toEqual({ shape, bytes: array.bytes });
        tensor.dispose();
        python().drop(taken, claimed, array);
      }
      expect(stats().blocks).toBe(0);
    });

    test('64 axes go through', () => {
      const token = python().run(`
import numpy
result = node_dlpack.offer(numpy.zeros((1,) * 64, numpy.float32))`) as string;
      const tensor = Tensor.fromShared(token);
      expect(tensor.ndim).toBe(64);
      const claimed = python().claim(tensor.share());
      expect(claimed.shape).toHaveLength(64);
      tensor.dispose();
      python().drop(claimed);
    });
  });

  describe('attaching', () => {
    test('again to the same file does nothing', () => {
      expect(python().run(`node_dlpack.attach(${JSON.stringify(addonPath)})`)).toBeNull();
      const roundabout = path.join(path.dirname(addonPath), '..', 'Release', path.basename(addonPath));
      expect(python().run(`node_dlpack.attach(${JSON.stringify(roundabout)})`)).toBeNull();
    });

    test.each([
      ['another addon of this process', labPath],
      ['a file that is not there', '/nowhere/node_dlpack.node'],
    ])('to %s as well is refused', (_, file) => {
      const error = failing(`node_dlpack.attach(${JSON.stringify(file)})`);
      expect(error.type).toBe('RuntimeError');
      expect(error.message).toMatch(/^node_dlpack is attached to .* and cannot attach to .*: the tokens of one copy/);
    });

    test.each([
      [
        'with no path and no variable',
        '',
        {},
        /does not know which addon.*addonPath of require\('node-dlpack\/python'\)/,
      ],
      ['outside of Node', addonPath, {}, /is not loaded in this process\. node_dlpack works inside a Node\.js process/],
      ['outside of Node, by the variable', '', { NODE_DLPACK_ADDON: addonPath }, /is not loaded in this process/],
      ['to a library that is loaded but is no node-dlpack', 'libc.so.6', {}, /is of another version of node-dlpack/],
    ])('%s says what is missing', (_, file, env, message) => {
      const source = `import sys; sys.path.insert(0, ${JSON.stringify(pythonPath)})
import node_dlpack
${file === '' ? '' : `node_dlpack.attach(${JSON.stringify(file)})`}
node_dlpack.claim('x')`;
      const { NODE_DLPACK_ADDON: _unset, ...others } = process.env;
      const result = spawnSync(path.join(pythonEnvironment, 'bin/python'), ['-c', source], {
        encoding: 'utf8',
        env: { ...others, ...env },
      });
      expect(result.status).toBe(1);
      expect(result.stderr.trimEnd().split('\n').pop()).toMatch(message);
      expect(result.stderr.trimEnd().split('\n').pop()).toMatch(/^RuntimeError: /);
    });
  });
}
