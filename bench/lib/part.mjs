// A part of the bench is a module bench/<part>.mjs that exports
//
//   id, title
//   async run({ quick }) -> { facts: { name: text }, rows: [row], skipped?: [text] }
//
// where a row is { what, unit, ours: { best, median, iterations }, peers: { name: { best, median } },
// must: { peer, ratio } (or several, or undefined), aim, met: true, false or null, remark }: `race` measures and `row`
// makes it. `unit` is `ns` or `bytes` (or any other text) and of every figure less is better; `ratio` is the greatest part
// of the peer's figure that ours may be. `skipped` says which peers were not there, and why. A wrong result throws; a slow
// one does not.
//
// run.mjs starts each part in a process of its own: parts share no heap, no compiled code and no threads. A part's last
// line, `await runAlone(import.meta)`, makes it the same when it is started by itself: `node --expose-gc bench/<part>.mjs`.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

/** Runs the module as a part, if it is what Node was started with. */
export async function runAlone({ url }) {
  const file = fileURLToPath(url);
  if (file === process.argv[1]) process.exitCode = runPart(path.basename(file, '.mjs'), process.argv.slice(2));
}

/** The exit code of bench/<id>.mjs in a process of its own. `--json FILE` writes the result there. */
export function runPart(id, args) {
  const script = path.join(import.meta.dirname, 'part-process.mjs');
  const { status } = spawnSync(process.execPath, ['--expose-gc', script, id, ...args], { stdio: 'inherit' });
  return status ?? 1;
}
