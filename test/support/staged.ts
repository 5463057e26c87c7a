/**
 * Does the suite run as where external ArrayBuffers are forbidden (`npm run test:staging`)? What looks at memory is a
 * copy then, no view counts as an alias, and what others must see at once is refused. Tests whose subject is that very
 * memory are listed in runtimes/staging.mjs; helpers that only need something to be alive ask here.
 */
export const STAGED = (process.env['NODE_DLPACK_DEBUG'] ?? '').split(',').includes('no-external-buffers');
