// What a Node user would otherwise do: loops, typed arrays' own copies, structuredClone, ndarray with ndarray-ops,
// @stdlib/ndarray, onnxruntime's Tensor.
import { runAlone } from './lib/part.mjs';
import { installNpmPeers, npmVersion } from './lib/peers.mjs';
import { measureCases } from './javascript/cases.mjs';

export const id = 'javascript';
export const title = 'In JavaScript, beside what one would do without this library';

export async function run({ quick }) {
  installNpmPeers();
  // These load the peers, which are there only now.
  const files = ['making', 'copying', 'transposing', 'pictures', 'halves', 'workers'];
  const cases = await Promise.all(files.map(async (file) => (await import(`./javascript/${file}.mjs`))[file]));
  const rows = await measureCases(cases.flat(), { quick });
  const names = ['ndarray', 'ndarray-ops', '@stdlib/ndarray', 'onnxruntime-node'];
  return { facts: { peers: names.map(npmVersion).join(', ') }, rows };
}

await runAlone(import.meta);
