/**
 * For every public function that takes arguments one call that is right, so that a test can put something wrong in one
 * place at a time; and the options that it reads. A function that is not here makes the test of the hostile surface
 * fail: a new one cannot be forgotten.
 */
import { tmpdir } from 'node:os';
import path = require('node:path');
import { toNpy } from '../../dist/files/index.js';
import { OwnedTensor, Tensor } from '../../dist/index.js';
import { dataAddress } from '../../dist/unsafe.js';

export interface RightCall {
  /** Fresh arguments. A place that may be left out but has something to get wrong is here too. */
  readonly args: () => readonly unknown[];
  /** The names in the last argument, if that is an object of options. */
  readonly options?: readonly string[];
  /** The names in the first argument, if that is an object. */
  readonly fields?: readonly string[];
}

const none: RightCall = { args: () => [] };
const COPY = ['copy'];
const EXPORT: RightCall = {
  args: () => [{ max_version: [1, 3] }],
  options: ['stream', 'max_version', 'dl_device', 'copy', 'unknown'],
};
const VIEW: RightCall = { args: () => [{}], options: ['writable', 'bits'] };
const FROM = ['shape', 'strides', 'offset', 'dtype'];
const TTL = ['ttl'];

/** 4 KiB that outlive every tensor made over them. Kept for good: `fromPointer` is given its address. */
const ground = OwnedTensor.allocate([4096], 'uint8');
export const GROUND: readonly OwnedTensor[] = [ground];

function compact(): Tensor {
  return FIXED.tensor;
}

/** What interop functions show to a library; never changed by them. */
export const FIXED = {
  tensor: Tensor.from(Float32Array.of(1, 2, 3, 4, 5, 6), { shape: [2, 3] }),
  pixels: Tensor.from(new Uint8Array(16), { shape: [2, 2, 4] }),
};

/** A file's bytes. */
function npy(): Uint8Array {
  return toNpy(FIXED.tensor);
}

function safetensors(): Uint8Array {
  const header = JSON.stringify({ a: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } });
  const bytes = new Uint8Array(8 + header.length + 8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(header.length), true);
  bytes.set(Buffer.from(header), 8);
  return bytes;
}

class Anything {
  readonly given: readonly unknown[];
  constructor(...given: readonly unknown[]) {
    this.given = given;
  }
}
const make = (...given: readonly unknown[]): Anything => new Anything(...given);

const float32 = { data: new Float32Array(6), shape: [2, 3], stride: [3, 1], strides: [3, 1], offset: 0 };

export const RIGHT_CALLS: Readonly<Record<string, RightCall>> = {
  capsuleName: { args: () => [{}] },
  releaseCapsule: { args: () => [Tensor.from([1]).intoDLPack().__dlpack__()] },
  revokeToken: { args: () => [`dlpack-${'f'.repeat(32)}`] },
  copyThreads: { args: () => [1] },
  stats: none,
  scope: { args: () => [() => 1] },
  fromDLPack: { args: () => [compact(), {}], options: ['device', 'copy'], fields: ['__dlpack__', '__dlpack_device__'] },
  'new Tensor': { args: () => [Symbol('key'), 1, {}] },
  'new OwnedTensor': { args: () => [Symbol('key'), 1, {}] },

  'Tensor.from': { args: () => [new Float32Array(6), {}], options: FROM },
  'Tensor.fromShared': { args: () => [`dlpack-${'f'.repeat(32)}`] },
  'Tensor#is': { args: () => ['float32'] },
  'Tensor#__dlpack__': EXPORT,
  'Tensor#__dlpack_device__': none,
  'Tensor#intoDLPack': none,
  'Tensor#at': { args: () => [1, 2] },
  'Tensor#view': VIEW,
  'Tensor#withView': { args: () => [() => 1, {}], options: ['writable', 'bits'] },
  'Tensor#toTypedArray': { args: () => [{}], options: ['bits'] },
  'Tensor#toArray': none,
  'Tensor#strided': VIEW,
  'Tensor#slice': { args: () => [0, [null, null, -1]] },
  'Tensor#transpose': { args: () => [[1, 0]] },
  'Tensor#reshape': { args: () => [[3, 2]] },
  'Tensor#squeeze': { args: () => [[]] },
  'Tensor#expandDims': { args: () => [0] },
  'Tensor#broadcastTo': { args: () => [[2, 2, 3]] },
  'Tensor#flip': { args: () => [0] },
  'Tensor#contiguous': none,
  'Tensor#copy': none,
  'Tensor#to': { args: () => ['float64', {}], options: ['scale', 'offset', 'axis'] },
  'Tensor#share': { args: () => [{}], options: TTL },
  'Tensor#releaseViews': none,
  'Tensor#dispose': none,
  'Tensor#[Symbol.dispose]': none,
  'Tensor#[nodejs.util.inspect.custom]': { args: () => [2, {}], options: ['depth', 'stylize'] },

  'OwnedTensor.allocate': { args: () => [[2, 3], 'float32'] },
  'OwnedTensor.from': { args: () => [new Float32Array(6), {}], options: FROM },
  'OwnedTensor.fromTransfer': { args: () => [`dlpack-${'f'.repeat(32)}`] },
  'OwnedTensor#is': { args: () => ['float32'] },
  'OwnedTensor#at': { args: () => [1, 2] },
  'OwnedTensor#set': { args: () => [1, {}], options: ['at', 'scale', 'offset', 'axis'] },
  'OwnedTensor#fill': { args: () => [1] },
  'OwnedTensor#withView': { args: () => [() => 1, {}], options: ['bits'] },
  'OwnedTensor#lend': { args: () => [() => 1, {}], options: ['writable'] },
  'OwnedTensor#freeze': none,
  'OwnedTensor#transfer': { args: () => [{}], options: TTL },
  'OwnedTensor#__dlpack__': EXPORT,
  'OwnedTensor#__dlpack_device__': none,
  'OwnedTensor#dispose': none,
  'OwnedTensor#[Symbol.dispose]': none,
  'OwnedTensor#[nodejs.util.inspect.custom]': { args: () => [2, {}], options: ['depth', 'stylize'] },

  takePointer: { args: () => [Tensor.from([1]).intoDLPack().__dlpack__()] },
  makeCapsule: { args: () => [{ address: 0n, versioned: true }], fields: ['address', 'versioned'] },
  fromPointer: {
    args: () => [{ address: dataAddress(ground), shape: [2, 3], dtype: 'float32', release: () => undefined }],
    fields: ['address', 'shape', 'strides', 'dtype', 'readOnly', 'release'],
  },
  dataAddress: { args: () => [compact()] },
  unsafeView: { args: () => [compact(), {}], options: ['bits'] },
  adopt: { args: () => [new Float32Array(6), {}], options: ['shape', 'writable'] },

  readNpy: { args: () => [npy(), {}], options: ['dtype'] },
  writeNpy: { args: () => [path.join(tmpdir(), `node-dlpack-${process.pid}.npy`), compact()] },
  toNpy: { args: () => [compact()] },
  readSafetensors: { args: () => [safetensors(), {}], options: ['names'] },

  fromArrow: {
    args: () => [
      {
        type: { typeId: 3, precision: 1 },
        data: [{ nullCount: 0, length: 6, values: new Float32Array(6) }],
        length: 6,
      },
      {},
    ],
    options: COPY,
    fields: ['type', 'data', 'length'],
  },
  toArrow: {
    args: () => [
      compact(),
      { makeData: make, Vector: Anything, FixedSizeList: Anything, Field: Anything, Float32: Anything },
      {},
    ],
    options: COPY,
  },
  fromImageData: {
    args: () => [{ data: new Uint8ClampedArray(16), width: 2, height: 2 }, {}],
    options: COPY,
    fields: ['data', 'width', 'height'],
  },
  toImageData: { args: () => [FIXED.pixels, { ImageData: Anything }, {}], options: COPY },
  fromBuffer: {
    args: () => [Buffer.alloc(24), { dtype: 'float32' }],
    options: ['copy', 'shape', 'dtype', 'byteOffset'],
  },
  toBuffer: { args: () => [compact(), {}], options: COPY },
  fromDataView: {
    args: () => [new DataView(new ArrayBuffer(24)), { dtype: 'float32' }],
    options: ['copy', 'shape', 'dtype', 'byteOffset'],
  },
  toDataView: { args: () => [compact(), {}], options: COPY },
  fromWasm: {
    args: () => [{ buffer: new ArrayBuffer(64), grow: () => 0 }, { dtype: 'float32' }],
    options: ['copy', 'shape', 'dtype', 'byteOffset'],
    fields: ['buffer', 'grow'],
  },
  toWasm: {
    args: () => [compact(), { buffer: new ArrayBuffer(64), grow: () => 0 }, {}],
    options: ['byteOffset'],
  },
  fromNdarray: { args: () => [{ ...float32 }, {}], options: COPY, fields: ['data', 'shape', 'stride', 'offset'] },
  toNdarray: { args: () => [compact(), make, {}], options: COPY },
  fromOrt: {
    args: () => [{ type: 'float32', dims: [2, 3], data: new Float32Array(6) }, {}],
    options: COPY,
    fields: ['type', 'dims', 'data', 'location'],
  },
  toOrt: { args: () => [compact(), { Tensor: Anything }, {}], options: COPY },
  withOrt: { args: () => [compact(), { Tensor: Anything }, () => 1] },
  fromSharp: {
    args: () => [{ data: new Uint8Array(12), info: { width: 2, height: 2, channels: 3, format: 'raw' } }, {}],
    options: ['copy', 'dtype'],
    fields: ['data', 'info'],
  },
  toSharp: { args: () => [FIXED.pixels, make, {}], options: COPY },
  withSharp: { args: () => [FIXED.pixels, make, () => 1] },
  fromStdlib: {
    args: () => [{ ...float32, dtype: 'float32' }, {}],
    options: COPY,
    fields: ['dtype', 'data', 'shape', 'strides', 'offset'],
  },
  toStdlib: {
    args: () => [compact(), { ndarray: Anything, base: { bufferCtors: () => Float32Array } }, {}],
    options: COPY,
  },
  fromTfjs: {
    args: () => [{ dtype: 'float32', shape: [2, 3], dataSync: () => new Float32Array(6) }, {}],
    options: COPY,
    fields: ['dtype', 'shape', 'dataSync'],
  },
  toTfjs: { args: () => [compact(), { tensor: make, complex: make }, {}], options: COPY },
  fromZarrita: { args: () => [{ ...float32 }, {}], options: COPY, fields: ['data', 'shape', 'stride'] },
  toZarrita: { args: () => [compact(), { BoolArray: Anything }, {}], options: COPY },
};
