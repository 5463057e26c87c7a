// Mixed operations and dying workers for as long as it is told: `npm run soak [-- <minutes>]`, an hour if nothing is said; `--ci` is three quarters of a
// minute. Fails when something is left, or when resident memory still grows in the second half. Minutes of ten or more
// are a long run: their samples and the plot of them replace those in docs/.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildTests } from './build-tests.mjs';
import { root, run } from './steps.mjs';

const ci = process.argv.includes('--ci');
const minutes = ci ? 0.75 : Number(process.argv[2] ?? 60);
const long = minutes >= 10;
const folder = path.join(root, long ? 'docs' : '.cache');
const file = path.join(folder, 'soak.json');
mkdirSync(folder, { recursive: true });
buildTests();

run(process.execPath, [
  '--expose-gc',
  'dist-test/support/soak.js',
  String(minutes * 60),
  String(ci ? 5 : long ? 1000 : 50),
  file,
]);
const { samples, zero } = JSON.parse(readFileSync(file, 'utf8'));
const last = samples.at(-1);
const MIB = 2 ** 20;

/** The median of resident memory, in MiB, over a part of the run. */
function median(from, to) {
  const part = samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to)).map(({ rss }) => rss);
  return part.toSorted((a, b) => a - b)[Math.floor(part.length / 2)] / MIB;
}

const early = median(0.3, 0.6);
const late = median(0.7, 1);
// What the engine keeps goes up and down by some MiB; what leaks goes up.
const flat = late <= early * 1.15 + 16;
console.log(
  `${flat && zero ? 'PASS' : 'FAIL'} soak: ${last.operations} operations and ${last.workers} workers in ${Math.round(last.seconds)} s; resident memory ${Math.round(early)} MiB in the middle, ${Math.round(late)} MiB at the end; blocks left ${last.blocks}`,
);
if (long) writeFileSync(path.join(folder, 'soak.svg'), plot());
process.exit(flat && zero ? 0 : 1);

/** Resident memory and live bytes over time, in one picture. */
function plot() {
  const [width, height, left, bottom] = [720, 260, 60, 36];
  const most = Math.max(...samples.map(({ rss }) => rss)) * 1.1;
  const x = (seconds) => left + ((width - left - 12) * seconds) / last.seconds;
  const y = (bytes) => height - bottom - ((height - bottom - 12) * bytes) / most;
  const line = (key, colour) =>
    `<polyline fill="none" stroke="${colour}" stroke-width="1.5" points="${samples.map((one) => `${x(one.seconds).toFixed(1)},${y(one[key]).toFixed(1)}`).join(' ')}"/>`;
  const text = (at, from, words, anchor = 'middle') =>
    `<text x="${at}" y="${from}" text-anchor="${anchor}">${words}</text>`;
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">
<rect width="${width}" height="${height}" fill="white"/>
${ticks.map((part) => text(x(part * last.seconds), height - 18, `${((part * last.seconds) / 60).toFixed(1)} min`, part === 1 ? 'end' : 'middle')).join('\n')}
${ticks.map((part) => text(left - 6, y((part * most) / 1.1) + 4, `${Math.round((part * most) / 1.1 / MIB)} MiB`, 'end')).join('\n')}
${line('rss', '#1f77b4')}
${line('bytes', '#d62728')}
${text(left + 10, 14, 'blue: resident memory of the process; red: bytes of live blocks', 'start')}
${text(width / 2, height - 4, `${last.operations} operations, ${last.workers} workers terminated`)}
</svg>
`;
}
