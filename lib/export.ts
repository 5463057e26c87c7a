/** Out through the doors: options and state become a plan (negotiation.ts), and one native call carries it out. */
import { failure } from './call';
import { publishCopy } from './diagnostics';
import { exportOwned as giveAway, exportShared } from './hot-calls';
import { entomb } from './lifetime';
import { makeCapsuleObject } from './make';
import type { Metadata } from './metadata';
import { ExportBit, native, type Handle } from './native';
import { ExportFlag, planOwnedExport, planTensorExport, type ExportPlan } from './negotiation';
import { parseExportOptions, type DLPackCapsule } from './protocol';
import { liveHandle, metadataOf, State, surelyLiveHandle, type TensorBase } from './tensor-base';

const OPERATION = '__dlpack__';

/** Door 1. A failed export changes nothing. */
export function exportTensor(tensor: TensorBase, options: unknown): DLPackCapsule {
  liveHandle(tensor);
  const metadata = metadataOf(tensor);
  const plan = planFor(tensor, options, metadata, planTensorExport);
  // Again: reading the options may have run anything.
  const handle = liveHandle(tensor);
  const answer = plan.copy
    ? native.exportTensor(handle, plan.kind, true, structFlags(plan))
    : exportShared(handle, plan.kind, structFlags(plan));
  if (typeof answer === 'number') throw failure(answer, { operation: OPERATION, tensor });
  const capsule = makeCapsuleObject(answer);
  if (plan.diagnostic) publishLegacyCopy(metadata);
  return capsule;
}

/** A tombstone says so whatever the options are; to ask native first would cost each export a call. */
function planFor(tensor: TensorBase, options: unknown, metadata: Metadata, table: typeof planTensorExport): ExportPlan {
  try {
    return table(parseExportOptions(options), metadata);
  } catch (error) {
    surelyLiveHandle(tensor);
    throw error;
  }
}

/** An owner's one shot. `ready`: the handle, once nothing stands in the way. */
export function exportOwned<T extends TensorBase>(
  owned: T,
  options: unknown,
  ready: (owned: T, operation: string) => Handle,
): DLPackCapsule {
  liveHandle(owned);
  const plan = planFor(owned, options, metadataOf(owned), planOwnedExport);
  const answer = giveAway(ready(owned, OPERATION), plan.kind, structFlags(plan));
  if (typeof answer === 'number') throw failure(answer, { operation: OPERATION, tensor: owned });
  const capsule = makeCapsuleObject(answer);
  entomb(owned, State.Consumed);
  return capsule;
}

/**
 * The flags as native takes them: IS_SUBBYTE_TYPE_PADDED it adds by itself, from the dtype; its own bit says that the
 * CPU was asked for by name where the memory has another.
 */
function structFlags({ flags, asCpu }: ExportPlan): number {
  return (flags & ~ExportFlag.SubbytePadded) | (asCpu ? ExportBit.AsCpu : 0);
}

function publishLegacyCopy(metadata: Metadata): void {
  publishCopy(() => ({
    reason: 'legacy',
    operation: OPERATION,
    dtype: metadata.dtype.name,
    shape: metadata.shape,
    byteLength: metadata.byteLength,
  }));
}
