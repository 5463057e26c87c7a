/** `readNpy`, `writeNpy` and `toNpy`: NumPy's file format for one array. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { parseDType, type DType, type DTypeInfo } from '../dtype';
import { makeBuffer } from '../engine-memory';
import { bufferError, show, typeError } from '../errors';
import { OwnedTensor } from '../owned-tensor';
import { isOptions } from '../protocol';
import { sizeOf } from '../shape';
import { Tensor, type AnyTensor } from '../tensor';
import { isTensorBase, metadataOf, surelyLiveHandle } from '../tensor-base';
import { refuseOpaque } from '../view';
import { descrOf, meaningOf } from './npy-dtype';
import { npyHeader, quote, readNpyHeader, type NpyHeader } from './npy-header';
import { eachPart } from './parts';
import { fileName, withSource, type FileSource, type FileUrl, type OpenSource } from './source';

/** What to expect of a file. */
export interface ReadNpyOptions<D extends DType = DType> {
  /**
   * The dtype that the file must hold; its type is then known to TypeScript too. For files whose elements NumPy calls
   * bare bytes (`'<V2'`, as ml_dtypes writes bfloat16), what those bytes are.
   */
  readonly dtype?: D | undefined;
}

/**
 * The array in an npy file, formats 1.0 to 3.0: read once, straight into native memory. Shape and dtype are those of
 * the file; an array in Fortran order becomes a tensor with such strides, its bytes as they lie. Nobody else holds the
 * memory: `intoDLPack()` makes it writable without a copy.
 *
 * ```ts
 * writeNpy('weights.npy', Tensor.from(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] }));
 * const weights = readNpy('weights.npy', { dtype: 'float32' }); // a Tensor<'float32'>, or an error
 * const mine = weights.intoDLPack(); // writable, and nothing was copied
 * console.log(mine.shape, mine.data[3]); // -> [ 2, 2 ] 4
 * ```
 *
 * @param source a path, a `file:` URL, or the bytes of a file, which are copied
 * @param options `{ dtype }`: the one that the file must hold
 * @throws BufferError (`ERR_DLPACK_BUFFER`) that names the file and what is wrong with it: no npy file, another byte
 *   order, objects, strings, dates, structured dtypes, another dtype than asked for, too few bytes or too many. Nothing
 *   was allocated then. What `fs` throws, as it is; TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`)
 *   for arguments that cannot be; RangeError (`ERR_DLPACK_MEMORY`) without memory
 */
export function readNpy(source: FileSource, options?: { readonly dtype?: undefined }): AnyTensor;
export function readNpy<D extends DType>(
  source: FileSource,
  options: ReadNpyOptions<D> & { readonly dtype: D },
): Tensor<D>;
export function readNpy(source: FileSource, options?: ReadNpyOptions): AnyTensor | Tensor;
export function readNpy(source: unknown, options?: unknown): Tensor {
  const asked = parseOptions(options);
  return withSource(source, 'readNpy', (open) => {
    const header = readNpyHeader(open);
    return readElements(open, header, dtypeOf(open, header, asked));
  });
}

function parseOptions(options: unknown): DTypeInfo | undefined {
  if (options === undefined) return undefined;
  if (!isOptions(options)) throw typeError(`options is ${show(options)}; it must be an object: { dtype }`);
  const { dtype } = options;
  return dtype === undefined ? undefined : parseDType(dtype);
}

function dtypeOf(source: OpenSource, { descr }: NpyHeader, asked: DTypeInfo | undefined): DTypeInfo {
  const meaning = meaningOf(descr);
  if ('refusal' in meaning) throw bufferError(`${source.name}: ${meaning.refusal}`);
  if ('dtype' in meaning) {
    if (asked === undefined || asked === meaning.dtype) return meaning.dtype;
    throw bufferError(
      `${source.name} holds ${meaning.dtype.name}, and dtype is '${asked.name}'; read it as it is, and convert with ` +
        `to('${asked.name}')`,
    );
  }
  const { bareBytes } = meaning;
  if (asked?.itemsize === bareBytes) return asked;
  const help =
    asked === undefined
      ? 'say what they are with { dtype }'
      : `${asked.name} has ${asked.bitPacked ? `${asked.bits} bits` : `${asked.itemsize} bytes`}`;
  throw bufferError(`${source.name}: descr is ${quote(descr)}, bare bytes without a dtype; ${help}`);
}

/** The size of the file is held against the header before anything is allocated. */
function readElements(source: OpenSource, header: NpyHeader, dtype: DTypeInfo): Tensor {
  const { shape, dataOffset, fortranOrder } = header;
  const needed = sizeOf(shape) * dtype.itemsize;
  const found = source.byteLength - dataOffset;
  if (found !== needed) {
    throw bufferError(
      `${source.name}: shape is (${shape.join(', ')}), ${needed} bytes of ${dtype.name}; after the header there are ` +
        `${found}${found > needed ? '. One array in a file can be read' : ': the file was cut off'}`,
    );
  }
  if (!fortranOrder || shape.length < 2) return source.tensor(dataOffset, shape, dtype.name);
  const columns = source.tensor(dataOffset, [...shape].reverse(), dtype.name);
  try {
    return columns.transpose();
  } finally {
    columns.dispose();
  }
}

/**
 * Writes a tensor as an npy file, which NumPy's `load` reads. A tensor whose columns lie one after the other is written
 * in Fortran order, without a copy; any other layout is made row-major first. bfloat16 and the small floats, which
 * NumPy has no name for, are written as bare bytes, as ml_dtypes does: `numpy.load(file).view(ml_dtypes.bfloat16)`, or
 * `readNpy(file, { dtype })`.
 *
 * ```ts
 * writeNpy('numbers.npy', Tensor.from([[1, 2], [3, 4]]));
 * console.log(readNpy('numbers.npy').toArray()); // -> [ [ 1, 2 ], [ 3, 4 ] ]
 * ```
 *
 * @param file a path or a `file:` URL; what is there is replaced
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for packed sub-byte dtypes, on a device that the host cannot read, and
 *   while an owner is lent; DLPackStateError (`ERR_DLPACK_CONSUMED`, `ERR_DLPACK_DISPOSED`) on a tombstone; TypeError
 *   (`ERR_INVALID_ARG_TYPE`) for anything but a tensor; what `fs` throws, as it is
 */
export function writeNpy(file: string | FileUrl, tensor: Tensor | OwnedTensor): void {
  const target = fileName(file);
  if (target === undefined) throw typeError(`writeNpy was called with ${show(file)}; it takes a path or a file: URL`);
  withContents(tensor, 'writeNpy', (header, elements) => {
    const descriptor = openSync(target, 'w');
    try {
      writeAll(descriptor, header);
      eachPart(elements, (part) => writeAll(descriptor, part));
    } finally {
      closeSync(descriptor);
    }
  });
}

/**
 * What `writeNpy` writes, as bytes: for a response, a database, an archive.
 *
 * ```ts
 * const bytes = toNpy(Tensor.from([1, 2, 3])); // response.end(bytes)
 * console.log(readNpy(bytes).toArray()); // -> [ 1, 2, 3 ]
 * ```
 *
 * @throws as `writeNpy`; BufferError (`ERR_DLPACK_BUFFER`) for more bytes than a Buffer holds
 */
export function toNpy(tensor: Tensor | OwnedTensor): Uint8Array<ArrayBuffer> {
  return withContents(tensor, 'toNpy', (header, elements) => {
    const bytes = new Uint8Array(makeBuffer(header.byteLength + elements.byteLength, 'toNpy'));
    bytes.set(header);
    eachPart(elements, (part, from) => bytes.set(part, header.byteLength + from));
    return bytes;
  });
}

/** The header and the elements in the order of the file, for as long as `use` runs. */
function withContents<R>(tensor: unknown, operation: string, use: (header: Uint8Array, elements: Tensor) => R): R {
  if (!isTensorBase(tensor)) {
    throw typeError(
      `${operation} was called with ${show(tensor)} to write; it takes a tensor: Tensor.from() makes one`,
    );
  }
  surelyLiveHandle(tensor);
  refuseOpaque(metadataOf(tensor), operation);
  const descr = descrOf(tensor.dtype);
  if (descr === undefined) {
    throw bufferError(
      `${operation} cannot write packed ${tensor.dtype}, whose elements are no bytes; convert it with ` +
        `to('${tensor.dtype}_padded') first`,
    );
  }
  const write = (elements: Tensor, fortranOrder: boolean): R =>
    use(npyHeader(descr, fortranOrder, tensor.shape), elements);
  if (tensor instanceof OwnedTensor) {
    // A loan, since an owner has no parts; what `use` returns is no promise.
    return tensor.lend((loan) => writeInOrder(loan, write)) as R;
  }
  return writeInOrder(tensor as Tensor, write);
}

function writeInOrder<R>(tensor: Tensor, write: (elements: Tensor, fortranOrder: boolean) => R): R {
  if (tensor.isContiguous) return write(tensor, false);
  const columns = tensor.transpose();
  try {
    if (columns.isContiguous) return write(columns, true);
  } finally {
    columns.dispose();
  }
  const copy = tensor.contiguous();
  try {
    return write(copy, false);
  } finally {
    copy.dispose();
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.byteLength;) done += writeSync(descriptor, bytes, done, bytes.byteLength - done);
}
