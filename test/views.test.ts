/** Views and windows: external ArrayBuffers over a tensor's memory, who detaches them, and what they keep. */
import { describe, expect, test } from '@jest/globals';
import { Config, native, StructKind, TensorFlag, ViewMode, type Handle } from '../dist/native.js';
import { expectNothingLeft } from './support/native-counters.js';
import { movedBytes } from './support/array-buffer-transfer.js';
import {
  allocate,
  bytesOf,
  collectOnce,
  collectUntil,
  drop,
  DTYPE,
  fault,
  flagsOf,
  float32Of,
  input,
  lastAliases,
  made,
  madeBuffer,
  nativeStats,
  release,
  tensorOf,
} from './support/native-tensors.js';
import { SANITIZED } from './support/sanitized.js';

expectNothingLeft();

const SIX = Float32Array.of(0, 1, 2, 3, 4, 5);

function six(): Handle {
  return tensorOf(SIX, [2, 3], DTYPE.float32);
}

function viewInNoMode(handle: Handle): unknown {
  const view: unknown = Reflect.get(native, 'view');
  return typeof view === 'function' ? Reflect.apply(view, native, [handle, 3]) : view;
}

/** Rows `start` and on, of step `step`. */
function rows(from: Handle, start: number, extent: number, step = 1): Handle {
  input([0, start, extent, step]);
  return made(native.slice(from, 1));
}

describe('view', () => {
  test('shows the memory itself: what is written through it is in the tensor', () => {
    const tensor = six();
    const view = new Float32Array(madeBuffer(native.view(tensor, ViewMode.Read)));
    expect([...view]).toEqual([...SIX]);
    view[0] = 9;
    expect(float32Of(tensor)).toEqual([9, 1, 2, 3, 4, 5]);
    release(tensor);
  });

  test('is one ArrayBuffer a tensor, however often and in whichever mode it is asked for', () => {
    const owner = allocate([4]);
    const data = native.view(owner, ViewMode.Writable);
    expect(native.view(owner, ViewMode.Read)).toBe(data);
    expect(native.view(owner, ViewMode.Unsafe)).toBe(data);
    expect(nativeStats().views).toBe(1);
    release(owner);
  });

  test('covers exactly the span, wherever in the block it lies and whichever way the strides run', () => {
    const tensor = six();
    const row = rows(tensor, 1, 1);
    const backwards = rows(tensor, 1, 2, -1);
    expect([...new Float32Array(madeBuffer(native.view(row, ViewMode.Read)))]).toEqual([3, 4, 5]);
    expect([...new Float32Array(madeBuffer(native.view(backwards, ViewMode.Read)))]).toEqual([...SIX]);
    release(row, backwards, tensor);
  });

  test('counts as an alias of the block and in stats until it is released', () => {
    const tensor = six();
    const view = madeBuffer(native.view(tensor, ViewMode.Read));
    expect(nativeStats().views).toBe(1);
    expect(fault(native.move(tensor))).toBe('kNotUnique');
    expect(lastAliases()).toEqual({ tensors: 0, exports: 0, views: 1, tokens: 0 });
    native.releaseViews(tensor);
    expect(view.byteLength).toBe(0);
    expect(nativeStats().views).toBe(0);
    drop(tensor);
    release(made(native.move(tensor)));
  });

  test('is detached by releaseViews, which leaves the tensor and other tensors alone', () => {
    const tensor = six();
    const row = rows(tensor, 0, 1);
    const view = madeBuffer(native.view(tensor, ViewMode.Read));
    const other = madeBuffer(native.view(row, ViewMode.Read));
    expect(fault(native.releaseViews(tensor))).toBe('none');
    expect(view.byteLength).toBe(0);
    expect(other.byteLength).toBe(12);
    expect(fault(native.releaseViews(tensor))).toBe('none');
    expect(madeBuffer(native.view(tensor, ViewMode.Read))).not.toBe(view);
    release(row, tensor);
  });

  test('is detached by release at once, and the memory is gone with it', () => {
    const tensor = six();
    const view = new Float32Array(madeBuffer(native.view(tensor, ViewMode.Read)));
    release(tensor);
    expect(view.length).toBe(0);
    expect(nativeStats()).toMatchObject({ views: 0, blocks: 0, bytes: 0 });
  });

  test('of an owner is detached by freeze, and its bytes go on in the tensor', () => {
    const owner = allocate([2]);
    const data = new Float32Array(madeBuffer(native.view(owner, ViewMode.Writable)));
    data.set([7, 8]);
    drop(owner);
    const tensor = made(native.freeze(owner));
    expect(data.length).toBe(0);
    expect(float32Of(tensor)).toEqual([7, 8]);
    release(tensor);
  });

  test('outlives the collected tensor: a typed array alone keeps its bytes', async () => {
    const before = nativeStats();
    const held: { view?: Float32Array } = {};
    (() => {
      const tensor = six();
      held.view = new Float32Array(madeBuffer(native.view(tensor, ViewMode.Read)));
      drop(tensor);
    })();
    expect(await collectUntil(() => nativeStats().tensors === before.tensors)).toBe(true);
    expect(held.view).toEqual(SIX);
    expect(nativeStats()).toMatchObject({ views: before.views + 1, blocks: before.blocks + 1 });
    delete held.view;
    expect(await collectUntil(() => nativeStats().blocks === before.blocks)).toBe(true);
  });

  test('that nobody holds goes by itself while the tensor lives, and can be asked for anew', async () => {
    const tensor = six();
    (() => void native.view(tensor, ViewMode.Read))();
    expect(await collectUntil(() => nativeStats().views === 0)).toBe(true);
    expect(new Float32Array(madeBuffer(native.view(tensor, ViewMode.Read)))[5]).toBe(5);
    release(tensor);
  });

  const bounded = SANITIZED ? test.skip : test;
  bounded('in a loop that never yields does not grow: 20,000 x 64 KiB made, viewed and disposed', () => {
    const before = process.memoryUsage().rss;
    let detached = true;
    for (let i = 0; i < 20_000; i += 1) {
      const owner = allocate([64 * 1024], DTYPE.uint8);
      const data = new Uint8Array(madeBuffer(native.view(owner, ViewMode.Writable)));
      for (let page = 0; page < data.length; page += 4096) data[page] = i;
      release(owner);
      // Looked at, so that it is not collected before the release: its memory would then wait for its finalizer.
      detached &&= data.length === 0;
    }
    expect(detached).toBe(true);
    expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(200);
    expect(nativeStats()).toMatchObject({ views: 0, blocks: 0 });
  });

  test('is not there for an empty tensor', () => {
    const empty = tensorOf(new Float32Array(0), [0, 3], DTYPE.float32);
    expect(fault(native.view(empty, ViewMode.Read))).toBe('kArgument');
    release(empty);
  });

  test('answers a stale handle, and a mode that does not exist, with a fault', () => {
    const tensor = six();
    expect(fault(viewInNoMode(tensor))).toBe('kArgument');
    release(tensor);
    expect(fault(native.view(tensor, ViewMode.Read))).toBe('kStaleHandle');
    expect(fault(native.releaseViews(tensor))).toBe('kStaleHandle');
  });
});

describe('what a view may do', () => {
  test('a read-only tensor has no writable view', () => {
    const tensor = six();
    expect(fault(native.view(tensor, ViewMode.Writable))).toBe('kReadOnly');
    expect(fault(native.openWindow(tensor, ViewMode.Writable))).toBe('kReadOnly');
    expect(nativeStats().views).toBe(0);
    release(tensor);
  });

  test('memory that may be protected is refused in every mode but unsafe', () => {
    const memory = allocate([4], DTYPE.uint8);
    native.dataAddress(memory);
    input([4]);
    const foreign = made(native.fromPointer(1, DTYPE.uint8, false, true, () => undefined));
    expect(flagsOf(foreign) & TensorFlag.Protected).toBe(TensorFlag.Protected);
    expect(fault(native.view(foreign, ViewMode.Read))).toBe('kProtectedMemory');
    expect(fault(native.view(foreign, ViewMode.Writable))).toBe('kProtectedMemory');
    expect(madeBuffer(native.view(foreign, ViewMode.Unsafe)).byteLength).toBe(4);
    expect([...bytesOf(foreign)]).toEqual([0, 0, 0, 0]);
    release(foreign, memory);
  });
});

describe('a view whose bytes the user moved away', () => {
  test('leaves release as it is: the bytes live on in the new buffer, and count until it is gone', async () => {
    const tensor = six();
    const view = madeBuffer(native.view(tensor, ViewMode.Read));
    let moved: ArrayBuffer | undefined = movedBytes(view);
    expect(view.byteLength).toBe(0);
    release(tensor);
    expect(nativeStats()).toMatchObject({ tensors: 0, views: 1, blocks: 1 });
    await collectOnce();
    expect([...new Float32Array(moved)]).toEqual([...SIX]);
    moved = undefined;
    expect(await collectUntil(() => nativeStats().blocks === 0)).toBe(true);
    expect(nativeStats().views).toBe(0);
  });

  test('still counts after releaseViews, and a new view beside it is another buffer', async () => {
    const tensor = six();
    let moved: ArrayBuffer | undefined = movedBytes(madeBuffer(native.view(tensor, ViewMode.Read)));
    const again = madeBuffer(native.view(tensor, ViewMode.Read));
    expect(new Float32Array(again)[3]).toBe(3);
    new Float32Array(moved)[3] = 30;
    expect(new Float32Array(again)[3]).toBe(30);
    expect(nativeStats().views).toBe(2);
    native.releaseViews(tensor);
    expect(nativeStats().views).toBe(1);
    expect(fault(native.move(tensor))).toBe('kNotUnique');
    moved = undefined;
    expect(await collectUntil(() => nativeStats().views === 0)).toBe(true);
    release(tensor);
  });

  test('of an owner: freeze and lending answer kMovedAway and change nothing; dispose works', async () => {
    const owner = allocate([2]);
    let moved: ArrayBuffer | undefined = movedBytes(madeBuffer(native.view(owner, ViewMode.Writable)));
    expect(fault(native.freeze(owner))).toBe('kMovedAway');
    expect(fault(native.exportOwned(owner, StructKind.Versioned, 0))).toBe('kMovedAway');
    expect(fault(native.lendBegin(owner, false))).toBe('kMovedAway');
    expect(native.isLive(owner)).toBe(true);
    new Float32Array(moved).set([1, 2]);
    expect(float32Of(owner)).toEqual([1, 2]);
    release(owner);
    expect([...new Float32Array(moved)]).toEqual([1, 2]);
    moved = undefined;
    expect(await collectUntil(() => nativeStats().blocks === 0)).toBe(true);
  });

  test('of an owner: freeze works again once the buffer that took the bytes is gone', async () => {
    const owner = allocate([2]);
    (() => void movedBytes(madeBuffer(native.view(owner, ViewMode.Writable))))();
    expect(await collectUntil(() => nativeStats().views === 0)).toBe(true);
    drop(owner);
    release(made(native.freeze(owner)));
  });
});

describe('window', () => {
  test('is a buffer of its own each time, beside the view', () => {
    const owner = allocate([2]);
    const data = madeBuffer(native.view(owner, ViewMode.Writable));
    const first = madeBuffer(native.openWindow(owner, ViewMode.Writable));
    const second = madeBuffer(native.openWindow(owner, ViewMode.Read));
    expect(new Set([data, first, second]).size).toBe(3);
    expect(fault(native.closeWindow(owner, first))).toBe('none');
    expect([data.byteLength, first.byteLength, second.byteLength]).toEqual([8, 0, 8]);
    expect(fault(native.closeWindow(owner, second))).toBe('none');
    expect(data.byteLength).toBe(8);
    release(owner);
  });

  test('while it is open, release, move, freeze and export of an owner answer kInUse and change nothing', () => {
    const tensor = six();
    const owner = allocate([2]);
    const window = madeBuffer(native.openWindow(tensor, ViewMode.Read));
    const other = madeBuffer(native.openWindow(owner, ViewMode.Writable));
    expect(fault(native.release(tensor))).toBe('kInUse');
    expect(fault(native.move(tensor))).toBe('kInUse');
    expect(fault(native.freeze(owner))).toBe('kInUse');
    expect(fault(native.exportOwned(owner, StructKind.Versioned, 0))).toBe('kInUse');
    expect(fault(native.release(owner))).toBe('kInUse');
    expect([window.byteLength, other.byteLength]).toEqual([24, 8]);
    native.closeWindow(tensor, window);
    native.closeWindow(owner, other);
    release(tensor, owner);
  });

  test('is not closed by another buffer, nor twice', () => {
    const tensor = six();
    const view = madeBuffer(native.view(tensor, ViewMode.Read));
    const window = madeBuffer(native.openWindow(tensor, ViewMode.Read));
    expect(fault(native.closeWindow(tensor, view))).toBe('kArgument');
    expect(fault(native.closeWindow(tensor, new ArrayBuffer(24)))).toBe('kArgument');
    // @ts-expect-error: not a buffer
    expect(fault(native.closeWindow(tensor, 'window'))).toBe('kArgument');
    expect(fault(native.closeWindow(tensor, window))).toBe('none');
    expect(fault(native.closeWindow(tensor, window))).toBe('kArgument');
    release(tensor);
  });

  test('whose buffer nobody holds any more stands in nobody’s way', async () => {
    const tensor = six();
    (() => void native.openWindow(tensor, ViewMode.Read))();
    expect(await collectUntil(() => nativeStats().views === 0)).toBe(true);
    release(tensor);
  });

  test('whose bytes the user moved away closes, and its bytes count on', async () => {
    const tensor = six();
    const window = madeBuffer(native.openWindow(tensor, ViewMode.Read));
    let moved: ArrayBuffer | undefined = movedBytes(window);
    expect(fault(native.closeWindow(tensor, window))).toBe('none');
    release(tensor);
    expect(nativeStats()).toMatchObject({ views: 1, blocks: 1 });
    expect(new Float32Array(moved)[5]).toBe(5);
    moved = undefined;
    expect(await collectUntil(() => nativeStats().blocks === 0)).toBe(true);
  });
});

describe('where external ArrayBuffers are forbidden', () => {
  test('view and openWindow say so, after the questions of access; readSpan and writeSpan do instead', () => {
    const owner = allocate([3]);
    const tensor = six();
    native.configure(Config.NoExternalBuffers);
    try {
      expect(fault(native.view(owner, ViewMode.Writable))).toBe('kNoExternalBuffers');
      expect(fault(native.openWindow(owner, ViewMode.Writable))).toBe('kNoExternalBuffers');
      expect(fault(native.view(tensor, ViewMode.Writable))).toBe('kReadOnly');
    } finally {
      native.configure(0);
    }
    const staging = Float32Array.of(1, 2, 3);
    expect(fault(native.writeSpan(owner, staging))).toBe('none');
    expect(float32Of(owner)).toEqual([1, 2, 3]);
    staging.fill(0);
    expect(fault(native.readSpan(owner, staging))).toBe('none');
    expect([...staging]).toEqual([1, 2, 3]);
    expect(nativeStats().views).toBe(0);
    release(owner, tensor);
  });

  test('readSpan gives the span from its lowest byte, and takes no other size', () => {
    const tensor = six();
    const column = (() => {
      input([0, 0, 2, 1, 1, 1, 0, 1]);
      return made(native.slice(tensor, 2));
    })();
    const span = new Float32Array(4);
    expect(fault(native.readSpan(column, span))).toBe('none');
    expect([...span]).toEqual([1, 2, 3, 4]);
    expect(fault(native.readSpan(column, new Float32Array(2)))).toBe('kOutsideBlock');
    expect(fault(native.readSpan(column, new Float32Array(5)))).toBe('kOutsideBlock');
    release(column, tensor);
  });
});

describe('a tensor larger than the engine’s largest ArrayBuffer', () => {
  test('has no view, and says how large one may be; a slice of it has', () => {
    const huge = allocate([5 * 2 ** 30], DTYPE.uint8);
    drop(huge);
    const tensor = made(native.freeze(huge));
    const result = native.view(tensor, ViewMode.Read);
    // Engines that allow it are welcome to.
    if (typeof result === 'number') expect(fault(result)).toBe('kTooLarge');
    const end = rows(tensor, 5 * 2 ** 30 - 8, 8);
    expect([...new Uint8Array(madeBuffer(native.view(end, ViewMode.Read)))]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    // Asked again, the engine is not.
    expect(fault(native.view(tensor, ViewMode.Read))).toBe(fault(result));
    release(end, tensor);
  });
});
