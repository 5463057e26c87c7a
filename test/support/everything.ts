/**
 * One of everything that can be alive when an environment or a process ends: tensors, owners, slices, views, windows,
 * loans, unused capsules, exports that a native consumer holds, imports of foreign structs. Used by workers and
 * children that end in every way there is.
 */
import { isMainThread } from 'node:worker_threads';
import { fromDLPack, OwnedTensor, Tensor } from '../../dist/index.js';
import { adopt, fromPointer, unsafeView } from '../../dist/unsafe.js';
import { STAGED } from './staged.js';
import { Holder, IS_COPIED, lab, makeStruct, ramp, READ_ONLY, type LabStruct } from './lab.js';

export interface Everything {
  /** Foreign structs that must have been deleted once when all is over: imported, or in capsules nobody took. */
  structs: LabStruct[];
  /** Our exports in the hands of a native consumer. */
  holders: Holder[];
  /** Keeps the rest alive. */
  alive: unknown[];
}

export function makeEverything(): Everything {
  const structs: LabStruct[] = [];
  const alive: unknown[] = [];
  const foreign = (spec: Parameters<typeof makeStruct>[0]): LabStruct => {
    const struct = makeStruct(spec);
    structs.push(struct);
    return struct;
  };

  const base = Tensor.from(ramp(24), { shape: [2, 3, 4] });
  const slice = base.slice(1).transpose();
  const view = base.view();
  const owned = OwnedTensor.from(ramp(8));
  const data = owned.data;
  alive.push(
    base,
    slice,
    view,
    owned,
    data,
    base.__dlpack__(),
    base.__dlpack__({ max_version: [1, 3] }),
    OwnedTensor.allocate([3], 'int64').__dlpack__(),
  );

  for (const spec of [
    { flags: 0 },
    { flags: READ_ONLY },
    { flags: IS_COPIED },
    { versioned: false },
    { misalign: 1 },
    { device: [2, 0] as const },
  ]) {
    const imported = fromDLPack(foreign(spec).producer());
    alive.push(imported, imported.slice(0));
  }
  const loan = fromDLPack(foreign({ flags: 0 }).producer());
  alive.push(loan, loan.view({ writable: !STAGED }), loan.__dlpack__({ max_version: [1, 0] }));
  const moved = fromDLPack(foreign({ flags: IS_COPIED }).producer()).intoDLPack();
  alive.push(moved, moved.data);
  alive.push(foreign({}).capsule(), foreign({ versioned: false }).capsule());

  const windowed = Tensor.from(ramp(5));
  // The array itself is kept: one that was collected, but not finalized when its environment dies, looks like one that was
  // sent away, and its memory is left on purpose.
  const window = windowed.withView((array) => {
    alive.push(array);
    return new Promise(() => undefined);
  });
  alive.push(windowed, window);
  const lender = OwnedTensor.from(ramp(5));
  alive.push(
    lender,
    lender.lend((tensor) => new Promise(() => void alive.push(tensor, tensor.__dlpack__({ max_version: [1, 0] })))),
  );

  const address = lab.mapMemory(4096);
  const pointed = fromPointer({
    address,
    shape: [16],
    dtype: 'float32',
    release: () => lab.unmapMemory(address, 4096),
  });
  alive.push(pointed, STAGED ? pointed.slice() : unsafeView(pointed));
  if (isMainThread) alive.push(adopt(new Float32Array(16)));

  const holders = [
    new Holder(base.__dlpack__({ max_version: [1, 0] })),
    new Holder(slice.__dlpack__({ max_version: [1, 0] })),
    new Holder(loan.__dlpack__()),
    new Holder(OwnedTensor.from(ramp(7)).__dlpack__({ max_version: [1, 0] })),
  ];
  return { structs, holders, alive };
}
