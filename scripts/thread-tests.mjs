// Everything that has more than one thread, under ThreadSanitizer: the tests of the core, the jest files of workers, threads and endings over addons built
// with it, then a race planted on purpose, which must be found. `npm test` must have run before. Arguments go to jest, and only jest runs then.
import path from 'node:path';
import { demandFindings, instrumentedCopy, jestArguments, sanitizerLibrary } from './instrumented.mjs';
import { root, run } from './steps.mjs';

/** Parts of the names of the jest files in which threads meet. */
const THREADED = ['dist-test/tokens', 'token-functions', 'view-death', 'exchange-table', '165-in-the-middle'];
/** The file in which most of them run at the same time, nothing between them that would put their steps in an order. */
const CROWDED = 'dist-test/environment.test';

const chosen = process.argv.slice(2);

if (chosen.length === 0) run(process.execPath, ['scripts/core-tests.mjs', '--thread']);

const copy = instrumentedCopy('thread', '-fsanitize=thread');
const env = {
  LD_PRELOAD: sanitizerLibrary('tsan'),
  // Node itself is not built with it: of its frames nothing is believed, and what it synchronises by is seen at its borders only.
  TSAN_OPTIONS: 'ignore_noninstrumented_modules=1:report_thread_leaks=0:halt_on_error=1:exitcode=66',
  NODE_DLPACK_SANITIZED: '1',
};
const files = chosen.length > 0 ? chosen : THREADED;
run(process.execPath, jestArguments(files), { cwd: copy, env });

if (chosen.length === 0) {
  const faults = { race: /WARNING: ThreadSanitizer: data race/ };
  const core = path.join(root, 'build/core-tests-thread/core-tests');
  const inCore = demandFindings('core', faults, core, ['tokens'], { cwd: root, env: {} });
  const inJest = demandFindings('jest', faults, process.execPath, jestArguments([CROWDED]), {
    cwd: copy,
    env,
  });
  process.exit(inCore && inJest ? 0 : 1);
}
