import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { DTYPES } from '../dist/dtype.js';
import {
  FAULT_CODES,
  faultError,
  SHARED_TEXT,
  type FaultContext,
  type FaultName,
  type FaultValues,
} from '../dist/faults.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const aliases = { tensors: 1, exports: 0, views: 2, tokens: 0 };

function fault(name: FaultName, values: Partial<FaultValues> = {}, context: Partial<FaultContext> = {}): Error {
  return faultError(FAULT_CODES[name], { index: 0, value: 0n, limit: 0n, ...values }, { operation: 'op', ...context });
}

const buffer = (message: string): object => ({ name: 'BufferError', code: 'ERR_DLPACK_BUFFER', message });
const range = (message: string): object => ({ name: 'RangeError', code: 'ERR_OUT_OF_RANGE', message });
const type = (message: string): object => ({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE', message });
const memory = (message: string): object => ({ name: 'RangeError', code: 'ERR_DLPACK_MEMORY', message });
const state = (code: string, message: string): object => ({ name: 'DLPackStateError', code, message });

test('every fault of the native list has words here, under the same code, and there are no others', () => {
  const header = readFileSync(path.join(__dirname, '..', 'src-native', 'core', 'fault.h'), 'utf8');
  const native = Object.fromEntries(
    [...header.matchAll(/^ {2}X\((k\w+), (\d+)\)/gm)].map(([, name = '', code]): [string, number] => [
      name,
      Number(code),
    ]),
  );
  expect(Object.keys(native).length).toBeGreaterThan(50);
  expect(FAULT_CODES).toEqual(native);
});

// Every fault but those told apart below: what native found, and the words for it.
const STRUCT: readonly (readonly [FaultName, Partial<FaultValues>, object])[] = [
  ['kManagedNull', {}, buffer('the managed tensor is NULL; there is nothing to import')],
  [
    'kVersionMajor',
    { value: 2n },
    buffer('version.major is 2; only major version 1 can be read. Ask the producer for max_version [1, 3]'),
  ],
  ['kShapeNull', { value: 2n }, buffer('shape is NULL, but ndim is 2; only a 0-d tensor may have no shape')],
  [
    'kDataNull',
    { value: 6n },
    buffer('data is NULL, but shape promises 6 elements; only an empty tensor may have no data'),
  ],
  [
    'kDataNull',
    { value: 1n },
    buffer('data is NULL, but shape promises 1 element; only an empty tensor may have no data'),
  ],
  [
    'kByteOffset',
    { value: -8n },
    buffer('byte_offset is 18446744073709551608; it takes data past the end of the address space'),
  ],
  ['kDeviceType', { value: 99n }, buffer('device.device_type is 99; DLPack 1.3 has no such device')],
  [
    'kSubByteOffset',
    { value: 4n },
    buffer(
      'op would start 4 bits into a byte; a tensor of packed sub-byte elements must start on a whole byte. ' +
        "Convert it with to('float4_e2m1fn_padded') first",
    ),
  ],
  [
    'kReshapeNeedsCopy',
    {},
    buffer('op would have to copy: no strides over this memory give shape. Use contiguous() first'),
  ],
  [
    'kNotContiguous',
    {},
    buffer(
      'op needs a contiguous tensor; use contiguous() or toTypedArray() for a copy, or strided() for the ' +
        'span as it lies',
    ),
  ],
  [
    'kOutOfMemory',
    { value: 1024n },
    memory('no memory for 1024 bytes; dispose() what is no longer needed, or work in parts'),
  ],
  [
    'kTooLarge',
    { value: 5000000000n, limit: 4294967296n },
    buffer('5000000000 bytes do not fit into an ArrayBuffer of this engine (at most 4294967296); slice() first'),
  ],
  [
    'kReadOnly',
    {},
    buffer('op would write to read-only memory; intoDLPack() or copy() gives a tensor that may be written'),
  ],
  [
    'kProtectedMemory',
    {},
    buffer(
      'op is refused: this memory came from outside and was not lent writable, so its pages may be ' +
        'protected, and JavaScript cannot keep a typed array ' +
        'from being written. Use toTypedArray() for a copy, or unsafeView() of node-dlpack/unsafe',
    ),
  ],
  [
    'kOpaqueDevice',
    { index: 1, value: 2n },
    buffer(
      'op needs the bytes, and the host cannot read cuda:1; hand the tensor on with __dlpack__() to a ' +
        'library that can',
    ),
  ],
  ['kInUse', { value: 2n }, buffer('op is refused while withView() uses the memory (2 open); wait until it ends')],
  [
    'kMovedAway',
    {},
    buffer(
      'op is refused: the ArrayBuffer of this tensor was transferred elsewhere, and the memory went with it. ' +
        'dispose() this tensor; to send memory elsewhere, send the token of transfer()',
    ),
  ],
  ['kHandlesExhausted', { limit: 16n }, memory('this thread has 16 tensors, as many as it can have; dispose() some')],
  ['kTargetConsumed', {}, buffer('op was given one tensor both to consume and to write to; copy() it first')],
  [
    'kConversion',
    { index: DTYPES.complex64.packed, value: BigInt(DTYPES.float32.packed) },
    type('there is no conversion from complex64 to float32; only real dtypes convert'),
  ],
  [
    'kConversion',
    { index: 3, value: 77n },
    type('there is no conversion from dtype 3 to dtype 77; only real dtypes convert'),
  ],
  ['kNotACapsule', {}, type('op was given something that is no DLPack capsule; it takes what __dlpack__() returns')],
  ['kCapsuleUsed', { value: 2n }, state('ERR_DLPACK_CONSUMED', 'Capsule already consumed')],
  [
    'kCapsuleAbi',
    { value: 2n, limit: 1n },
    buffer("the capsule's record has version 2; this library knows 1. Update whichever of the two addons is older"),
  ],
  [
    'kCopyRefused',
    { value: 1n },
    buffer('copy: false cannot be kept: its data is not aligned to its element. Leave copy null to let it be copied'),
  ],
  [
    'kCopyRefused',
    { value: 2n },
    buffer(
      'copy: false cannot be kept: the producer did not hand over a copy of its own. Leave copy null to let ' +
        'it be copied',
    ),
  ],
  [
    'kCopyRefused',
    { value: 9n },
    buffer('copy: false cannot be kept: a copy is needed. Leave copy null to let it be copied'),
  ],
  [
    'kDetachedInput',
    {},
    type(
      'op was given a typed array whose ArrayBuffer is detached or too short for it now; ' +
        'make the array anew, over the buffer that has the bytes',
    ),
  ],
  [
    'kResizableInput',
    {},
    type(
      'op was given memory of a resizable or growable buffer, whose address may change; copy it with ' +
        'Tensor.from()',
    ),
  ],
  ['kWrongThread', {}, buffer('op works on the main thread only; use Tensor.from(), which copies, in a worker')],
  ['kArgument', { index: 2 }, type('argument 2 of op is of the wrong kind')],
  ['kNullAddress', {}, range('address is 0n; it must be the address of memory')],
  [
    'kToken',
    {},
    state(
      'ERR_DLPACK_TOKEN',
      'the token is unknown here, was claimed or revoked before, or has expired; a token is good for one claim in ' +
        'this process (node_dlpack.DLPackStateError in Python). Ask for a new one: share() or transfer()',
    ),
  ],
  ['kToken', { value: 1n }, state('ERR_DLPACK_TOKEN', 'the token is one of share(): claim it with Tensor.fromShared')],
  [
    'kToken',
    { value: 2n },
    state('ERR_DLPACK_TOKEN', 'the token is one of transfer(): claim it with OwnedTensor.fromTransfer'),
  ],
  [
    'kBoundToEnvironment',
    { value: 4n },
    buffer(
      'op is refused: the memory belongs to JavaScript (adopt), and only native memory can leave a thread. Use ' +
        'copy().transfer() for a copy of its own',
    ),
  ],
  ['kRandomness', {}, buffer('op failed: the system gives no random bytes for a token; try again')],
  ['kNoThread', {}, buffer('op failed: the system has no thread to spare; end some, or try again')],
  ['kEnvironmentEnding', {}, buffer('op is refused: this thread is ending')],
  [
    'kNodeApi',
    { value: 9n },
    buffer(
      'op failed: Node-API answered status 9. This should not happen: please report it, with ' +
        'what npx node-dlpack info prints',
    ),
  ],
  [
    'kNoExternalBuffers',
    {},
    buffer('op cannot show native memory: this runtime forbids external ArrayBuffers. Use toTypedArray() for a copy'),
  ],
];

test.each(STRUCT)('%s %j', (name, values, error) => {
  expect(fault(name, values)).toMatchObject(error);
});

// The same fault in an argument of the caller's, and in a struct from outside.
const EITHER: readonly (readonly [FaultName, Partial<FaultValues>, string])[] = [
  ['kNdim', { value: 65n, limit: 64n }, 'ndim is 65; it must be 0 to 64'],
  ['kExtentNegative', { index: 1, value: -3n }, 'shape[1] is -3; extents must be >= 0'],
  [
    'kExtentTooLarge',
    { index: 0, value: 2n ** 53n, limit: 2n ** 53n - 1n },
    'shape[0] is 9007199254740992; extents must be <= 9007199254740991',
  ],
  ['kSizeOverflow', { index: 2 }, 'shape is too large: at shape[2] its elements or bytes pass what 64 bits count'],
  [
    'kSpanOverflow',
    { index: 1, value: -(2n ** 63n) },
    'strides[1] is -9223372036854775808; it leads to elements further away than addresses reach',
  ],
  ['kDTypeCode', { value: 3n }, 'dtype.code is 3; there is no dtype here for that type code'],
  ['kDTypeBits', { index: 2, value: 0n }, 'dtype.bits is 0; type code 2 does not come in that width'],
  ['kDTypeLanes', { value: 4n }, 'dtype.lanes is 4; only scalar elements (lanes 1) can be held'],
  [
    'kMisaligned',
    { value: 1n, limit: 4n },
    'data lies 1 byte past a multiple of 4; its elements must be aligned to 4 bytes. Copy it first',
  ],
  ['kOutsideBlock', { value: 40n, limit: 24n }, 'shape, strides and offset reach byte 40; the memory has 24 bytes'],
  ['kAxis', { index: 3, limit: 2n }, 'axis is 3; it must be an axis of a tensor that has 2'],
  ['kIndex', { index: 1, value: 7n, limit: 5n }, 'index[1] is 7; axis 1 has 5 elements'],
  ['kIndexCount', { value: 1n, limit: 2n }, '1 index given; the tensor has 2 axes'],
  ['kReshapeSize', { value: 4n, limit: 6n }, 'shape has 4 elements; the tensor has 6'],
  [
    'kBroadcast',
    { index: 1, value: 3n, limit: 4n },
    'axis 1 has extent 3; it cannot be broadcast to 4, only 1 or 4 can',
  ],
  ['kBroadcast', { index: 0, value: 2n, limit: 1n }, 'axis 0 has extent 2; it cannot be broadcast to 1, only 1 can'],
  ['kNdimLimit', { value: 65n, limit: 64n }, 'shape has 65 axes; a tensor has at most 64'],
];

describe.each(EITHER)('%s %j', (name, values, message) => {
  test('is a RangeError in an argument', () => {
    expect(fault(name, values)).toMatchObject(range(message));
    expect(fault(name, values, { about: 'argument' })).toMatchObject(range(message));
  });

  test('is a BufferError in a struct from outside', () => {
    expect(fault(name, values, { about: 'struct' })).toMatchObject(buffer(message));
  });
});

test('every fault is in one of these tests', () => {
  const told: readonly string[] = [...STRUCT, ...EITHER].map(([name]) => name);
  const apart = ['kStaleHandle', 'kNotUnique', 'kNeverUnique', 'kLent'];
  expect(new Set([...told, ...apart])).toEqual(new Set(Object.keys(FAULT_CODES)));
});

describe('a stale handle', () => {
  test.each([
    ['consumed', 'ERR_DLPACK_CONSUMED', 'Tensor already consumed'],
    ['disposed', 'ERR_DLPACK_DISPOSED', 'Tensor already disposed'],
    [undefined, 'ERR_DLPACK_DISPOSED', 'Tensor already disposed'],
  ] as const)('of a tensor that is %s', (became, code, message) => {
    expect(fault('kStaleHandle', {}, { state: became })).toMatchObject(state(code, message));
  });
});

describe('memory that is not unique', () => {
  test('because others hold it: the text is fixed, and the aliases are told', () => {
    expect(SHARED_TEXT).toBe(
      'Tensor buffer is shared; cannot move out for a writable export. Use __dlpack__({ copy: true }) for a ' +
        'writable copy.',
    );
    expect(fault('kNotUnique', { aliases })).toMatchObject({ ...buffer(SHARED_TEXT), aliases });
    expect('cause' in fault('kNotUnique', { aliases })).toBe(false);
  });

  test.each([
    [1n, 'the memory came in a legacy struct, which cannot say that nobody else holds it'],
    [2n, 'the producer lent it without IS_COPIED, and may still use it'],
    [3n, 'the producer marked it READ_ONLY'],
    [4n, 'the memory belongs to JavaScript (adopt)'],
    [5n, 'the memory belongs to whoever gave its address (fromPointer)'],
    [6n, 'the layout shows one byte under several indices'],
  ])('and never can be, reason %p: the same text, and the reason as its cause', (value, why) => {
    expect(fault('kNeverUnique', { value, aliases })).toMatchObject({ ...buffer(SHARED_TEXT), aliases, cause: why });
  });

  test('and cannot even be copied here', () => {
    expect(fault('kNeverUnique', { value: 7n })).toMatchObject(
      buffer(
        'Tensor buffer is on a device that the host cannot read; cannot move out for a writable export. Hand it on ' +
          'with __dlpack__() to a library that can.',
      ),
    );
  });

  test('for a reason that is not known yet: the fixed text', () => {
    expect(fault('kNeverUnique', { value: 99n })).toMatchObject(buffer(SHARED_TEXT));
  });
});

describe('a loan', () => {
  test('locks its owner', () => {
    expect(fault('kLent', { aliases }, { operation: 'freeze' })).toMatchObject(
      buffer('freeze is refused while the OwnedTensor is lent; wait until lend() has ended'),
    );
  });

  test('that others still hold at its end says who', () => {
    expect(fault('kLent', { aliases }, { loanEnding: true })).toMatchObject({
      ...buffer(
        'the loan has ended, but its memory is still held (tensors: 1, exports: 0, views: 2, tokens: 0); the ' +
          'OwnedTensor stays locked until that ends. ' +
          'Consumers must release what they take within lend()',
      ),
      aliases,
    });
  });
});

describe('what the caller was about makes the text exact', () => {
  test.each([
    [
      'kReshapeNeedsCopy',
      {},
      'reshape would have to copy: no strides over this memory give shape [6, 1]. Use contiguous() first',
    ],
    ['kReshapeSize', { value: 6n, limit: 5n }, 'shape [6, 1] has 6 elements; the tensor has 5'],
    [
      'kSizeOverflow',
      { index: 0 },
      'shape [6, 1] is too large: at shape[0] its elements or bytes pass what 64 bits count',
    ],
    [
      'kOutOfMemory',
      { value: 24n },
      'no memory for 24 bytes (shape [6, 1]); dispose() what is no longer needed, or work in parts',
    ],
    [
      'kSubByteOffset',
      { value: 4n },
      'reshape would start 4 bits into a byte; a tensor of packed float4_e2m1fn elements must start on a ' +
        "whole byte. Convert it with to('float4_e2m1fn_padded') first",
    ],
  ] as const)('%s', (name, values, message) => {
    expect(fault(name, values, { operation: 'reshape', shape: [6, 1], dtype: 'float4_e2m1fn' }).message).toBe(message);
  });
});

test('a code that is not in the list is an error that says so', () => {
  expect(faultError(4711, { index: 0, value: 0n, limit: 0n }, { operation: 'op' })).toMatchObject(
    buffer('op failed: native fault 4711'),
  );
});

test('the stack starts where the fault was read', () => {
  const error = fault('kNodeApi');
  expect(error.stack?.split('\n')[1]).toContain('at fault ');
});
