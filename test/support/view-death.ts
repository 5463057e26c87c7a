/**
 * A worker that dies with views of every kind, watched from the main thread. Run as a process of its own: what an
 * environment's death keeps on purpose stays in the counters for good. Argument: how the worker ends. Prints what the
 * main thread found as JSON.
 */
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { native, ViewMode, type Handle } from '../../dist/native.js';
import { movedBytes } from './array-buffer-transfer.js';
import { allocate, DTYPE, madeBuffer, nativeStats } from './native-tensors.js';

export const ENDINGS = ['natural', 'exit', 'terminate', 'terminate-busy', 'throw'] as const;
export type Ending = (typeof ENDINGS)[number];

/** Mapped memory: a read after it was freed ends the process. */
const BYTES = 2 ** 21;

export interface Found {
  readonly code: number;
  /** Of the buffer that the worker moved and sent over. */
  readonly byteLength: number;
  readonly intact: boolean;
  readonly kept: { readonly blocks: number; readonly views: number; readonly tensors: number; readonly bytes: number };
}

const worker = {
  held: [] as unknown[],
  busy: 0,

  owner(fill: number): { handle: Handle; buffer: ArrayBuffer } {
    const handle = allocate([BYTES], DTYPE.uint8);
    const buffer = madeBuffer(native.view(handle, ViewMode.Writable));
    new Uint8Array(buffer).fill(fill);
    return { handle, buffer };
  },

  run(ending: Ending): void {
    // Reachable until the end: what a collection finds is another story.
    Reflect.set(globalThis, 'heldByWorker', this.held);
    // Attached: the newest and the oldest, of live tensors and beside a disposed one, and a window.
    this.held.push(this.owner(1), this.owner(2), this.owner(3));
    const windowed = this.owner(4);
    this.held.push(windowed, native.openWindow(windowed.handle, ViewMode.Writable));
    native.release(this.owner(5).handle);
    // Moved within the worker, and moved and sent away; of a live tensor and of a disposed one.
    this.held.push(movedBytes(this.owner(6).buffer));
    const sent = this.owner(7);
    const moved = movedBytes(sent.buffer);
    native.release(sent.handle);
    this.held.push(this.owner(8));
    parentPort?.postMessage(moved, [moved]);
    if (ending === 'exit') process.exit(3);
    if (ending === 'throw') throw new Error('on purpose');
    if (ending === 'terminate') setInterval(() => undefined, 1000);
    if (ending === 'terminate-busy') for (;;) this.busy += 1;
  },
};

function watch(ending: Ending): void {
  const thread = new Worker(__filename, { argv: [ending] });
  let sent = new Uint8Array(0);
  thread.on('message', (buffer: ArrayBuffer) => {
    sent = new Uint8Array(buffer);
    if (ending.startsWith('terminate')) setTimeout(() => void thread.terminate(), 20);
  });
  thread.on('error', () => undefined);
  thread.on('exit', (code) => {
    const { blocks, views, tensors, bytes } = nativeStats();
    const intact = sent.every((byte) => byte === 7);
    const found: Found = { code, byteLength: sent.length, intact, kept: { blocks, views, tensors, bytes } };
    console.log(JSON.stringify(found));
    // The buffer dies after its environment did; its backing store's end must not reach for it.
    sent = new Uint8Array(0);
    globalThis.gc?.();
    setTimeout(() => undefined, 20);
  });
}

function isEnding(value: string | undefined): value is Ending {
  return ENDINGS.some((ending) => ending === value);
}

if (require.main === module || !isMainThread) {
  const ending = process.argv[2];
  if (!isEnding(ending)) throw new Error(`not an ending: ${ending}`);
  if (isMainThread) watch(ending);
  else worker.run(ending);
}
