/**
 * From what a consumer asks and what a tensor is, to what native shall do: a pure function, with the tables of both
 * doors as its tests.
 *
 * Door 1 (`Tensor.__dlpack__`) is repeatable and keeps the promise that read-only memory is never handed out as
 * writable. Door 2 is an `OwnedTensor`: one shot, never a copy, the consumer becomes the owner.
 */
import { CPU, formatDevice, isHostReadable, sameDevice, type DLPackDevice } from './device';
import { bufferError } from './errors';
import { StructKind } from './native';
import type { ExportRequest } from './protocol';

/** Bits of DLManagedTensorVersioned.flags (DLPack 1.3). */
export const enum ExportFlag {
  ReadOnly = 1,
  IsCopied = 2,
  SubbytePadded = 4,
}

/** What a tensor is, as far as an export cares. */
export interface ExportState {
  /** False only for a writable loan. */
  readonly readOnly: boolean;
  /** Sub-byte elements with a byte for each. */
  readonly padded: boolean;
  /** Its own device. */
  readonly device: DLPackDevice;
  /** It came in a legacy struct (only matters on a device that the host cannot read). */
  readonly legacy: boolean;
}

/** What native shall do. */
export interface ExportPlan {
  readonly kind: StructKind;
  /** Over fresh memory? */
  readonly copy: boolean;
  /** Exactly the flags of the struct; 0 for the legacy one, which has none. */
  readonly flags: number;
  /**
   * `dl_device: [1, 0]` was asked of pinned host memory, which stays where it is: the struct names the CPU
   * (ExportBit.AsCpu).
   */
  readonly asCpu: boolean;
  /** The copy was this side's choice and nobody asked for it: tell the `node-dlpack:copy` channel. */
  readonly diagnostic: boolean;
}

/**
 * Door 1's table.
 *
 * | request | read-only | writable loan |
 * |---|---|---|
 * | versioned, `copy` null or false | zero-copy, READ_ONLY | zero-copy, no flags |
 * | versioned, `copy: true` | fresh memory, IS_COPIED | the same |
 * | legacy, `copy: true` | legacy struct over fresh memory | the same |
 * | legacy, `copy` null | legacy struct over fresh memory, and a diagnostic | zero-copy |
 * | legacy, `copy: false` | BufferError | zero-copy |
 *
 * On a device that the host cannot read there is no fresh memory: such a cell is a BufferError, but what came in a
 * legacy struct may leave in one.
 * @throws BufferError (`ERR_DLPACK_BUFFER`) for what cannot be; the tensor is as before
 */
export function planTensorExport(request: ExportRequest, state: ExportState): ExportPlan {
  if (request.versioned && request.copy !== true && request.device === null && !state.padded)
    return state.readOnly ? SHARED : LENT;
  const asCpu = mustNameCpu(request, state);
  refusePaddedLegacy(request, state);
  const opaque = !isHostReadable(state.device[0]);
  if (request.copy === true) {
    if (opaque)
      throw bufferError(
        `copy: true needs the bytes, and the host cannot read ${formatDevice(state.device)}; export it ` +
          'without a copy (copy null or false)',
      );
    return plan(request, state, { copy: true, flags: ExportFlag.IsCopied });
  }
  if (request.versioned) return plan(request, state, { flags: state.readOnly ? ExportFlag.ReadOnly : 0, asCpu });
  if (!state.readOnly || (opaque && state.legacy)) return plan(request, state, { asCpu });
  if (opaque) {
    throw bufferError(
      `a legacy struct cannot say that its memory is read-only, and memory on ${formatDevice(state.device)} ` +
        'cannot be copied for one here. Ask for max_version [1, 0] or later',
    );
  }
  if (request.copy === false) {
    throw bufferError(
      'a legacy struct (max_version null or [0, n]) cannot say that its memory is read-only, and copy: ' +
        'false forbids a copy. ' +
        'Ask for max_version [1, 0] or later, allow the copy (copy null or true), or give the memory away ' +
        'with intoDLPack()',
    );
  }
  return plan(request, state, { copy: true, diagnostic: true });
}

/**
 * An owner's one shot: never a copy. Versioned with `copy` null or true: IS_COPIED, since sole ownership passes on;
 * with `copy: false`: no flags; legacy: the legacy struct.
 * @throws BufferError for a device that it is not on, or padded memory in a legacy struct; the owner stays live
 */
export function planOwnedExport(request: ExportRequest, state: ExportState): ExportPlan {
  if (request.versioned && request.device === null && !state.padded) return request.copy === false ? LENT : GIVEN;
  const asCpu = mustNameCpu(request, state);
  refusePaddedLegacy(request, state);
  return plan(request, state, { flags: request.copy === false ? 0 : ExportFlag.IsCopied, asCpu });
}

/** What nearly all exports come to, without an object for each. */
const VERSIONED: Omit<ExportPlan, 'flags'> = {
  kind: StructKind.Versioned,
  copy: false,
  asCpu: false,
  diagnostic: false,
};
const SHARED: ExportPlan = Object.freeze({ ...VERSIONED, flags: ExportFlag.ReadOnly });
const LENT: ExportPlan = Object.freeze({ ...VERSIONED, flags: 0 });
const GIVEN: ExportPlan = Object.freeze({ ...VERSIONED, flags: ExportFlag.IsCopied });

function plan(request: ExportRequest, state: ExportState, chosen: Partial<Omit<ExportPlan, 'kind'>>): ExportPlan {
  const padded = state.padded ? ExportFlag.SubbytePadded : 0;
  return {
    kind: request.versioned ? StructKind.Versioned : StructKind.Legacy,
    copy: chosen.copy ?? false,
    flags: request.versioned ? (chosen.flags ?? 0) | padded : 0,
    asCpu: chosen.asCpu ?? false,
    diagnostic: chosen.diagnostic ?? false,
  };
}

/** @returns whether the struct must name the CPU instead of the tensor's own device */
function mustNameCpu(request: ExportRequest, state: ExportState): boolean {
  if (request.device === null || sameDevice(request.device, state.device)) return false;
  if (isHostReadable(state.device[0]) && sameDevice(request.device, CPU)) return true;
  const own = `[${state.device.join(', ')}]`;
  const pinned = isHostReadable(state.device[0]) && !sameDevice(state.device, CPU);
  throw bufferError(
    `dl_device is [${request.device.join(', ')}] (${formatDevice(request.device)}); the tensor is on ` +
      `${formatDevice(state.device)} and cannot be brought elsewhere. ` +
      (pinned ? `Use null, ${own} or [1, 0]` : `Use null or ${own}`),
  );
}

/** A consumer of the legacy struct would take padded elements for packed ones: the struct has no flags to tell it. */
function refusePaddedLegacy(request: ExportRequest, state: ExportState): void {
  if (request.versioned || !state.padded) return;
  throw bufferError(
    'a legacy struct (max_version null or [0, n]) cannot say that each sub-byte element has a byte of its ' +
      'own. Ask for max_version [1, 0] or later',
  );
}
