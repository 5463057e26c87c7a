// How a figure comes about: the contestants take turns, round by round, each for about the same time, and the best
// round counts beside the median. On a machine that others use too, two figures taken one after the other compare the
// hours; figures taken in turn compare the programs.

/** Many short rounds rather than a few long ones: some of them then fall between what else the machine does. */
const FULL = { rounds: 60, roundNs: 5e6 };
/** Enough to see that everything still runs and is right; no figure to believe. */
const QUICK = { rounds: 2, roundNs: 1e6 };

/** What the last iteration answered, so that no loop is found to be without effect. */
let kept;
const keep = (value) => {
  kept = value;
};
/** @public Asked by nobody; that somebody could is what keeps the answers. */
export const lastAnswer = () => kept;

// A loop of its own for each body: in a shared one the engine would see many bodies at one place, and inline none.
const LOOP = `return (iterations) => {
  const start = process.hrtime.bigint();
  let last;
  for (let i = 0; i < iterations; i++) last = body(i);
  const end = process.hrtime.bigint();
  keep(last);
  return Number(end - start);
};`;
const ASYNC_LOOP = LOOP.replace('(iterations) =>', 'async (iterations) =>').replace('= body(i)', '= await body(i)');

/** A contestant out of what it does once: it answers the nanoseconds that so many iterations took. */
export const loop = (body) => new Function('body', 'keep', LOOP)(body, keep);

/** The same for what is awaited. */
export const asyncLoop = (body) => new Function('body', 'keep', ASYNC_LOOP)(body, keep);

/** Iterations that fill a round. The best of three: one that was interrupted would say that a single one is enough. */
async function calibrate(time, roundNs) {
  for (let iterations = 1; ; iterations *= 2) {
    let took = Infinity;
    for (let i = 0; i < 3; i++) took = Math.min(took, await time(iterations));
    if (took >= roundNs / 2) return Math.max(1, Math.round((iterations * roundNs) / took));
  }
}

/**
 * Times contestants in alternating rounds. `contestants` is { name: time }, where `time(iterations)` answers the
 * nanoseconds that so many iterations took in all, or a promise of them: `loop(body)`, `asyncLoop(body)`, a statement of
 * a `PythonPeer`, or whatever measures itself.
 *
 * @returns { name: { best, median, iterations, rounds } }, in nanoseconds an iteration; `iterations` in one round
 */
export async function race(contestants, { quick = false, rounds, roundNs } = {}) {
  const plan = quick ? QUICK : { rounds: rounds ?? FULL.rounds, roundNs: roundNs ?? FULL.roundNs };
  const runners = [];
  for (const [name, time] of Object.entries(contestants)) {
    runners.push({ name, time, iterations: await calibrate(time, plan.roundNs), figures: [] });
  }
  for (let round = 0; round < plan.rounds; round++) {
    // Who comes first changes: what one leaves in the caches is not always for the same next one.
    const order = runners.map((_, index) => runners[(index + round) % runners.length]);
    for (const runner of order) {
      globalThis.gc?.({ type: 'minor' });
      runner.figures.push((await runner.time(runner.iterations)) / runner.iterations);
    }
  }
  return Object.fromEntries(
    runners.map(({ name, iterations, figures }) => [name, { ...summary(figures), iterations, rounds: plan.rounds }]),
  );
}

/** Best and median of figures of which less is better. */
export function summary(figures) {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { best: sorted[0], median };
}
