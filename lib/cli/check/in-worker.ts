/** What a rule does with the addon in a worker: see lifetime-rules.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Task } from './lifetime-rules';
import { Subject } from './subject';

async function run({ addon, task }: { readonly addon: string; readonly task: Task }): Promise<void> {
  const subject = await Subject.load(addon);
  if (task === 'struct') {
    const { address, versioned } = await subject.struct();
    parentPort?.postMessage({ address, versioned });
  } else if (task === 'capsules') {
    for (let i = 0; i < 3; i++) kept.push(await subject.capsule());
  } else {
    const probe = await subject.probe();
    await subject.take(probe.capsule());
    await subject.expectReleasedOnce(probe);
  }
}

const kept: object[] = [];

// By lifetime-rules.ts, which is ours.
void run(workerData as { readonly addon: string; readonly task: Task });
