// Reads the words in pictures: node main.mjs [--json] [picture ...]
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { timeRows } from './compare.mjs';
import { decode, inColour, peek } from './decode.mjs';
import { Detector } from './detect.mjs';
import { stats } from './dlpack.mjs';
import { draw } from './draw.mjs';
import { HandOverError, PictureError, firstLine } from './errors.mjs';
import { HandOvers } from './hand-overs.mjs';
import { loadModels } from './models.mjs';
import { Reader } from './read.mjs';
import { handOverText, pictureText, toJson } from './report.mjs';

const USAGE = 'usage: npm run demo -- [--json] [picture ...]';

function parse(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { json: { type: 'boolean' }, help: { type: 'boolean' } },
    });
    return { ...values, files: positionals };
  } catch (error) {
    return { wrong: firstLine(error) };
  }
}

/** As one would type it: relative where that does not lead upwards. */
function shortest(file) {
  const relative = path.relative(process.cwd(), file);
  return relative.startsWith('..') ? file : relative;
}

function ownPictures() {
  const folder = fileURLToPath(new URL('pictures/', import.meta.url));
  const names = readdirSync(folder).filter((name) => name.endsWith('.jpg'));
  return names.map((name) => shortest(path.join(folder, name)));
}

/** One line for each thing that is the user's to mend; the exit code says that there was one. */
function complain(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

/** What `action` gives, or undefined after a complaint about its picture. */
async function orComplain(action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof PictureError)) throw error;
    complain(error.message);
    return undefined;
  }
}

/** Names for the drawn pictures: two files of one name in two folders shall not overwrite each other's. */
function outputNames(pictures) {
  const used = new Map();
  return pictures.map(({ file }) => {
    const name = path.parse(file).name;
    const count = (used.get(name) ?? 0) + 1;
    used.set(name, count);
    return count === 1 ? name : `${name}-${count}`;
  });
}

class Clock {
  #last = performance.now();

  lap() {
    const now = performance.now();
    const elapsed = now - this.#last;
    this.#last = now;
    return elapsed;
  }
}

async function readPicture(picture, name, { detector, reader, handOvers }) {
  const clock = new Clock();
  const pixels = await decode(picture, handOvers);
  const colour = inColour(pixels);
  const tensors = [colour, pixels];
  const decodeTime = clock.lap();
  const found = await detector.detect(colour, handOvers);
  const detectTime = clock.lap();
  const lines = await reader.read(colour, found, handOvers);
  const readTime = clock.lap();
  const output = shortest(await draw(pixels, lines, name, handOvers));
  const [height, width] = pixels.shape;
  const milliseconds = { decode: decodeTime, detect: detectTime, read: readTime };
  return { result: { file: picture.file, width, height, lines, output, milliseconds }, tensors };
}

async function main() {
  const { wrong, help, json, files } = parse(process.argv.slice(2));
  if (wrong) return complain(`${wrong} (${USAGE})`);
  if (help) return console.log(USAGE);

  const asked = files.length > 0 ? files : ownPictures();
  const pictures = (await Promise.all(asked.map((file) => orComplain(() => peek(file))))).filter(Boolean);
  if (pictures.length === 0) return undefined;

  const models = await loadModels();
  const handOvers = new HandOvers();
  const detector = new Detector(models.detection, pictures);
  const reader = new Reader(models);
  const names = outputNames(pictures);
  const results = [];
  // A picture's tensors stay until its hand-overs were repeated for the clock.
  let tensors = [];
  const release = () => tensors.splice(0).forEach((tensor) => tensor.dispose());

  for (const [index, picture] of pictures.entries()) {
    handOvers.nextPicture();
    const done = await orComplain(() => readPicture(picture, names[index], { detector, reader, handOvers }));
    if (!done) continue;
    timeRows(handOvers.earlierRows());
    release();
    tensors = done.tensors;
    results.push(done.result);
    if (!json) console.log(pictureText(done.result));
  }
  const rows = handOvers.rows();
  timeRows(rows);
  release();
  reader.dispose();
  detector.dispose();

  const left = stats();
  if (Object.values(left).some((count) => count !== 0)) throw new HandOverError(`left over: ${JSON.stringify(left)}`);
  if (results.length > 0) console.log(json ? toJson(results, rows, left) : handOverText(rows));
  return undefined;
}

try {
  await main();
} catch (error) {
  // A broken promise about memory is the one failure that this program exists to notice; anything else is a defect that
  // needs its stack.
  complain(error instanceof HandOverError ? `hand-over failed: ${error.message}` : (error?.stack ?? String(error)));
}
