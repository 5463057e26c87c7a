/** Looking at the bytes: `view`, `strided`, `withView`, and what ends them. */
import { describe, expect, test } from '@jest/globals';
import { fromDLPack, OwnedTensor, stats, Tensor } from '../dist/index.js';
import { movedBytes } from './support/array-buffer-transfer.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import { expectBufferError, expectStateError, expectTypeError, leavingNothing, thrownBy } from './support/refusals.js';
import { callWith as call, rawBytes, sample } from './support/values.js';

expectCountersAtZero();

const SHARED = /cannot move out/;

describe('view', () => {
  test('is the memory itself, one array a tensor, counted as an alias until it is released', () => {
    const tensor = sample();
    using alias = tensor.slice();
    const view = tensor.view();
    expect([view.length, view[5], tensor.view() === view, stats().views]).toEqual([6, 5, true, 1]);
    const other = alias.view();
    expect([other === view, rawBytes(other).buffer === rawBytes(view).buffer, stats().views]).toEqual([
      false,
      false,
      2,
    ]);
    tensor.releaseViews();
    expect([view.length, other.length, stats().views]).toEqual([0, 6, 1]);
    const again = tensor.view();
    expect([again === view, again[5]]).toEqual([false, 5]);
    tensor.dispose();
    expect([again.length, other.length]).toEqual([0, 6]);
    alias.releaseViews();
    alias.releaseViews();
    expect(stats().views).toBe(0);
  });

  test('covers exactly the tensor', () => {
    using tensor = sample();
    using row = tensor.slice(1);
    const view = row.view();
    expect([[...view], view.byteOffset, rawBytes(view).buffer.byteLength]).toEqual([[3, 4, 5], 0, 12]);
  });

  test('bits lie over the same buffer, for every dtype', () => {
    using tensor = sample();
    const bits = tensor.view({ bits: true });
    expect([
      bits[1],
      bits.buffer === tensor.view().buffer,
      tensor.view({ bits: true }) === bits,
      stats().views,
    ]).toEqual([0x3f800000, true, true, 1]);
    using bf16 = Tensor.from([1, 2], { dtype: 'bfloat16' });
    expect([...bf16.view({ bits: true })]).toEqual([0x3f80, 0x4000]);
    using complex = Tensor.from(Float32Array.of(1, 2), { dtype: 'complex64' });
    expect([...complex.view({ bits: true })]).toEqual([1, 2]);
    using packed = Tensor.from([1, 2, -6], { dtype: 'float4_e2m1fn' });
    expect(packed.view({ bits: true }).length).toBe(2);
  });

  test('a dtype without a typed array is refused by name, and leaves no view behind', () => {
    for (const dtype of [
      'bfloat16',
      'float8_e5m2',
      'float6_e2m3fn',
      'float4_e2m1fn',
      'float4_e2m1fn_padded',
    ] as const) {
      using tensor = Tensor.from([1], { dtype });
      leavingNothing(() =>
        expectBufferError(() => call(tensor, 'view'), new RegExp(`${dtype}.*view\\(\\{ bits: true \\}\\)`)),
      );
      leavingNothing(() =>
        expectBufferError(
          () => call(tensor, 'withView', () => 0),
          new RegExp(`${dtype}.*withView\\(fn, \\{ bits: true \\}\\)`),
        ),
      );
      leavingNothing(() => expectBufferError(() => call(tensor, 'strided'), new RegExp(dtype)));
    }
  });

  test('needs a contiguous layout', () => {
    using tensor = sample();
    using turned = tensor.transpose();
    leavingNothing(() => expectBufferError(() => turned.view(), /view needs a contiguous tensor; use contiguous\(\)/));
    leavingNothing(() => expectBufferError(() => turned.withView(() => 0), /withView needs a contiguous tensor/));
  });

  test('to write through is for writable loans alone', () => {
    using tensor = sample();
    for (const name of ['view', 'strided']) {
      leavingNothing(() =>
        expectBufferError(
          () => call(tensor, name, { writable: true }),
          new RegExp(`${name} would write to read-only memory`),
        ),
      );
    }
    leavingNothing(() => expectBufferError(() => tensor.withView(() => 0, { writable: true }), /withView would write/));
    using empty = Tensor.from(new Int8Array(0));
    expectBufferError(() => empty.view({ writable: true }), /read-only/);
    tensor.view();
    expectBufferError(() => tensor.view({ writable: true }), /read-only/);
    using owned = OwnedTensor.allocate([2], 'float32');
    owned.lend((loan) => (loan.view({ writable: true })[1] = 7), { writable: true });
    expect(owned.at(1)).toBe(7);
  });

  test('refuses options that are none', () => {
    using tensor = sample();
    for (const name of ['view', 'strided']) {
      expectTypeError(
        () => call(tensor, name, true),
        `${name} was called with true; it takes an object of options: { writable, bits }`,
      );
      expectTypeError(() => call(tensor, name, null), /called with null/);
      expectTypeError(() => call(tensor, name, { writable: 'yes' }), "writable is 'yes'; it must be true or false");
      expectTypeError(() => call(tensor, name, { bits: null }), 'bits is null; it must be true or false');
    }
    expectTypeError(() => call(tensor, 'withView'), 'withView was called with undefined; it takes a function');
    expectTypeError(() => call(tensor, 'withView', () => 0, { bits: 1 }), /bits is 1/);
  });

  test('keeps the bytes alive when the tensor is collected', async () => {
    let view: { readonly [index: number]: number; readonly length: number } | undefined = (() => sample().view())();
    await collectUntil(() => stats().tensors === 0);
    expect([stats().tensors, stats().views, view?.[5], view?.length]).toEqual([0, 1, 5, 6]);
    view = undefined;
    await collectUntil(() => stats().blocks === 0);
    expect(stats().blocks).toBe(0);
  });

  test('when the user moved the bytes away: the block stays held and counted until the new buffer dies', async () => {
    const tensor = sample();
    const view = tensor.view();
    let moved: ArrayBuffer | undefined = movedBytes(view.buffer);
    expect([view.length, new Float32Array(moved)[5]]).toEqual([0, 5]);
    expectBufferError(() => tensor.intoDLPack(), SHARED);
    const again = tensor.view();
    expect([again.length, again[5], again === view]).toEqual([6, 5, false]);
    tensor.releaseViews();
    tensor.dispose();
    expect([again.length, new Float32Array(moved)[5], stats().blocks]).toEqual([0, 5, 1]);
    moved = undefined;
    await collectUntil(() => stats().blocks === 0);
    expect(stats().blocks).toBe(0);
  });

  test('an empty tensor shows an empty array', () => {
    using empty = Tensor.from(new Int16Array(0), { shape: [0, 3] });
    expect([empty.view().length, empty.view() === empty.view(), empty.strided().data.length, stats().views]).toEqual([
      0,
      true,
      0,
      0,
    ]);
  });

  test('20,000 views opened and released in one synchronous loop leave nothing', () => {
    using tensor = sample();
    let detached = true;
    for (let i = 0; i < 20_000; i++) {
      const view = tensor.view();
      tensor.releaseViews();
      // Looked at, so that it is not collected before: its memory would then wait for its finalizer.
      detached &&= view.length === 0;
    }
    expect(detached).toBe(true);
    expect(stats().views).toBe(0);
  });
});

describe('strided', () => {
  test('shows the span, and where the elements are in it', () => {
    using tensor = sample();
    using part = tensor.slice(null, [null, null, -2]);
    const { data, offset, shape, strides } = part.strided();
    const read = (i: number, j: number): number | undefined =>
      data[offset + i * (strides[0] ?? 0) + j * (strides[1] ?? 0)];
    expect([read(0, 0), read(0, 1), read(1, 0), read(1, 1)]).toEqual([2, 0, 5, 3]);
    expect([data.length, offset, shape, strides]).toEqual([6, 2, [2, 2], [3, -2]]);
    expect(stats().views).toBe(1);
  });

  test('counts complex elements as two entries, the real part first', () => {
    using tensor = Tensor.from(Float32Array.of(1, 2, 3, 4, 5, 6), { dtype: 'complex64' });
    using flipped = tensor.flip(0);
    const { data, offset, strides } = flipped.strided({ bits: true });
    expect([data[offset], data[offset + 1], data[offset + (strides[0] ?? 0)]]).toEqual([5, 6, 3]);
  });

  test('packed sub-byte elements are no entries of any array', () => {
    using tensor = Tensor.from([1, 2], { dtype: 'float4_e2m1fn' });
    expectBufferError(() => tensor.strided({ bits: true }), /strided\(\) cannot show packed float4_e2m1fn/);
  });
});

describe('withView', () => {
  test('gives an array of its own, detached when the function ends', () => {
    using tensor = sample();
    const own = tensor.view();
    let kept: { readonly length: number } | undefined;
    const sum = tensor.withView((data) => {
      kept = data;
      expect([rawBytes(data).buffer === rawBytes(own).buffer, stats().views]).toEqual([false, 2]);
      return data.reduce((total, x) => total + x, 0);
    });
    expect([sum, kept?.length, own.length, stats().views]).toEqual([15, 0, 6, 1]);
  });

  test('until then dispose and moves are refused, and nothing changes', () => {
    const tensor = sample();
    tensor.withView((data) => {
      for (const name of ['dispose', 'intoDLPack']) {
        leavingNothing(() =>
          expectBufferError(
            () => call(tensor, name),
            new RegExp(`${name} is refused while withView\\(\\) uses the memory \\(1 open\\)`),
          ),
        );
      }
      leavingNothing(() => expectBufferError(() => tensor[Symbol.dispose](), /refused while withView/));
      expect(data[5]).toBe(5);
    });
    tensor.intoDLPack().dispose();
    const owned = OwnedTensor.allocate([2], 'float32');
    owned.withView((data) => {
      data[1] = 4;
      for (const name of ['dispose', 'freeze', '__dlpack__']) {
        leavingNothing(() => expectBufferError(() => call(owned, name), /refused while withView/));
      }
    });
    expect(owned.at(1)).toBe(4);
    owned.dispose();
  });

  test('an empty tensor is held too', () => {
    const empty = Tensor.from(new Int8Array(0));
    empty.withView((data) => {
      expect(data.length).toBe(0);
      expectBufferError(() => empty.dispose(), /refused while withView/);
      expectBufferError(() => empty.intoDLPack(), /refused while withView/);
    });
    empty.dispose();
    const owned = OwnedTensor.allocate([0], 'int8');
    owned.withView(() => expectBufferError(() => owned.freeze(), /refused while withView/));
    owned.dispose();
  });

  test('a promise keeps it open until it settles', async () => {
    const tensor = sample();
    let finish: (() => void) | undefined;
    let kept: { readonly length: number } | undefined;
    const result = tensor.withView(async (data) => {
      kept = data;
      await new Promise<void>((resolve) => (finish = resolve));
      return data[5];
    });
    expect([kept?.length, stats().views]).toEqual([6, 1]);
    expectBufferError(() => tensor.dispose(), /refused while withView/);
    finish?.();
    expect(await result).toBe(5);
    expect([kept?.length, stats().views]).toEqual([0, 0]);
    tensor.dispose();
  });

  test('a rejection ends it too, and reaches the caller as it is', async () => {
    const tensor = sample();
    const own = new Error('mine');
    await expect(tensor.withView(() => Promise.reject(own))).rejects.toBe(own);
    tensor.dispose();
  });

  test('a throw ends it, and reaches the caller as it is', () => {
    using tensor = sample();
    const own = new Error('mine');
    expect(
      thrownBy(() =>
        tensor.withView(() => {
          throw own;
        }),
      ),
    ).toBe(own);
    expect(stats().views).toBe(0);
  });

  test('any thenable counts, and its then is called once', async () => {
    const tensor = sample();
    let calls = 0;
    const thenable = {
      // eslint-disable-next-line unicorn/no-thenable -- a thenable that is no promise is what is tested
      then(resolve: (value: number) => void): void {
        calls += 1;
        setImmediate(() => resolve(7));
      },
    };
    const result: unknown = call(tensor, 'withView', () => thenable);
    expectBufferError(() => tensor.dispose(), /refused while withView/);
    expect([await result, calls]).toEqual([7, 1]);
    tensor.dispose();
  });

  test('windows count apart, and end in any order', async () => {
    const tensor = sample();
    const ends: (() => void)[] = [];
    const open = (): Promise<void> => tensor.withView(() => new Promise<void>((resolve) => ends.push(resolve)));
    const windows = [open(), open(), open()];
    expectBufferError(() => tensor.dispose(), /3 open/);
    ends[1]?.();
    await windows[1];
    expectBufferError(() => tensor.dispose(), /2 open/);
    ends[2]?.();
    ends[0]?.();
    await Promise.all(windows);
    tensor.dispose();
  });

  test('bytes that the function moves away stay good in the new buffer, and the window ends', async () => {
    const tensor = sample();
    let moved: ArrayBuffer | undefined;
    tensor.withView((data) => {
      moved = movedBytes(data.buffer);
    });
    expect(new Float32Array(moved ?? new ArrayBuffer(0))[5]).toBe(5);
    tensor.dispose();
    moved = undefined;
    await collectUntil(() => stats().blocks === 0);
  });

  test('gives bits, and writable memory of writable loans', () => {
    using tensor = sample();
    expect(tensor.withView((bits) => bits[1], { bits: true })).toBe(0x3f800000);
    using owned = OwnedTensor.allocate([2], 'bfloat16');
    owned.withView((bits) => (bits[0] = 0x3f80), { bits: true });
    expect(owned.at(0)).toBe(1);
    owned.lend((loan) => loan.withView((bits) => (bits[1] = 0x4000), { writable: true, bits: true }), {
      writable: true,
    });
    expect(owned.at(1)).toBe(2);
  });
});

test('importing a viewed tensor shares no view', () => {
  using tensor = sample();
  tensor.view();
  using other = fromDLPack(tensor);
  other.dispose();
  expect(tensor.view().length).toBe(6);
  expectStateError(() => other.view(), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
});
