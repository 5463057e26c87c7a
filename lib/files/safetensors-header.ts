/**
 * The head of a safetensors file: eight bytes of length, then JSON: for each name a dtype, a shape, and where its bytes
 * are after the head.
 *
 * Everything is checked before a byte of any tensor is read: the tensors must cover the rest of the file without gaps
 * and overlaps, each as long as its shape says. That is the format's own rule, and what keeps a file from showing one
 * tensor's bytes as another's.
 */
import { TextDecoder } from 'node:util';
import { compactBytes, DTYPES, type DTypeInfo } from '../dtype';
import { bufferError } from '../errors';
import { isArray, MAX_NDIM, sizeOf } from '../shape';
import { firstDuplicate } from './json-keys';
import { quote } from './npy-header';
import type { OpenSource } from './source';

export interface SafetensorsEntry {
  readonly name: string;
  readonly dtype: DTypeInfo;
  readonly shape: readonly number[];
  /** Of its first byte, from the beginning of the file. */
  readonly begin: number;
  readonly byteLength: number;
}

export interface SafetensorsHeader {
  /** In the order of their bytes. */
  readonly entries: readonly SafetensorsEntry[];
  readonly metadata: Readonly<Record<string, string>>;
}

const LENGTH_BYTES = 8;
/** The format's own limit. */
const MOST_HEADER_BYTES = 100_000_000;
const METADATA = '__metadata__';

const DTYPE_OF: ReadonlyMap<string, DTypeInfo> = new Map<string, DTypeInfo>([
  ['BOOL', DTYPES.bool],
  ['U8', DTYPES.uint8],
  ['I8', DTYPES.int8],
  ['U16', DTYPES.uint16],
  ['I16', DTYPES.int16],
  ['U32', DTYPES.uint32],
  ['I32', DTYPES.int32],
  ['U64', DTYPES.uint64],
  ['I64', DTYPES.int64],
  ['F16', DTYPES.float16],
  ['BF16', DTYPES.bfloat16],
  ['F32', DTYPES.float32],
  ['F64', DTYPES.float64],
  ['C64', DTYPES.complex64],
  ['F8_E4M3', DTYPES.float8_e4m3fn],
  ['F8_E5M2', DTYPES.float8_e5m2],
  ['F8_E8M0', DTYPES.float8_e8m0fnu],
  ['F8_E4M3FNUZ', DTYPES.float8_e4m3fnuz],
  ['F8_E5M2FNUZ', DTYPES.float8_e5m2fnuz],
]);
/** In which order their bits are packed, the format does not say. */
const PACKED = new Set(['F4', 'F6_E2M3', 'F6_E3M2']);

/** @throws BufferError that names what is wrong */
export function readSafetensorsHeader(source: OpenSource): SafetensorsHeader {
  const fail = (what: string): never => {
    throw bufferError(`${source.name}: ${what}`);
  };
  if (source.byteLength < LENGTH_BYTES) {
    return fail(`has ${source.byteLength} bytes; a safetensors file begins with ${LENGTH_BYTES}`);
  }
  const long = new DataView(source.bytes(0, LENGTH_BYTES).buffer).getBigUint64(0, true);
  if (long > MOST_HEADER_BYTES) {
    return fail(
      `is no safetensors file, or a wrong one: its header has ${long} bytes; at most ${MOST_HEADER_BYTES} may be`,
    );
  }
  const begin = LENGTH_BYTES + Number(long);
  if (begin > source.byteLength) {
    return fail(`ends at byte ${source.byteLength}, within its header, which goes to ${begin}`);
  }
  const header = parseHeader(source.bytes(LENGTH_BYTES, Number(long)), fail);
  const { [METADATA]: metadata, ...rest } = header;
  const entries = Object.entries(rest).map(([name, value]) => parseEntry(name, value, begin, fail));
  entries.sort((a, b) => a.begin - b.begin || a.byteLength - b.byteLength);
  checkCover(entries, begin, source.byteLength, fail);
  return { entries, metadata: parseMetadata(metadata, fail) };
}

type Fail = (what: string) => never;

function parseHeader(bytes: Uint8Array, fail: Fail): Readonly<Record<string, unknown>> {
  if (bytes[0] !== 0x7b) return fail("is no safetensors file: its header does not begin with '{'");
  let text: string;
  let header: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    header = JSON.parse(text);
  } catch (error) {
    return fail(`its header is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const duplicate = firstDuplicate(text);
  if (duplicate !== undefined) return fail(`its header has the key ${quote(duplicate)} twice`);
  return isRecord(header) ? header : fail('its header is no JSON object');
}

function parseMetadata(value: unknown, fail: Fail): Readonly<Record<string, string>> {
  const metadata: Record<string, string> = Object.create(null) as Record<string, string>;
  if (value === undefined) return metadata;
  if (!isRecord(value)) return fail(`${METADATA} is no JSON object`);
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') return fail(`${METADATA} has ${quote(key)}, which is no string`);
    metadata[key] = text;
  }
  return metadata;
}

function parseEntry(name: string, value: unknown, dataBegin: number, fail: Fail): SafetensorsEntry {
  const refuse = (what: string): never => fail(`${quote(name)}: ${what}`);
  if (!isRecord(value)) return refuse('is no JSON object');
  const { dtype: dtypeName, shape, data_offsets: offsets, ...more } = value;
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) return refuse(`has the key ${quote(unknown)}; it can have dtype, shape and data_offsets`);
  if (typeof dtypeName !== 'string') return refuse('dtype is missing, or no string');
  if (PACKED.has(dtypeName)) {
    return refuse(`dtype is ${dtypeName}, packed elements; in which order of bits, the format does not say`);
  }
  const dtype = DTYPE_OF.get(dtypeName);
  if (dtype === undefined) return refuse(`dtype is ${quote(dtypeName)}; there is no such dtype here`);
  if (!isArray(shape) || !shape.every(isCount)) return refuse('shape is missing, or no array of integers >= 0');
  if (shape.length > MAX_NDIM) return refuse(`shape has ${shape.length} axes; a tensor has at most ${MAX_NDIM}`);
  const elements = sizeOf(shape);
  if (!Number.isSafeInteger(elements)) {
    return refuse(`shape is [${shape.join(', ')}]; its extents multiply to more elements than 2^53 - 1`);
  }
  if (!isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    return refuse('data_offsets is missing, or no pair of integers >= 0');
  }
  const [from = 0, to = 0] = offsets;
  const byteLength = compactBytes(dtype, elements);
  if (to - from !== byteLength) {
    return refuse(
      `data_offsets are [${from}, ${to}], ${to - from} bytes; shape is [${shape.join(', ')}], ${byteLength} bytes of ` +
        dtype.name,
    );
  }
  return { name, dtype, shape, begin: dataBegin + from, byteLength };
}

/** One after the other, from the first byte to the last. */
function checkCover(entries: readonly SafetensorsEntry[], dataBegin: number, end: number, fail: Fail): void {
  let at = dataBegin;
  for (const { name, begin, byteLength } of entries) {
    const offsets = `data_offsets are [${begin - dataBegin}, ${begin - dataBegin + byteLength}]`;
    if (begin + byteLength > end) {
      return fail(`${quote(name)}: ${offsets}; the file has ${end - dataBegin} bytes after its header`);
    }
    if (begin < at) return fail(`${quote(name)}: ${offsets}, which overlaps the tensor before it`);
    if (begin > at) return fail(`${quote(name)}: ${offsets}; the ${begin - at} bytes before it belong to no tensor`);
    at = begin + byteLength;
  }
  if (at < end) fail(`its last ${end - at} bytes belong to no tensor`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
