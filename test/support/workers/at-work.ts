/** A worker that uses the library hard, checks its own values, and answers how many rounds were right. */
import { parentPort, workerData } from 'node:worker_threads';
import { fromDLPack, OwnedTensor, scope, Tensor } from '../../../dist/index.js';
import { Holder, makeStruct, structsNotDeletedOnce } from '../lab.js';
import { importFloat } from '../values.js';

const { seed, rounds } = workerData as { seed: number; rounds: number };
let right = 0;
for (let round = 0; round < rounds; round += 1) {
  const value = seed * 100_000 + round;
  const good = scope(() => {
    const owned = OwnedTensor.allocate([16], 'int32');
    owned.fill(value);
    const tensor = owned.freeze();
    const back = fromDLPack(tensor.__dlpack__({ max_version: [1, 3] }));
    const copied = fromDLPack(tensor, { copy: true });
    const holder = new Holder(tensor.slice([0, 16, 3]).__dlpack__({ max_version: [1, 0] }));
    const seen = holder.elements();
    if (round % 2 === 0) holder.releaseOnThread();
    else holder.release();
    const foreign = importFloat(makeStruct({ flags: 2 }).producer());
    const sum = foreign.toTypedArray().reduce((total, element) => total + element, 0);
    foreign.dispose();
    const dropped = Tensor.from(Int32Array.of(value));
    dropped.__dlpack__({ max_version: [1, 0] });
    return (
      back.at(15) === value &&
      copied.at(0) === value &&
      seen.length === 6 &&
      seen.every((element) => element === value) &&
      sum === 15
    );
  });
  if (good) right += 1;
}
parentPort?.postMessage({ right, undeleted: structsNotDeletedOnce() });
