// Whole jobs, frame after frame, beside the same jobs written with Buffers and loops: time, and what is allocated.
import { runAlone } from './lib/part.mjs';
import { installNpmPeers, npmVersion } from './lib/peers.mjs';
import { rowsOf } from './pipeline/job.mjs';

export const id = 'pipeline';
export const title = 'Pipelines, frame by frame';

export async function run({ quick }) {
  installNpmPeers();
  // These load the peers, which are there only now.
  const { pictureJob } = await import('./pipeline/pictures.mjs');
  const { streamJob } = await import('./pipeline/stream.mjs');
  const rows = [];
  for (const make of [pictureJob, streamJob]) {
    const job = await make();
    rows.push(...(await rowsOf(job, { quick })));
    await job.end();
  }
  return { facts: { peers: npmVersion('onnxruntime-node') }, rows };
}

await runAlone(import.meta);
