/** `Tensor`: layouts over the same memory, Door 2, tombstones, and user code that runs in the middle. */
import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { releaseCapsule, fromDLPack, OwnedTensor, Tensor } from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import {
  expectBufferError,
  expectRangeError,
  expectStateError,
  expectTypeError,
  leavingNothing,
} from './support/refusals.js';
import { callWith as call, sample } from './support/values.js';

expectCountersAtZero();

describe('layout without a copy', () => {
  test('each is a new read-only alias of the same memory', () => {
    using tensor = sample();
    const made: [Tensor<'float32'>, unknown][] = [
      [tensor.slice(1), [3, 4, 5]],
      [
        tensor.slice(null, [null, null, -2]),
        [
          [2, 0],
          [5, 3],
        ],
      ],
      [tensor.slice([1, null], -1), [5]],
      [
        tensor.slice(),
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ],
      [
        tensor.transpose(),
        [
          [0, 3],
          [1, 4],
          [2, 5],
        ],
      ],
      [
        tensor.transpose([0, 1]),
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ],
      [
        tensor.reshape([3, -1]),
        [
          [0, 1],
          [2, 3],
          [4, 5],
        ],
      ],
      [
        tensor.expandDims(0),
        [
          [
            [0, 1, 2],
            [3, 4, 5],
          ],
        ],
      ],
      [
        tensor.expandDims(-1).squeeze(2),
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ],
      [
        tensor.expandDims(0).squeeze(),
        [
          [0, 1, 2],
          [3, 4, 5],
        ],
      ],
      [
        tensor.slice([0, 1]).broadcastTo([2, 3]),
        [
          [0, 1, 2],
          [0, 1, 2],
        ],
      ],
      [
        tensor.flip(1),
        [
          [2, 1, 0],
          [5, 4, 3],
        ],
      ],
      [
        tensor.flip(-2),
        [
          [3, 4, 5],
          [0, 1, 2],
        ],
      ],
    ];
    for (const [derived, values] of made) {
      expect(derived.toArray()).toEqual(values);
      expect([derived.readOnly, derived.dtype]).toEqual([true, 'float32']);
      derived.dispose();
    }
    expect(tensor.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
  });

  test('a broadcast view has strides 0', () => {
    using tensor = sample();
    using wide = tensor.broadcastTo([4, 2, 3]);
    expect([wide.strides, wide.readOnly, wide.isUnique]).toEqual([[0, 3, 1], true, false]);
  });

  test('outlives the tensor it came from', () => {
    const tensor = sample();
    using row = tensor.slice(1);
    tensor.dispose();
    expect(row.toArray()).toEqual([3, 4, 5]);
  });

  test('refuses what cannot be, by name', () => {
    using tensor = sample();
    using turned = tensor.transpose();
    expectBufferError(() => turned.reshape([6]), /reshape would have to copy: .*\[6\].*contiguous\(\)/);
    expectRangeError(() => tensor.reshape([4]), /\[4\].*4 elements.*6/);
    expectRangeError(() => tensor.reshape([-1, -1]), /shape\[1\] is -1/);
    expectRangeError(() => tensor.reshape([-2]), /shape\[0\] is -2/);
    expectTypeError(() => call(tensor, 'reshape', 6), /shape is 6/);
    expectTypeError(() => call(tensor, 'reshape', ['6']), /shape\[0\] is '6'/);
    expectRangeError(() => tensor.slice(2), /2/);
    expectRangeError(() => tensor.slice(0, 0, 0), /3/);
    expectRangeError(() => tensor.slice([null, null, 0]), /step/);
    expectTypeError(() => call(tensor, 'slice', 'all'), /'all'/);
    expectTypeError(() => call(tensor, 'slice', [0]), /\[0\]/);
    expectRangeError(() => tensor.transpose([0, 0]), /0/);
    expectRangeError(() => tensor.transpose([0]), /1/);
    expectTypeError(() => call(tensor, 'transpose', 'xy'), /'xy'/);
    expectRangeError(() => tensor.squeeze(0), /2/);
    expectRangeError(() => tensor.squeeze(5), /5/);
    expectRangeError(() => tensor.expandDims(3 + 1), /4/);
    expectTypeError(() => call(tensor, 'expandDims'), /undefined/);
    expectRangeError(() => tensor.broadcastTo([2, 4]), /axis 1.*3.*4/);
    expectRangeError(
      () => tensor.broadcastTo([3]),
      'shape [3] has fewer axes than the tensor, which has 2; broadcasting drops none',
    );
    expectRangeError(() => tensor.flip(2), /axis is 2/);
    expectTypeError(() => call(tensor, 'flip', null), /null/);
  });
});

describe('Door 2', () => {
  test('a unique tensor moves without copying; it is a tombstone afterwards', () => {
    const tensor = sample();
    const address = dataAddress(tensor);
    expect(tensor.isUnique).toBe(true);
    using owned = tensor.intoDLPack();
    expect([dataAddress(owned), owned.shape, owned.dtype, [...owned.data]]).toEqual([
      address,
      [2, 3],
      'float32',
      [0, 1, 2, 3, 4, 5],
    ]);
    expect([tensor.consumed, tensor.disposed, tensor.isUnique, tensor.shape]).toEqual([true, false, false, [2, 3]]);
  });

  const SHARED =
    'Tensor buffer is shared; cannot move out for a writable export. Use __dlpack__({ copy: true }) for a writable copy.';

  test('a shared one stays exactly as it was, and the error counts who shares it', () => {
    using tensor = sample();
    const slice = tensor.slice(0);
    const capsule = tensor.__dlpack__({ max_version: [1, 3] });
    tensor.view();
    expect(tensor.isUnique).toBe(false);
    const error = leavingNothing(() => expectBufferError(() => tensor.intoDLPack(), SHARED));
    expect(error.aliases).toEqual({ tensors: 1, exports: 1, views: 1, tokens: 0 });
    slice.dispose();
    releaseCapsule(capsule);
    expect(expectBufferError(() => tensor.intoDLPack(), SHARED).aliases).toEqual({
      tensors: 0,
      exports: 0,
      views: 1,
      tokens: 0,
    });
    tensor.releaseViews();
    expect(tensor.isUnique).toBe(true);
    expect(tensor.at(1, 2)).toBe(5);
    tensor.intoDLPack().dispose();
  });

  test('a dropped slice counts until it is collected', async () => {
    const tensor = sample();
    (() => tensor.slice(0).shape)();
    expectBufferError(() => tensor.intoDLPack(), SHARED);
    await collectUntil(() => tensor.isUnique);
    tensor.intoDLPack().dispose();
  });

  test('a layout that shows one element twice never passes', () => {
    const tensor = sample();
    const wide = tensor.broadcastTo([2, 2, 3]);
    tensor.dispose();
    expect(wide.isUnique).toBe(false);
    expect(expectBufferError(() => wide.intoDLPack(), SHARED).cause).toBe(
      'the layout shows one byte under several indices',
    );
    wide.dispose();
  });
});

describe('tombstones', () => {
  const methods: [string, ...unknown[]][] = [
    ['at', 0, 0],
    ['view'],
    ['withView', () => undefined],
    ['toTypedArray'],
    ['toArray'],
    ['strided'],
    ['slice', 0],
    ['transpose'],
    ['reshape', [6]],
    ['squeeze'],
    ['expandDims', 0],
    ['broadcastTo', [2, 3]],
    ['flip', 0],
    ['contiguous'],
    ['copy'],
    ['to', 'float64'],
    ['releaseViews'],
    ['intoDLPack'],
    ['__dlpack__'],
    ['__dlpack__', { max_version: [1, 0] }],
  ];

  function expectTombstone(tensor: Tensor<'float32'>, code: 'ERR_DLPACK_CONSUMED' | 'ERR_DLPACK_DISPOSED'): void {
    const text = code === 'ERR_DLPACK_CONSUMED' ? 'Tensor already consumed' : 'Tensor already disposed';
    for (const [name, ...args] of methods)
      leavingNothing(() => expectStateError(() => call(tensor, name, ...args), code, text));
    for (const copy of [null, true, false])
      leavingNothing(() => expectStateError(() => fromDLPack(tensor, { copy }), code, text));
    expect(tensor).toMatchObject({
      ndim: 2,
      size: 6,
      dtype: 'float32',
      byteLength: 24,
      readOnly: true,
      isContiguous: true,
      isUnique: false,
    });
    expect([tensor.shape, tensor.strides, tensor.__dlpack_device__(), tensor.is('float32')]).toEqual([
      [2, 3],
      [3, 1],
      [1, 0],
      true,
    ]);
    tensor.dispose();
    tensor[Symbol.dispose]();
  }

  test('disposed: metadata answers, everything else throws, dispose does nothing', () => {
    const tensor = sample();
    tensor.dispose();
    expect([tensor.disposed, tensor.consumed]).toEqual([true, false]);
    expectTombstone(tensor, 'ERR_DLPACK_DISPOSED');
    expect(inspect(tensor)).toBe('Tensor<float32> [2, 3] read-only, disposed');
  });

  test('consumed: the same, with the other code, and it stays consumed', () => {
    const tensor = sample();
    tensor.intoDLPack().dispose();
    expectTombstone(tensor, 'ERR_DLPACK_CONSUMED');
    expect([tensor.disposed, tensor.consumed]).toEqual([false, true]);
    expect(inspect(tensor)).toBe('Tensor<float32> [2, 3] read-only, consumed');
  });

  test('the state is told before arguments are looked at', () => {
    const tensor = sample();
    tensor.dispose();
    for (const [name] of methods)
      expectStateError(
        () => call(tensor, name, 'nonsense', {}, null),
        'ERR_DLPACK_DISPOSED',
        'Tensor already disposed',
      );
  });

  test('of an empty tensor too, which has no memory to lose', () => {
    const empty = Tensor.from(new Float32Array(0));
    empty.view();
    empty.dispose();
    for (const [name, ...args] of [['view'], ['strided'], ['toArray'], ['toTypedArray'], ['withView', () => 0]] as [
      string,
      ...unknown[],
    ][]) {
      expectStateError(() => call(empty, name, ...args), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
    }
  });

  test('using disposes at the end of the block', () => {
    let outside;
    {
      using tensor = sample();
      outside = tensor;
      expect(tensor.disposed).toBe(false);
    }
    expect(outside.disposed).toBe(true);
  });
});

describe('user code that runs in the middle', () => {
  test('an option getter that disposes the tensor gets the state error', () => {
    for (const [name, ...before] of [['view'], ['withView', () => 0], ['strided'], ['to', 'int8']] as [
      string,
      ...unknown[],
    ][]) {
      const tensor = sample();
      const options = {
        get bits(): boolean {
          tensor.dispose();
          return false;
        },
        get scale(): number {
          tensor.dispose();
          return 1;
        },
      };
      expectStateError(() => call(tensor, name, ...before, options), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
    }
    const tensor = sample();
    const options = {
      get copy(): null {
        tensor.dispose();
        return null;
      },
    };
    expectStateError(() => tensor.__dlpack__(options), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
  });

  test('a proxied shape that calls the library meanwhile changes nothing', () => {
    using tensor = sample();
    const shape = new Proxy([3, 2], {
      get(target, key, receiver): unknown {
        sample().slice(0).dispose();
        OwnedTensor.allocate([7, 7, 7], 'int8').dispose();
        return Reflect.get(target, key, receiver);
      },
    });
    using turned = tensor.reshape(shape);
    expect(turned.toArray()).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
  });
});
