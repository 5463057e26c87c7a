/** A claimed tensor as a producer: what it answers to everything that can be asked, in the words of JavaScript's own tables. */
import { describe, expect, test } from '@jest/globals';
import { OwnedTensor, stats, Tensor } from '../../dist/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import { READ_ONLY, IS_COPIED } from '../support/struct-picture.js';
import { BUFFER, CONSUMED, DISPOSED, RANGE, TYPE, expectError, type ErrorShape } from './python-errors.js';
import type { Claimed, ProtocolCall, Python, PythonError } from './python.js';

const VERSIONED: readonly (readonly number[])[] = [
  [1, 0],
  [1, 3],
  [2, 0],
  [100, 3],
];
const LEGACY: readonly (readonly number[] | null | undefined)[] = [undefined, null, [0, 8]];

/** Of a `__dlpack__` call; what is undefined is left out. */
const options = (version: readonly number[] | null | undefined, copy?: boolean | null): object => ({
  ...(version === undefined ? {} : { max_version: version }),
  ...(copy === undefined ? {} : { copy }),
});

export function describeProtocol(python: () => Python): void {
  const drop = (claimed: Claimed): void => python().drop(claimed);
  const failing = (call: () => unknown): PythonError => python().errorOf(call);

  function shared(): { tensor: Tensor; claimed: Claimed; address: string } {
    const tensor = Tensor.from(new Float32Array([1, 2, 3, 4, 5, 6]), { shape: [2, 3] });
    return { tensor, claimed: python().claim(tensor.share()), address: String(dataAddress(tensor)) };
  }

  function transferred(): { claimed: Claimed; address: string } {
    const owned = OwnedTensor.from(new Float32Array([1, 2, 3, 4, 5, 6]), { shape: [2, 3] });
    const address = String(dataAddress(owned));
    return { claimed: python().claim(owned.transfer()), address };
  }

  describe('a claimed shared tensor', () => {
    test('says what it is', () => {
      const { tensor, claimed } = shared();
      expect(claimed).toMatchObject({
        kind: 'Tensor',
        shape: [2, 3],
        strides: [3, 1],
        dtype: 'float32',
        device: [1, 0],
        readOnly: true,
        text: 'node_dlpack.Tensor(float32, shape=(2, 3), read-only)',
      });
      drop(claimed);
      tensor.dispose();
    });

    test('exports as Door 1 says, as often as it is asked', () => {
      const { tensor, claimed, address } = shared();
      const other: unknown = expect.not.stringMatching(`^${address}$`);
      for (const version of VERSIONED) {
        for (const copy of [undefined, null, false]) {
          const answer = python().export(claimed.id, options(version, copy));
          expect(answer).toEqual({ struct: 'dltensor_versioned', flags: Number(READ_ONLY), address });
        }
        const copied = python().export(claimed.id, options(version, true));
        expect(copied).toEqual({ struct: 'dltensor_versioned', flags: Number(IS_COPIED), address: other });
      }
      for (const version of LEGACY) {
        for (const copy of [undefined, null, true]) {
          const answer = python().export(claimed.id, options(version, copy));
          expect(answer).toEqual({ struct: 'dltensor', flags: null, address: other });
        }
        const error = failing(() => python().export(claimed.id, options(version, false)));
        expectError(
          error,
          BUFFER,
          /legacy struct .* cannot say that its memory is read-only.*intoDLPack\(\)\.transfer\(\)/,
        );
      }
      expect(stats()).toMatchObject({ tensors: 1, exports: 1, blocks: 1 }); // unconsumed capsules gave all back
      drop(claimed);
      expect(stats()).toMatchObject({ tensors: 1, exports: 0 });
      tensor.dispose();
    });

    test('tells of a copy that nobody asked for', () => {
      const { tensor, claimed } = shared();
      const told = python().run(`
import logging
records = []
class Keep(logging.Handler):
    def emit(self, record): records.append(record.getMessage())
log = logging.getLogger('node_dlpack.copy')
handler = Keep()
log.addHandler(handler); log.setLevel(logging.DEBUG)
objects[${claimed.id}].__dlpack__()
objects[${claimed.id}].__dlpack__(copy=True)
objects[${claimed.id}].__dlpack__(max_version=(1, 0))
log.removeHandler(handler); log.setLevel(logging.NOTSET)
result = records`);
      expect(told).toEqual([expect.stringContaining('was copied: a legacy struct cannot say')]);
      drop(claimed);
      tensor.dispose();
    });

    test('of what JavaScript has as a writable loan is read-only all the same', () => {
      const array = python().make('numpy', { dtype: 'float32', shape: [4] });
      const offered = python().offer(array.id);
      const loan = Tensor.fromShared(offered.token);
      expect(loan.readOnly).toBe(false);
      const claimed = python().claim(loan.share());
      expect(claimed.readOnly).toBe(true);
      expect(python().export(claimed.id, options([1, 0]))).toMatchObject({ flags: 1, address: array.address });
      python().drop(claimed);
      loan.dispose();
      python().drop(array, offered);
    });

    test('that Python offered writable itself is a writable loan, in either struct', () => {
      const array = python().make('numpy', { dtype: 'float32', shape: [4] });
      const claimed = python().claim(python().offer(array.id).token);
      expect(claimed).toMatchObject({ kind: 'Tensor', readOnly: false });
      for (const copy of [undefined, false]) {
        const answer = python().export(claimed.id, options([1, 0], copy));
        expect(answer).toEqual({ struct: 'dltensor_versioned', flags: 0, address: array.address });
        const legacy = python().export(claimed.id, options(null, copy));
        expect(legacy).toEqual({ struct: 'dltensor', flags: null, address: array.address });
      }
      expect(python().export(claimed.id, options([1, 0], true)).flags).toBe(Number(IS_COPIED));
      const taken = python().take('numpy', claimed.id);
      expect({ writable: taken.writable, address: taken.address }).toEqual({ writable: true, address: array.address });
      python().drop(taken, claimed, array);
      expect(stats().blocks).toBe(0);
    });

    test('closed, has its metadata and nothing else', () => {
      const { tensor, claimed } = shared();
      const closed = python().run(`
tensor = objects[${claimed.id}]
with tensor as same:
    assert same is tensor
tensor.close()
result = [list(tensor.shape), tensor.dtype, tensor.__dlpack_device__(), repr(tensor)]`);
      expect(closed).toEqual([[2, 3], 'float32', [1, 0], 'node_dlpack.Tensor(float32, shape=(2, 3), gone)']);
      expect(stats().exports).toBe(0);
      expectError(
        failing(() => python().export(claimed.id, {})),
        DISPOSED,
        /^Tensor already disposed/,
      );
      drop(claimed);
      tensor.dispose();
    });
  });

  describe('a claimed owner', () => {
    test.each<[object, Omit<ProtocolCall, 'asked' | 'address'>]>([
      [options([1, 0]), { struct: 'dltensor_versioned', flags: 2 }],
      [options([1, 3], true), { struct: 'dltensor_versioned', flags: 2 }],
      [options([1, 3], false), { struct: 'dltensor_versioned', flags: 0 }],
      [options(null), { struct: 'dltensor', flags: null }],
      [options(null, true), { struct: 'dltensor', flags: null }],
      [options([0, 1], false), { struct: 'dltensor', flags: null }],
    ])('exports once, without a copy: %j', (asked, answer) => {
      const { claimed, address } = transferred();
      expect(claimed).toMatchObject({ kind: 'OwnedTensor', readOnly: false });
      expect(python().export(claimed.id, asked)).toEqual({ ...answer, address });
      expect(stats()).toMatchObject({ exports: 0, blocks: 0 }); // the capsule went unconsumed, and took the memory along
      expectError(
        failing(() => python().export(claimed.id, asked)),
        CONSUMED,
        /^Tensor already consumed/,
      );
      drop(claimed);
    });

    test('is as it was after a request that cannot be met', () => {
      const { claimed, address } = transferred();
      expectError(
        failing(() => python().export(claimed.id, { dl_device: [2, 0] })),
        BUFFER,
      );
      expectError(
        failing(() => python().export(claimed.id, { stream: 1 })),
        RANGE,
      );
      expect(python().export(claimed.id, options([1, 0])).address).toBe(address);
      drop(claimed);
    });

    test('dropped, gives its memory back', () => {
      drop(transferred().claimed);
      expect(stats()).toMatchObject({ exports: 0, blocks: 0 });
    });
  });

  describe('requests', () => {
    test.each<[object, ErrorShape, RegExp]>([
      [{ stream: 1 }, RANGE, /^stream is 1; it must be None/],
      [{ max_version: 1 }, TYPE, /^max_version is 1; it must be None or \(major, minor\)/],
      [{ max_version: [1] }, TYPE, /^max_version is \(1,\)/],
      [{ max_version: [1, 2, 3] }, TYPE, /^max_version is \(1, 2, 3\)/],
      [{ max_version: [1.5, 0] }, TYPE, /^max_version is \(1\.5, 0\)/],
      [{ max_version: [-1, 0] }, TYPE, /^max_version is \(-1, 0\)/],
      [{ max_version: [true, false] }, TYPE, /^max_version is \(True, False\)/],
      [{ max_version: 'no' }, TYPE, /^max_version is 'no'/],
      [{ copy: 1 }, TYPE, /^copy is 1; it must be True, False or None/],
      [{ copy: 'yes' }, TYPE, /^copy is 'yes'/],
      [{ dl_device: 1 }, TYPE, /^dl_device is 1; it must be \(device type, device id\)/],
      [{ dl_device: [1] }, TYPE, /^dl_device is \(1,\)/],
      [{ dl_device: ['cpu', 0] }, TYPE, /^dl_device is \('cpu', 0\)/],
      [{ dl_device: [2 ** 31, 0] }, TYPE, /^dl_device is/],
      [{ dl_device: [2, 0] }, BUFFER, /^dl_device is \(2, 0\); the tensor is on \(1, 0\)/],
      [{ dl_device: [1, 5] }, BUFFER, /^dl_device is \(1, 5\)/],
      [{ dl_device: [99, 0] }, BUFFER, /^dl_device is \(99, 0\)/],
    ])('%j is refused by name', (asked, shape, message) => {
      const { tensor, claimed } = shared();
      expectError(
        failing(() => python().export(claimed.id, asked)),
        shape,
        message,
      );
      expect(stats()).toMatchObject({ tensors: 1, exports: 1, blocks: 1 });
      drop(claimed);
      tensor.dispose();
    });

    test('the tensor’s own device may be named, also by members of an enumeration', () => {
      const { tensor, claimed, address } = shared();
      expect(python().export(claimed.id, { max_version: [1, 0], dl_device: [1, 0] }).address).toBe(address);
      const answer = python().run(`
import enum
Device = enum.IntEnum('Device', {'CPU': 1})
result = look(objects[${claimed.id}].__dlpack__(max_version=(1, 0), dl_device=(Device.CPU, 0)))['address']`);
      expect(answer).toBe(address);
      drop(claimed);
      tensor.dispose();
    });

    test('positional ones are refused', () => {
      const { tensor, claimed } = shared();
      expect(failing(() => python().run(`objects[${claimed.id}].__dlpack__(None)`)).bases).toContain('TypeError');
      drop(claimed);
      tensor.dispose();
    });
  });
}
