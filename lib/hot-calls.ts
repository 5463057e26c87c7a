/**
 * The native calls that a hand-off, and a small copy, consist of. Numbers travel in the scratch memory: as a parameter and a return value
 * they would cost as much as the whole call does.
 */
import { native, scratch, Slot, type Handle, type ImportMode, type Status, type StructKind } from './native';

const {
  allocateHot,
  assignHot,
  exportHot,
  exportOwnedHot,
  freezeHot,
  importHot,
  isLiveHot,
  moveHot,
  releaseHot,
  shareHot,
} = native;

function answer(): Handle | Status {
  return scratch[Slot.Answer] ?? 0;
}

/** As `native.isLive`. */
export function isLive(handle: Handle): boolean {
  scratch[Slot.Argument] = handle;
  isLiveHot();
  return answer() === 1;
}

/** As `native.release`. */
export function release(handle: Handle): Status {
  scratch[Slot.Argument] = handle;
  releaseHot();
  return answer();
}

/**
 * As `native.importTensor` without a copy, but that of the metadata only the flags are there to be read as long as they
 * are those of the tensor.
 */
export function share(handle: Handle): Handle | Status {
  scratch[Slot.Argument] = handle;
  shareHot();
  return answer();
}

/** As `native.allocate`. */
export function allocate(ndim: number, dtype: number): Handle | Status {
  scratch[Slot.Argument] = ndim;
  scratch[Slot.Plan] = dtype;
  allocateHot();
  return answer();
}

/** As `native.move`, but of the metadata only the flags are there to be read: all else is what it was. */
export function move(handle: Handle): Handle | Status {
  scratch[Slot.Argument] = handle;
  moveHot();
  return answer();
}

/** As `native.freeze`, with the same exception. */
export function freeze(handle: Handle): Handle | Status {
  scratch[Slot.Argument] = handle;
  freezeHot();
  return answer();
}

/** As `native.exportOwned`. */
export function exportOwned(handle: Handle, kind: StructKind, flags: number): object | Status {
  scratch[Slot.Argument] = handle;
  scratch[Slot.Plan] = (kind << 16) | flags;
  return exportOwnedHot() ?? answer();
}

/** As `native.exportTensor` without a copy. */
export function exportShared(handle: Handle, kind: StructKind, flags: number): object | Status {
  scratch[Slot.Argument] = handle;
  scratch[Slot.Plan] = (kind << 16) | flags;
  return exportHot() ?? answer();
}

/** As `native.importCapsule`. */
export function importCapsule(capsule: unknown, mode: ImportMode): Handle | Status {
  scratch[Slot.Argument] = mode;
  importHot(capsule);
  return answer();
}

/** As `native.assign` of all of a tensor to all of an owner, nothing to scale by. */
export function assignWhole(target: Handle, source: Handle): Status {
  scratch[Slot.Argument] = target;
  scratch[Slot.Plan] = source;
  assignHot();
  return answer();
}
