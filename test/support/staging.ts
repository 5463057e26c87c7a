/**
 * What the library does where external ArrayBuffers are forbidden, run by a process of its own, since the switch is
 * read once when the library is loaded. Each scenario asserts and throws; the process prints the names of those that
 * held.
 */
import assert = require('node:assert/strict');
import { subscribe } from 'node:diagnostics_channel';
import { fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../../dist/index.js';
import { unsafeView } from '../../dist/unsafe.js';

const refused =
  (code: string, text: RegExp) =>
  (error: unknown): boolean => {
    assert.equal(Reflect.get(Object(error), 'code'), code);
    assert.match(String(error), text);
    return true;
  };

function sample(): OwnedTensor<'float32'> {
  return OwnedTensor.from(Float32Array.of(0, 1, 2, 3, 4, 5), { shape: [2, 3] });
}

const scenarios: Readonly<Record<string, () => void | Promise<void>>> = {
  'view is a copy that says zeroCopy false': () => {
    using tensor = OwnedTensor.allocate([2], 'int8').freeze();
    assert.equal(tensor.zeroCopy, false);
    const view = tensor.view();
    assert.deepEqual([...view], [0, 0]);
    assert.equal(tensor.view(), view);
    assert.equal(stats().views, 0);
    assert.equal(tensor.isUnique, true);
    tensor.releaseViews();
    assert.equal(view.length, 0);
    const again = tensor.view();
    tensor.dispose();
    assert.equal(again.length, 0);
  },
  'the copy is told to the diagnostics channel': () => {
    const messages: unknown[] = [];
    subscribe('node-dlpack:copy', (message) => void messages.push(message));
    using tensor = sample().freeze();
    tensor.view();
    assert.deepEqual(messages, [
      { reason: 'no-external-buffers', operation: 'view', dtype: 'float32', shape: [2, 3], byteLength: 24 },
    ]);
  },
  'strided shows a copy of the span': () => {
    using tensor = sample().freeze();
    using part = tensor.slice(null, [null, null, -2]);
    const { data, offset, strides } = part.strided();
    assert.deepEqual([data[offset], data[offset + (strides[1] ?? 0)], data[offset + (strides[0] ?? 0)]], [2, 0, 5]);
  },
  'a view of a loan is fresh at every call': () => {
    using owned = sample();
    owned.lend(
      (loan) => {
        using alias = fromDLPack(loan);
        assert.notEqual(alias.view(), alias.view());
      },
      { writable: true },
    );
  },
  'data is a staging buffer, written back before every other method': () => {
    using owned = sample();
    const { data } = owned;
    assert.equal(owned.data, data);
    assert.equal(owned.zeroCopy, false);
    data[0] = 10;
    assert.equal(owned.at(0, 0), 10);
    data[1] = 11;
    assert.equal(
      owned.lend((loan) => loan.at(0, 1)),
      11,
    );
    data[2] = 12;
    assert.equal(
      owned.withView((window) => window[2]),
      12,
    );
    data[3] = 13;
    using target = OwnedTensor.allocate([2, 3], 'float64');
    assert.deepEqual([...target.set(owned).data], [10, 11, 12, 13, 4, 5]);
    data[4] = 14;
    owned.set(9, { at: [0, 0] });
    assert.deepEqual([...data], [9, 11, 12, 13, 14, 5]);
    owned.bits[5] = 0;
    const tensor = owned.freeze();
    assert.equal(data.length, 0);
    assert.deepEqual(tensor.toArray(), [
      [9, 11, 12],
      [13, 14, 0],
    ]);
    tensor.dispose();
  },
  'data is refreshed after native writes, windows and loans': () => {
    using owned = sample();
    const { data } = owned;
    owned.fill(3);
    assert.deepEqual([...data], [3, 3, 3, 3, 3, 3]);
    owned.withView((window) => (window[0] = 4));
    assert.equal(data[0], 4);
    assert.equal(owned.at(0, 0), 4);
    using foreign = sample();
    owned.set(foreign);
    assert.deepEqual([...data], [0, 1, 2, 3, 4, 5]);
    assert.equal(owned.data, data);
  },
  'an export takes what was written to data along': () => {
    const owned = sample();
    owned.data[5] = 50;
    using taken = fromDLPack(owned.__dlpack__({ max_version: [1, 0] }));
    assert.equal(taken.at(1, 2), 50);
    const other = sample();
    other.data[5] = 51;
    using through = fromDLPack(other);
    assert.equal(through.at(1, 2), 51);
  },
  'a staging buffer that was moved away stops a move, and the state is intact': () => {
    const owned = sample();
    const { data } = owned;
    structuredClone(data.buffer, { transfer: [data.buffer] });
    assert.throws(() => owned.freeze(), refused('ERR_DLPACK_BUFFER', /transferred elsewhere/));
    assert.throws(() => owned.__dlpack__(), refused('ERR_DLPACK_BUFFER', /transferred elsewhere/));
    assert.equal(owned.consumed, false);
    owned.fill(2);
    assert.equal(owned.at(0, 0), 2);
    owned.lend((loan) => assert.equal(loan.at(0, 1), 2));
    assert.equal(owned.data[5], 2);
    owned.freeze().dispose();
  },
  'a window is held against dispose and moves like a real one': async () => {
    const tensor = sample().freeze();
    let finish: (() => void) | undefined;
    const window = tensor.withView(async (data) => {
      await new Promise<void>((resolve) => (finish = resolve));
      return data[5];
    });
    assert.throws(
      () => tensor.dispose(),
      refused('ERR_DLPACK_BUFFER', /refused while withView\(\) uses the memory \(1 open\)/),
    );
    assert.throws(() => tensor.intoDLPack(), refused('ERR_DLPACK_BUFFER', /refused while withView/));
    finish?.();
    assert.equal(await window, 5);
    tensor.intoDLPack().dispose();
    const owned = sample();
    owned.withView(() => {
      assert.throws(() => owned.freeze(), refused('ERR_DLPACK_BUFFER', /refused while withView/));
      assert.throws(() => owned.__dlpack__(), refused('ERR_DLPACK_BUFFER', /refused while withView/));
      assert.throws(() => owned.dispose(), refused('ERR_DLPACK_BUFFER', /refused while withView/));
    });
    owned.dispose();
  },
  'inside a window every other method sees what was written to it, and what they write is in it': () => {
    using owned = sample();
    owned.withView((window) => {
      window[0] = 10;
      assert.equal(owned.at(0, 0), 10);
      owned.set(7, { at: [1, 2] });
      assert.equal(window[5], 7);
      owned.lend((loan) => assert.equal(loan.at(0, 0), 10));
      owned.withView((inner) => {
        assert.equal(inner[0], 10);
        inner[1] = 11;
      });
      assert.equal(window[1], 11);
      window[2] = 12;
    });
    assert.deepEqual([...owned.data], [10, 11, 12, 3, 4, 7]);
  },
  'windows that are open at once show the same bytes, in whatever order they close': async () => {
    const owned = sample();
    const { data } = owned;
    let closeFirst = (): void => undefined;
    let closeSecond = (): void => undefined;
    const first = owned.withView(async (window) => {
      window[0] = 1;
      await new Promise<void>((resolve) => (closeFirst = resolve));
    });
    const second = owned.withView(async (window) => {
      assert.equal(window[0], 1);
      window[1] = 2;
      await new Promise<void>((resolve) => (closeSecond = resolve));
      window[2] = 3;
    });
    assert.throws(() => owned.transfer(), refused('ERR_DLPACK_BUFFER', /\(2 open\)/));
    closeFirst();
    await first;
    assert.throws(() => owned.transfer(), refused('ERR_DLPACK_BUFFER', /\(1 open\)/));
    closeSecond();
    await second;
    assert.deepEqual([...data].slice(0, 4), [1, 2, 3, 3]);
    owned.dispose();
  },
  'a loan to write is refused while a window shows a copy; another one may outlast the window': async () => {
    const owned = sample();
    let close = (): void => undefined;
    let end = (): void => undefined;
    const window = owned.withView(async (array) => {
      await new Promise<void>((resolve) => (close = resolve));
      array[0] = 8;
    });
    assert.throws(() => owned.lend(() => 0, { writable: true }), refused('ERR_DLPACK_BUFFER', /\(1 open\)/));
    const loan = owned.lend(async (tensor) => {
      await new Promise<void>((resolve) => (end = resolve));
      return tensor.at(0, 0);
    });
    close();
    await window;
    end();
    assert.equal(await loan, 8);
    assert.equal(owned.data[0], 8);
    owned.dispose();
  },
  'a transfer of an owner whose data was sent elsewhere is refused, and the state is intact': () => {
    const owned = sample();
    const { data } = owned;
    structuredClone(data.buffer, { transfer: [data.buffer] });
    assert.throws(() => owned.transfer(), refused('ERR_DLPACK_BUFFER', /transferred elsewhere/));
    assert.equal(owned.consumed, false);
    owned.dispose();
  },
  'what must be seen by others at once is refused by name': () => {
    using owned = sample();
    owned.lend(
      (loan) => {
        assert.throws(
          () => loan.view({ writable: true }),
          refused('ERR_DLPACK_BUFFER', /this runtime forbids external ArrayBuffers/),
        );
        assert.throws(
          () => loan.withView(() => 0, { writable: true }),
          refused('ERR_DLPACK_BUFFER', /forbids external/),
        );
        assert.throws(() => unsafeView(loan), refused('ERR_DLPACK_BUFFER', /forbids external/));
      },
      { writable: true },
    );
    using tensor = Tensor.from([1]);
    assert.throws(() => tensor.view({ writable: true }), refused('ERR_DLPACK_BUFFER', /read-only/));
  },
  'the rest needs no views': () => {
    using tensor = Tensor.from([
      [1, 2],
      [3, 4],
    ]);
    using half = tensor.to('float16');
    using part = tensor.slice(0);
    assert.deepEqual([part.toArray(), [...part.toTypedArray()], half.at(1, 1)], [[1, 2], [1, 2], 4]);
    releaseCapsule(tensor.__dlpack__());
  },
};

async function run(): Promise<void> {
  for (const [name, scenario] of Object.entries(scenarios)) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: each ends with the counters at zero
    await scenario();
    assert.deepEqual(stats(), { tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 }, name);
    console.log(`held: ${name}`);
  }
}

run().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
