/** A worker of the soak test: makes one of everything, tells, and goes on exporting until it is terminated. */
import { parentPort } from 'node:worker_threads';
import { fromDLPack, OwnedTensor, Tensor } from '../../../dist/index.js';
import { makeEverything } from '../everything.js';
import { ramp } from '../lab.js';

const everything = makeEverything();
const { structs, holders } = everything;
Reflect.set(globalThis, 'kept', everything);
for (const holder of holders) holder.releaseLater(5);
parentPort?.postMessage(structs.map(({ id }) => id));

// So many, since the record of a capsule that is alive when its environment ends stays for ever: some dozens of bytes, for
// whoever may still hold it. Nothing that a termination between two lines would leave with nobody: no struct in the hands
// of a native consumer, and no view, which is kept on purpose when it cannot be told whether its bytes were sent away.
const exported: object[] = [];
for (let turn = 0; turn < 100; turn += 1) {
  using tensor = Tensor.from(ramp(64), { shape: [8, 8] });
  exported[turn % 64] = tensor.transpose().__dlpack__({ max_version: [1, 3] });
  const owned = OwnedTensor.from(ramp(32));
  owned.fill(turn);
  exported[64 + (turn % 16)] = owned.freeze().__dlpack__({ max_version: [1, 3] });
}
for (;;) {
  using tensor = Tensor.from(ramp(64), { shape: [8, 8] });
  fromDLPack(tensor.transpose()).dispose();
}
