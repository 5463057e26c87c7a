/**
 * The one place where a handle becomes an object. What native made must be placed in the ring before anything else
 * runs, and an open scope must hear of it: whoever makes a tensor through here can forget neither.
 *
 * The classes register their constructors, so that the functions behind their methods need not import the classes, and
 * nobody else can construct.
 */
import { applyThreadsFromEnvironment } from './copy-threads';
import { applyDebugSwitches } from './debug';
import type { DType } from './dtype';
import { readMetadata, slot, type Metadata } from './metadata';
import { native, Slot, type Handle } from './native';
import type { OwnedTensor } from './owned-tensor';
import type { DLPackCapsule } from './protocol';
import { track, trackCapsule } from './scope';
import type { Tensor } from './tensor';
import type { TensorBase } from './tensor-base';
import { begin, beginCapsule, isTracing, Trace } from './tracing';

// Nothing can be allocated without this file, so it is the place to do what must come before.
applyDebugSwitches(process.env['NODE_DLPACK_DEBUG']);
applyThreadsFromEnvironment(process.env['NODE_DLPACK_THREADS']);

type ConstructTensor = <D extends DType>(handle: Handle, metadata: Metadata<D>) => Tensor<D>;
type ConstructOwned = <D extends DType>(handle: Handle, metadata: Metadata<D>) => OwnedTensor<D>;

let constructTensor: ConstructTensor;
let constructOwned: ConstructOwned;

export function registerTensor(construct: ConstructTensor): void {
  constructTensor = construct;
}

export function registerOwned(construct: ConstructOwned): void {
  constructOwned = construct;
}

const { ring } = native;

/** Keeps an object and its handle together: see lib/native.ts. */
function place(object: object): void {
  ring[slot(Slot.Ring)] = object;
}

/** The same for a tensor, whose trace is placed where it is traced: see tracing.ts. */
function placeTensor(tensor: TensorBase, className: Trace['className'], handle: Handle, metadata: Metadata): void {
  if (!isTracing()) return place(tensor);
  const trace = new Trace(handle, className, metadata);
  place(trace);
  begin(tensor, trace);
}

/**
 * The Tensor of a handle that the last call made. `metadata`: where it is known already, read from the scratch memory
 * otherwise.
 */
export function makeTensor<D extends DType>(handle: Handle, metadata: Metadata<D> = readMetadata<D>()): Tensor<D> {
  const tensor = constructTensor(handle, metadata);
  placeTensor(tensor, 'Tensor', handle, metadata);
  track(tensor);
  return tensor;
}

/** A Tensor that no scope disposes: its end is somebody's business (a loan's). */
export function makeUntrackedTensor<D extends DType>(handle: Handle): Tensor<D> {
  const metadata = readMetadata<D>();
  const tensor = constructTensor(handle, metadata);
  placeTensor(tensor, 'Tensor', handle, metadata);
  return tensor;
}

/** The OwnedTensor of a handle that the last call made. */
export function makeOwned<D extends DType>(handle: Handle, metadata: Metadata<D> = readMetadata<D>()): OwnedTensor<D> {
  const owned = constructOwned(handle, metadata);
  placeTensor(owned, 'OwnedTensor', handle, metadata);
  track(owned);
  return owned;
}

/** A capsule that the last call made. */
export function makeCapsuleObject(capsule: object): DLPackCapsule {
  place(capsule);
  beginCapsule(capsule);
  trackCapsule(capsule);
  return capsule;
}

/**
 * Uses a handle that the last call made and that no object shall own; it is released afterwards. What `use` makes must
 * be an object when it returns: the release is a call of its own and ends the meaning of the scratch memory.
 */
export function withTemporary<R>(handle: Handle, use: (handle: Handle) => R): R {
  place({}); // without an object in the ring the next flush would release it
  try {
    return use(handle);
  } finally {
    native.release(handle);
  }
}
