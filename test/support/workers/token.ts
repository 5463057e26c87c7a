/** A worker that claims and makes tokens as it is told, one task in `workerData`, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { OwnedTensor, stats, Tensor } from '../../../dist/index.js';
import { dataAddress } from '../../../dist/unsafe.js';

export type Task =
  | { readonly do: 'read'; readonly token: string }
  | { readonly do: 'share'; readonly ttl: number }
  | { readonly do: 'transfer' }
  | { readonly do: 'negate'; readonly token: string }
  | { readonly do: 'move'; readonly token: string }
  | { readonly do: 'hold'; readonly token: string }
  | { readonly do: 'race'; readonly tokens: readonly string[]; readonly gate: SharedArrayBuffer };

function code(attempt: () => unknown): unknown {
  try {
    attempt();
  } catch (error) {
    return error instanceof Error ? Reflect.get(error, 'code') : 'no error';
  }
  return 'ok';
}

type Tasks = { readonly [Name in Task['do']]: (task: Extract<Task, { do: Name }>) => unknown };

const tasks: Tasks = {
  read: ({ token }) => {
    const tensor = Tensor.fromShared(token);
    return {
      values: tensor.toArray(),
      readOnly: tensor.readOnly,
      address: dataAddress(tensor),
      again: code(() => Tensor.fromShared(token)),
    };
  },
  share: ({ ttl }) => Tensor.from(new Float32Array([1, 2, 3])).share({ ttl }),
  transfer: () => {
    const owned = OwnedTensor.from(new Int32Array([1, 2, 3, 4]), { shape: [2, 2] });
    const { data } = owned;
    return { token: owned.transfer(), left: data.length, consumed: owned.consumed };
  },
  negate: ({ token }) => {
    const owned = OwnedTensor.fromTransfer(token);
    if (!owned.is('float64')) throw new Error(`got ${owned.dtype}`);
    owned.data.forEach((value, index) => (owned.data[index] = -value));
    return owned.transfer();
  },
  move: ({ token }) => {
    const owned = Tensor.fromShared(token).intoDLPack();
    owned.fill(9);
    return owned.transfer();
  },
  hold: async ({ token }) => {
    const tensor = Tensor.fromShared(token);
    parentPort?.postMessage('holding');
    await new Promise((resolve) => parentPort?.once('message', resolve));
    tensor.dispose();
    return 'released';
  },
  race: ({ tokens, gate: shared }) => {
    const gate = new Int32Array(shared);
    Atomics.add(gate, 0, 1);
    Atomics.notify(gate, 0);
    while (Atomics.load(gate, 0) < 2) Atomics.wait(gate, 0, 1, 10);
    const results = tokens.map((token) => code(() => OwnedTensor.fromTransfer(token).dispose()));
    const count = (answer: string): number => results.filter((result) => result === answer).length;
    return { won: count('ok'), refused: count('ERR_DLPACK_TOKEN') };
  },
};

async function run(task: Task): Promise<void> {
  // The function of a task's name takes that task, which the compiler cannot follow through a union.
  const perform = tasks[task.do] as (task: Task) => unknown;
  const answer = await perform(task);
  parentPort?.postMessage({ answer, tokens: stats().tokens });
}

void run(workerData as Task);
