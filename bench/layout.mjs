// Layout copies and conversions while copying: `owned.set`, `contiguous`, `copy` of the public API beside NumPy, beside
// torch where it is installed, and beside this library's core without JavaScript, to show what the API adds.
//
// NODE_DLPACK_BENCH_ROWS: only rows whose name holds this text.
import { hasSecondCore, onAllCores } from './layout/cores.mjs';
import { Ours } from './layout/ours.mjs';
import { buildLibrary, LayoutPeer } from './layout/peer.mjs';
import { CONVERSIONS, COPIES, inSmall, UNEVEN } from './layout/rows.mjs';

import { race } from './lib/measure.mjs';
import { runAlone } from './lib/part.mjs';
import { pythonPeers, requireOurs, torchPeer } from './lib/peers.mjs';
import { atMost, row, timesFaster } from './lib/row.mjs';

const { copyThreads } = requireOurs('node-dlpack');

export const id = 'layout';
export const title = 'Layout copies and conversions, one thread unless the row says two';

const CORE = 'the core alone';
const AVX2 = 'the core alone, AVX2';
const ROUNDS = { rounds: 7, roundNs: 20e6 };
/** From here on the call must not show any more. */
const LARGE = 1 << 20;
/** Nothing but reading and writing. */
const WHOLE_COPY = COPIES[0];
/** Elements of a copy that is worth a second thread. */
const MANY = 8 << 20;

const sizeOf = (shape) => shape.reduce((size, extent) => size * extent, 1);

const faster = (results, times) => {
  const peers = ['NumPy', 'torch'].filter((name) => results[name] !== undefined);
  const best = peers.reduce((a, b) => (results[b].best < results[a].best ? b : a));
  return timesFaster(best, times);
};

const rate = (bytes, { ours }) => `${(bytes / ours.best).toPrecision(3)} GB/s`;

/** It knows no negative strides. */
const torchCan = ({ view }) => view.every(([step]) => step !== 'flip');

/** Times one recipe with everybody who can do it. `statements`: what each peer does once. */
async function measure(what, recipe, { bytes, ours, marks, statements, core }, { numpy, torch, options }) {
  const contestants = { ours, NumPy: numpy.time(statements.numpy) };
  if (core !== undefined) {
    contestants[CORE] = (iterations) => numpy.ask(`row.core(${iterations}, ${core})`);
    if (numpy.hasAvx2 && core === 'fresh=False' && recipe.to === undefined) {
      contestants[AVX2] = (iterations) => numpy.ask(`row.core(${iterations}, kernels=2)`);
    }
  }
  if (torch !== undefined && torchCan(recipe)) {
    contestants.torch = torch.time(statements.torch);
  }
  const results = await race(contestants, { ...ROUNDS, ...options });
  const must = [];
  if (marks.times !== undefined) must.push(faster(results, marks.times));
  if (marks.numpyTimes !== undefined) must.push(timesFaster('NumPy', marks.numpyTimes));
  if (marks.torchTimes !== undefined) must.push(timesFaster('torch', marks.torchTimes));
  if (core !== undefined && bytes >= LARGE) must.push(atMost(CORE, 1.1));
  return row(results, { what, must, remark: rate(bytes, results) });
}

async function measureRecipe(recipe, context) {
  const { numpy, torch, library } = context;
  const ours = new Ours(recipe);
  await numpy.open(recipe, library);
  if (torch !== undefined && torchCan(recipe)) await torch.open(recipe);
  if ((await numpy.ask('row.digest()')) !== ours.digest())
    throw new Error(`${recipe.what}: not what NumPy makes of it`);
  const { bytes } = ours;
  const core = (fresh) => (library === undefined ? undefined : `fresh=${fresh ? 'True' : 'False'}`);
  const converts = recipe.to !== undefined;
  const statements = {
    numpy: converts ? 'row.convert()' : 'copyto(row.target, row.view)',
    torch: converts ? 'row.convert_torch()' : 'row.torch_target.copy_(row.torch_view)',
  };
  const existing = { bytes, ours: ours.existing(), marks: recipe, statements, core: core(false) };
  const rows = [await measure(recipe.what, recipe, existing, context)];
  if (recipe.fresh !== undefined) {
    const into = { numpy: "row.view.copy('C')", torch: 'row.torch_fresh()' };
    const fresh = {
      bytes,
      ours: ours.fresh(),
      marks: { numpyTimes: recipe.fresh },
      statements: into,
      core: core(true),
    };
    rows.push(await measure(`${recipe.what}, into fresh memory`, recipe, fresh, context));
  }
  ours.dispose();
  return rows;
}

/** What does not come out even beside what does, by bytes a second. */
async function measureUneven({ what, uneven, even }, { options }) {
  const [ours, aligned] = [new Ours(uneven), new Ours(even)];
  const time = aligned.existing();
  const scaled = (iterations) => time(iterations) * (ours.bytes / aligned.bytes);
  const results = await race({ ours: ours.existing(), 'what comes out even': scaled }, { ...ROUNDS, ...options });
  const remark = rate(ours.bytes, results);
  [ours, aligned].forEach((each) => each.dispose());
  return row(results, { what: `uneven: ${what}`, must: atMost('what comes out even', 1 / 0.7), remark });
}

const withThreads = (count, time) => (iterations) => {
  copyThreads(count);
  const took = time(iterations);
  copyThreads(1);
  return took;
};

/** `must`: nothing, for what only shows how much more memory gives to two threads than to one. */
async function measureThreads(recipe, { options }, must = timesFaster('one thread', 1.3)) {
  const ours = new Ours(recipe);
  const time = ours.existing();
  const ways = { ours: withThreads(2, time), 'one thread': withThreads(1, time) };
  const results = await onAllCores(() => race(ways, { ...ROUNDS, ...options }));
  const remark = rate(ours.bytes, results);
  ours.dispose();
  return row(results, { what: `two threads: ${recipe.what}`, must, remark });
}

export async function run({ quick }) {
  const wanted = process.env.NODE_DLPACK_BENCH_ROWS ?? '';
  const chosen = (recipes) => recipes.filter(({ what }) => what.includes(wanted));
  const prepare = quick ? inSmall : (recipe) => recipe;
  const skipped = [];
  const { python } = pythonPeers();
  const numpy = new LayoutPeer(python, 'open');
  const torchPython = torchPeer();
  const torch = torchPython.python && !quick ? new LayoutPeer(torchPython.python, 'open_torch') : undefined;
  if (torchPython.skipped) skipped.push(torchPython.skipped);
  const library = buildLibrary();
  if (library === undefined) skipped.push(`${CORE}: the addon's objects are not where node-gyp leaves them on Linux`);
  numpy.hasAvx2 = library !== undefined && (await numpy.ask(`has_avx2(${JSON.stringify(library)})`));
  const context = { numpy, torch, library, options: { quick } };

  const rows = [];
  for (const recipe of chosen([...COPIES, ...CONVERSIONS]))
    rows.push(...(await measureRecipe(prepare(recipe), context)));
  for (const { what, uneven, even } of chosen(UNEVEN)) {
    rows.push(await measureUneven({ what, uneven: prepare(uneven), even: prepare(even) }, context));
  }
  const turning = COPIES.filter(
    ({ fresh, times, shape }) => fresh !== undefined && times === 2 && sizeOf(shape) > MANY,
  );
  if (hasSecondCore()) {
    for (const recipe of chosen([WHOLE_COPY])) rows.push(await measureThreads(prepare(recipe), context, []));
    for (const recipe of chosen(turning)) rows.push(await measureThreads(prepare(recipe), context));
  } else {
    skipped.push('two threads: this machine has one core, or processes cannot be moved between cores');
  }

  const facts = { NumPy: await numpy.ask('np.__version__') };
  if (torch !== undefined) facts.torch = await torch.ask("__import__('torch').__version__");
  await Promise.all([numpy.close(), torch?.close()]);
  return { facts, rows, skipped };
}

await runAlone(import.meta);
