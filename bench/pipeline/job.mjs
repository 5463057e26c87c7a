// A job is done by ours and by peers, frame by frame; all must come to the same result. Its rows: time a frame, and bytes
// that a frame allocates.
import { asyncLoop, loop, race } from '../lib/measure.mjs';
import { row } from '../lib/row.mjs';
import { allocationsOf } from './allocations.mjs';

function mustAgree({ what, tolerance }, name, found, expected) {
  const wrong = found.findIndex((value, index) => !(Math.abs(value - expected[index]) <= tolerance));
  if (found.length !== expected.length || wrong >= 0)
    throw new Error(`${what}: ${name} comes to ${found[wrong]} at ${wrong}, ours to ${expected[wrong]}`);
}

/** The same figure as best and median: it was counted, not timed. */
const counted = (value) => ({ best: value, median: value, iterations: 1 });

const KINDS = {
  heap: 'objects on the heap, a frame',
  buffers: "JavaScript's ArrayBuffers, a frame",
  tensors: 'native memory of tensors, a frame',
};

/**
 * The rows of a job. `ways` is { ours: { frame, around, result }, <peer>: … }: `frame(i)` is a promise of all that a frame
 * needs, `around(i)` does all of it but the model's run, `result()` shows what came of the last one; `tolerance` is by how
 * much results may differ (ours computes in float32, loops in double).
 */
export async function rowsOf(job, options) {
  const { what, ways, must, remark } = job;
  for (const { frame } of Object.values(ways)) await frame(0);
  const expected = ways.ours.result();
  for (const [name, { result }] of Object.entries(ways)) mustAgree(job, name, result(), expected);

  const contest = (make) => race(Object.fromEntries(Object.entries(ways).map(make)), options);
  const all = await contest(([name, { frame }]) => [name, asyncLoop(frame)]);
  const around = await contest(([name, way]) => [name, loop(way.around)]);
  const rows = [row(all, { what, remark }), row(around, { what: `${what}: all but the model`, must })];

  const bytes = {};
  for (const [name, { frame }] of Object.entries(ways)) bytes[name] = await allocationsOf(() => frame(0), options);
  for (const [kind, label] of Object.entries(KINDS)) {
    const figures = Object.entries(bytes).map(([name, each]) => [name, counted(Math.max(0, Math.round(each[kind])))]);
    rows.push(row(Object.fromEntries(figures), { what: `${what}: ${label}`, unit: 'bytes' }));
  }
  const native = rows.at(-1);
  // No peer has any. What must hold is that ours, once warm, takes none either.
  native.peers = {};
  native.aim = 'none';
  native.met = native.ours.best === 0;
  return rows;
}
