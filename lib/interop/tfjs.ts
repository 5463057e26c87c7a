/**
 * TensorFlow.js. Its tensors are handles to whatever a backend holds; on the pure JavaScript backend that is a typed
 * array, which goes either way without a copy of ours. Complex numbers are two arrays there and one here: copied.
 */
import { parseShape } from '../shape';
import { metadataOf } from '../tensor-base';
import { fieldsOf, requireLibrary } from './foreign';
import { incoming, parseFromOptions, type FromOptions, type Incoming } from './incoming';
import { parseToOptions, requireTensor, withCompact, type AnySource, type Elements, type ToOptions } from './outgoing';
import { copyNeeded, foreignDType, noSuchDType, notA } from './words';

/** The dtypes that both sides have, under the same names. */
export type TfjsDType = 'float32' | 'int32' | 'bool' | 'complex64';

const NAMES: Readonly<Record<TfjsDType, true>> = { float32: true, int32: true, bool: true, complex64: true };
/** Why complex numbers are copied either way. */
const PARTS = 'TensorFlow.js holds the real and imaginary parts apart';

/** A `tf.Tensor`, as far as it is read here. */
export interface TfjsTensor {
  /** Its dtype's name. */
  readonly dtype: string;
  /** Its shape. */
  readonly shape: readonly number[];
  /** Downloads its elements, row-major. */
  dataSync(): unknown;
}

/** The library, as `import * as tf` gives it. */
export interface TfjsLibrary<R> {
  /** Makes a tensor of real numbers. */
  readonly tensor: (values: TfjsElements, shape: number[], dtype: 'float32' | 'int32' | 'bool') => R;
  /** Makes a tensor of complex numbers from two. */
  readonly complex: (real: R & TfjsTensor, imag: R & TfjsTensor) => R;
}

/** What `tf.tensor` takes without converting. */
export type TfjsElements = Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/**
 * The elements of a `tf.Tensor`.
 *
 * ```ts
 * import '@tensorflow/tfjs-backend-cpu';
 * import * as tf from '@tensorflow/tfjs-core';
 *
 * tf.enableProdMode();
 * const sum = tf.add(tf.tensor1d([1, 2]), 10);
 * console.log(fromTfjs(sum).toArray()); // -> [ 11, 12 ]
 * ```
 *
 * @param tensor of a backend that can download at once (`dataSync`)
 * @returns one copy of what `dataSync()` gives by default; with `copy: false` a tensor over that, which on the pure
 *   JavaScript backend is the memory of the `tf.Tensor` itself (tfjs never writes to one that exists), and for bool a
 *   copy that tfjs made
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for what is no tensor; BufferError (`ERR_DLPACK_BUFFER`) for strings, and
 *   for `copy: false` in a worker or of complex numbers, which `dataSync()` has to interleave; what `dataSync()` throws
 */
export function fromTfjs<C extends boolean | null | undefined = null>(
  tensor: TfjsTensor,
  options?: FromOptions<C>,
): Incoming<TfjsDType, C> {
  const operation = 'fromTfjs';
  const { copy } = parseFromOptions(options, operation);
  const expected = 'a tensor of TensorFlow.js: { dtype, shape, dataSync }';
  const fields = fieldsOf(tensor, operation, expected);
  const { dtype, dataSync } = fields;
  if (typeof dtype !== 'string' || typeof dataSync !== 'function') throw notA(operation, tensor, expected);
  if (!isTfjsDType(dtype)) throw foreignDType(operation, 'dtype', dtype, `it can be ${Object.keys(NAMES).join(', ')}`);
  if (copy === false && dtype === 'complex64') {
    throw copyNeeded(operation, PARTS);
  }
  const shape = parseShape(fields['shape']);
  const data: unknown = Reflect.apply(dataSync, tensor, []);
  return incoming({ data, dtype, shape }, copy, operation);
}

/**
 * A `tf.Tensor` over the tensor's own memory: on the pure JavaScript backend it keeps the typed array that it is given.
 * Other backends upload it when it is first used. Dispose this library's tensor later than that one, or ask for `copy:
 * true`.
 *
 * ```ts
 * import '@tensorflow/tfjs-backend-cpu';
 * import * as tf from '@tensorflow/tfjs-core';
 *
 * tf.enableProdMode();
 * const numbers = Tensor.from(new Float32Array([1, 2]));
 * const sum = tf.add(toTfjs(numbers, tf), 10); // over the tensor's own memory
 * console.log(sum.dataSync().join(' ')); // -> 11 12
 * ```
 *
 * @param tf the library
 * @returns a new `tf.Tensor`; row-major float32, int32 and bool are not copied, complex64 is
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for a dtype that TensorFlow.js does not have, and with `copy: false` where
 *   a copy would be needed
 */
export function toTfjs<R>(tensor: AnySource, tf: TfjsLibrary<R>, options?: ToOptions): R {
  const operation = 'toTfjs';
  const copy = parseToOptions(options, operation);
  const source = requireTensor(tensor, operation);
  const { dtype, shape } = metadataOf(source);
  if (!isTfjsDType(dtype.name)) throw noSuchDType(operation, 'TensorFlow.js', dtype.name);
  const library = requireLibrary(tf, ['tensor', 'complex'], operation, 'TensorFlow.js');
  const real = dtype.name;
  if (real !== 'complex64') {
    return withCompact(source, { operation, copy }, (data) =>
      // Elements of these three dtypes are in these three arrays.
      library.tensor(data as TfjsElements, [...shape], real),
    );
  }
  if (copy === false) {
    throw copyNeeded(operation, PARTS);
  }
  return withCompact(source, { operation, copy: true }, (data) => complexTensor(library, data, [...shape]));
}

/** Two tensors of parts, which the complex one holds from then on. */
function complexTensor<R>(tf: TfjsLibrary<R>, interleaved: Elements, shape: number[]): R {
  const parts = [0, 1].map((part) => {
    const values = new Float32Array(interleaved.length / 2);
    for (let i = 0; i < values.length; i++) values[i] = Number(interleaved[2 * i + part]);
    return tf.tensor(values, shape, 'float32') as R & TfjsTensor & { dispose?(): void };
  });
  const [real, imag] = parts;
  if (real === undefined || imag === undefined) throw new Error('unreachable: there are two parts');
  const made = tf.complex(real, imag);
  for (const part of parts) part.dispose?.();
  return made;
}

function isTfjsDType(dtype: string): dtype is TfjsDType {
  return Object.hasOwn(NAMES, dtype);
}
