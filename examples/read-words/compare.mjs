// Each hand-over's time, beside what one does today to get the same bytes across.

const BUDGET = 40; // milliseconds for each figure
const MOST = 200;

/**
 * Milliseconds, the median of as many times as the budget allows (at least 3). `action` may return the milliseconds
 * itself.
 */
function median(action) {
  const times = [];
  const end = performance.now() + BUDGET;
  action(); // the first time compiles
  while (times.length < 3 || (times.length < MOST && performance.now() < end)) {
    const start = performance.now();
    const own = action();
    times.push(typeof own === 'number' ? own : performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
}

function base64RoundTrip(array) {
  const text = Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64');
  return Buffer.from(text, 'base64');
}

/**
 * { handOver, slice, structuredClone, base64 } in milliseconds, or undefined for a hand-over that cannot be repeated
 * alone.
 */
function compare({ again, sample }) {
  if (!again) return undefined;
  const handOver = median(() => again());
  const bytes = sample();
  return {
    handOver,
    slice: median(() => void bytes.slice()),
    structuredClone: median(() => void structuredClone(bytes)),
    base64: median(() => void base64RoundTrip(bytes)),
  };
}

/** Times the rows that have no times yet. The tensors that they handed over must still be there. */
export function timeRows(rows) {
  for (const row of rows) row.times ??= compare(row);
}
