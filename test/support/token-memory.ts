/**
 * A child whose address space has room for one piece of memory, not for two: what an expired token held is there for the
 * very call that needs it.
 * With the argument `measure` it tells how much address space it takes before that, in KiB.
 */
import { readFileSync } from 'node:fs';
import { OwnedTensor } from '../../dist/index.js';

const BYTES = 2 ** 31;
const TTL = 1_500;

function allocate(): string {
  try {
    OwnedTensor.allocate([BYTES], 'uint8').dispose();
  } catch (error) {
    return error instanceof Error ? String(Reflect.get(error, 'code')) : 'no error';
  }
  return 'given';
}

function main(): void {
  OwnedTensor.allocate([BYTES], 'uint8').transfer({ ttl: TTL });
  const before = allocate();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TTL + 10);
  console.log(before, allocate());
}

if (process.argv[2] === 'measure') console.log(/VmSize:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
else main();
