/** TensorFlow.js, on its pure JavaScript backend. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, type DType } from '../../dist/index.js';
import { fromTfjs, toTfjs, type TfjsTensor } from '../../dist/interop/index.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectTypeError } from '../support/refusals.js';
import { addressOf, expectCopyOut, expectNoCopyIn, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { peer, versionOf } from './peers.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

interface TfTensor extends TfjsTensor {
  arraySync(): unknown;
  dispose(): void;
  readonly dataId: unknown;
}
interface Tf {
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  getBackend(): string;
  memory(): { readonly numTensors: number };
  tensor(values: unknown, shape?: number[], dtype?: string): TfTensor;
  complex(real: unknown, imag: unknown): TfTensor;
  add(a: TfTensor, b: TfTensor): TfTensor;
  enableProdMode(): void;
  backend(): { readonly data: { get(id: unknown): { readonly values: unknown } } };
}

const tf = peer<Tf>('@tensorflow/tfjs-core');
peer<object>('@tensorflow/tfjs-backend-cpu');
const ROW = {
  library: '@tensorflow/tfjs-core',
  version: versionOf('@tensorflow/tfjs-core'),
  struct: 'typed array',
} as const;

/** What the backend holds of a tensor. */
function heldBy(tensor: TfTensor): unknown {
  return tf.backend().data.get(tensor.dataId).values;
}

const made: TfTensor[] = [];
function tensorOf(values: unknown, shape: number[], dtype: string): TfTensor {
  const tensor = tf.tensor(values, shape, dtype);
  made.push(tensor);
  return tensor;
}

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend('cpu');
  await tf.ready();
  expect(tf.getBackend()).toBe('cpu');
});
afterAll(() => {
  for (const tensor of made) tensor.dispose();
  expect(tf.memory().numTensors).toBe(0);
});

const SAMPLES: readonly (readonly [DType & ('float32' | 'int32' | 'bool'), Float32Array | Int32Array | Uint8Array])[] =
  [
    ['float32', new Float32Array([1.5, -2, 3, 4, 5, 6])],
    ['int32', new Int32Array([1, -2, 3, 4, 5, 2 ** 31 - 1])],
    ['bool', new Uint8Array([1, 0, 1, 1, 0, 0])],
  ];

describe('a tf.Tensor comes in', () => {
  test.each(SAMPLES)('%s: by one copy, with its dtype, shape and values', (dtype, data) => {
    const theirs = tensorOf(data, [2, 3], dtype);
    using ours = expectOneCopyIn(() => fromTfjs(theirs) as Tensor, theirs.dataSync());
    expect({ dtype: ours.dtype, shape: ours.shape }).toEqual({ dtype, shape: [2, 3] });
    using direct = Tensor.from(data, { shape: [2, 3], dtype });
    expect(ours.toArray()).toEqual(direct.toArray());
    recordRow({
      ...ROW,
      direction: 'in',
      copies: 1,
      writable: 'no',
      remarks: 'of what dataSync() gives, on the pure JavaScript backend',
    });
  });

  test.each(SAMPLES.slice(0, 2))('%s with copy: false: over the memory of the backend', (dtype, data) => {
    const theirs = tensorOf(data, [2, 3], dtype);
    expect(addressOf(heldBy(theirs))).toBe(addressOf(data));
    using ours = expectNoCopyIn(() => fromTfjs(theirs, { copy: false }) as Tensor, data);
    expect(ours.dtype).toBe(dtype);
    recordRow({ ...ROW, direction: 'in', copies: 0, writable: 'no', remarks: 'copy: false, float32 and int32' });
  });

  test('bool with copy: false: over the copy that dataSync() makes of it', () => {
    const theirs = tensorOf(new Uint8Array([1, 0, 1]), [3], 'bool');
    using ours = fromTfjs(theirs, { copy: false }) as Tensor;
    expect({ dtype: ours.dtype, zeroCopy: ours.zeroCopy, values: ours.toArray() }).toEqual({
      dtype: 'bool',
      zeroCopy: true,
      values: [true, false, true],
    });
  });

  test('what it computed itself', () => {
    const sum = tf.add(tensorOf([1, 2], [2], 'float32'), tensorOf([10, 20], [2], 'float32'));
    made.push(sum);
    using ours = fromTfjs(sum) as Tensor;
    expect({ dtype: ours.dtype, values: ours.toArray() }).toEqual({ dtype: 'float32', values: [11, 22] });
  });

  test('complex64: what dataSync() interleaves, copied; not with copy: false', () => {
    const theirs = tf.complex(tensorOf([1, 2], [2], 'float32'), tensorOf([10, 20], [2], 'float32'));
    made.push(theirs);
    using ours = fromTfjs(theirs) as Tensor;
    expect({ dtype: ours.dtype, values: ours.toArray() }).toEqual({
      dtype: 'complex64',
      values: [
        [1, 10],
        [2, 20],
      ],
    });
    unmoved(() =>
      expectBufferError(
        () => fromTfjs(theirs, { copy: false }),
        /^fromTfjs: copy: false cannot be kept: TensorFlow\.js holds/,
      ),
    );
    recordRow({
      ...ROW,
      direction: 'in',
      copies: 2,
      writable: 'no',
      remarks: 'complex64: TensorFlow.js interleaves the parts first',
    });
  });

  test('0-d and empty ones, and an owner with copy: true', () => {
    using scalar = fromTfjs(tensorOf([7], [], 'float32')) as Tensor;
    expect([scalar.shape, scalar.toArray()]).toEqual([[], 7]);
    using empty = fromTfjs(tensorOf([], [0, 3], 'int32')) as Tensor;
    expect([empty.shape, empty.dtype]).toEqual([[0, 3], 'int32']);
    const theirs = tensorOf(new Float32Array([1, 2]), [2], 'float32');
    using owned = fromTfjs(theirs, { copy: true }) as OwnedTensor<'float32'>;
    owned.data[0] = 9;
    expect(theirs.arraySync()).toEqual([1, 2]);
  });

  test('what cannot come in is an error by name, and leaves nothing', () => {
    const strings = tensorOf(['a'], [1], 'string');
    unmoved(() => {
      expectBufferError(() => fromTfjs(strings), /^fromTfjs: dtype is 'string'/);
      expectTypeError(
        () => fromTfjs({} as TfjsTensor),
        /^fromTfjs was given an object; it takes a tensor of TensorFlow\.js/,
      );
      expectTypeError(() => fromTfjs({ dtype: 'float32', shape: [1], dataSync: () => 5 }), /^data is 5/);
      expect(() =>
        fromTfjs({
          dtype: 'float32',
          shape: [1],
          dataSync: () => {
            throw new Error('gone');
          },
        }),
      ).toThrow('gone');
    });
  });
});

describe('a tensor goes out as a tf.Tensor', () => {
  test.each(SAMPLES)('%s: the backend holds our memory', (dtype, data) => {
    using ours = Tensor.from(data, { shape: [2, 3], dtype }) as Tensor;
    const theirs = toTfjs<TfTensor>(ours, tf);
    made.push(theirs);
    expect({ dtype: theirs.dtype, shape: theirs.shape }).toEqual({ dtype, shape: [2, 3] });
    expectNoCopyOut(ours, heldBy(theirs));
    expect([...(theirs.dataSync() as Uint8Array)]).toEqual([...data]);
    recordRow({
      ...ROW,
      direction: 'out',
      copies: 0,
      writable: 'no',
      remarks: 'row-major float32, int32 and bool, on the pure JavaScript backend',
    });
  });

  test('with copy: true it outlives ours, and computes', () => {
    const ours = Tensor.from(new Float32Array([1, 2]));
    const theirs = unmoved(() => toTfjs<TfTensor>(ours, tf, { copy: true }));
    made.push(theirs);
    expectCopyOut(ours, theirs.dataSync());
    ours.dispose();
    const sum = tf.add(theirs, theirs);
    made.push(sum);
    expect(sum.arraySync()).toEqual([2, 4]);
    recordRow({ ...ROW, direction: 'out', copies: 1, writable: 'yes', remarks: 'other layouts; copy: true' });
  });

  test('of an owner', () => {
    using ours = OwnedTensor.allocate([2], 'int32');
    const theirs = toTfjs<TfTensor>(ours, tf);
    made.push(theirs);
    ours.data[1] = 5;
    expect(theirs.arraySync()).toEqual([0, 5]);
  });

  test('complex64: copied into two parts; not with copy: false', () => {
    using ours = Tensor.from(new Float32Array([1, 10, 2, 20]), { dtype: 'complex64' });
    const theirs = unmoved(() => toTfjs<TfTensor>(ours, tf));
    made.push(theirs);
    expect([...(theirs.dataSync() as Float32Array)]).toEqual([1, 10, 2, 20]);
    expect(theirs.dtype).toBe('complex64');
    unmoved(() => expectBufferError(() => toTfjs(ours, tf, { copy: false }), /^toTfjs: copy: false cannot be kept/));
    recordRow({ ...ROW, direction: 'out', copies: 2, writable: 'yes', remarks: 'complex64: taken apart' });
  });

  test('a dtype that it does not have is refused by name, and bad arguments too', () => {
    for (const dtype of ['float64', 'float16', 'int64', 'uint8', 'bfloat16', 'complex128'] as const) {
      using ours: OwnedTensor = OwnedTensor.allocate([2], dtype);
      unmoved(() => expectBufferError(() => toTfjs(ours, tf), new RegExp(`^toTfjs: TensorFlow.js has no ${dtype}; `)));
    }
    using ours = Tensor.from(new Float32Array(2));
    unmoved(() => {
      expectTypeError(() => toTfjs({} as Tensor, tf), /^toTfjs was given an object/);
      expectTypeError(
        () => toTfjs(ours, {} as never),
        /it takes TensorFlow\.js as imported, which has tensor, complex/,
      );
    });
  });
});
