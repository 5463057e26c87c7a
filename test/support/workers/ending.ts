/**
 * A worker with everything alive that ends as it is told. It posts the ids of its foreign structs and of what a native
 * consumer holds.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { makeEverything } from '../everything.js';

const { how } = workerData as { how: 'return' | 'exit' | 'throw' | 'wait' | 'loop' };

const made = makeEverything();
const message = { structs: made.structs.map(({ id }) => id), holders: made.holders.map(({ id }) => id) };
Reflect.set(globalThis, 'kept', made);

if (how === 'wait') setInterval(() => undefined, 1000);
parentPort?.postMessage(message);
if (how === 'exit') process.exit(5);
if (how === 'throw') throw new Error('the worker failed');
if (how === 'loop') for (;;) Math.random();
