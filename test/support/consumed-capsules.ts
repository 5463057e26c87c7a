/** Hands off a million times, consuming and disposing everything, and prints by how many MiB the process has grown. */
import { fromDLPack, Tensor } from '../../dist/index.js';

const ROUNDS = 100;
const HAND_OFFS = 10_000;

async function main(): Promise<void> {
  const tensor = Tensor.from(new Float32Array(16));
  let before = 0;
  for (let round = 0; round <= ROUNDS; round += 1) {
    // The first round warms up.
    if (round === 1) before = process.memoryUsage().rss;
    for (let i = 0; i < HAND_OFFS; i += 1) fromDLPack(tensor.__dlpack__({ max_version: [1, 3] })).dispose();
    await new Promise((resolve) => setImmediate(resolve));
  }
  console.log(Math.round((process.memoryUsage().rss - before) / 2 ** 20));
}

void main();
