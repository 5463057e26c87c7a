/**
 * onnxruntime: the Tensor class of onnxruntime-common, which onnxruntime-node, -web and -react-native share.
 *
 * It holds row-major typed arrays and takes them as they are, so tensors go out without a copy, and an `OwnedTensor`
 * that goes out as a preallocated output is written by the inference itself. Float16 elements come
 * in from either of their faces, Uint16Array and Float16Array, and go out as a Uint16Array of the bits.
 */
import type { DType } from '../dtype';
import { bufferError, show, typeError } from '../errors';
import { parseShape } from '../shape';
import { metadataOf } from '../tensor-base';
import type { Settled } from '../thenable';
import { fieldsOf, hasFields, requireLibrary } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import {
  parseToOptions,
  requireTensor,
  throughWithView,
  withCompact,
  type AnySource,
  type Elements,
  type ToOptions,
} from './outgoing';
import { foreignDType, noSuchDType, notA } from './words';

/** The dtypes that both sides have, under the same names. */
export type OrtDType =
  | 'bool'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'float16'
  | 'float32'
  | 'float64';

const NAMES: Readonly<Record<OrtDType, true>> = {
  bool: true,
  int8: true,
  int16: true,
  int32: true,
  int64: true,
  uint8: true,
  uint16: true,
  uint32: true,
  uint64: true,
  float16: true,
  float32: true,
  float64: true,
};

/** An `ort.Tensor`, as far as it is read here. */
export interface OrtTensor<T extends string = string> {
  /** Its dtype's name. */
  readonly type: T;
  /** Its shape. */
  readonly dims: readonly number[];
  /** Where its data is; read only when that is the CPU. */
  readonly location?: string;
  /** A row-major typed array. */
  readonly data: unknown;
}

/** The library, as `import * as ort` gives it. */
export interface OrtLibrary<R> {
  /** Its Tensor class. */
  readonly Tensor: new (type: OrtDType, data: OrtElements, dims: readonly number[]) => R;
}

/** What an `ort.Tensor` is made from. */
export type OrtElements =
  | Uint8Array<ArrayBuffer>
  | Int8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

/** The dtype of an `ort.Tensor` by its type; any of them where the type is not known. */
export type DTypeOfOrt<T extends string> = string extends T ? OrtDType : Extract<T, OrtDType>;

/**
 * The elements of an `ort.Tensor`: an input that was made elsewhere, an output of `session.run`.
 *
 * ```ts
 * import * as ort from 'onnxruntime-common';
 *
 * const output = new ort.Tensor('float32', [1, 2, 3, 4], [2, 2]); // or what session.run gave
 * console.log(fromOrt(output).shape, fromOrt(output).at(1, 0)); // -> [ 2, 2 ] 3
 * ```
 *
 * @param tensor on the CPU (`await tensor.getData()` downloads others)
 * @returns one copy by default; with `copy: false` a tensor over its data
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for what is no such tensor; BufferError (`ERR_DLPACK_BUFFER`) for string
 *   and 4-bit tensors, for one that is not on the CPU or was disposed, and for `copy: false` in a worker
 */
export function fromOrt<T extends string, C extends boolean | null | undefined = null>(
  tensor: OrtTensor<T>,
  options?: FromOptions<C>,
): Incoming<DTypeOfOrt<T>, C> {
  const operation = 'fromOrt';
  const { copy } = parseFromOptions(options, operation);
  const fields = fieldsOf(tensor, operation, 'a Tensor of onnxruntime: { type, dims, data }');
  const { type, location } = fields;
  if (location !== undefined && location !== 'cpu' && location !== 'cpu-pinned') {
    throw bufferError(
      `${operation}: the data is at location ${show(location)}; ` +
        (location === 'none' ? 'the tensor was disposed' : 'await tensor.getData() brings it to the CPU'),
    );
  }
  if (typeof type !== 'string') throw notA(operation, tensor, 'a Tensor of onnxruntime: { type, dims, data }');
  if (!isOrtDType(type)) throw foreignDType(operation, 'type', type, `it can be ${Object.keys(NAMES).join(', ')}`);
  const shape = parseShape(fields['dims'], 'dims');
  return incoming({ data: fields['data'], dtype: type, shape }, copy, operation);
}

/**
 * An `ort.Tensor` over the tensor's own memory: an input, or, of an `OwnedTensor`, a preallocated output. Release
 * nothing before the run has ended; `withOrt` sees to that.
 *
 * ```ts
 * import * as ort from 'onnxruntime-common';
 *
 * const image = OwnedTensor.allocate([1, 3, 2, 2], 'float32').fill(0.5);
 * const input = toOrt(image, ort); // over the tensor's own memory
 * console.log(input.type, input.dims, input.data[0]); // -> float32 [ 1, 3, 2, 2 ] 0.5
 * ```
 *
 * @param ort the library
 * @returns a new `ort.Tensor`; row-major elements are not copied
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for a dtype that onnxruntime's JavaScript API does not have (bfloat16,
 *   complex, fp8, fp6, fp4), and with `copy: false` where a copy would be needed
 */
export function toOrt<R>(tensor: AnySource, ort: OrtLibrary<R>, options?: ToOptions): R {
  const operation = 'toOrt';
  const copy = parseToOptions(options, operation);
  const source = requireTensor(tensor, operation);
  const dtype = ortDType(metadataOf(source).dtype.name, operation);
  const construct = constructorOf(ort, operation);
  const { shape } = metadataOf(source);
  const wish = { operation, copy, bits: dtype === 'float16' };
  return withCompact(source, wish, (data) => construct(dtype, data, shape));
}

/**
 * Calls `fn` with `ort.Tensor`s over the memory of tensors, one for each name, and keeps that memory in place until
 * `fn` ends, or the promise that it returns: what a run, which goes on in other threads, must be given.
 *
 * ```ts
 * import * as ort from 'onnxruntime-node';
 *
 * const session = await ort.InferenceSession.create('model.onnx'); // gives back what it is given
 * const x = Tensor.from(new Float32Array([1, 2, 3, 4]), { shape: [1, 4] });
 * const y = OwnedTensor.allocate([1, 4], 'float32'); // the run itself writes it
 * await withOrt({ x }, ort, (feeds) => withOrt({ y }, ort, (fetches) => session.run(feeds, fetches)));
 * console.log(y.at(0, 3)); // -> 4
 * ```
 *
 * @param tensors row-major; nothing is copied
 * @returns what `fn` returned
 * @throws BufferError (`ERR_DLPACK_BUFFER`) as `toOrt`, and for a layout that is not row-major (`contiguous()` first);
 *   what `fn` throws
 */
export function withOrt<K extends string, T, R>(
  tensors: Readonly<Record<K, AnySource>>,
  ort: OrtLibrary<T>,
  fn: (tensors: Record<K, T>) => R,
): Settled<R> {
  const operation = 'withOrt';
  const entries = Object.entries(fieldsOf(tensors, operation, 'an object of tensors by name'));
  if (typeof fn !== 'function') throw typeError(`${operation} was called with ${show(fn)}; it takes a function`);
  const construct = constructorOf(ort, operation);
  const made: (readonly [name: string, tensor: T])[] = [];
  const open = (index: number): unknown => {
    const entry = entries[index];
    if (entry === undefined) return fn(Object.fromEntries(made) as Record<K, T>); // every name has had its turn
    const [name, tensor] = entry;
    const source = requireTensor(tensor, operation);
    const { dtype, shape } = metadataOf(source);
    const type = ortDType(dtype.name, operation);
    const use = (data: Elements): unknown => {
      made.push([name, construct(type, data, shape)]);
      return open(index + 1);
    };
    return throughWithView(source, { operation, bits: type === 'float16' }, use);
  };
  return open(0) as Settled<R>;
}

/** @throws BufferError that names the dtype */
function ortDType(dtype: DType, operation: string): OrtDType {
  if (isOrtDType(dtype)) return dtype;
  throw noSuchDType(operation, "onnxruntime's Tensor", dtype);
}

function isOrtDType(name: string): name is OrtDType {
  return Object.hasOwn(NAMES, name);
}

/** @throws TypeError when it is not the library */
function constructorOf<R>(
  ort: OrtLibrary<R>,
  operation: string,
): (type: OrtDType, data: Elements, shape: readonly number[]) => R {
  const { Tensor: OrtClass } = requireLibrary(ort, ['Tensor'], operation, 'onnxruntime');
  return (type, data, shape) => {
    // Elements of these dtypes are in one of the arrays that the class takes.
    const made = new OrtClass(type, data as OrtElements, [...shape]);
    if (type === 'float16') showBits(made, data);
    return made;
  };
}

/**
 * Where the runtime has Float16Array, the class shows float16 through one, over the same memory. onnxruntime-node (1.30)
 * finds no bytes in that, so the tensor shows the Uint16Array that it was made from.
 */
function showBits(made: unknown, bits: Elements): void {
  if (hasFields(made) && made['data'] !== bits)
    Object.defineProperty(made, 'data', { value: bits, configurable: true });
}
