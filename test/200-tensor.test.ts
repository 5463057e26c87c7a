/** `Tensor`: how one is made, what it says of itself, how it is read, copied and shown. */
import { describe, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { fromDLPack, OwnedTensor, stats, Tensor, type DType } from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectBufferError, expectRangeError, expectTypeError, leavingNothing, thrownBy } from './support/refusals.js';
import { callWith as call, sample } from './support/values.js';

expectCountersAtZero();

/** What `class Sub extends Tensor` is, which TypeScript refuses. */
function Sub(): unknown {
  return Reflect.construct(Tensor, [], Sub);
}

describe('metadata', () => {
  test('says shape, strides in elements, ndim, size, dtype, bytes, device', () => {
    using tensor = sample();
    expect(tensor).toMatchObject({
      ndim: 2,
      size: 6,
      dtype: 'float32',
      byteLength: 24,
      readOnly: true,
      isContiguous: true,
    });
    expect([tensor.shape, tensor.strides, tensor.device]).toEqual([
      [2, 3],
      [3, 1],
      [1, 0],
    ]);
    expect([tensor.consumed, tensor.disposed]).toEqual([false, false]);
  });

  test('arrays are frozen, and the same at every look', () => {
    using tensor = sample();
    for (const array of [tensor.shape, tensor.strides, tensor.device]) expect(Object.isFrozen(array)).toBe(true);
    expect(tensor.shape).toBe(tensor.shape);
    expect(thrownBy(() => Reflect.apply(Array.prototype.push, tensor.shape, [1]))).toBeInstanceOf(TypeError);
  });

  test('a 0-d tensor has no axes and one element; an empty one is contiguous and has none', () => {
    using scalar = OwnedTensor.allocate([], 'float64').freeze();
    expect(scalar).toMatchObject({ ndim: 0, size: 1, byteLength: 8, isContiguous: true });
    expect([scalar.shape, scalar.at(), scalar.toArray()]).toEqual([[], 0, 0]);
    using empty = Tensor.from(new Int32Array(0), { shape: [2, 0, 3] });
    expect(empty).toMatchObject({ ndim: 3, size: 0, byteLength: 0, isContiguous: true });
    expect([empty.toArray(), [...empty.toTypedArray()], [...empty.view()]]).toEqual([[[], []], [], []]);
  });

  test('zeroCopy is false for what this library copied, and true for what it did not', () => {
    using copied = sample();
    using slice = copied.slice(0);
    using made = OwnedTensor.allocate([2], 'int8').freeze();
    using imported = fromDLPack(made);
    expect([copied.zeroCopy, slice.zeroCopy, made.zeroCopy, imported.zeroCopy]).toEqual([false, false, true, true]);
  });

  test('is() answers for its own dtype alone', () => {
    using tensor = sample();
    expect([tensor.is('float32'), tensor.is('int32')]).toEqual([true, false]);
  });
});

describe('construction', () => {
  test('nobody can construct: not with new, not by reflection, not through the base class', () => {
    for (const target of [Tensor, OwnedTensor, Object.getPrototypeOf(Tensor)]) {
      for (const args of [[], [Symbol('key'), 1, {}], [undefined, 2 ** 24, {}]]) {
        leavingNothing(() =>
          expectTypeError(() => Reflect.construct(target, args), /use Tensor.from, OwnedTensor.allocate/),
        );
      }
    }
  });

  test('a subclass cannot either', () => {
    Object.setPrototypeOf(Sub, Tensor);
    Object.setPrototypeOf(Sub.prototype, Tensor.prototype);
    expectTypeError(() => Reflect.construct(Sub, []), /not constructed with new/);
  });

  test('methods refuse receivers that are no tensor', () => {
    using tensor = sample();
    for (const name of [
      'at',
      'view',
      'slice',
      'toArray',
      'intoDLPack',
      'dispose',
      'copy',
      'releaseViews',
      '__dlpack__',
    ]) {
      const method: unknown = Reflect.get(tensor, name);
      if (typeof method !== 'function') throw new Error(name);
      expectTypeError(() => Reflect.apply(method, {}, []), /called on an object; it must be called on a Tensor/);
    }
    expectTypeError(() => Reflect.get(Tensor.prototype, 'shape'), /must be called on a Tensor/);
  });

  test('a forged object gets errors, never memory', () => {
    using tensor = sample();
    const [handleKey] = Object.getOwnPropertySymbols(tensor);
    if (handleKey === undefined) throw new Error('no handle');
    for (const handle of [0, -1, 1.5, NaN, 2 ** 24, 2 ** 53, Infinity]) {
      const forged = Object.defineProperties({}, Object.getOwnPropertyDescriptors(tensor));
      Object.setPrototypeOf(forged, Tensor.prototype);
      Object.defineProperty(forged, handleKey, { value: handle });
      expect(thrownBy(() => call(forged, 'at', 0, 0))).toBeInstanceOf(Error);
      expect(thrownBy(() => call(forged, 'view'))).toBeInstanceOf(Error);
      expect(thrownBy(() => call(forged, '__dlpack__'))).toBeInstanceOf(Error);
    }
    expect(tensor.at(1, 2)).toBe(5);
  });

  test('a proxy of a tensor works as the tensor', () => {
    using tensor = sample();
    const proxy = new Proxy(tensor, {});
    expect([proxy.at(1, 2), proxy.shape, proxy.slice(0).toArray()]).toEqual([5, [2, 3], [0, 1, 2]]);
    using back = fromDLPack(proxy);
    expect(back.toArray()).toEqual(tensor.toArray());
  });
});

describe('at', () => {
  test('reads every dtype as the JavaScript value it is', () => {
    const rows: [DType, unknown, unknown][] = [
      ['bool', [true], true],
      ['int8', [-3], -3],
      ['uint16', [65535], 65535],
      ['int64', [-(2n ** 63n)], -(2n ** 63n)],
      ['uint64', [2n ** 64n - 1n], 2n ** 64n - 1n],
      ['float16', [1.5], 1.5],
      ['bfloat16', [1.5], 1.5],
      ['float8_e4m3fn', [1.5], 1.5],
      ['float6_e3m2fn', [1.5], 1.5],
      ['float4_e2m1fn', [1.5], 1.5],
      ['float4_e2m1fn_padded', [1.5], 1.5],
      ['float32', [0.5], 0.5],
      ['float64', [0.1], 0.1],
    ];
    for (const [dtype, data, value] of rows) {
      using tensor = call(Tensor, 'from', data, { dtype }) as Tensor;
      expect([dtype, tensor.at(0), tensor.toArray()]).toEqual([dtype, value, [value]]);
    }
    using complex = Tensor.from(Float32Array.of(1, 2, 3, 4), { dtype: 'complex64' });
    expect([complex.at(1), complex.toArray()]).toEqual([
      [3, 4],
      [
        [1, 2],
        [3, 4],
      ],
    ]);
  });

  test('counts negative indices from the end', () => {
    using tensor = sample();
    expect([tensor.at(-1, -1), tensor.at(-2, 0)]).toEqual([5, 0]);
  });

  test('refuses indices that are none', () => {
    using tensor = sample();
    expectRangeError(() => tensor.at(2, 0), /index\[0\] is 2/);
    expectRangeError(() => tensor.at(0, -4), /index\[1\] is -4/);
    expectRangeError(() => tensor.at(0), /1 .*2/);
    expectRangeError(() => tensor.at(0, 0, 0), /3 .*2/);
    expectRangeError(() => tensor.at(0, 0.5), /0\.5/);
    expectRangeError(() => tensor.at(0, NaN), /NaN/);
    expectTypeError(() => call(tensor, 'at', 0, '0'), /'0'/);
    expectTypeError(() => call(tensor, 'at', 0, 1n), /1n/);
    expectTypeError(() => call(tensor, 'at', 0, undefined), /undefined/);
  });
});

describe('copies', () => {
  test('toTypedArray is row-major whatever the layout, and independent', () => {
    using tensor = sample();
    using turned = tensor.transpose();
    const copy = turned.toTypedArray();
    expect([...copy]).toEqual([0, 3, 1, 4, 2, 5]);
    copy[0] = 9;
    expect(tensor.at(0, 0)).toBe(0);
    expect(stats().views).toBe(0);
  });

  test('toTypedArray gives bits of every dtype, and names them where there is no typed array', () => {
    using bf16 = Tensor.from([1, 2], { dtype: 'bfloat16' });
    expectBufferError(() => bf16.toTypedArray(), /toTypedArray\(\{ bits: true \}\)/);
    expect([...bf16.toTypedArray({ bits: true })]).toEqual([0x3f80, 0x4000]);
    using f32 = sample();
    expect(f32.toTypedArray({ bits: true })[1]).toBe(0x3f800000);
    expectTypeError(() => call(f32, 'toTypedArray', { bits: 1 }), 'bits is 1; it must be true or false');
    expectTypeError(() => call(f32, 'toTypedArray', 'bits'), /toTypedArray was called with 'bits'/);
  });

  test('copy is an owner of the same elements', () => {
    using tensor = sample();
    using column = tensor.slice(null, 1);
    using copy = column.copy();
    expect([copy instanceof OwnedTensor, copy.shape, [...copy.data]]).toEqual([true, [2], [1, 4]]);
    copy.data[0] = 7;
    expect(tensor.at(0, 1)).toBe(1);
  });

  test('contiguous is an alias where nothing has to be copied, a copy otherwise', () => {
    using tensor = sample();
    using alias = tensor.contiguous();
    expect(dataAddress(alias)).toBe(dataAddress(tensor));
    using turned = tensor.transpose();
    using copied = turned.contiguous();
    expect([copied.isContiguous, copied.readOnly, copied.shape, copied.toArray()]).toEqual([
      true,
      true,
      [3, 2],
      turned.toArray(),
    ]);
    expect(dataAddress(copied)).not.toBe(dataAddress(tensor));
  });

  test('to converts, with scale and offset for all or along an axis', () => {
    using tensor = sample();
    using bytes = tensor.to('uint8', { scale: 100, offset: 1 });
    expect([...bytes.data]).toEqual([1, 101, 201, 255, 255, 255]);
    using scaled = tensor.to('float32', { scale: [10, 100], offset: Float32Array.of(1, 2) });
    expect([...scaled.data]).toEqual([1, 11, 21, 302, 402, 502]);
    using columns = tensor.to('int16', { scale: [1, 2, 3], axis: -1 });
    expect([...columns.data]).toEqual([0, 2, 6, 3, 8, 15]);
  });

  test('to refuses arguments that cannot be', () => {
    using tensor = sample();
    expectTypeError(() => call(tensor, 'to'), /dtype is undefined/);
    expectRangeError(() => call(tensor, 'to', 'float31'), /dtype is 'float31'/);
    expectTypeError(() => call(tensor, 'to', 'complex64'), /no conversion from float32 to complex64/);
    expectTypeError(() => call(tensor, 'to', 'int8', 2), /to was given 2 as options/);
    expectTypeError(
      () => call(tensor, 'to', 'int8', { scale: '2' }),
      "scale is '2'; it must be a number, or an array or typed array of numbers",
    );
    expectTypeError(() => call(tensor, 'to', 'int8', { offset: [1n, 2] }), 'offset[0] is 1n; it must be a number');
    expectRangeError(
      () => tensor.to('int8', { scale: [1, 2, 3] }),
      'scale has 3 numbers; it must have 1, or 2 as axis 0 has',
    );
    expectRangeError(() => tensor.to('int8', { scale: [] }), /scale has 0 numbers/);
    expectRangeError(() => tensor.to('int8', { scale: 1, axis: 2 }), /axis is 2/);
    expectTypeError(() => call(tensor, 'to', 'int8', { axis: '0' }), /axis is '0'/);
  });
});

describe('showing', () => {
  test('util.inspect shows dtype, shape, flags and values', () => {
    using tensor = sample();
    expect(inspect(tensor)).toBe('Tensor<float32> [2, 3] read-only\n[[0., 1., 2.],\n [3., 4., 5.]]');
    using empty = Tensor.from(new Int8Array(0));
    expect(inspect(empty)).toBe('Tensor<int8> [0] read-only []');
  });

  test('JSON and structuredClone give an empty object and never crash', () => {
    using tensor = sample();
    expect(JSON.stringify({ tensor })).toBe('{"tensor":{}}');
    expect(structuredClone(tensor)).toEqual({});
  });
});

test('20,000 tensors of 64 KiB made and disposed in one synchronous loop stay within 200 MB of resident memory', () => {
  const before = process.memoryUsage.rss();
  for (let i = 0; i < 20_000; i++) {
    const tensor = OwnedTensor.allocate([16_384], 'float32');
    tensor.data[0] = i;
    tensor.dispose();
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(200e6);
});
