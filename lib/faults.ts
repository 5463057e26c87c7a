/**
 * The words for what native found wrong. Native answers with a code and up to three numbers; here they become an error
 * that names the field, the value and the way out. The names and codes are those of src-native/core/fault.h, which a
 * test holds against this list.
 */
import { formatDevice } from './device';
import { dtypeFromPacked, type DType } from './dtype';
import {
  bufferError,
  consumedError,
  disposedError,
  memoryError,
  rangeError,
  tokenError,
  typeError,
  type AliasCounts,
} from './errors';
import { formatShape } from './shape';

/** The numbers that travel with a code, as read from the scratch memory. */
export interface FaultValues {
  readonly index: number;
  readonly value: bigint;
  readonly limit: bigint;
  /** Needed for kNotUnique, kNeverUnique and kLent only. */
  readonly aliases?: AliasCounts | undefined;
}

/** What was going on. */
export interface FaultContext {
  /** The public function, as a text shall name it: `fromDLPack`, `intoDLPack`, `slice`. */
  readonly operation: string;
  /**
   * Whose numbers are wrong: the caller's arguments (RangeError, the default) or a struct's from outside (BufferError).
   */
  readonly about?: 'argument' | 'struct' | undefined;
  /** What became of the tensor whose handle is stale; disposed by default. */
  readonly state?: 'consumed' | 'disposed' | undefined;
  /** Of the tensor at hand. */
  readonly dtype?: DType | undefined;
  /** The one that was asked for. */
  readonly shape?: readonly number[] | undefined;
  /** kLent: the loan's function has returned, and others still hold the memory. */
  readonly loanEnding?: boolean | undefined;
}

type Word = (values: FaultValues, context: FaultContext) => Error;

/** The caller's number is a RangeError, a foreign struct's a BufferError. */
function bad(context: FaultContext, message: string): Error {
  return context.about === 'struct' ? bufferError(message) : rangeError(message);
}

function plural(count: bigint | number, one: string): string {
  return `${count} ${one}${Number(count) === 1 ? '' : 's'}`;
}

function showDType(packed: number | bigint): string {
  return dtypeFromPacked(Number(packed))?.name ?? `dtype ${packed}`;
}

function theShape({ shape }: FaultContext): string {
  return shape === undefined ? 'shape' : `shape ${formatShape(shape)}`;
}

function showAliases(aliases: AliasCounts | undefined): string {
  if (aliases === undefined) return 'others';
  const { tensors, exports, views, tokens } = aliases;
  return `tensors: ${tensors}, exports: ${exports}, views: ${views}, tokens: ${tokens}`;
}

/** The text of Door 2 for memory that somebody else holds. Public: tests of programs may rely on it. */
export const SHARED_TEXT =
  'Tensor buffer is shared; cannot move out for a writable export. Use __dlpack__({ copy: true }) for a writable copy.';

/** By NeverUniqueReason: the `cause` of the error, whose text is fixed. */
const NEVER_UNIQUE: Readonly<Record<string, string>> = {
  1: 'the memory came in a legacy struct, which cannot say that nobody else holds it',
  2: 'the producer lent it without IS_COPIED, and may still use it',
  3: 'the producer marked it READ_ONLY',
  4: 'the memory belongs to JavaScript (adopt)',
  5: 'the memory belongs to whoever gave its address (fromPointer)',
  6: 'the layout shows one byte under several indices',
};
const NEVER_UNIQUE_OPAQUE = 7;

/** By TokenKind: what was asked for is the other. */
const TOKEN_OF: Readonly<Record<string, string>> = {
  1: 'the token is one of share(): claim it with Tensor.fromShared',
  2: 'the token is one of transfer(): claim it with OwnedTensor.fromTransfer',
};
const UNKNOWN_TOKEN =
  'the token is unknown here, was claimed or revoked before, or has expired; a token is good for one claim in this ' +
  'process (node_dlpack.DLPackStateError in Python). Ask for a new one: share() or transfer()';

/** By CopyReason. */
const COPY_REASON: Readonly<Record<string, string>> = {
  1: 'its data is not aligned to its element',
  2: 'the producer did not hand over a copy of its own',
};

const WORDS = {
  kManagedNull: [1, () => bufferError('the managed tensor is NULL; there is nothing to import')],
  kVersionMajor: [
    2,
    ({ value }) =>
      bufferError(
        `version.major is ${value}; only major version 1 can be read. Ask the producer for max_version [1, 3]`,
      ),
  ],
  kNdim: [3, ({ value, limit }, c) => bad(c, `ndim is ${value}; it must be 0 to ${limit}`)],
  kShapeNull: [
    4,
    ({ value }) => bufferError(`shape is NULL, but ndim is ${value}; only a 0-d tensor may have no shape`),
  ],
  kExtentNegative: [5, ({ index, value }, c) => bad(c, `shape[${index}] is ${value}; extents must be >= 0`)],
  kExtentTooLarge: [
    6,
    ({ index, value, limit }, c) => bad(c, `shape[${index}] is ${value}; extents must be <= ${limit}`),
  ],
  kSizeOverflow: [
    7,
    ({ index }, c) =>
      bad(c, `${theShape(c)} is too large: at shape[${index}] its elements or bytes pass what 64 bits count`),
  ],
  kSpanOverflow: [
    8,
    ({ index, value }, c) =>
      bad(c, `strides[${index}] is ${value}; it leads to elements further away than addresses reach`),
  ],
  kDataNull: [
    9,
    ({ value }) =>
      bufferError(
        `data is NULL, but shape promises ${plural(value, 'element')}; only an empty tensor may have no data`,
      ),
  ],
  kByteOffset: [
    10,
    ({ value }) =>
      bufferError(`byte_offset is ${BigInt.asUintN(64, value)}; it takes data past the end of the address space`),
  ],
  kDeviceType: [11, ({ value }) => bufferError(`device.device_type is ${value}; DLPack 1.3 has no such device`)],
  kDTypeCode: [12, ({ value }, c) => bad(c, `dtype.code is ${value}; there is no dtype here for that type code`)],
  kDTypeBits: [
    13,
    ({ index, value }, c) => bad(c, `dtype.bits is ${value}; type code ${index} does not come in that width`),
  ],
  kDTypeLanes: [14, ({ value }, c) => bad(c, `dtype.lanes is ${value}; only scalar elements (lanes 1) can be held`)],
  kMisaligned: [
    15,
    ({ value, limit }, c) =>
      bad(
        c,
        `data lies ${plural(value, 'byte')} past a multiple of ${limit}; its elements must be aligned to ` +
          `${limit} bytes. Copy it first`,
      ),
  ],
  kOutsideBlock: [
    16,
    ({ value, limit }, c) =>
      bad(c, `shape, strides and offset reach byte ${value}; the memory has ${plural(limit, 'byte')}`),
  ],
  kSubByteOffset: [
    17,
    ({ value }, { operation, dtype }) =>
      bufferError(
        `${operation} would start ${plural(value, 'bit')} into a byte; a tensor of packed ${dtype ?? 'sub-byte'} ` +
          `elements must start on a whole byte. Convert it with to('${dtype ?? 'float4_e2m1fn'}_padded') first`,
      ),
  ],

  kAxis: [30, ({ index, limit }, c) => bad(c, `axis is ${index}; it must be an axis of a tensor that has ${limit}`)],
  kIndex: [
    31,
    ({ index, value, limit }, c) =>
      bad(c, `index[${index}] is ${value}; axis ${index} has ${plural(limit, 'element')}`),
  ],
  kIndexCount: [
    32,
    ({ value, limit }, c) =>
      bad(c, `${value} ${value === 1n ? 'index' : 'indices'} given; the tensor has ${limit} axes`),
  ],
  kReshapeSize: [
    33,
    ({ value, limit }, c) => bad(c, `${theShape(c)} has ${plural(value, 'element')}; the tensor has ${limit}`),
  ],
  kReshapeNeedsCopy: [
    34,
    (_, c) =>
      bufferError(
        `${c.operation} would have to copy: no strides over this memory give ${theShape(c)}. Use contiguous() first`,
      ),
  ],
  kBroadcast: [
    35,
    ({ index, value, limit }, c) =>
      bad(
        c,
        `axis ${index} has extent ${value}; it cannot be broadcast to ${limit}, only ` +
          `${limit === 1n ? '1' : `1 or ${limit}`} can`,
      ),
  ],
  kNotContiguous: [
    36,
    (_, c) =>
      bufferError(
        `${c.operation} needs a contiguous tensor; use contiguous() or toTypedArray() for a copy, or ` +
          'strided() for the span as it lies',
      ),
  ],
  kNdimLimit: [37, ({ value, limit }, c) => bad(c, `shape has ${value} axes; a tensor has at most ${limit}`)],

  kOutOfMemory: [
    50,
    ({ value }, c) =>
      memoryError(
        `no memory for ${plural(value, 'byte')}${c.shape === undefined ? '' : ` (${theShape(c)})`}; dispose() what is ` +
          'no longer needed, or work in parts',
      ),
  ],
  kTooLarge: [
    51,
    ({ value, limit }) =>
      bufferError(
        `${plural(value, 'byte')} do not fit into an ArrayBuffer of this engine (at most ${limit}); slice() first`,
      ),
  ],
  kStaleHandle: [52, (_, c) => (c.state === 'consumed' ? consumedError() : disposedError())],
  kNotUnique: [53, ({ aliases }) => bufferError(SHARED_TEXT, aliases)],
  kNeverUnique: [54, ({ value, aliases }) => neverUnique(value, aliases)],
  kReadOnly: [
    55,
    (_, c) =>
      bufferError(
        `${c.operation} would write to read-only memory; intoDLPack() or copy() gives a tensor that may be written`,
      ),
  ],
  kProtectedMemory: [
    56,
    (_, c) =>
      bufferError(
        `${c.operation} is refused: this memory came from outside and was not lent writable, so its pages may ` +
          'be protected, and JavaScript cannot keep a typed array from being written. Use toTypedArray() for a ' +
          'copy, or unsafeView() of node-dlpack/unsafe',
      ),
  ],
  kOpaqueDevice: [
    57,
    ({ index, value }, c) =>
      bufferError(
        `${c.operation} needs the bytes, and the host cannot read ${formatDevice([Number(value), index])}; ` +
          'hand the tensor on with __dlpack__() to a library that can',
      ),
  ],
  kInUse: [
    58,
    ({ value }, c) =>
      bufferError(`${c.operation} is refused while withView() uses the memory (${value} open); wait until it ends`),
  ],
  kLent: [59, ({ aliases }, c) => lent(aliases, c)],
  kMovedAway: [
    60,
    (_, c) =>
      bufferError(
        `${c.operation} is refused: the ArrayBuffer of this tensor was transferred elsewhere, and the memory ` +
          'went with it. dispose() this tensor; to send memory elsewhere, send the token of transfer()',
      ),
  ],
  kHandlesExhausted: [
    61,
    ({ limit }) => memoryError(`this thread has ${limit} tensors, as many as it can have; dispose() some`),
  ],
  kTargetConsumed: [
    62,
    (_, c) => bufferError(`${c.operation} was given one tensor both to consume and to write to; copy() it first`),
  ],
  kConversion: [
    63,
    ({ index, value }) =>
      typeError(`there is no conversion from ${showDType(index)} to ${showDType(value)}; only real dtypes convert`),
  ],

  kNotACapsule: [
    80,
    (_, c) =>
      typeError(`${c.operation} was given something that is no DLPack capsule; it takes what __dlpack__() returns`),
  ],
  kCapsuleUsed: [81, () => consumedError('Capsule')],
  kCapsuleAbi: [
    82,
    ({ value, limit }) =>
      bufferError(
        `the capsule's record has version ${value}; this library knows ${limit}. Update whichever of the two ` +
          'addons is older',
      ),
  ],
  kCopyRefused: [
    83,
    ({ value }) =>
      bufferError(
        `copy: false cannot be kept: ${COPY_REASON[String(value)] ?? 'a copy is needed'}. Leave copy null to ` +
          'let it be copied',
      ),
  ],
  kDetachedInput: [
    84,
    (_, c) =>
      typeError(
        `${c.operation} was given a typed array whose ArrayBuffer is detached or too short for it now; make the array ` +
          'anew, over the buffer that has the bytes',
      ),
  ],
  kResizableInput: [
    85,
    (_, c) =>
      typeError(
        `${c.operation} was given memory of a resizable or growable buffer, whose address may change; copy it ` +
          'with Tensor.from()',
      ),
  ],
  kWrongThread: [
    86,
    (_, c) => bufferError(`${c.operation} works on the main thread only; use Tensor.from(), which copies, in a worker`),
  ],
  kArgument: [
    87,
    ({ index }, c) =>
      typeError(
        index === 0
          ? `${c.operation} was called on the wrong kind of tensor: methods of Tensor work on a Tensor, those of ` +
              'OwnedTensor on an OwnedTensor'
          : `argument ${index} of ${c.operation} is of the wrong kind`,
      ),
  ],
  kNullAddress: [88, () => rangeError('address is 0n; it must be the address of memory')],
  kToken: [89, ({ value }) => tokenError(TOKEN_OF[String(value)] ?? UNKNOWN_TOKEN)],
  kBoundToEnvironment: [
    90,
    ({ value }, c) =>
      bufferError(
        `${c.operation} is refused: ${NEVER_UNIQUE[String(value)] ?? 'the memory belongs to this thread'}, and only ` +
          'native memory can leave a thread. Use copy().transfer() for a copy of its own',
      ),
  ],

  kEnvironmentEnding: [100, (_, c) => bufferError(`${c.operation} is refused: this thread is ending`)],
  kNodeApi: [
    101,
    ({ value }, c) =>
      bufferError(
        `${c.operation} failed: Node-API answered status ${value}. This should not happen: please report it, with what ` +
          'npx node-dlpack info prints',
      ),
  ],
  kNoExternalBuffers: [
    102,
    (_, c) =>
      bufferError(
        `${c.operation} cannot show native memory: this runtime forbids external ArrayBuffers. Use ` +
          'toTypedArray() for a copy',
      ),
  ],
  kRandomness: [
    103,
    (_, c) => bufferError(`${c.operation} failed: the system gives no random bytes for a token; try again`),
  ],
  kNoThread: [
    104,
    (_, c) => bufferError(`${c.operation} failed: the system has no thread to spare; end some, or try again`),
  ],
} as const satisfies Readonly<Record<string, readonly [code: number, word: Word]>>;

/** The name of a fault, as in src-native/core/fault.h. */
export type FaultName = keyof typeof WORDS;

const ENTRIES: readonly (readonly [name: string, entry: readonly [code: number, word: Word]])[] = Object.entries(WORDS);
const WORD_OF: ReadonlyMap<number, Word> = new Map(ENTRIES.map(([, [code, word]]) => [code, word]));

/** Codes by name: for comparing with native's own list, and for errors that JavaScript finds out by itself. */
export const FAULT_CODES: { readonly [Name in FaultName]: number } = Object.freeze(
  // What fromEntries makes has the keys it was given, which its type does not say.
  Object.fromEntries(ENTRIES.map(([name, [code]]) => [name, code])) as { [Name in FaultName]: number },
);

/**
 * The error for a fault.
 * @param code as in `FAULT_CODES`, positive
 * @returns the error, to be thrown by the caller; a code that is not in the list becomes a BufferError that says so
 */
export function faultError(code: number, values: FaultValues, context: FaultContext): Error {
  const word = WORD_OF.get(code);
  const error =
    word === undefined ? bufferError(`${context.operation} failed: native fault ${code}`) : word(values, context);
  Error.captureStackTrace(error, faultError);
  return error;
}

function neverUnique(reason: bigint, aliases: AliasCounts | undefined): Error {
  if (Number(reason) === NEVER_UNIQUE_OPAQUE) {
    return bufferError(
      'Tensor buffer is on a device that the host cannot read; cannot move out for a writable export. Hand it on with ' +
        '__dlpack__() to a library that can.',
      aliases,
    );
  }
  return bufferError(SHARED_TEXT, aliases, NEVER_UNIQUE[String(reason)]);
}

function lent(aliases: AliasCounts | undefined, context: FaultContext): Error {
  if (context.loanEnding === true) {
    return bufferError(
      `the loan has ended, but its memory is still held (${showAliases(aliases)}); the OwnedTensor stays ` +
        'locked until that ends. Consumers must release what they take within lend()',
      aliases,
    );
  }
  return bufferError(
    `${context.operation} is refused while the OwnedTensor is lent; wait until lend() has ended`,
    aliases,
  );
}
