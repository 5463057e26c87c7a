/** Tokens between Python and JavaScript, and the dtypes that a library has no name for. */
import { describe, expect, test } from '@jest/globals';
import { OwnedTensor, revokeToken, stats, Tensor } from '../../dist/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import { errorOf } from '../support/error-of.js';
import { BUFFER, CONSUMED, RANGE, TOKEN, TYPE, expectError, type ErrorShape } from './python-errors.js';
import type { Claimed, Python, PythonError } from './python.js';
import { recordRow, type Row } from './rows.js';

export function describeTokens(python: () => Python): void {
  const record = (row: Pick<Row, 'direction' | 'writable' | 'remarks'>): void => {
    const version = python().versions()['ml_dtypes'] ?? '';
    recordRow({ library: 'ml_dtypes', version, struct: 'DLManagedTensorVersioned', copies: 0, ...row });
  };
  const drop = (claimed: Claimed): void => python().drop(claimed);
  const failing = (call: () => unknown): PythonError => python().errorOf(call);

  describe('tokens', () => {
    const unknown = /^the token is unknown here, was claimed or revoked before, or has expired/;

    test.each([
      ['empty', ''],
      ['of no kind', 'x'],
      ['guessed', `dlpack-${'0'.repeat(32)}`],
      ['too long', 'dlpack-'.repeat(10_000)],
      ['with a zero in it', `dlpack-\0${'0'.repeat(31)}`],
      ['of other characters', 'dlpack-ÄÖÜ漢字🙂'],
      ['of half a character', '\ud83d'],
    ])('one that is %s is refused', (_, token) => {
      expectError(
        failing(() => python().claim(token)),
        TOKEN,
        unknown,
      );
      expectError(
        failing(() => python().run(`node_dlpack.revoke(${JSON.stringify(token)})`)),
        TOKEN,
        unknown,
      );
    });

    test('a zero behind a good one does not make it good', () => {
      using tensor = Tensor.from(new Uint8Array(3));
      const token = tensor.share();
      expectError(
        failing(() => python().claim(`${token}\0`)),
        TOKEN,
        unknown,
      );
      expectError(
        failing(() => python().claim(`${token}\0rest`)),
        TOKEN,
        unknown,
      );
      drop(python().claim(token));
    });

    test.each([[null], [7], [['x']], [{}]])('%j is no token', (value) => {
      expectError(
        failing(() => python().claim(value)),
        TYPE,
        /^claim was given .*; a token is a str/,
      );
    });

    test('one is claimed once, on either side', () => {
      using tensor = Tensor.from(new Uint8Array(3));
      const forPython = tensor.share();
      const claimed = python().claim(forPython);
      expectError(
        failing(() => python().claim(forPython)),
        TOKEN,
        unknown,
      );
      const there = errorOf(() => Tensor.fromShared(forPython));
      expect(there).toMatchObject({ name: 'DLPackStateError', code: 'ERR_DLPACK_TOKEN' });
      expect(there.message).toContain('node_dlpack.DLPackStateError in Python');
      drop(claimed);
      const array = python().make('numpy', { dtype: 'uint8', shape: [3] });
      const forJavaScript = python().offer(array.id);
      Tensor.fromShared(forJavaScript.token).dispose();
      expectError(
        failing(() => python().claim(forJavaScript.token)),
        TOKEN,
        unknown,
      );
      python().drop(array, forJavaScript);
    });

    test('an owner that Python claimed is no longer JavaScript’s to claim', () => {
      const owned = OwnedTensor.from(new Uint8Array(3));
      const token = owned.transfer();
      drop(python().claim(token));
      expect(errorOf(() => OwnedTensor.fromTransfer(token))).toMatchObject({ code: 'ERR_DLPACK_TOKEN' });
    });

    test('one can be revoked on either side, and then its memory is given back', () => {
      const array = python().make('numpy', { dtype: 'uint8', shape: [3] });
      const first = python().offer(array.id);
      revokeToken(first.token);
      expect(python().deleterCalls(first)).toBe(1);
      const second = python().offer(array.id);
      python().run(`node_dlpack.revoke('${second.token}')`);
      expect(python().deleterCalls(second)).toBe(1);
      expect(errorOf(() => Tensor.fromShared(second.token))).toMatchObject({ code: 'ERR_DLPACK_TOKEN' });
      python().drop(array, first, second);
    });

    test('one expires after its ttl in seconds, and then its memory is given back', async () => {
      const array = python().make('numpy', { dtype: 'uint8', shape: [3] });
      const offered = python().offer(array.id, { ttl: 0.01 });
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(errorOf(() => Tensor.fromShared(offered.token))).toMatchObject({ code: 'ERR_DLPACK_TOKEN' });
      expect(python().deleterCalls(offered)).toBe(1);
      python().drop(array, offered);
    });

    test.each<[unknown, ErrorShape]>([
      ['1', TYPE],
      [true, TYPE],
      [0, RANGE],
      [-1, RANGE],
      [1e300, RANGE],
    ])('a ttl of %j is refused', (ttl, shape) => {
      const array = python().make('numpy', { dtype: 'uint8', shape: [3] });
      expectError(
        failing(() => python().offer(array.id, { ttl })),
        shape,
        /^ttl is/,
      );
      python().drop(array);
    });
  });

  describe('dtypes that a library has no name for', () => {
    test('go to NumPy as bits, and become ml_dtypes’ there, without a copy', () => {
      using bits = Tensor.from(new Uint16Array([0x3f80, 0x7f80, 0xc000, 0x7fc0]), { dtype: 'bfloat16' });
      const claimed = python().claim(bits.share());
      expect(failing(() => python().take('numpy', claimed.id)).type).not.toBe('');
      const [values, address, views] = python().run(`
import ml_dtypes, numpy
tensor = objects[${claimed.id}].view('uint16')
array = numpy.from_dlpack(tensor).view(ml_dtypes.bfloat16)
result = [[repr(float(value)) for value in array], str(array.__array_interface__['data'][0]), repr(tensor)]
del tensor, array`) as [string[], string, string];
      expect(values).toEqual(['1.0', 'inf', '-2.0', 'nan']);
      expect(address).toBe(String(dataAddress(bits)));
      expect(views).toBe('node_dlpack.Tensor(uint16, shape=(4,), read-only)');
      drop(claimed);
      expect(stats().exports).toBe(0);
      record({
        direction: 'out',
        writable: 'no',
        remarks: "numpy.from_dlpack(claim(token).view('uint16')).view(dtype)",
      });
    });

    test('come from ml_dtypes as bits with their name, without a copy', () => {
      for (const [dtype, bits, shape] of [
        ['bfloat16', 'uint16', [2, 3]],
        ['float8_e4m3fn', 'uint8', [2, 3]],
      ] as const) {
        const array = python().make('ml_dtypes', { dtype, shape });
        expect(failing(() => python().offer(array.id)).bases).toContain('BufferError');
        const token = python().run(`
array = objects[${array.id}]
result = node_dlpack.offer(array.view('${bits}'), dtype='${dtype}')
del array`) as string;
        const tensor = Tensor.fromShared(token);
        expect({ dtype: tensor.dtype, address: String(dataAddress(tensor)) }).toEqual({
          dtype,
          address: array.address,
        });
        expect(tensor.toArray()).toEqual([
          [0, 1, 2],
          [3, 4, 5],
        ]);
        expect(tensor.readOnly).toBe(false);
        tensor.dispose();
        python().drop(array);
      }
      record({ direction: 'in', writable: 'yes', remarks: "offer(array.view(numpy.uint16), dtype='bfloat16')" });
    });

    test('of an owner are renamed by handing it on', () => {
      const owned = OwnedTensor.from(new Uint16Array([0x3f80, 0x4000]), { dtype: 'bfloat16' });
      const address = String(dataAddress(owned));
      const claimed = python().claim(owned.transfer());
      const answer = python().run(`
owner = objects[${claimed.id}].view('int16')
result = [type(owner).__name__, owner.dtype, look(owner.__dlpack__(max_version=(1, 0)))]
del owner`);
      expect(answer).toEqual(['OwnedTensor', 'int16', { struct: 'dltensor_versioned', flags: 2, address }]);
      expectError(
        failing(() => python().export(claimed.id, {})),
        CONSUMED,
      );
      drop(claimed);
      expect(stats().blocks).toBe(0);
    });

    test('need names of the same width', () => {
      const claimed = python().claim(OwnedTensor.from(new Float32Array(6)).transfer());
      const view = (dtype: string) => () => python().run(`objects[${claimed.id}].view(${dtype})`);
      expectError(failing(view("'int16'")), RANGE, /^dtype is 'int16', 16 bits; elements of float32 have 32/);
      expectError(failing(view("'float33'")), TYPE, /^dtype is 'float33'; it must be one of int8, /);
      expectError(failing(view('None')), TYPE, /^dtype is None/);
      drop(claimed); // still there, and dropped here
      const array = python().make('numpy', { dtype: 'uint16', shape: [3] });
      expectError(
        failing(() => python().offer(array.id, { dtype: 'float32' })),
        BUFFER,
        /dtype\.bits/,
      );
      python().drop(array);
      expect(stats().blocks).toBe(0);
    });
  });
}
