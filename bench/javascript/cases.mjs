// A case: the same thing done by us and by each peer, checked to come to the same before any of it is timed.
//
// { what, must?, aim?, remark?, ways: { ours: { run, result? }, <peer>: { run, result? } }, end? }
//
// `run()` does it once, `result()` then shows the elements as a typed array (nothing to compare where ours has none).
// Ways that are awaited say so: `awaited: true`.
import { asyncLoop, loop, race } from '../lib/measure.mjs';
import { row } from '../lib/row.mjs';

/** A float32 multiplication that is fused, or done in another order, may differ in the last place. */
const TOLERANCE = 1e-6;

function mustEqual(what, name, found, expected) {
  const wrong = found.findIndex(
    (value, index) => !(Math.abs(value - expected[index]) <= TOLERANCE * Math.max(1, Math.abs(expected[index]))),
  );
  if (found.length !== expected.length || wrong >= 0) {
    throw new Error(
      `${what}: ${name} has ${found[wrong]} at ${wrong} of ${found.length}, ours ${expected[wrong]} of ${expected.length}`,
    );
  }
}

async function measure({ what, ways, must, aim, remark, end }, options) {
  for (const { run } of Object.values(ways)) await run(0);
  if (ways.ours.result !== undefined) {
    const expected = ways.ours.result();
    for (const [name, { result }] of Object.entries(ways)) mustEqual(what, name, result(), expected);
  }
  const contestants = Object.entries(ways).map(([name, { run, awaited }]) => [name, (awaited ? asyncLoop : loop)(run)]);
  const results = await race(Object.fromEntries(contestants), options);
  await end?.();
  return row(results, { what, must, aim, remark });
}

/** The rows of cases, each made when its turn comes, so that no case's memory is under another's feet. */
export async function measureCases(makers, options) {
  const rows = [];
  for (const make of makers) rows.push(await measure(await make(), options));
  return rows;
}

/** Float32 elements that are not all alike. */
export const floats = (count) =>
  Float32Array.from({ length: count }, (_, index) => ((index * 2654435761) % 4093) / 16 - 100);

/** Bytes that are not all alike. */
export const bytes = (count) => Uint8Array.from({ length: count }, (_, index) => (index * 2654435761) >>> 11);
