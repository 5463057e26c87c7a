/**
 * Structs as they lie in memory, decoded from raw bytes at the offsets that DLPack 1.3 states for 64-bit machines: a
 * mistake in the library's own header cannot hide itself here. And their elements, found as a consumer in C finds them,
 * by data, byte_offset, shape and strides.
 */
import { lab } from './lab-addon.js';

/** DLPack 1.3's type codes and widths for the names this library uses. */
export const DTYPES = {
  int8: [0, 8],
  int16: [0, 16],
  int32: [0, 32],
  int64: [0, 64],
  uint8: [1, 8],
  uint16: [1, 16],
  uint32: [1, 32],
  uint64: [1, 64],
  float16: [2, 16],
  float32: [2, 32],
  float64: [2, 64],
  bfloat16: [4, 16],
  complex64: [5, 64],
  complex128: [5, 128],
  bool: [6, 8],
} as const;
export type PlainDType = keyof typeof DTYPES;
export const PLAIN_DTYPES: readonly PlainDType[] = [
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'float16',
  'float32',
  'float64',
  'bfloat16',
  'complex64',
  'complex128',
  'bool',
];

export const READ_ONLY = 1n;
export const IS_COPIED = 2n;
export const SUBBYTE_PADDED = 4n;

export interface StructPicture {
  versioned: boolean;
  address: bigint;
  /** Of a versioned struct; 0 otherwise. */
  major: number;
  minor: number;
  flags: bigint;
  managerCtx: bigint;
  deleter: bigint;
  data: bigint;
  device: [number, number];
  ndim: number;
  dtype: [number, number, number];
  shapeAddress: bigint;
  stridesAddress: bigint;
  /** undefined where the pointer is NULL. */
  shape: number[] | undefined;
  strides: number[] | undefined;
  byteOffset: bigint;
  raw: Uint8Array;
}

const VERSIONED_BYTES = 80;
const LEGACY_BYTES = 64;

function numbersAt(address: bigint, count: number): number[] | undefined {
  if (address === 0n) return undefined;
  const bytes = lab.peek(address, count * 8);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: count }, (_, index) => Number(view.getBigInt64(index * 8, true)));
}

/** Reads a struct where it lies. Offsets: DLPack 1.3 on 64-bit. */
export function pictureAt(address: bigint, versioned: boolean): StructPicture {
  const raw = lab.peek(address, versioned ? VERSIONED_BYTES : LEGACY_BYTES);
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const tensor = versioned ? 32 : 0;
  const ndim = view.getInt32(tensor + 16, true);
  const shapeAddress = view.getBigUint64(tensor + 24, true);
  const stridesAddress = view.getBigUint64(tensor + 32, true);
  return {
    versioned,
    address,
    major: versioned ? view.getUint32(0, true) : 0,
    minor: versioned ? view.getUint32(4, true) : 0,
    managerCtx: view.getBigUint64(versioned ? 8 : 48, true),
    deleter: view.getBigUint64(versioned ? 16 : 56, true),
    flags: versioned ? view.getBigUint64(24, true) : 0n,
    data: view.getBigUint64(tensor, true),
    device: [view.getInt32(tensor + 8, true), view.getInt32(tensor + 12, true)],
    ndim,
    dtype: [view.getUint8(tensor + 20), view.getUint8(tensor + 21), view.getUint16(tensor + 22, true)],
    shapeAddress,
    stridesAddress,
    shape: numbersAt(shapeAddress, ndim),
    strides: numbersAt(stridesAddress, ndim),
    byteOffset: view.getBigUint64(tensor + 40, true),
    raw,
  };
}

/** The struct in a capsule, which stays as it is. */
export function inspect(capsule: object): StructPicture {
  const found = lab.lookIntoCapsule(capsule);
  if (found === undefined) throw new Error('the laboratory does not take this for a capsule');
  if (found.used || found.address === 0n) throw new Error('the capsule is empty');
  return pictureAt(found.address, found.versioned);
}

function elementAt(view: DataView, offset: number, code: number, bits: number): number | bigint {
  switch (`${code}/${bits}`) {
    case '0/8':
      return view.getInt8(offset);
    case '0/16':
      return view.getInt16(offset, true);
    case '0/32':
      return view.getInt32(offset, true);
    case '0/64':
      return view.getBigInt64(offset, true);
    case '1/8':
    case '6/8':
      return view.getUint8(offset);
    case '1/16':
    case '2/16':
    case '4/16':
      return view.getUint16(offset, true); // small floats by their bits
    case '1/32':
      return view.getUint32(offset, true);
    case '1/64':
      return view.getBigUint64(offset, true);
    case '2/32':
      return view.getFloat32(offset, true);
    case '2/64':
      return view.getFloat64(offset, true);
    default:
      throw new Error(`the laboratory reads no elements of type ${code}/${bits}`);
  }
}

/** Addresses of all elements in row-major order, as a consumer in C computes them from the struct. */
export function elementAddresses(picture: StructPicture): bigint[] {
  const shape = picture.shape ?? [];
  const strides = picture.strides ?? [];
  const itemBytes = BigInt(picture.dtype[1] / 8);
  let addresses = [picture.data + picture.byteOffset];
  for (let axis = 0; axis < picture.ndim; axis += 1) {
    const step = BigInt(strides[axis] ?? 0) * itemBytes;
    addresses = addresses.flatMap((start) =>
      Array.from({ length: shape[axis] ?? 0 }, (_, index) => start + BigInt(index) * step),
    );
  }
  return addresses;
}

/** All elements in row-major order, read through the struct alone. */
export function elements(picture: StructPicture): (number | bigint)[] {
  const [code, bits] = picture.dtype;
  return elementAddresses(picture).map((address) => {
    const bytes = lab.peek(address, bits / 8);
    return elementAt(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, code, bits);
  });
}
