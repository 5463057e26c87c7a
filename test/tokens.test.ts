/** Tokens: memory on its way to another thread. Claimed once, by whoever has the text; counted; swept when forgotten. */
import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { fromDLPack, OwnedTensor, revokeToken, scope, stats, Tensor } from '../dist/index.js';
import { adopt, dataAddress, fromPointer } from '../dist/unsafe.js';
import { movedBytes } from './support/array-buffer-transfer.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import { expectStructsDeletedOnce, matrix } from './support/fixtures.js';
import { Holder, lab, makeStruct, ramp } from './support/lab.js';
import { expectBufferError, expectStateError, leavingNothing, thrownBy } from './support/refusals.js';
import { pause, refusedAsUnknown, sleep, start } from './support/token-tests.js';

expectCountersAtZero();
expectStructsDeletedOnce();

/** Moves the bytes of an owner's data into a buffer that goes with this function. */
function transferOfMovedBytes(): void {
  using owned = OwnedTensor.from(ramp(4));
  const { buffer } = owned.data;
  const moved = movedBytes(buffer);
  leavingNothing(() =>
    expectBufferError(
      () => owned.transfer(),
      /^transfer is refused: the ArrayBuffer of this tensor was transferred elsewhere/,
    ),
  );
  expect([moved.byteLength, owned.consumed, owned.at(3)]).toEqual([16, false, 3]);
}

describe('share and fromShared', () => {
  test('give another tensor over the same memory, layout and dtype kept', () => {
    scope(() => {
      const view = matrix().transpose().slice([null, null, -1]);
      const got = Tensor.fromShared(view.share());
      expect([got.shape, got.strides, got.dtype, got.readOnly]).toEqual([[3, 2], view.strides, 'float32', true]);
      expect(got.toArray()).toEqual(view.toArray());
      expect(dataAddress(got)).toBe(dataAddress(view));
      expect(got.zeroCopy).toBe(false); // the memory was made by the copy of Tensor.from
      expect(stats().blocks).toBe(1);
    });
  });

  test('carry every dtype, 0-d and empty tensors, and layouts of many axes', () => {
    scope(() => {
      const many = Tensor.from(ramp(8), { shape: [1, 2, 1, 2, 1, 2] }).transpose([5, 4, 3, 2, 1, 0]);
      const tensors = [
        Tensor.from(new BigInt64Array([1n, -2n])),
        Tensor.from(new Uint16Array([1, 2]), { dtype: 'bfloat16' }),
        Tensor.from(new Float32Array([5]), { shape: [] }),
        Tensor.from(new Float64Array(0), { shape: [0, 3] }),
        Tensor.from([[true], [false]]),
        many,
        many.broadcastTo([3, 2, 1, 2, 1, 2, 1]),
      ];
      for (const tensor of tensors) {
        const got = Tensor.fromShared(tensor.share());
        expect([got.dtype, got.shape, got.strides]).toEqual([tensor.dtype, tensor.shape, tensor.strides]);
        expect(got.toArray()).toEqual(tensor.toArray());
      }
    });
  });

  test('a token is a string of its own at every call', () => {
    using tensor = matrix();
    const tokens = Array.from({ length: 100 }, () => tensor.share());
    expect(new Set(tokens).size).toBe(100);
    for (const token of tokens) {
      expect(token).toMatch(/^dlpack-[0-9a-f]{32}$/);
      revokeToken(token);
    }
  });

  test('the tensor may be gone before the claim', () => {
    const tensor = matrix();
    const token = tensor.share();
    tensor.dispose();
    expect(stats()).toMatchObject({ tensors: 0, tokens: 1, blocks: 1 });
    using got = Tensor.fromShared(token);
    expect(got.at(1, 2)).toBe(5);
    expect(stats()).toMatchObject({ tensors: 1, tokens: 0, blocks: 1 });
    expect(got.isUnique).toBe(true);
  });

  test('what is claimed is read-only, and writable again once it is alone', () => {
    const tensor = matrix();
    const token = tensor.share();
    tensor.dispose();
    using owned = Tensor.fromShared(token).intoDLPack();
    owned.fill(3);
    expect(owned.at(0, 0)).toBe(3);
  });

  test('a token is good for one claim', () => {
    using tensor = matrix();
    const token = tensor.share();
    Tensor.fromShared(token).dispose();
    refusedAsUnknown(() => Tensor.fromShared(token));
    refusedAsUnknown(() => revokeToken(token));
  });

  test('a token is no tensor: a scope leaves it', () => {
    const token = scope(() => matrix().share());
    expect(stats()).toMatchObject({ tensors: 0, tokens: 1 });
    scope(() => expect(Tensor.fromShared(token).at(0, 1)).toBe(1));
    expect(stats()).toMatchObject({ tensors: 0, tokens: 0, blocks: 0 });
  });

  test('foreign memory is shared with what is known of it, and its deleter runs once, with the last holder', () => {
    for (const spec of [{ flags: 0 }, { flags: 1 }, { flags: 2 }, { versioned: false }]) {
      const struct = makeStruct(spec);
      const tensor = fromDLPack(struct.producer());
      const token = tensor.share();
      tensor.dispose();
      expect(struct.deleterCalls).toBe(0);
      const got = Tensor.fromShared(token);
      expect([got.readOnly, got.isUnique]).toEqual([true, spec.flags === 2]);
      expect(got.toArray()).toEqual([
        [0, 1, 2],
        [3, 4, 5],
      ]);
      if (spec.flags === 2) expect(got.view()[5]).toBe(5);
      else if (spec.flags !== 0) expectBufferError(() => got.view(), /came from outside and was not lent writable/);
      got.dispose();
      expect(struct.deleterCalls).toBe(1);
    }
  });

  test('an opaque tensor can be shared: what arrives can be handed on, and not read', () => {
    const struct = makeStruct({ device: [2, 1] });
    const tensor = fromDLPack(struct.producer());
    using got = Tensor.fromShared(tensor.share());
    tensor.dispose();
    expect([got.device, got.shape]).toEqual([
      [2, 1],
      [2, 3],
    ]);
    expectBufferError(() => got.at(0, 0), /cannot read/);
  });

  test('memory that belongs to JavaScript is refused by name, and nothing has changed', () => {
    using adopted = adopt(new Float32Array(4));
    const address = lab.mapMemory(4096);
    using pointed = fromPointer({
      address,
      shape: [4],
      dtype: 'float32',
      release: () => lab.unmapMemory(address, 4096),
    });
    using slice = adopted.slice([1, 3]);
    leavingNothing(() => {
      expectBufferError(
        () => adopted.share(),
        /^share is refused: the memory belongs to JavaScript \(adopt\), and only native memory can leave a thread/,
      );
      expectBufferError(() => slice.share(), /adopt/);
      expectBufferError(
        () => pointed.share(),
        /^share is refused: the memory belongs to whoever gave its address \(fromPointer\)/,
      );
    });
    using copied = OwnedTensor.fromTransfer(adopted.copy().transfer());
    expect(copied.shape).toEqual([4]);
  });

  test('a consumed or disposed tensor shares nothing', () => {
    const tensor = matrix();
    const owned = tensor.intoDLPack();
    expectStateError(() => tensor.share(), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
    const frozen = owned.freeze();
    frozen.dispose();
    expectStateError(() => frozen.share(), 'ERR_DLPACK_DISPOSED', 'Tensor already disposed');
  });
});

describe('a token that is out', () => {
  test('counts as an alias: the tensor does not move, and says who is in the way', () => {
    using tensor = matrix();
    const tokens = [tensor.share(), tensor.share()];
    expect(tensor.isUnique).toBe(false);
    const error = expectBufferError(() => tensor.intoDLPack(), /^Tensor buffer is shared/);
    expect(error.aliases).toEqual({ tensors: 0, exports: 0, views: 0, tokens: 2 });
    for (const token of tokens) revokeToken(token);
    expect(tensor.isUnique).toBe(true);
    tensor.intoDLPack().dispose();
  });

  test('can be revoked, once; the memory of a transfer goes with it', () => {
    const token = OwnedTensor.allocate([1000], 'float32').transfer();
    expect(stats()).toMatchObject({ tokens: 1, bytes: 4000 });
    revokeToken(token);
    expect(stats()).toMatchObject({ tokens: 0, bytes: 0 });
    refusedAsUnknown(() => revokeToken(token));
    refusedAsUnknown(() => OwnedTensor.fromTransfer(token));
  });

  test('expires: it cannot be claimed after its ttl, and any later call drops the reference', () => {
    using tensor = matrix();
    const token = tensor.share({ ttl: 5 });
    expect(tensor.isUnique).toBe(false);
    sleep(10);
    expect(tensor.isUnique).toBe(true);
    expect(stats().tokens).toBe(0);
    refusedAsUnknown(() => Tensor.fromShared(token));
  });

  test('takes along the memory that only it held when it expires', () => {
    const struct = makeStruct({ flags: 2 });
    fromDLPack(struct.producer(), { copy: true }).transfer({ ttl: 1 });
    sleep(5);
    expect(struct.deleterCalls).toBe(0);
    expect(stats()).toMatchObject({ tokens: 0, blocks: 0 });
    expect(struct.deleterCalls).toBe(1);
  });

  test('does not go before its time, and others stay when one goes', () => {
    using tensor = matrix();
    const brief = tensor.share({ ttl: 20 });
    const lasting = tensor.share({ ttl: 10_000 });
    Tensor.fromShared(tensor.share({ ttl: 1_000 })).dispose();
    expect(stats().tokens).toBe(2);
    sleep(25);
    expect(stats().tokens).toBe(1);
    refusedAsUnknown(() => Tensor.fromShared(brief));
    Tensor.fromShared(lasting).dispose();
  });

  test('that expires in the middle of a call leaves that call its arguments', () => {
    using tensor = matrix();
    tensor.share({ ttl: 1 });
    sleep(3);
    using made = OwnedTensor.allocate([7, 3, 2], 'int16'); // this call sweeps, and finds its shape as it was given
    expect(made.shape).toEqual([7, 3, 2]);
    expect(stats().tokens).toBe(0);
  });
});

describe('transfer and fromTransfer', () => {
  test('move the memory itself: the same address, writable, and the sender is a tombstone', () => {
    const owned = OwnedTensor.from(ramp(6), { shape: [2, 3] });
    const address = dataAddress(owned);
    const { data } = owned;
    const token = owned.transfer();
    expect([owned.consumed, owned.isUnique, data.length, owned.shape]).toEqual([true, false, 0, [2, 3]]);
    expectStateError(() => owned.fill(1), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
    expectStateError(() => owned.transfer(), 'ERR_DLPACK_CONSUMED', 'Tensor already consumed');
    using got = OwnedTensor.fromTransfer(token);
    expect([dataAddress(got), got.isUnique, got.readOnly]).toEqual([address, true, false]);
    if (!got.is('float32')) throw new Error(`got ${got.dtype}`);
    expect([...got.data]).toEqual([0, 1, 2, 3, 4, 5]);
    got.data[0] = 8;
    using frozen = got.freeze();
    expect(frozen.at(0, 0)).toBe(8);
  });

  test('what cannot move now is refused, and nothing has changed', async () => {
    const owned = OwnedTensor.from(ramp(4));
    const { data } = owned;
    await owned.withView(async () => {
      expectBufferError(() => owned.transfer(), /^transfer is refused while withView\(\) uses the memory \(1 open\)/);
      await pause(1);
    });
    owned.lend(() => expectBufferError(() => owned.transfer(), /^transfer is refused while the OwnedTensor is lent/));
    expect([data.length, owned.consumed, stats().tokens]).toEqual([4, false, 0]);
    owned.transfer({ ttl: 1 });
    sleep(3);
  });

  test('an owner whose data was sent elsewhere does not move', async () => {
    transferOfMovedBytes();
    expect(await collectUntil(() => stats().blocks === 0)).toBe(true); // the new buffer is gone
  });
});

describe('a loan that is shared', () => {
  test.each([false, true])('arrives read-only and keeps the owner locked until it ends (writable: %s)', (writable) => {
    const owned = OwnedTensor.from(ramp(4));
    let token = '';
    const ending = expectBufferError(
      () => owned.lend((loan) => void (token = loan.share()), { writable }),
      /^the loan has ended, but its memory is still held \(tensors: 0, exports: 0, views: 0, tokens: 1\)/,
    );
    expect(ending.aliases).toEqual({ tensors: 0, exports: 0, views: 0, tokens: 1 });
    expectBufferError(() => owned.fill(1), /tokens: 1/);
    const got = Tensor.fromShared(token);
    expect(got.readOnly).toBe(true);
    owned.fill(1); // what is claimed in the owner's thread belongs to the loan, and ends with it
    expect([got.disposed, owned.at(0)]).toEqual([true, 1]);
    owned.dispose();
  });

  test('by another thread stays locked while that thread holds it', async () => {
    const owned = OwnedTensor.from(ramp(4));
    let token = '';
    thrownBy(() => owned.lend((loan) => void (token = loan.share())));
    const worker = start({ do: 'hold', token });
    const ended = once(worker, 'exit');
    await once(worker, 'message');
    const error = expectBufferError(() => owned.data, /tensors: 1, exports: 0, views: 0, tokens: 0/);
    expect(error.aliases?.tensors).toBe(1);
    worker.postMessage('let go');
    await ended;
    expect([...owned.data]).toEqual([0, 1, 2, 3]);
    owned.dispose();
  });

  test('unlocks when its token expires or is revoked', () => {
    const owned = OwnedTensor.from(ramp(4));
    thrownBy(() => owned.lend((loan) => void loan.share({ ttl: 5 })));
    sleep(10);
    owned.fill(2);
    let token = '';
    thrownBy(() => owned.lend((loan) => void (token = loan.share())));
    expectBufferError(() => owned.fill(3), /still held/);
    revokeToken(token);
    owned.fill(3);
    expect(owned.at(3)).toBe(3);
    owned.dispose();
  });
});

test('an export of what was claimed is an export like any other', () => {
  using tensor = matrix();
  using got = Tensor.fromShared(tensor.share());
  const holder = new Holder(got.__dlpack__({ max_version: [1, 3] }));
  expect([holder.picture().flags, holder.elements()]).toEqual([1n, [0, 1, 2, 3, 4, 5]]);
  holder.releaseOnThread();
});
