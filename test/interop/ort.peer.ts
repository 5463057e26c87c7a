/** onnxruntime: its Tensor class in both directions, and real inferences on our memory. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, stats, type AnyOwnedTensor, type DType } from '../../dist/index.js';
import { fromOrt, toOrt, withOrt, type OrtLibrary, type OrtTensor } from '../../dist/interop/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import { expectCountersAtZero } from '../support/counters.js';
import { expectBufferError, expectRangeError, expectTypeError } from '../support/refusals.js';
import { rawBytes } from '../support/values.js';
import { addressOf, expectCopyOut, expectNoCopyIn, expectNoCopyOut, expectOneCopyIn, unmoved } from './measure.js';
import { identityModel } from './onnx-model.js';
import { peer, versionOf } from './peers.js';
import { recordRow } from './rows.js';

expectCountersAtZero();

interface OrtNode extends OrtLibrary<OrtTensor> {
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options?: object,
    ): Promise<{
      run(feeds: object, fetches?: object): Promise<Record<string, OrtTensor>>;
      release(): Promise<void>;
    }>;
  };
}

interface OrtCommon extends OrtLibrary<OrtTensor> {
  readonly Tensor: OrtLibrary<OrtTensor>['Tensor'] & (new (...args: unknown[]) => OrtTensor);
}

const ort = peer<OrtCommon>('onnxruntime-common');
const node = peer<OrtNode>('onnxruntime-node');

const COMMON = {
  library: 'onnxruntime-common',
  version: versionOf('onnxruntime-common'),
  struct: 'typed array',
} as const;
const RUN = { library: 'onnxruntime-node', version: versionOf('onnxruntime-node'), struct: 'typed array' } as const;

const SAMPLES: readonly (readonly [DType, ArrayBufferView])[] = [
  ['float32', new Float32Array([1.5, -2, 3, 4, 5, 6])],
  ['float64', new Float64Array([1.5, -2, 3, 4, 5, 6])],
  ['float16', new Uint16Array([0x3c00, 0xc000, 0x4200, 0, 0x7bff, 1])],
  ['int8', new Int8Array([1, -2, 3, 4, 5, 127])],
  ['int16', new Int16Array([1, -2, 3, 4, 5, 32767])],
  ['int32', new Int32Array([1, -2, 3, 4, 5, 2 ** 31 - 1])],
  ['int64', new BigInt64Array([1n, -2n, 3n, 4n, 5n, 2n ** 63n - 1n])],
  ['uint8', new Uint8Array([1, 2, 3, 4, 5, 255])],
  ['uint16', new Uint16Array([1, 2, 3, 4, 5, 65535])],
  ['uint32', new Uint32Array([1, 2, 3, 4, 5, 2 ** 32 - 1])],
  ['uint64', new BigUint64Array([1n, 2n, 3n, 4n, 5n, 2n ** 64n - 1n])],
  ['bool', new Uint8Array([1, 0, 1, 1, 0, 0])],
];

function tensorOf(dtype: DType, data: ArrayBufferView): Tensor {
  return Tensor.from(data as Float32Array, { shape: [2, 3], dtype });
}

describe('an ort.Tensor comes in', () => {
  test.each(SAMPLES)('%s: by one copy, with its dtype, shape and values', (dtype, data) => {
    const theirs = new ort.Tensor(dtype, data, [2, 3]);
    using ours: Tensor = expectOneCopyIn(() => fromOrt(theirs) as Tensor, theirs.data);
    expect({ dtype: ours.dtype, shape: ours.shape, strides: ours.strides }).toEqual({
      dtype,
      shape: [2, 3],
      strides: [3, 1],
    });
    using direct = tensorOf(dtype, data);
    expect(ours.toArray()).toEqual(direct.toArray());
    recordRow({
      ...COMMON,
      direction: 'in',
      copies: 1,
      writable: 'no',
      remarks: 'bool, float16 and 64-bit integers too',
    });
  });

  test.each(SAMPLES)('%s with copy: false: over its very data', (dtype, data) => {
    const theirs = new ort.Tensor(dtype, data, [2, 3]);
    using ours = expectNoCopyIn(() => fromOrt(theirs, { copy: false }) as Tensor, theirs.data);
    expect({ dtype: ours.dtype, shape: ours.shape }).toEqual({ dtype, shape: [2, 3] });
    const bytes = new Uint8Array(data.buffer);
    const kept = bytes[0] ?? 0;
    bytes[0] = dtype === 'bool' ? 0 : kept ^ 1;
    using now = tensorOf(dtype, data);
    expect(ours.at(0, 0)).toEqual(now.at(0, 0));
    bytes[0] = kept;
    recordRow({
      ...COMMON,
      direction: 'in',
      copies: 0,
      writable: 'no',
      remarks: "copy: false; its owner's writes are seen",
    });
  });

  test('with copy: true it is ours alone, and writable', () => {
    const theirs = new ort.Tensor('float32', new Float32Array([1, 2]), [2]);
    using ours = expectOneCopyIn(() => fromOrt(theirs, { copy: true }) as OwnedTensor<'float32'>, theirs.data);
    expect(ours).toBeInstanceOf(OwnedTensor);
    ours.data[0] = 9;
    expect([...(theirs.data as Float32Array)]).toEqual([1, 2]);
  });

  test('float16 in either face: the bits in a Uint16Array, or a Float16Array where the runtime has one', () => {
    const bits = new Uint16Array([0x3c00, 0xc000, 0x7bff]);
    const Float16: unknown = Reflect.get(globalThis, 'Float16Array');
    const faces: unknown[] = [bits];
    if (typeof Float16 === 'function') faces.push(Reflect.construct(Float16, [bits.buffer]));
    for (const data of faces) {
      using ours = fromOrt({ type: 'float16', dims: [3], data });
      expect({ dtype: ours.dtype, values: ours.toArray() }).toEqual({ dtype: 'float16', values: [1, -2, 65504] });
      using shared = fromOrt({ type: 'float16', dims: [3], data }, { copy: false });
      expect(dataAddress(shared)).toBe(addressOf(bits));
    }
  });

  test('0-d and empty tensors', () => {
    using scalar = fromOrt(new ort.Tensor('float32', new Float32Array([7]), []));
    expect([scalar.shape, scalar.toArray()]).toEqual([[], 7]);
    using empty = fromOrt(new ort.Tensor('int64', new BigInt64Array(0), [0, 4]));
    expect([empty.shape, empty.dtype]).toEqual([[0, 4], 'int64']);
  });

  test('what cannot come in is an error by name, and leaves nothing', () => {
    const strings = new ort.Tensor('string', ['a', 'b'], [2]);
    const nibbles = new ort.Tensor('uint4', new Uint8Array([1]), [2]);
    const gone = new ort.Tensor('float32', new Float32Array(1), [1]) as OrtTensor & { dispose(): void };
    gone.dispose();
    unmoved(() => {
      expectBufferError(() => fromOrt(strings), /^fromOrt: type is 'string'/);
      expectBufferError(() => fromOrt(nibbles), /^fromOrt: type is 'uint4'/);
      expectBufferError(() => fromOrt(gone), /location 'none'; the tensor was disposed/);
      expectBufferError(
        () => fromOrt({ type: 'float32', dims: [1], location: 'gpu-buffer', data: undefined }),
        /location 'gpu-buffer'; await tensor\.getData\(\)/,
      );
      expectTypeError(() => fromOrt({} as OrtTensor), /^fromOrt was given an object; it takes a Tensor of onnxruntime/);
      expectTypeError(() => fromOrt(null as unknown as OrtTensor), /^fromOrt was given null/);
      expectTypeError(
        () => fromOrt({ type: 'float32', dims: 2 as unknown as number[], data: new Float32Array(2) }),
        /^dims is 2; it must be an array/,
      );
      expectRangeError(() => fromOrt({ type: 'float32', dims: [-1], data: new Float32Array(1) }), /^dims\[0\] is -1/);
      expectRangeError(() => fromOrt({ type: 'float32', dims: [3], data: new Float32Array(2) }), /data has 8 bytes/);
      expectTypeError(() => fromOrt({ type: 'float32', dims: [2], data: [1, 2].values() }), /^data is an object/);
      expectTypeError(() => fromOrt({ type: 'float64', dims: [2], data: new Float32Array(2) }), /dtype is 'float64'/);
    });
  });
});

describe('a tensor goes out as an ort.Tensor', () => {
  test.each(SAMPLES)('%s: over its own memory', (dtype, data) => {
    using ours = tensorOf(dtype, data);
    const theirs = toOrt(ours, ort);
    expect(theirs).toBeInstanceOf(ort.Tensor);
    expect({ type: theirs.type, dims: theirs.dims, location: theirs.location }).toEqual({
      type: dtype,
      dims: [2, 3],
      location: 'cpu',
    });
    expectNoCopyOut(ours, theirs.data);
    expect(rawBytes(theirs.data as Uint8Array)).toEqual(rawBytes(data));
    if (dtype === 'float16') expect(theirs.data).toBeInstanceOf(Uint16Array);
    recordRow({
      ...COMMON,
      direction: 'out',
      copies: 0,
      writable: 'no',
      remarks: 'row-major; bool, float16 and 64-bit integers too',
    });
  });

  test('of an owner it can be written, and the owner sees it', () => {
    using ours = OwnedTensor.allocate([3], 'float32');
    const theirs = toOrt(ours, ort);
    expectNoCopyOut(ours, theirs.data);
    (theirs.data as Float32Array).set([1, 2, 3]);
    expect([ours.at(0), ours.at(2)]).toEqual([1, 3]);
    recordRow({ ...COMMON, direction: 'out', copies: 0, writable: 'yes', remarks: 'of an OwnedTensor' });
  });

  test('of another layout it is copied, unless copy: false forbids that', () => {
    using ours = Tensor.from(new Float32Array([1, 2, 3, 4, 5, 6]), { shape: [2, 3] });
    using turned = ours.transpose();
    const theirs = unmoved(() => toOrt(turned, ort));
    expect({ dims: theirs.dims, data: [...(theirs.data as Float32Array)] }).toEqual({
      dims: [3, 2],
      data: [1, 4, 2, 5, 3, 6],
    });
    expectCopyOut(turned, theirs.data);
    unmoved(() => expectBufferError(() => toOrt(turned, ort, { copy: false }), /^toOrt needs a contiguous tensor/));
    recordRow({ ...COMMON, direction: 'out', copies: 1, writable: 'yes', remarks: 'other layouts; copy: true' });
  });

  test('with copy: true nothing can take its data away', () => {
    const ours = Tensor.from(new Float32Array([1, 2]));
    const theirs = unmoved(() => toOrt(ours, ort, { copy: true }));
    ours.dispose();
    expect([...(theirs.data as Float32Array)]).toEqual([1, 2]);
  });

  test('0-d and empty tensors', () => {
    using scalar = Tensor.from(new Float32Array([7]), { shape: [] });
    using empty = Tensor.from(new Float32Array(0), { shape: [0, 4] });
    expect(toOrt(scalar, ort).dims).toEqual([]);
    expect(toOrt(empty, ort).dims).toEqual([0, 4]);
  });

  test('a dtype that it does not have is refused by name', () => {
    const refused: readonly (readonly [DType, RegExp])[] = [
      ['bfloat16', /^toOrt: onnxruntime's Tensor has no bfloat16; to\('float32'\) converts$/],
      ['complex64', /^toOrt: onnxruntime's Tensor has no complex64; view\(\{ bits: true \}\) gives/],
      ['float8_e4m3fn', /has no float8_e4m3fn/],
      ['float4_e2m1fn', /has no float4_e2m1fn/],
    ];
    for (const [dtype, text] of refused) {
      using ours: AnyOwnedTensor = OwnedTensor.allocate([2], dtype) as AnyOwnedTensor;
      unmoved(() => {
        expectBufferError(() => toOrt(ours, ort), text);
        expectBufferError(
          () => withOrt({ x: ours }, ort, () => undefined),
          new RegExp(`withOrt: onnxruntime's Tensor has no ${dtype}`),
        );
      });
    }
  });

  test('bad arguments are named errors, and leave nothing', () => {
    using ours = Tensor.from(new Float32Array(2));
    const gone = Tensor.from(new Float32Array(2));
    gone.dispose();
    unmoved(() => {
      expectTypeError(() => toOrt({} as Tensor, ort), /^toOrt was given an object; it takes a Tensor or OwnedTensor$/);
      expectTypeError(
        () => toOrt(ours, {} as typeof ort),
        /^toOrt was given an object as the library; it takes onnxruntime/,
      );
      expectTypeError(() => toOrt(ours, ort, { copy: 1 as unknown as boolean }), /^copy is 1/);
      expectTypeError(
        () => withOrt({ x: ours }, ort, undefined as unknown as () => void),
        /^withOrt was called with undefined/,
      );
      expect(() => toOrt(gone, ort)).toThrow('Tensor already disposed');
    });
  });
});

describe('an inference on our memory', () => {
  const DIMS = [2, 3];
  type Session = Awaited<ReturnType<OrtNode['InferenceSession']['create']>>;
  const sessions = new Map<DType, Session>();

  beforeAll(async () => {
    const open = async ([dtype]: (typeof SAMPLES)[number]): Promise<void> => {
      sessions.set(dtype, await node.InferenceSession.create(identityModel(dtype, DIMS)));
    };
    await Promise.all(SAMPLES.map(open));
  });
  afterAll(async () => {
    await Promise.all([...sessions.values()].map((session) => session.release()));
  });

  test.each(SAMPLES)(
    '%s: reads an input where it is, and writes a preallocated output where it is',
    async (dtype, data) => {
      using input = tensorOf(dtype, data);
      using output = OwnedTensor.allocate(DIMS, dtype);
      const address = dataAddress(output);
      const results = await withOrt({ x: input }, node, (feeds) =>
        withOrt({ y: output }, node, async (fetches) => {
          expectNoCopyOut(input, feeds.x.data);
          expect(addressOf(fetches.y.data)).toBe(address);
          // Taking the memory away meanwhile is refused.
          expectBufferError(() => input.dispose(), /withView/);
          expectBufferError(() => output.dispose(), /withView/);
          return sessions.get(dtype)?.run(feeds, fetches);
        }),
      );
      expect(Object.keys(results ?? {})).toEqual(['y']);
      expect(dataAddress(output)).toBe(address);
      using frozen = output.freeze();
      expect(frozen.toArray()).toEqual(input.toArray());
      recordRow({ ...RUN, direction: 'out', copies: 0, writable: 'no', remarks: 'inputs of session.run, in withOrt' });
      recordRow({ ...RUN, direction: 'out', copies: 0, writable: 'yes', remarks: 'preallocated outputs, in withOrt' });
    },
  );

  test('its own outputs come in by one copy', async () => {
    using input = Tensor.from(new Float32Array([1, 2, 3, 4, 5, 6]), { shape: DIMS });
    const results = await withOrt({ x: input }, node, (feeds) => sessions.get('float32')?.run(feeds));
    const y = results?.['y'];
    if (y === undefined) throw new Error('no output');
    using ours = expectOneCopyIn(() => fromOrt(y) as Tensor, y.data);
    expect(ours.toArray()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    recordRow({ ...RUN, direction: 'in', copies: 1, writable: 'no', remarks: 'outputs that onnxruntime allocated' });
    using shared = expectNoCopyIn(() => fromOrt(y, { copy: false }) as Tensor, y.data);
    expect(shared.toArray()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    recordRow({ ...RUN, direction: 'in', copies: 0, writable: 'no', remarks: 'the same, with copy: false' });
  });

  test('a run that fails gives the memory back', async () => {
    using input = Tensor.from(new Float32Array(5));
    const before = stats();
    await expect(withOrt({ x: input }, node, (feeds) => sessions.get('float32')?.run(feeds))).rejects.toThrow(
      /[Dd]imension|shape|rank/,
    );
    expect(stats()).toEqual(before);
  });
});
