/**
 * A worker that stops in the middle of an operation, with the library's own frames on the stack, says so through
 * `gate`, and spins there until it is terminated. Native threads release what it exported, some now, some when it is
 * gone.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { fromDLPack, OwnedTensor, Tensor } from '../../../dist/index.js';
import { fromPointer } from '../../../dist/unsafe.js';
import { Holder, lab, makeStruct, ramp } from '../lab.js';

export type Middle = 'export' | 'import' | 'deleter' | 'window' | 'loan';

const { what, gate } = workerData as { what: Middle; gate: Int32Array };

/** Never returns. */
function stay(): never {
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  for (;;) Math.random();
}

const tensor = Tensor.from(ramp(1000));
const struct = makeStruct({ flags: 0 });
const holders = Array.from({ length: 4 }, () => new Holder(tensor.__dlpack__({ max_version: [1, 0] })));
holders.forEach((holder, index) => {
  if (index % 2 === 0) holder.releaseLater(1 + index);
  else holder.releaseAfterEnvironment(index);
});
Reflect.set(globalThis, 'kept', [tensor, tensor.view(), fromDLPack(struct.producer()), tensor.__dlpack__()]);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port, no window
parentPort?.postMessage(struct.id);

const middles: Readonly<Record<Middle, () => unknown>> = {
  export: () =>
    tensor.__dlpack__({
      get max_version() {
        return stay();
      },
    }),
  import: () => fromDLPack({ __dlpack__: stay, __dlpack_device__: () => [1, 0] }),
  deleter: () => {
    const address = lab.mapMemory(4096);
    fromPointer({ address, shape: [4], dtype: 'int8', release: stay }).dispose();
    return setInterval(() => undefined, 1000);
  },
  // The array is kept: one that was collected, and not finalized when its environment dies, looks like one that was sent away,
  // and its memory is left on purpose.
  window: () =>
    tensor.withView((array) => {
      Reflect.set(globalThis, 'window', array);
      return stay();
    }),
  loan: () => OwnedTensor.allocate([4], 'int8').lend(stay),
};
// The message is on its way before the thread stops answering.
setTimeout(() => middles[what](), 1);
