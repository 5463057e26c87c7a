// Runs the built demo as a user would and looks at what comes out: the words, every hand-over's promise, and one clear line for bad files.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from './steps.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'read-words-'));
const counts = { passed: 0, failed: 0 };

function demo(...args) {
  return spawnSync(process.execPath, [path.join(root, 'examples/read-words/main.mjs'), ...args], {
    cwd: root,
    encoding: 'utf8',
  });
}

function check(rule, holds, found) {
  counts[holds ? 'passed' : 'failed'] += 1;
  console.log(`${holds ? 'ok  ' : 'FAIL'}  ${rule}${holds ? '' : `\n      found: ${found}`}`);
}

const good = demo('--json');
const result = good.status === 0 ? JSON.parse(good.stdout) : { pictures: [], handOvers: [], left: { unknown: 1 } };
check('the pictures of the repository are read: exit code 0', good.status === 0, good.stderr);
const words = JSON.stringify(result.pictures);
for (const word of ['listened', 'itching', 'Parliament', 'Militia'])
  check(`it read "${word}"`, words.includes(word), words.slice(0, 400));
check(
  'every hand-over is without a copy',
  result.handOvers.length > 8 && result.handOvers.every((one) => one.copies === 0),
  JSON.stringify(result.handOvers),
);
check(
  'nothing is left alive',
  Object.values(result.left).every((count) => count === 0),
  JSON.stringify(result.left),
);
for (const picture of result.pictures)
  check(
    `${path.basename(picture.output)} was drawn`,
    statSync(path.resolve(root, picture.output)).size > 1000,
    picture.output,
  );

const broken = path.join(folder, 'broken.jpg');
const text = path.join(folder, 'text.txt');
writeFileSync(broken, Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0x10]));
writeFileSync(text, 'no picture');
for (const [what, file] of [
  ['missing', path.join(folder, 'missing.jpg')],
  ['broken', broken],
  ['no picture', text],
]) {
  const bad = demo(file);
  const lines = bad.stderr.split('\n').filter((line) => line !== '');
  check(
    `a file that is ${what}: one line, exit code 1`,
    bad.status === 1 && lines.length === 1,
    `exit ${bad.status}: ${bad.stderr}`,
  );
}

rmSync(folder, { recursive: true, force: true });
console.log(`demo: ${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
