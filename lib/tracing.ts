/**
 * What became of each tensor, for those who want to know: subscribers of `node-dlpack:collected`, and the report of
 * `NODE_DLPACK_DEBUG=leaks`. Nobody does, usually, and then it costs two comparisons for each tensor.
 *
 * The rule is to be found out without asking native for more than it knows: a traced tensor's place in the ring is
 * taken by its trace, so that the memory waits for the trace. When the tensor is collected, its handle is still there,
 * which is how one that nobody disposed is told from one that was; the trace is dropped then, and native releases the
 * memory when it finds that out. A traced tensor that nobody disposes is therefore freed one collection later.
 */
import path = require('node:path');
import { hasCollectionSubscribers, publishCollection } from './diagnostics';
import type { DType } from './dtype';
import type { Metadata } from './metadata';
import { native, type Handle } from './native';
import type { DLPackCapsule } from './protocol';

/** What is remembered of a tensor. Never the tensor itself. */
export class Trace {
  /** The line of the program that made it; undefined while nobody asks for leaks. */
  madeAt: string | undefined;

  constructor(
    readonly handle: Handle,
    readonly className: 'Tensor' | 'OwnedTensor',
    private readonly metadata: Metadata,
  ) {}

  get dtype(): DType {
    return this.metadata.dtype.name;
  }

  get shape(): readonly number[] {
    return this.metadata.shape;
  }

  get byteLength(): number {
    return this.metadata.byteLength;
  }

  /** Not disposed, not consumed, and not yet found by the collector. */
  get isLive(): boolean {
    return native.isLive(this.handle);
  }
}

/** A capsule, as long as it is not collected. */
export interface CapsuleTrace {
  readonly capsule: WeakRef<DLPackCapsule>;
  readonly madeAt: string;
}

/** What is kept until the end of the process, when leaks are to be reported. */
export interface Kept {
  readonly traces: Set<Trace>;
  readonly capsules: Set<CapsuleTrace>;
}

let kept: Kept | undefined;
const registry = new FinalizationRegistry<Trace>(onCollected);

/** From now on traces are kept, with the lines that made the tensors. */
export function keepTraces(): Kept {
  return (kept ??= { traces: new Set(), capsules: new Set() });
}

export function isTracing(): boolean {
  return kept !== undefined || hasCollectionSubscribers();
}

/** Begins to trace what has just been placed in the ring. May run code of the program's (a hook for stacks). */
export function begin(tensor: object, trace: Trace): void {
  registry.register(tensor, trace);
  if (kept === undefined) return;
  trace.madeAt = callerLine();
  kept.traces.add(trace);
  if (isCrowded(kept.traces)) keepOnly(kept.traces, ({ isLive }) => isLive);
}

/** The same for a capsule; only leaks are reported of those. */
export function beginCapsule(capsule: DLPackCapsule): void {
  if (kept === undefined) return;
  kept.capsules.add({ capsule: new WeakRef(capsule), madeAt: callerLine() });
  if (isCrowded(kept.capsules)) keepOnly(kept.capsules, (trace) => trace.capsule.deref() !== undefined);
}

function onCollected(trace: Trace): void {
  kept?.traces.delete(trace);
  if (!trace.isLive) return;
  publishCollection(() => {
    const { className, dtype, shape, byteLength, madeAt } = trace;
    return madeAt === undefined
      ? { className, dtype, shape, byteLength }
      : { className, dtype, shape, byteLength, madeAt };
  });
}

/** At powers of two from 1,024 on: what has ended is forgotten then, at a cost that does not grow with each tensor. */
function isCrowded({ size }: ReadonlySet<unknown>): boolean {
  return size >= 1024 && (size & (size - 1)) === 0;
}

function keepOnly<T>(set: Set<T>, isWanted: (item: T) => boolean): void {
  for (const item of set) if (!isWanted(item)) set.delete(item);
}

/** Enough to leave this library. */
const FRAMES = 50;
const LIBRARY = `${__dirname}${path.sep}`;

/** The innermost line of the stack outside this library and Node. */
function callerLine(): string {
  const { stackTraceLimit } = Error;
  let stack: unknown;
  try {
    Error.stackTraceLimit = FRAMES;
    ({ stack } = new Error('where'));
    Error.stackTraceLimit = stackTraceLimit;
  } catch {
    // Frozen intrinsics, or a hook for stacks that throws.
  }
  const frames = String(stack).split('\n').slice(1);
  const outside = frames.find((frame) => !frame.includes(LIBRARY) && !/\(?node:/.test(frame));
  return outside === undefined ? 'somewhere' : outside.trim().replace(/^at /, '');
}
