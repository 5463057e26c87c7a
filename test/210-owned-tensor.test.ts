/** `OwnedTensor`: memory with one owner, how it is written, and the three ways in which it ends. */
import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import {
  capsuleName,
  fromDLPack,
  OwnedTensor,
  releaseCapsule,
  scope,
  stats,
  Tensor,
  type DType,
} from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { movedBytes } from './support/array-buffer-transfer.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import {
  expectBufferError,
  expectRangeError,
  expectStateError,
  expectTypeError,
  leavingNothing,
} from './support/refusals.js';
import { callWith as call, ownedSample as sample } from './support/values.js';

expectCountersAtZero();

describe('allocate', () => {
  test('gives zeroed row-major memory, aligned to 256 bytes', () => {
    using owned = OwnedTensor.allocate([2, 3], 'int64');
    expect([owned.shape, owned.strides, owned.dtype, owned.byteLength, [...owned.data]]).toEqual([
      [2, 3],
      [3, 1],
      'int64',
      48,
      [0n, 0n, 0n, 0n, 0n, 0n],
    ]);
    expect(dataAddress(owned) % 256n).toBe(0n);
    expect(owned).toMatchObject({
      readOnly: false,
      isUnique: true,
      isContiguous: true,
      zeroCopy: true,
      consumed: false,
      disposed: false,
    });
  });

  test('knows every dtype', () => {
    const dtypes: [DType, number][] = [
      ['bool', 10],
      ['float16', 20],
      ['bfloat16', 20],
      ['complex128', 160],
      ['float8_e5m2', 10],
      ['float6_e2m3fn', 8],
      ['float4_e2m1fn', 5],
      ['float4_e2m1fn_padded', 10],
    ];
    for (const [dtype, bytes] of dtypes) {
      using owned = OwnedTensor.allocate([10], dtype);
      expect([dtype, owned.byteLength, owned.bits.byteLength]).toEqual([dtype, bytes, bytes]);
    }
  });

  test('refuses shapes and dtypes that cannot be, and leaves nothing', () => {
    leavingNothing(() =>
      expectTypeError(() => call(OwnedTensor, 'allocate', 6, 'float32'), 'shape is 6; it must be an array of integers'),
    );
    leavingNothing(() => expectTypeError(() => call(OwnedTensor, 'allocate', ['6'], 'float32'), /shape\[0\] is '6'/));
    leavingNothing(() => expectTypeError(() => call(OwnedTensor, 'allocate'), /shape is undefined/));
    leavingNothing(() =>
      expectRangeError(() => OwnedTensor.allocate([2, -3], 'float32'), 'shape[1] is -3; extents must be >= 0'),
    );
    leavingNothing(() => expectRangeError(() => OwnedTensor.allocate([1.5], 'float32'), /shape\[0\] is 1.5/));
    leavingNothing(() => expectRangeError(() => OwnedTensor.allocate([2 ** 53], 'float32'), /shape\[0\]/));
    leavingNothing(() => expectRangeError(() => OwnedTensor.allocate([2 ** 30, 2 ** 30], 'float32'), /elements/));
    leavingNothing(() =>
      expectRangeError(
        () =>
          OwnedTensor.allocate(
            Array.from({ length: 65 }, () => 1),
            'float32',
          ),
        /65 axes; a tensor has at most 64/,
      ),
    );
    leavingNothing(() => expectTypeError(() => call(OwnedTensor, 'allocate', [1]), /dtype is undefined/));
    leavingNothing(() => expectRangeError(() => call(OwnedTensor, 'allocate', [1], 'float31'), /dtype is 'float31'/));
  });

  test('without memory it is an ERR_DLPACK_MEMORY RangeError', () => {
    let error: unknown;
    try {
      OwnedTensor.allocate([2 ** 46], 'float64');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      name: 'RangeError',
      code: 'ERR_DLPACK_MEMORY',
      message: expect.stringMatching(/562949953421312 bytes/),
    });
  });
});

describe('data and bits', () => {
  test('are the memory itself, writable, the same object at every call', () => {
    using owned = sample();
    owned.data[5] = 50;
    expect([owned.at(1, 2), owned.data === owned.data, owned.bits === owned.bits]).toEqual([50, true, true]);
    owned.bits[0] = 0x3f800000;
    expect([owned.at(0, 0), owned.data.buffer === owned.bits.buffer]).toEqual([1, true]);
    expect(stats().views).toBe(1);
  });

  test('a dtype without a typed array has bits alone, by name', () => {
    using owned = OwnedTensor.allocate([2], 'bfloat16');
    leavingNothing(() => expectBufferError(() => owned.data, /bfloat16.*bits/));
    owned.bits[1] = 0x3fc0;
    expect(owned.at(1)).toBe(1.5);
    using complex = OwnedTensor.allocate([2], 'complex64');
    complex.bits.set([1, 2, 3, 4]);
    expect(complex.at(1)).toEqual([3, 4]);
    expectBufferError(() => complex.data, /bits/);
  });

  test('an owner that is not contiguous refuses data, and says so', () => {
    const tensor = Tensor.from([
      [1, 2],
      [3, 4],
    ]);
    const turned = tensor.transpose();
    tensor.dispose();
    using owned = turned.intoDLPack();
    expect([owned.isContiguous, owned.at(0, 1)]).toEqual([false, 3]);
    expectBufferError(() => owned.data, /data needs a contiguous tensor/);
    owned.set([
      [5, 6],
      [7, 8],
    ]);
    expect([owned.at(0, 1), owned.at(1, 0)]).toEqual([6, 7]);
  });

  test('cannot be replaced', () => {
    using owned = sample();
    expect(Reflect.set(owned, 'data', new Float32Array(6))).toBe(false);
  });
});

describe('set', () => {
  test('takes tensors of any layout and dtype, typed arrays, nested arrays and single values', () => {
    using owned = sample();
    using source = Tensor.from(Int16Array.of(10, 20, 30, 40, 50, 60), { shape: [3, 2] });
    using turned = source.transpose();
    expect([...owned.set(turned).data]).toEqual([10, 30, 50, 20, 40, 60]);
    expect([...owned.set(Float64Array.of(1, 2, 3)).data]).toEqual([1, 2, 3, 1, 2, 3]);
    expect([...owned.set([[7], [8]]).data]).toEqual([7, 7, 7, 8, 8, 8]);
    expect([...owned.set([true, false, true]).data]).toEqual([1, 0, 1, 1, 0, 1]);
    expect([...owned.set(5).data]).toEqual([5, 5, 5, 5, 5, 5]);
    expect([...owned.set(-3n).data]).toEqual([-3, -3, -3, -3, -3, -3]);
    using other = OwnedTensor.from([9, 9, 9]);
    expect([...owned.set(other, { at: 0 }).data]).toEqual([9, 9, 9, -3, -3, -3]);
    expect(stats().tensors).toBe(4);
  });

  test('writes a part, given as slice takes it', () => {
    using owned = OwnedTensor.allocate([2, 3], 'int32');
    owned
      .set([1, 2], { at: [null, 0] })
      .set(9, { at: [-1, [null, null, -2]] })
      .set(5, { at: [0, 1] });
    expect([...owned.data]).toEqual([1, 5, 0, 9, 0, 9]);
  });

  test('scales, then offsets, then converts once', () => {
    using owned = OwnedTensor.allocate([2, 3], 'uint8');
    owned.set(
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
      { scale: 10, offset: 0.5 },
    );
    expect([...owned.data]).toEqual([0, 10, 20, 30, 40, 50]);
    owned.set(
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
      { scale: [1, 2, 3], offset: [100, 0, 0], axis: 1 },
    );
    expect([...owned.data]).toEqual([100, 2, 6, 103, 8, 15]);
    owned.set([1, 1], { at: [null, 2], scale: [5, 6], axis: 0 });
    expect([owned.at(0, 2), owned.at(1, 2)]).toEqual([5, 6]);
  });

  test('is safe where source and target overlap', () => {
    const owned = OwnedTensor.from(Float32Array.of(1, 2, 3, 4));
    owned.lend((loan) => {
      using reversed = loan.flip(0);
      expect(reversed.toArray()).toEqual([4, 3, 2, 1]);
    });
    owned.set(owned, { scale: 2 });
    expect([...owned.data]).toEqual([2, 4, 6, 8]);
    owned.dispose();
  });

  test('keeps 64-bit integers exact', () => {
    using owned = OwnedTensor.allocate([2], 'int64');
    owned.set([2n ** 63n - 1n, -(2n ** 63n)]);
    expect([...owned.data]).toEqual([2n ** 63n - 1n, -(2n ** 63n)]);
    owned.set(2n ** 53n + 1n, { at: 0 });
    expect(owned.at(0)).toBe(2n ** 53n + 1n);
  });

  test('refuses what cannot be, and changes and leaves nothing', () => {
    using owned = sample();
    const before = [...owned.data];
    leavingNothing(() => expectTypeError(() => call(owned, 'set', 'abc'), /'abc'/));
    leavingNothing(() => expectTypeError(() => call(owned, 'set'), /undefined/));
    leavingNothing(() => expectTypeError(() => call(owned, 'set', new ArrayBuffer(4)), /ArrayBuffer/));
    leavingNothing(() => expectTypeError(() => call(owned, 'set', [1, '2']), /'2'/));
    leavingNothing(() => expectTypeError(() => call(owned, 'set', [1], 3), /set was given 3 as options/));
    leavingNothing(() => expectRangeError(() => owned.set([1, 2]), /axis 1|2.*3/));
    leavingNothing(() => expectRangeError(() => owned.set([1], { at: [2] }), /2/));
    leavingNothing(() =>
      expectRangeError(
        () => owned.set([[1]], { at: 0 }),
        'the source has 2 axes, and the part to write has 1; broadcasting drops none',
      ),
    );
    leavingNothing(() =>
      expectTypeError(
        () => call(owned, 'set', [1], { at: 'all' }),
        "at is 'all'; it must be an index or an array of slice specs, such as [0, [1, 3]]",
      ),
    );
    leavingNothing(() => expectTypeError(() => call(owned, 'set', [1], { at: ['0'] }), /'0'/));
    leavingNothing(() => expectTypeError(() => call(owned, 'set', [1], { scale: null }), /scale is null/));
    leavingNothing(() =>
      expectRangeError(
        () => owned.set([1], { scale: [1, 2, 3] }),
        'scale has 3 numbers; it must have 1, or 2 as axis 0 has',
      ),
    );
    leavingNothing(() => expectRangeError(() => owned.set(1, { axis: 2, scale: 1 }), /axis is 2/));
    leavingNothing(() => expectRangeError(() => owned.set(2n ** 64n), /18446744073709551616n.*64 bits/));
    using complex = Tensor.from(Float32Array.of(1, 2), { dtype: 'complex64' });
    leavingNothing(() => expectTypeError(() => owned.set(complex), /no conversion from complex64 to float32/));
    const gone = Tensor.from([1]);
    gone.dispose();
    leavingNothing(() => expectStateError(() => owned.set(gone), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed'));
    expect([...owned.data]).toEqual(before);
  });

  test('options that dispose the target meanwhile get the state error', () => {
    const owned = sample();
    const options = {
      get scale(): number {
        owned.dispose();
        return 1;
      },
    };
    expectStateError(() => owned.set([1], options), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
  });
});

describe('fill', () => {
  test('sets every element, converted to the dtype', () => {
    const rows: [DType, unknown, unknown][] = [
      ['uint8', 300, 255],
      ['uint8', -1, 0],
      ['int8', 2.5, 2],
      ['int32', NaN, 0],
      ['bool', 2, true],
      ['bool', false, false],
      ['int64', 2n ** 62n, 2n ** 62n],
      ['uint64', 2n ** 64n - 1n, 2n ** 64n - 1n],
      ['float32', 3n, 3],
      ['float16', 1.5, 1.5],
      ['bfloat16', 1.5, 1.5],
      ['float4_e2m1fn', -6, -6],
      ['complex64', [1, -2], [1, -2]],
      ['complex128', 3, [3, 0]],
    ];
    for (const [dtype, value, element] of rows) {
      using owned = OwnedTensor.allocate([3], dtype);
      call(owned, 'fill', value);
      expect([dtype, owned.at(0), owned.at(2)]).toEqual([dtype, element, element]);
    }
  });

  test('refuses values that are none', () => {
    using owned = sample();
    expectTypeError(
      () => call(owned, 'fill', '1'),
      "value is '1'; an element of float32 is a number, a bigint or a boolean",
    );
    expectTypeError(() => call(owned, 'fill'), /value is undefined/);
    expectTypeError(() => call(owned, 'fill', [1, 2]), /value is \[1, 2\]/);
    expectRangeError(() => owned.fill(-(2n ** 63n) - 1n), /64 bits/);
    using complex = OwnedTensor.allocate([1], 'complex64');
    expectTypeError(() => call(complex, 'fill', [1]), /a pair of them, \[re, im\]/);
    expect([...owned.data]).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe('freeze', () => {
  test('makes it a shared read-only Tensor over the same memory; data is detached', () => {
    const owned = sample();
    const { data } = owned;
    const address = dataAddress(owned);
    using tensor = owned.freeze();
    expect([dataAddress(tensor), tensor.readOnly, tensor.isUnique, tensor.toArray()]).toEqual([
      address,
      true,
      true,
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
    ]);
    expect([data.length, owned.consumed, owned.disposed, owned.isUnique]).toEqual([0, true, false, false]);
    expect(stats().views).toBe(0);
  });

  test('when the bytes of data were moved away: BufferError, and the state is intact', async () => {
    const owned = sample();
    const { data } = owned;
    const moved = movedBytes(data.buffer);
    expect([data.length, moved.byteLength]).toEqual([0, 24]);
    leavingNothing(() => expectBufferError(() => owned.freeze(), /transferred elsewhere/));
    leavingNothing(() => expectBufferError(() => owned.__dlpack__({ max_version: [1, 0] }), /transferred elsewhere/));
    expect([owned.consumed, owned.at(0, 1)]).toEqual([false, 1]);
    owned.dispose();
    await collectUntil(() => stats().blocks === 0);
  });
});

describe('__dlpack__: one shot, never a copy', () => {
  test('versioned passes sole ownership on; legacy is the legacy struct', () => {
    for (const [options, name] of [
      [undefined, 'dltensor'],
      [{ max_version: null }, 'dltensor'],
      [{ max_version: [0, 8] }, 'dltensor'],
      [{ max_version: [1, 3] }, 'dltensor_versioned'],
      [{ max_version: [1, 0], copy: true }, 'dltensor_versioned'],
      [{ max_version: [9, 0], copy: false }, 'dltensor_versioned'],
    ] as const) {
      const owned = sample();
      const address = dataAddress(owned);
      const capsule = owned.__dlpack__(options);
      expect([capsuleName(capsule), owned.consumed]).toEqual([name, true]);
      using back = fromDLPack(capsule);
      expect(dataAddress(back)).toBe(address);
      expectStateError(() => owned.__dlpack__(options), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
    }
  });

  test('a negotiation that fails leaves it live', () => {
    using owned = sample();
    leavingNothing(() => expectBufferError(() => owned.__dlpack__({ dl_device: [2, 0] }), /2/));
    leavingNothing(() => expectTypeError(() => call(owned, '__dlpack__', { max_version: 1 }), /max_version is 1/));
    leavingNothing(() => expectTypeError(() => call(owned, '__dlpack__', { copy: 1 }), /copy is 1/));
    leavingNothing(() => expectRangeError(() => call(owned, '__dlpack__', { stream: 1 }), /stream is 1/));
    expect([owned.consumed, owned.at(0, 1)]).toEqual([false, 1]);
  });

  test('fromDLPack makes a unique read-only Tensor of it, or an owner over the same memory with copy: true', () => {
    const first = sample();
    const address = dataAddress(first);
    using shared = fromDLPack(first);
    expect([dataAddress(shared), shared.readOnly, shared.isUnique, first.consumed]).toEqual([
      address,
      true,
      true,
      true,
    ]);
    const second = sample();
    const other = dataAddress(second);
    using mine = fromDLPack(second, { copy: true });
    expect([dataAddress(mine), mine instanceof OwnedTensor, second.consumed]).toEqual([other, true, true]);
  });

  test('an unconsumed export gives the memory back when it is released or collected', async () => {
    releaseCapsule(sample().__dlpack__());
    expect(stats().exports).toBe(0);
    (() => void sample().__dlpack__())();
    await collectUntil(() => stats().exports === 0);
    expect(stats().blocks).toBe(0);
  });
});

describe('tombstones', () => {
  const members: [string, ...unknown[]][] = [
    ['data'],
    ['bits'],
    ['at', 0, 0],
    ['set', 1],
    ['fill', 1],
    ['withView', () => undefined],
    ['lend', () => undefined],
    ['freeze'],
    ['__dlpack__'],
  ];

  test('after each ending everything but metadata throws, before arguments are looked at', () => {
    const endings: [(owned: OwnedTensor<'float32'>) => void, 'ERR_DLPACK_CONSUMED' | 'ERR_DLPACK_DISPOSED'][] = [
      [(owned) => owned.dispose(), 'ERR_DLPACK_DISPOSED'],
      [(owned) => owned[Symbol.dispose](), 'ERR_DLPACK_DISPOSED'],
      [(owned) => scope(() => owned.freeze()).dispose(), 'ERR_DLPACK_CONSUMED'],
      [(owned) => releaseCapsule(owned.__dlpack__()), 'ERR_DLPACK_CONSUMED'],
    ];
    for (const [end, code] of endings) {
      const owned = sample();
      const { data } = owned;
      end(owned);
      expect(data.length).toBe(0);
      const text = code === 'ERR_DLPACK_CONSUMED' ? 'Tensor already consumed' : 'Tensor already disposed';
      for (const [name, ...args] of members) {
        const isGetter = name === 'data' || name === 'bits';
        const use = (given: unknown[]): unknown => (isGetter ? Reflect.get(owned, name) : call(owned, name, ...given));
        expectStateError(() => use(args), code, text);
        expectStateError(() => use(['nonsense', null, {}]), code, text);
      }
      expect(owned).toMatchObject({
        ndim: 2,
        size: 6,
        dtype: 'float32',
        byteLength: 24,
        readOnly: false,
        isUnique: false,
        isContiguous: true,
      });
      expect([owned.shape, owned.strides, owned.device, owned.__dlpack_device__(), owned.is('float32')]).toEqual([
        [2, 3],
        [3, 1],
        [1, 0],
        [1, 0],
        true,
      ]);
      expect(inspect(owned)).toBe(
        `OwnedTensor<float32> [2, 3] ${code === 'ERR_DLPACK_CONSUMED' ? 'consumed' : 'disposed'}`,
      );
      owned.dispose();
    }
  });
});

test('util.inspect shows its values', () => {
  using owned = sample();
  expect(inspect(owned)).toBe('OwnedTensor<float32> [2, 3]\n[[0., 1., 2.],\n [3., 4., 5.]]');
});
