/**
 * `node-dlpack/unsafe`: everything that takes or gives a raw address, or drops a guard. What the main entry promises
 * (misuse never corrupts memory or ends the process) does not hold here: a wrong address does both.
 *
 * Addresses are bigints, whole numbers of bytes from 1n to 2n ** 64n - 1n.
 * @module node-dlpack/unsafe
 */
import { isMainThread } from 'node:worker_threads';
import { check, failure, faultOf, isHandle } from './call';
import type { DTypeOfData } from './data-source';
import { parseDType, type BitsOf, type DataOf, type DType } from './dtype';
import { rangeError, show, typeError } from './errors';
import { FAULT_CODES } from './faults';
import { keepInPlace } from './keep-in-place';
import { makeCapsuleObject, makeTensor } from './make';
import { slot, writeInput } from './metadata';
import { native, scratchBits, Slot, StructKind, ViewMode } from './native';
import { OwnedTensor } from './owned-tensor';
import { freeHandle } from './owner';
import { isOptions, type DLPackCapsule } from './protocol';
import { formatShape, parseShape, parseStrides, sizeOf } from './shape';
import { Tensor } from './tensor';
import { isTensorBase, surelyLiveHandle, type TensorBase } from './tensor-base';
import {
  bufferOf,
  byteLengthOf,
  dtypeOfTypedArray,
  isDetached,
  isTypedArray,
  typedArrayName,
  type AnyTypedArray,
} from './typed-arrays';
import { look, parseFlag, parseViewOptions } from './view';

/** A managed tensor by its address. */
export interface ManagedPointer {
  /** Of a DLManagedTensorVersioned, or of a DLManagedTensor. */
  readonly address: bigint;
  /** Which of the two. */
  readonly versioned: boolean;
}

/** What `fromPointer` needs to know. */
export interface PointerOptions<D extends DType = DType> {
  /** Of the first logical element, aligned to its size. Not looked at when the shape is empty. */
  readonly address: bigint;
  /** Extents, each >= 0. */
  readonly shape: readonly number[];
  /** In elements; row-major by default. */
  readonly strides?: readonly number[] | undefined;
  /** What the elements are, in the machine's byte order. Never guessed. */
  readonly dtype: D;
  /** false: a writable loan, whose exports carry no READ_ONLY flag. Default true. */
  readonly readOnly?: boolean | undefined;
  /**
   * Called when the memory is no longer held: at most once, on this thread, never after its environment began to end.
   */
  readonly release: () => void;
}

/** The options of `adopt`. */
export interface AdoptOptions {
  /** Row-major; `[length]` by default. */
  readonly shape?: readonly number[] | undefined;
  /** true: a writable loan, whose exports carry no READ_ONLY flag. Default false. */
  readonly writable?: boolean | undefined;
}

/**
 * Takes the managed tensor out of a capsule. Ownership passes to the caller, who owes exactly one call of its deleter;
 * the capsule is used.
 *
 * ```ts
 * const capsule = Tensor.from([1, 2]).__dlpack__({ max_version: [1, 3] });
 * const { address, versioned } = takePointer(capsule); // now mine: pass it to a C library that calls the deleter
 * console.log(address > 0n, versioned); // -> true true
 * fromDLPack(makeCapsule({ address, versioned })).dispose(); // or give it back
 * ```
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when it is no DLPack capsule; DLPackStateError (`ERR_DLPACK_CONSUMED`)
 *   when it was used
 */
export function takePointer(capsule: DLPackCapsule): ManagedPointer {
  check(native.takePointer(capsule), { operation: 'takePointer' });
  return { address: readAddress(), versioned: slot(Slot.Element + 1) === VERSIONED };
}

/**
 * Puts a managed tensor into a capsule, for `fromDLPack` or another addon. Its ownership passes to the capsule: the
 * deleter runs once, when the consumer is done, or with the capsule when nobody consumes it. Nothing of the struct is
 * read yet.
 *
 * ```ts
 * const pointer = takePointer(Tensor.from([1, 2]).__dlpack__({ max_version: [1, 3] })); // or what a C library returned
 * console.log(fromDLPack(makeCapsule(pointer)).shape); // -> [ 2 ]
 * ```
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for an address that is none
 */
export function makeCapsule(pointer: ManagedPointer): DLPackCapsule {
  if (!isOptions(pointer)) throw typeError(`makeCapsule was given ${show(pointer)}; it takes { address, versioned }`);
  const { address: addressGiven, versioned } = pointer;
  const address = parseAddress(addressGiven);
  if (typeof versioned !== 'boolean')
    throw typeError(
      `versioned is ${show(versioned)}; it must be true or false: nothing in the memory says which struct it is`,
    );
  writeAddress(address);
  const answer = native.makeCapsule(versioned ? StructKind.Versioned : StructKind.Legacy);
  if (typeof answer === 'number') throw failure(answer, { operation: 'makeCapsule' });
  return makeCapsuleObject(answer);
}

/**
 * A tensor over memory at an address. The caller vouches that all elements lie in memory that stays until `release` is
 * called. It never is unique, so it never passes Door 2. After an error the memory is the caller's and `release` will
 * not be called.
 *
 * ```ts
 * const memory = Tensor.from(new Float32Array([1, 2, 3, 4])); // stands for memory of a C library
 * const tensor = fromPointer({
 *   address: dataAddress(memory),
 *   shape: [2, 2],
 *   dtype: 'float32',
 *   release: () => memory.dispose(), // free() it there
 * });
 * console.log(tensor.at(1, 0), tensor.isUnique); // -> 3 false
 * ```
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`), RangeError (`ERR_OUT_OF_RANGE`) for arguments that cannot be, an address
 *   that is not aligned to the element included
 */
export function fromPointer<D extends DType>(options: PointerOptions<D>): Tensor<D> {
  const operation = 'fromPointer';
  if (!isOptions(options))
    throw typeError(
      `fromPointer was given ${show(options)}; it takes { address, shape, strides, dtype, readOnly, release }`,
    );
  const {
    address: addressGiven,
    shape: shapeGiven,
    strides: stridesGiven,
    dtype: dtypeGiven,
    readOnly: readOnlyGiven,
    release,
  } = options;
  const shape = parseShape(shapeGiven);
  const strides = stridesGiven === undefined ? undefined : parseStrides(stridesGiven, shape.length);
  const dtype = parseDType(dtypeGiven);
  const readOnly = readOnlyGiven === undefined || parseFlag(readOnlyGiven, 'readOnly');
  if (typeof release !== 'function') throw typeError(`release is ${show(release)}; it must be a function`);
  const address = parseAddress(addressGiven);
  writeAddress(address);
  writeInput(shape);
  if (strides !== undefined) writeInput(strides, shape.length);
  const handle = native.fromPointer(shape.length, dtype.packed, strides !== undefined, readOnly, release);
  if (!isHandle(handle)) throw failure(handle, { operation, dtype: dtype.name, shape });
  return makeTensor<D>(handle);
}

/**
 * The address of the first logical element; 0n when there is none. No alias is counted: it is good as long as the
 * tensor is alive and not moved.
 *
 * ```ts
 * const tensor = Tensor.from(new Float32Array([1, 2, 3]));
 * console.log(dataAddress(tensor.slice([1, 3])) - dataAddress(tensor)); // -> 4n
 * ```
 *
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) when it is no tensor; DLPackStateError (`ERR_DLPACK_CONSUMED`,
 *   `ERR_DLPACK_DISPOSED`) on a tombstone; BufferError (`ERR_DLPACK_BUFFER`) for an owner that is lent
 */
export function dataAddress(tensor: Tensor | OwnedTensor): bigint {
  const operation = 'dataAddress';
  const handle =
    tensor instanceof OwnedTensor ? freeHandle(tensor, operation) : surelyLiveHandle(requireTensor(tensor, operation));
  check(native.dataAddress(handle), { operation, tensor });
  return readAddress();
}

/**
 * A writable typed array over a tensor's memory, whatever its flags say. It is the array of `view()`, so it counts as
 * an alias and is detached by `releaseViews()` and `dispose()`. Writing changes what every other holder was promised to
 * be unchanging; on protected pages it ends the process.
 *
 * ```ts
 * const tensor = Tensor.from([1, 2, 3]);
 * unsafeView(tensor)[0] = 10; // everybody who holds this memory sees it
 * console.log(tensor.at(0)); // -> 10
 * ```
 *
 * @param options `{ bits: true }` for the bare bits, of any dtype
 * @throws BufferError (`ERR_DLPACK_BUFFER`) as `view` does, but for flags
 */
export function unsafeView<D extends DType>(
  tensor: Tensor<D>,
  options?: { readonly bits?: false | undefined },
): DataOf<D>;
export function unsafeView<D extends DType>(tensor: Tensor<D>, options: { readonly bits: true }): BitsOf<D>;
export function unsafeView<D extends DType>(
  tensor: Tensor<D>,
  options?: { readonly bits?: boolean | undefined },
): DataOf<D> | BitsOf<D>;
export function unsafeView<D extends DType>(
  tensor: Tensor<D>,
  options?: { readonly bits?: boolean | undefined },
): DataOf<D> | BitsOf<D> {
  const operation = 'unsafeView';
  if (!(tensor instanceof Tensor)) throw typeError(`unsafeView was given ${show(tensor)}; it takes a Tensor`);
  const { bits } = parseViewOptions(options, operation);
  return look(tensor, surelyLiveHandle(tensor), {
    mode: ViewMode.Unsafe,
    bits,
    operation,
    bitsHint: 'unsafeView(tensor, { bits: true })',
  });
}

/**
 * A tensor over the memory of a typed array itself, exported without a copy. The typed array is pinned as long as
 * anything holds the memory, and its buffer can never be transferred again (`postMessage` throws; `buffer.transfer()`
 * must not be used, nor may a WebAssembly memory be grown meanwhile). Its owner's writes are seen by all who were promised read-only memory. Never unique. Main thread
 * only, since only there can the memory be given back whatever happens.
 *
 * ```ts
 * const array = new Float32Array([1, 2, 3, 4]);
 * const tensor = adopt(array, { shape: [2, 2] });
 * array[0] = 10; // no copy was made
 * console.log(tensor.at(0, 0), tensor.readOnly); // -> 10 true
 * ```
 *
 * @param source not over a resizable or growable buffer, aligned to its element
 * @throws TypeError (`ERR_INVALID_ARG_TYPE`) for something else, or a detached one; RangeError (`ERR_OUT_OF_RANGE`) for
 *   a shape that does not fit; BufferError (`ERR_DLPACK_BUFFER`) in a worker
 */
export function adopt<T extends AnyTypedArray>(source: T, options?: AdoptOptions): Tensor<DTypeOfData<T>> {
  const operation = 'adopt';
  if (!isMainThread) throw faultOf(FAULT_CODES.kWrongThread, { operation });
  if (!isTypedArray(source)) throw typeError(`adopt was given ${show(source)}; it takes a typed array`);
  if (options !== undefined && !isOptions(options))
    throw typeError(`adopt was given ${show(options)} as options; it takes an object: { shape, writable }`);
  const { shape: shapeGiven, writable: writableGiven } = options ?? {};
  const writable = parseFlag(writableGiven, 'writable');
  const given = shapeGiven === undefined ? undefined : parseShape(shapeGiven);
  const dtype = dtypeOfTypedArray(source);
  if (dtype === undefined)
    throw typeError(`adopt was given a ${typedArrayName(source)}, a kind of typed array that is not known here`);
  if (isDetached(source))
    throw typeError('adopt was given a typed array whose ArrayBuffer is detached or too short for it now');
  const length = byteLengthOf(source) / dtype.itemsize;
  const shape = given ?? [length];
  if (sizeOf(shape) !== length) {
    throw rangeError(`shape is ${formatShape(shape)}, ${sizeOf(shape)} elements; the typed array has ${length}`);
  }
  writeInput(shape);
  const handle = native.adopt(source, shape.length, dtype.packed, writable);
  if (!isHandle(handle)) throw failure(handle, { operation, dtype: dtype.name, shape });
  const tensor = makeTensor<DTypeOfData<T>>(handle);
  keepInPlace(bufferOf(source));
  return tensor;
}

const VERSIONED: number = StructKind.Versioned;
const LAST_ADDRESS = 2n ** 64n - 1n;

/** @throws TypeError when it is no bigint; RangeError when it is no address */
function parseAddress(value: unknown): bigint {
  if (typeof value !== 'bigint')
    throw typeError(`address is ${show(value)}; it must be a bigint, since a number cannot hold every address`);
  if (value < 0n || value > LAST_ADDRESS)
    throw rangeError(`address is ${value}n; it must be from 0n to ${LAST_ADDRESS}n`);
  return value;
}

function writeAddress(address: bigint): void {
  scratchBits[Slot.Element] = BigInt.asIntN(64, address);
}

function readAddress(): bigint {
  return BigInt.asUintN(64, scratchBits[Slot.Element] ?? 0n);
}

function requireTensor(value: unknown, operation: string): TensorBase {
  if (!isTensorBase(value)) throw typeError(`${operation} was given ${show(value)}; it takes a Tensor or OwnedTensor`);
  return value;
}
