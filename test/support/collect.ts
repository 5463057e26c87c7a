/** Collections on demand, for tests and for the processes that tests start: everything that waits for one happens. */

/** Turns that collections and their callbacks are given; each callback comes one turn after the collection that found its object. */
const MAX_TURNS = 60;
/** More of them, each after a pause: where the machine is busy, what collectors do on threads of their own comes late. */
const MAX_PATIENT_TURNS = 20;
const PAUSE_MS = 20;

/** A full collection, then one turn of the event loop, in which finalizers and registry callbacks run. */
export async function collect(turns = 1): Promise<void> {
  const gc = globalThis.gc;
  if (gc === undefined) throw new Error('the tests need node --expose-gc');
  for (let turn = 0; turn < turns; turn += 1) {
    gc();
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** Collects until `done` answers true, or long enough to be sure that it never will; answers whether it did. */
export async function collectUntil(done: () => boolean, once: () => Promise<void> = collect): Promise<boolean> {
  for (let turn = 0; turn < MAX_TURNS + MAX_PATIENT_TURNS; turn += 1) {
    if (done()) return true;
    if (turn >= MAX_TURNS) await new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS));
    await once();
  }
  return done();
}
