// Everything under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer: the tests of the core, then the whole jest suite over addons built
// with them, then faults planted on purpose, each of which must be found. `npm test` must have run before. Arguments go to jest, and only jest runs then.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import {
  ATTEMPTS,
  demandFindings,
  FELL_OVER,
  instrumentedCopy,
  jestArguments,
  sanitizerLibrary,
} from './instrumented.mjs';
import { jobs, root, run } from './steps.mjs';

const chosen = process.argv.slice(2);

if (chosen.length === 0) run(process.execPath, ['scripts/core-tests.mjs', '--sanitize']);

const copy = instrumentedCopy(
  'address',
  '-fsanitize=address,undefined -fno-sanitize-recover=undefined -static-libubsan',
);
const env = {
  LD_PRELOAD: sanitizerLibrary('asan'),
  ASAN_OPTIONS: 'detect_leaks=1:quarantine_size_mb=16:allocator_may_return_null=1',
  LSAN_OPTIONS: `suppressions=${path.join(root, 'test/support/leaks-of-others.txt')}:print_suppressions=0`,
  UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
  // Tests that bound resident memory are skipped, by name: a sanitizer's shadow and quarantine are memory too.
  NODE_DLPACK_SANITIZED: '1',
};

/** Runs jest over one part of the suite; answers its exit code and whether its last words were that LeakSanitizer fell over. */
function attempt(shard) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, jestArguments([...chosen, ...shard]), {
      cwd: copy,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    let end = '';
    child.stderr.on('data', (data) => {
      process.stderr.write(data);
      end = (end + data).slice(-4000);
    });
    child.on('error', reject);
    // Jest's summary comes before the look for leaks: a failed test is a failure whatever comes after it.
    child.on('close', (status) => {
      const fell = end.includes(FELL_OVER) && !/^Tests: .* failed/m.test(stripVTControlCharacters(end));
      resolve({ code: status ?? 1, fell });
    });
  });
}

/** The exit code of one part of the suite: run again, aloud, when nobody looked for leaks. */
async function part(shard) {
  for (let i = 1; ; i++) {
    const { code, fell } = await attempt(shard);
    if (code === 0 || !fell || i === ATTEMPTS) return code;
    console.error(
      `again, attempt ${i + 1} of ${ATTEMPTS}: LeakSanitizer fell over before it had looked (${shard.join(' ')})`,
    );
  }
}

// Small parts, so that one run again costs little; as many at a time as there are processors, at most two.
const SHARDS = 8;
const parts = chosen.length > 0 ? [[]] : Array.from({ length: SHARDS }, (_, i) => [`--shard=${i + 1}/${SHARDS}`]);
const waiting = [...parts];
const codes = [];
const lane = async () => {
  for (let shard = waiting.shift(); shard !== undefined; shard = waiting.shift()) codes.push(await part(shard));
};
await Promise.all(Array.from({ length: Math.min(2, jobs) }, lane));
if (codes.some((code) => code !== 0)) {
  console.error(`failed: jest under sanitizers (${codes.join(', ')})`);
  process.exit(1);
}

if (chosen.length === 0) {
  const memory = {
    use_after_free: /heap-use-after-free/,
    out_of_bounds: /heap-buffer-overflow/,
    double_delete: /attempting double-free/,
    leak: /LeakSanitizer: detected memory leaks/,
    overflow: /signed integer overflow/,
  };
  const core = path.join(root, 'build/core-tests-sanitize/core-tests');
  const inCore = demandFindings('core', memory, core, ['managed'], { cwd: root, env: {} });
  const inJest = demandFindings(
    'jest',
    memory,
    process.execPath,
    jestArguments(['dist-test/shape', 'dist-test/derive-native']),
    {
      cwd: copy,
      env,
    },
  );
  process.exit(inCore && inJest ? 0 : 1);
}
