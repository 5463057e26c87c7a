/**
 * The C functions of node_dlpack_tokens.h, called by a library that knows the addon's binary by its path alone: tensors
 * pass between JavaScript and it, both ways, and every deleter runs once.
 */
import { describe, expect, test } from '@jest/globals';
import path = require('node:path');
import { fromDLPack, OwnedTensor, revokeToken, scope, stats, Tensor } from '../dist/index.js';
import { native } from '../dist/native.js';
import { adopt, dataAddress, takePointer } from '../dist/unsafe.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import { expectStructsDeletedOnce } from './support/fixtures.js';
import { elements, IS_COPIED, lab, makeStruct, pictureAt, ramp, READ_ONLY, type LabStruct } from './support/lab.js';
import { expectBufferError, expectStateError, leavingNothing } from './support/refusals.js';
import { sleep } from './support/token-tests.js';

expectCountersAtZero();
expectStructsDeletedOnce();

const SHARED = 1;
const TRANSFER = 2;
const LEGACY = 1;
const VERSIONED = 2;
const READ_ONLY_CODE = 55;
const TOKEN_CODE = 89;

lab.openTokens(native.addonPath);

/** A struct that the native library has claimed. */
function claimed(answer: bigint | number): { address: bigint; id: number } {
  if (typeof answer === 'number') throw new Error(`${answer}: ${lab.tokenError(answer)}`);
  return { address: answer, id: lab.holdAddress(answer, true) };
}

function offered(struct: LabStruct, kind: number, ttl = 0): string {
  struct.handedOut = true;
  const answer = lab.offerToken(struct.address, struct.versioned, kind, ttl);
  if (typeof answer === 'number') throw new Error(`${answer}: ${lab.lastTokenError()}`);
  return answer;
}

test('the path of the binary is an absolute path to a file that is loaded, and has the functions', () => {
  expect(path.isAbsolute(native.addonPath)).toBe(true);
  expect(path.basename(native.addonPath)).toBe('node_dlpack.node');
  expect(lab.openTokens(native.addonPath)).toBe(1);
});

describe('a native library claims', () => {
  test('a shared tensor: read-only, the same memory, layout and dtype kept', () => {
    const tensor = Tensor.from(ramp(6), { shape: [2, 3] });
    const view = tensor.transpose();
    const token = view.share();
    const { address, id } = claimed(lab.claimToken(token));
    const picture = pictureAt(address, true);
    expect([picture.flags, picture.shape, picture.strides, picture.dtype, picture.device]).toEqual([
      READ_ONLY,
      [3, 2],
      [1, 3],
      [2, 32, 1],
      [1, 0],
    ]);
    expect(picture.data).toBe(dataAddress(tensor));
    expect(stats()).toMatchObject({ tokens: 0, exports: 1 });
    view.dispose();
    tensor.dispose();
    expect(elements(picture)).toEqual([0, 3, 1, 4, 2, 5]);
    lab.releaseHeldOnThread(id);
    expect(stats()).toMatchObject({ exports: 0, blocks: 0 });
    expectStateError(() => Tensor.fromShared(token), 'ERR_DLPACK_TOKEN', /./);
    expect(lab.claimToken(token)).toBe(TOKEN_CODE);
  });

  test('a transferred one: IS_COPIED, its own to write, in either struct', () => {
    const { address, id } = claimed(lab.claimToken(OwnedTensor.from(ramp(4)).transfer()));
    expect([pictureAt(address, true).flags, elements(pictureAt(address, true))]).toEqual([IS_COPIED, [0, 1, 2, 3]]);
    lab.releaseHeld(id);
    const legacy = lab.claimToken(OwnedTensor.from(ramp(4)).transfer(), true);
    if (typeof legacy === 'number') throw new Error(lab.tokenError(legacy));
    expect(elements(pictureAt(legacy, false))).toEqual([0, 1, 2, 3]);
    lab.releaseHeldOnThread(lab.holdAddress(legacy, false));
  });

  test('on a thread that knows no JavaScript', () => {
    using tensor = Tensor.from(ramp(3));
    const { address, id } = claimed(lab.claimTokenOnThread(tensor.share()));
    expect(elements(pictureAt(address, true))).toEqual([0, 1, 2]);
    lab.releaseHeldOnThread(id);
    expect(tensor.isUnique).toBe(true);
  });

  test('as one of many that try at once', () => {
    for (let round = 0; round < 20; round += 1) {
      const token = OwnedTensor.allocate([8], 'float32').transfer();
      const got = lab.raceForToken(token, 4);
      expect(got).toHaveLength(1);
      for (const address of got) lab.releaseHeld(lab.holdAddress(address, true));
    }
  });

  test('nothing that a legacy struct cannot say: the token stays', () => {
    using tensor = Tensor.from(ramp(3));
    const token = tensor.share();
    expect(lab.claimToken(token, true)).toBe(READ_ONLY_CODE);
    expect(lab.lastTokenError()).toMatch(
      /^ERR_DLPACK_BUFFER: the memory is read-only, which a legacy struct cannot say/,
    );
    Tensor.fromShared(token).dispose();
  });

  test('a loan: READ_ONLY, and the owner is locked until the deleter runs', () => {
    const owned = OwnedTensor.from(ramp(4));
    let id = 0;
    const error = expectBufferError(
      () =>
        owned.lend(
          (loan) => {
            const held = claimed(lab.claimToken(loan.share()));
            expect(pictureAt(held.address, true).flags).toBe(READ_ONLY);
            id = held.id;
          },
          { writable: true },
        ),
      /exports: 1/,
    );
    expect(error.aliases).toEqual({ tensors: 0, exports: 1, views: 0, tokens: 0 });
    lab.releaseHeldOnThread(id);
    owned.fill(1);
    owned.dispose();
  });
});

describe('a native library offers', () => {
  test.each([
    ['READ_ONLY', { flags: READ_ONLY }, true, false],
    ['no flag: a writable loan', { flags: 0 }, false, false],
    ['IS_COPIED: alone, so it may move', { flags: IS_COPIED }, true, true],
    ['a legacy struct', { versioned: false }, true, false],
  ])('a tensor that arrives as fromDLPack would make it: %s', (_what, spec, readOnly, isUnique) => {
    const struct = makeStruct(spec);
    const tensor = Tensor.fromShared(offered(struct, SHARED));
    expect([tensor.readOnly, tensor.isUnique, tensor.zeroCopy, dataAddress(tensor)]).toEqual([
      readOnly,
      isUnique,
      true,
      struct.data,
    ]);
    expect(tensor.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    if (isUnique) tensor.intoDLPack().dispose();
    else tensor.dispose();
    expect(struct.deleterCalls).toBe(1);
  });

  test('a sole copy for good: an OwnedTensor over the same memory', () => {
    const struct = makeStruct({ flags: IS_COPIED });
    const owned = OwnedTensor.fromTransfer(offered(struct, TRANSFER));
    expect([dataAddress(owned), owned.isUnique]).toEqual([struct.data, true]);
    owned.fill(2);
    owned.dispose();
    expect(struct.deleterCalls).toBe(1);
  });

  test('memory that the claiming thread reports to its engine', async () => {
    const megabytes = 16;
    const bytes = megabytes * 2 ** 20;
    const before = process.memoryUsage().external;
    const struct = makeStruct({ flags: IS_COPIED, shape: [bytes], dtype: [1, 8], bytes: new Uint8Array(bytes) });
    const owned = OwnedTensor.fromTransfer(offered(struct, TRANSFER));
    OwnedTensor.allocate([1], 'int8').dispose(); // a later call brings the report up to date
    expect(process.memoryUsage().external - before).toBeGreaterThan(bytes / 2);
    owned.dispose();
    await collectUntil(() => stats().blocks === 0);
    struct.forget();
  });

  test('data that is not aligned: a copy, and the deleter has run', () => {
    const struct = makeStruct({ flags: 0, misalign: 1 });
    using tensor = Tensor.fromShared(offered(struct, SHARED));
    expect([tensor.zeroCopy, tensor.at(1, 2), struct.deleterCalls]).toEqual([false, 5, 1]);
  });

  test('elements by a name that their producer does not know', () => {
    const struct = makeStruct({ dtype: [1, 16], shape: [2], bytes: new Uint8Array([0x80, 0x3f, 0x00, 0x40]) });
    struct.handedOut = true;
    const token = lab.offerToken(struct.address, true, SHARED, 0, [4, 16, 1]);
    using tensor = Tensor.fromShared(String(token));
    expect([tensor.dtype, tensor.toArray()]).toEqual(['bfloat16', [1, 2]]);
  });

  test('what nobody claims: revoked or expired, the deleter runs once', () => {
    const revoked = makeStruct();
    const token = offered(revoked, SHARED);
    expect(stats()).toMatchObject({ tokens: 1, blocks: 1 });
    revokeToken(token);
    expect(revoked.deleterCalls).toBe(1);
    const expired = makeStruct();
    offered(expired, SHARED, 1);
    sleep(5);
    expect(stats()).toMatchObject({ tokens: 0, blocks: 0 });
    expect(expired.deleterCalls).toBe(1);
    expect(lab.revokeNatively(token)).toBe(TOKEN_CODE);
  });

  test.each([
    [
      'a negative extent',
      { shape: [2, -3], strides: [1, 1] },
      5,
      /^ERR_DLPACK_BUFFER: an extent of shape is negative \(shape\[1\] is -3\)$/,
    ],
    ['an unknown device', { device: [99, 0] as const }, 11, /\(device_type is 99\)$/],
    ['an unknown type', { dtype: [200, 32] }, 12, /\(code is 200\)$/],
    ['data NULL', { data: null }, 9, /data is NULL/],
  ])('a struct with a fault is refused where it is offered: %s', (_what, spec, code, words) => {
    for (const versioned of [true, false]) {
      const struct = makeStruct({ readOnlyStruct: true, ...spec, versioned });
      struct.handedOut = true;
      leavingNothing(() => expect(lab.offerToken(struct.address, versioned, SHARED, 0)).toBe(code));
      expect(lab.lastTokenError()).toMatch(words);
      expect([struct.deleterCalls, struct.unchanged]).toEqual([1, true]);
      struct.forget();
    }
  });

  test('another major version: only what leads to the deleter is read', () => {
    const struct = makeStruct({ major: 2, onlyLeadReadable: true });
    struct.handedOut = true;
    expect(lab.offerToken(struct.address, true, SHARED, 0)).toBe(2);
    expect(struct.deleterCalls).toBe(1);
  });
});

describe('a struct of ours in native hands', () => {
  test('that is offered again is the same memory, not a chain of structs', () => {
    using tensor = Tensor.from(ramp(3));
    const { address, versioned } = takePointer(tensor.__dlpack__({ max_version: [1, 3] }));
    const token = lab.offerToken(address, versioned, SHARED, 0);
    expect(stats()).toMatchObject({ exports: 0, tokens: 1, blocks: 1 });
    using got = Tensor.fromShared(String(token));
    expect([dataAddress(got), got.readOnly, stats().blocks]).toEqual([dataAddress(tensor), true, 1]);
  });

  test('does not carry memory of JavaScript out of its thread', async () => {
    const adopted = adopt(new Float32Array(4));
    const { address } = takePointer(adopted.__dlpack__({ max_version: [1, 3] }));
    expect(lab.offerToken(address, true, SHARED, 0)).toBe(90);
    expect(lab.lastTokenError()).toMatch(/belongs to JavaScript/);
    expect(stats()).toMatchObject({ exports: 0, tokens: 0 });
    adopted.dispose();
    await collectUntil(() => stats().blocks === 0);
  });

  test('can be exported again, and fromDLPack takes what comes', () => {
    using tensor = Tensor.from(ramp(6), { shape: [2, 3] });
    const { address, id } = claimed(lab.claimToken(tensor.share()));
    const again = claimed(lab.exportHeld(address, VERSIONED, -1));
    scope(() => {
      const same = fromDLPack(lab.capsuleOfHeld(again.id));
      expect([same.readOnly, dataAddress(same), stats().blocks]).toEqual([true, dataAddress(tensor), 1]);
      const copied = claimed(lab.exportHeld(address, VERSIONED, 1));
      expect(pictureAt(copied.address, true).flags).toBe(IS_COPIED);
      const own = fromDLPack(lab.capsuleOfHeld(copied.id), { copy: true });
      expect([own.zeroCopy, own.isUnique, own.at(1, 2), stats().blocks]).toEqual([false, true, 5, 2]);
      expect(lab.exportHeld(address, LEGACY, 0)).toBe(READ_ONLY_CODE);
    });
    lab.releaseHeld(id);
  });
});
