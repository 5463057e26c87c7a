// Deno 2.9 calls what an addon left for the end outside of any HandleScope: now and then V8 aborts a process that has shown memory as an ArrayBuffer,
// as a rule at its end (runtimes/differences.mjs). Such an end is said aloud and the smoke suite tried again; what the suite itself finds wrong is not.
export const DENO_ENDS = 'as Deno does now and then to a process that has shown memory';
export const DENO_TRIES = 3;
/** What V8 says then. */
export const DENO_SAYS = /Check failed: node->IsInUse\(\)|without a HandleScope/;
