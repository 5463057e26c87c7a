/**
 * The exchange table: `Tensor.__dlpack_c_exchange_api__`. Whatever can be observed of an exchange through it is that of
 * `__dlpack__({ max_version: [1, 3] })`.
 */
import { describe, expect, test } from '@jest/globals';
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, scope, stats, Tensor } from '../dist/index.js';
import { dataAddress, fromPointer, takePointer } from '../dist/unsafe.js';
import { loadAnotherCopy } from './support/another-copy.js';
import { movedBytes } from './support/array-buffer-transfer.js';
import { native } from '../dist/native.js';
import { collectUntil, expectCountersAtZero } from './support/counters.js';
import { kit } from './support/kit-lab.js';
import { lab, makeStruct, pictureAt } from './support/lab.js';
import { thrownBy } from './support/refusals.js';

expectCountersAtZero();

const table = kit.tableOfClass(Tensor);
const [CONSUMED, DISPOSED, NOT_OURS, LENT, IN_USE, MOVED_AWAY] = [205, 206, 200, 59, 58, 60];

describe('the property', () => {
  test('is one tagged External for both classes, and every tensor leads to it', () => {
    expect(Tensor.__dlpack_c_exchange_api__).toBe(OwnedTensor.__dlpack_c_exchange_api__);
    expect(capsuleName(Tensor.__dlpack_c_exchange_api__)).toBeUndefined();
    using tensor = Tensor.from([1]);
    expect([kit.tableOf(tensor), kit.tableOfClass(OwnedTensor)]).toEqual([table, table]);
    expect(table).not.toBe(0n);
  });

  test('says version 1.3 and has no predecessor', () => {
    expect(kit.tableHeader(table)).toEqual([1, 3, 0n]);
  });

  test('is not believed without its tag', () => {
    const capsule = Tensor.from([1]).__dlpack__();
    for (const external of [
      lab.makeUntaggedExternal(),
      lab.makeWronglyTaggedExternal(),
      capsule,
      {},
      undefined,
      null,
    ]) {
      expect(kit.tableOfClass({ __dlpack_c_exchange_api__: external })).toBe(0n);
    }
    releaseCapsule(capsule);
  });

  test('of a later major version leads to the one that is known, by prev_api', () => {
    expect(kit.tableOfClass({ __dlpack_c_exchange_api__: kit.laterTable(table) })).toBe(table);
    expect(kit.tableOfClass({ __dlpack_c_exchange_api__: kit.laterTable(0n) })).toBe(0n);
  });

  test('none is found where there is none', () => {
    for (const value of [undefined, null, 1, 'x', {}, [], Object.create(null), () => 0])
      expect(kit.tableOf(value)).toBe(0n);
  });
});

/** Everything that can be seen of a managed tensor, but where it lies. */
function seen(address: bigint): object {
  const { major, minor, flags, device, ndim, dtype, shape, strides, byteOffset, data, managerCtx, deleter } = pictureAt(
    address,
    true,
  );
  const pointers = [data, managerCtx, deleter].map((pointer) => pointer === 0n);
  return { major, minor, flags, device, ndim, dtype, shape, strides, byteOffset, pointers };
}

/** The same export by the long way and by the table; each is released. */
function bothWays(make: () => Tensor | OwnedTensor): { long: object; short: object; left: object[] } {
  const states: object[] = [];
  const structs: object[] = [];
  for (const way of ['long', 'short']) {
    const tensor = make();
    const before = stats();
    const address =
      way === 'long' ? takePointer(tensor.__dlpack__({ max_version: [1, 3] })).address : kit.tableTake(table, tensor);
    if (typeof address !== 'bigint') throw new Error(`the table answered ${address}`);
    const during = stats();
    structs.push(seen(address));
    lab.releaseHeld(lab.holdAddress(address, true));
    const after = stats();
    states.push({
      consumed: tensor.consumed,
      disposed: tensor.disposed,
      unique: tensor.isUnique,
      exports: [during.exports - before.exports, after.exports - before.exports],
      tensors: during.tensors - before.tensors,
    });
    tensor.dispose();
  }
  const [long = {}, short = {}] = structs;
  return { long, short, left: states };
}

describe('managed tensor from a value', () => {
  test.each<[string, () => Tensor | OwnedTensor]>([
    ['a read-only tensor', () => Tensor.from(new Float32Array(6), { shape: [2, 3] })],
    ['a slice with steps', () => Tensor.from(new Float32Array(6), { shape: [2, 3] }).slice(null, [2, null, -2])],
    ['a broadcast one', () => Tensor.from(new Int16Array(2)).broadcastTo([3, 2])],
    ['a 0-d one', () => Tensor.from(new Float64Array(1)).reshape([])],
    ['an empty one', () => Tensor.from(new Float64Array(0)).reshape([0, 3])],
    ['64 axes', () => Tensor.from(new Int8Array(1)).reshape(Array(64).fill(1))],
    ['bool', () => Tensor.from([true, false])],
    ['packed fp4', () => OwnedTensor.allocate([4], 'float4_e2m1fn')],
    ['padded fp4', () => OwnedTensor.allocate([4], 'float4_e2m1fn_padded').freeze()],
    ['an OwnedTensor', () => OwnedTensor.allocate([3], 'int32')],
    ['a padded OwnedTensor', () => OwnedTensor.allocate([3], 'float6_e2m3fn_padded')],
    ['a writable loan from outside', () => fromDLPack(makeStruct({ flags: 0 }).capsule())],
    ['a sole copy from outside', () => fromDLPack(makeStruct({ flags: 2 }).capsule())],
    ['legacy memory from outside', () => fromDLPack(makeStruct({ versioned: false }).capsule())],
    ['memory of a device', () => fromDLPack(makeStruct({ device: [2, 1], data: 4096n, byteOffset: 64 }).capsule())],
    ['pinned memory', () => fromDLPack(makeStruct({ device: [3, 0] }).capsule())],
    [
      'pinned memory that passes for the CPU’s',
      () =>
        fromDLPack(
          fromDLPack(makeStruct({ device: [3, 0] }).capsule()).__dlpack__({ max_version: [1, 0], dl_device: [1, 0] }),
        ),
    ],
    [
      'a pointer',
      () => fromPointer({ address: 4096n, shape: [0], dtype: 'int8', readOnly: false, release: () => undefined }),
    ],
  ])('is what __dlpack__ gives for %s', (_, make) => {
    const { long, short, left } = bothWays(make);
    expect(short).toEqual(long);
    expect(left[1]).toEqual(left[0]);
  });

  test('shows the memory itself', () => {
    using tensor = Tensor.from(new Float32Array([1, 2, 3])).slice([1, null]);
    const address = kit.tableTake(table, tensor) as bigint;
    expect(pictureAt(address, true).data).toBe(dataAddress(tensor));
    using back = fromDLPack(kit.make(address));
    expect(back.toArray()).toEqual([2, 3]);
  });

  test('makes a tombstone of an OwnedTensor, in words and by every method', () => {
    const owned = OwnedTensor.allocate([2], 'float32');
    const { data, bits } = owned;
    kit.release(kit.tableTake(table, owned) as bigint);
    expect([owned.consumed, owned.disposed, owned.isUnique, data.length, bits.length]).toEqual([
      true,
      false,
      false,
      0,
      0,
    ]);
    expect([owned.shape, owned.dtype, owned.__dlpack_device__()]).toEqual([[2], 'float32', [1, 0]]);
    for (const use of [
      () => owned.data,
      () => owned.at(0),
      () => owned.fill(1),
      () => owned.freeze(),
      () => owned.__dlpack__(),
      () => owned.lend(() => 0),
    ]) {
      expect(thrownBy(use)).toMatchObject({ code: 'ERR_DLPACK_CONSUMED', message: 'Tensor already consumed' });
    }
    expect(kit.tableTake(table, owned)).toBe(CONSUMED);
    owned.dispose();
    expect(owned.consumed).toBe(true);
  });

  test('within a scope', () => {
    let managed = 0n;
    const before = stats();
    scope(() => {
      managed = kit.tableTake(table, OwnedTensor.allocate([2], 'float32')) as bigint;
    });
    expect(stats()).toMatchObject({ tensors: before.tensors, exports: before.exports + 1 });
    kit.release(managed);
  });

  test('tells tombstones apart', () => {
    const disposed = Tensor.from([1]);
    disposed.dispose();
    const moved = Tensor.from([1]);
    moved.intoDLPack().dispose();
    let lent: Tensor | undefined;
    using owned = OwnedTensor.allocate([1], 'int8');
    owned.lend((loan) => {
      lent = loan;
    });
    for (const [tensor, code] of [
      [disposed, DISPOSED],
      [moved, CONSUMED],
      [lent, DISPOSED],
    ] as const) {
      expect([kit.tableTake(table, tensor), kit.tableBorrow(table, tensor)]).toEqual([code, code]);
    }
  });

  test('refuses an OwnedTensor as __dlpack__ does, which then is as before', async () => {
    const owned = OwnedTensor.allocate([4], 'int8');
    owned.lend(() => expect(kit.tableTake(table, owned)).toBe(LENT));
    owned.withView(() => expect(kit.tableTake(table, owned)).toBe(IN_USE));
    expect(owned.isUnique).toBe(true);
    movedBytes(owned.data.buffer);
    expect(kit.tableTake(table, owned)).toBe(MOVED_AWAY);
    expect(owned.consumed).toBe(false);
    owned.dispose();
    await collectUntil(() => stats().blocks === 0);
  });

  test('of a loan counts as its consumer’s hold', () => {
    using owned = OwnedTensor.allocate([4], 'int8');
    let managed = 0n;
    expect(thrownBy(() => owned.lend((loan) => ((managed = kit.tableTake(table, loan) as bigint), 0)))).toMatchObject({
      aliases: { exports: 1 },
    });
    expect(owned.isUnique).toBe(false);
    kit.release(managed);
    expect(owned.isUnique).toBe(true);
  });
});

describe('what is no tensor of this table', () => {
  test('is NOT_OURS, whatever it is', () => {
    const capsule = Tensor.from([1]).__dlpack__();
    for (const value of [
      undefined,
      null,
      0,
      'x',
      {},
      [],
      () => 0,
      Tensor,
      capsule,
      lab.makeUntaggedExternal(),
      new Proxy({}, {}),
    ]) {
      expect([kit.tableTake(table, value), kit.tableBorrow(table, value)]).toEqual([NOT_OURS, NOT_OURS]);
    }
    releaseCapsule(capsule);
  });

  test('a tensor of another copy of the package is, and the kit asks its own table', () => {
    const copy = loadAnotherCopy();
    const theirs = copy.Tensor.from(new Float32Array([1, 2]));
    const owned = copy.OwnedTensor.allocate([2], 'int8');
    const other = kit.tableOfClass(copy.Tensor);
    expect(other).not.toBe(table);
    expect([kit.tableTake(table, theirs), kit.tableBorrow(table, theirs)]).toEqual([NOT_OURS, NOT_OURS]);
    expect(kit.borrow([theirs, owned], table).map(({ held }) => held)).toEqual([false, false]);
    kit.release(kit.take(theirs, table));
    expect(owned.consumed).toBe(false);
    kit.release(kit.take(owned, table));
    expect(owned.consumed).toBe(true);
    using mine = Tensor.from([1]);
    expect(kit.tableBorrow(other, mine)).toBe(NOT_OURS);
    theirs.dispose();
  });

  test('a forged handle is an error and no crash', () => {
    const { handleSymbol } = native;
    using tensor = Tensor.from([1]);
    const own = Reflect.get(tensor, handleSymbol) as number;
    for (const handle of [0, -1, 1.5, NaN, Infinity, 2 ** 53, own + 1, own + 2 ** 24, own * 3]) {
      expect([DISPOSED, NOT_OURS]).toContain(kit.tableTake(table, { [handleSymbol]: handle }));
    }
    for (const handle of ['1', null, undefined, {}, 1n])
      expect(kit.tableTake(table, { [handleSymbol]: handle })).toBe(NOT_OURS);
    // What carries a live handle is that tensor.
    kit.release(kit.tableTake(table, Object.create(tensor)) as bigint);
    kit.release(kit.tableTake(table, new Proxy(tensor, {})) as bigint);
  });

  test('code that runs in a tensor’s place may throw, or end the tensor', () => {
    const thrown = new Error('mine');
    const throws = new Proxy(
      {},
      {
        get() {
          throw thrown;
        },
      },
    );
    for (const call of [kit.tableTake, kit.tableBorrow]) expect(thrownBy(() => call(table, throws))).toBe(thrown);
    const owned = OwnedTensor.allocate([4], 'int8');
    const ends = new Proxy(owned, {
      get(target, key): unknown {
        const value: unknown = Reflect.get(target, key);
        target.dispose();
        return value;
      },
    });
    expect(kit.tableBorrow(table, ends)).toBe(DISPOSED);
    const frozen = Object.freeze(OwnedTensor.allocate([4], 'int8'));
    kit.release(kit.tableTake(table, frozen) as bigint);
    expect(kit.tableTake(table, frozen)).toBe(DISPOSED); // nobody can tell a frozen object more
  });
});

describe('a description', () => {
  test('counts nothing and changes nothing', () => {
    using owned = OwnedTensor.allocate([2, 3], 'float64');
    const before = stats();
    expect(kit.tableBorrow(table, owned)).toEqual({
      data: dataAddress(owned),
      byteOffset: 0,
      flags: 0,
      shape: [2, 3],
      strides: [3, 1],
      dtype: [2, 64, 1],
      device: [1, 0],
      held: false,
    });
    expect(stats()).toEqual(before);
  });

  test('has the flags and fields that an export has, but an owner’s: it may be written, and is not given away', () => {
    using padded = OwnedTensor.allocate([2], 'float4_e2m1fn_padded');
    expect(kit.tableBorrow(table, padded)).toMatchObject({ flags: 4, dtype: [17, 4, 1] });
    using loan = fromDLPack(makeStruct({ flags: 0 }).capsule());
    expect(kit.tableBorrow(table, loan)).toMatchObject({ flags: 0 });
    using empty = Tensor.from(new Int8Array(0));
    expect(kit.tableBorrow(table, empty)).toMatchObject({ data: 0n, shape: [0], strides: [1], flags: 1 });
    using scalar = Tensor.from(new Int8Array(1)).reshape([]);
    expect(kit.tableBorrow(table, scalar)).toMatchObject({ shape: null, strides: null });
    using opaque = fromDLPack(makeStruct({ device: [8, 2], data: 77n, byteOffset: 5, flags: 0 }).capsule());
    expect(kit.tableBorrow(table, opaque)).toMatchObject({ data: 77n, byteOffset: 5, device: [8, 2], flags: 0 });
  });

  test('an open window does not stand in its way', () => {
    using owned = OwnedTensor.allocate([2], 'int8');
    owned.withView((bytes) => {
      kit.borrow([owned], table, 5);
      expect([...bytes]).toEqual([5, 5]);
    });
  });
});
