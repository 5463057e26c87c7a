// Can the random histories fail? Breaks one line of the built library at a time, as a mistake of ours would, and expects the histories to
// tell. What was broken is put back, whatever happens.
import { writeFileSync } from 'node:fs';
import { buildTests } from './build-tests.mjs';
import { joinedModule } from './join-modules.mjs';
import { tryRun } from './steps.mjs';

/** Module of dist, what stands there, what stands there instead, and what that breaks. */
const MUTANTS = [
  ['tensor', 'native_1.native.isUnique((0, tensor_base_1.handleOf)(this))', 'true', 'isUnique ignores all aliases'],
  ['negotiation', 'state.readOnly ? SHARED : LENT', 'LENT', 'exports without READ_ONLY'],
  ['negotiation', '{ copy: true, flags: 2 }', '{ flags: 2 }', 'a copy that shares'],
  ['negotiation', '{ copy: true, diagnostic: true }', '{ diagnostic: true }', 'legacy structs over shared memory'],
  ['lifetime', '(0, hot_calls_1.release)(handle)', '0', 'dispose releases nothing'],
  [
    'lifetime',
    '(tensor, tensor_base_1.stateKey, state)',
    '(tensor, tensor_base_1.stateKey, 2)',
    'a move reads as a disposal',
  ],
  ['view', 'native_1.native.releaseViews(handle)', '0', 'releaseViews releases nothing'],
  ['token', 'native_1.native.revokeToken(parseToken(token, operation))', '0', 'revokeToken revokes nothing'],
  ['lend', 'native_1.native.lendEnd(handle) < 0', 'false', 'a loan that others hold ends all the same'],
  ['from-dlpack', 'copy ? 1', 'copy ? 0', 'copy: true gives no owner'],
  ['metadata', '(this.flags & 1) !== 0', 'true', 'a writable loan says that it is read-only'],
  ['metadata', 'if (this.flags === flags)', 'if (true)', 'a frozen owner says what the owner said'],
];

function historiesPass() {
  const args = ['--expose-gc', 'node_modules/jest/bin/jest.js', '--silent', 'random-histories'];
  return tryRun(process.execPath, args, { quiet: true, env: { HISTORIES_RUNS: '1000' } }) === 0;
}

buildTests();
const failures = [];
if (!historiesPass()) failures.push('the library as it is: the histories fail already');
for (const [name, from, to, what] of MUTANTS) {
  const { file, text, begin, end } = joinedModule(name);
  const whole = text.slice(begin, end);
  if (whole.split(from).length !== 2) {
    failures.push(`${what}: ${name} has no single "${from}"`);
    continue;
  }
  try {
    writeFileSync(file, text.slice(0, begin) + whole.replace(from, () => to) + text.slice(end));
    if (historiesPass()) failures.push(`${what}: not caught`);
    else console.log(`ok caught: ${what}`);
  } finally {
    writeFileSync(file, text);
  }
}
for (const failure of failures) console.error(`FAIL ${failure}`);
process.exit(failures.length > 0 ? 1 : 0);
