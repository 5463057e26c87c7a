// Hand-off: what it costs to give a tensor to somebody, or to take one, beside everybody else's. The participants are
// processes, of which one works at a time, on the one core that the part is kept to.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../scripts/steps.mjs';
import { addon, startPeers } from './handoff-peers.mjs';
import { race, summary } from './lib/measure.mjs';
import { runAlone } from './lib/part.mjs';
import { atMost, row } from './lib/row.mjs';

export const id = 'handoff';
export const title = 'Hand-off';

const SHAPES = ['2x3', '2x3x4x5'];
const NUMPY = (shape) => ['python', `numpy<-numpy ${shape}`];
const others = (shape) =>
  Object.fromEntries(
    ['zarrista', 'tvm_ffi', 'pyarrow', 'mlx', 'jax', 'torch'].map((name) => [
      `numpy<-${name}`,
      ['python', `numpy<-${name} ${shape}`],
    ]),
  );
const takers = (shape) =>
  Object.fromEntries(
    ['tvm_ffi', 'mlx', 'jax', 'torch'].map((name) => [`${name}<-numpy`, ['python', `${name}<-numpy ${shape}`]]),
  );

/** The rows. `ours` and `peers`: [process, case]. `must`: [peer, ratio] that ours may cost at most; `aim` is a ratio to the same peer. */
function timedRows() {
  const rows = [];
  for (const shape of SHAPES) {
    const numpy = NUMPY(shape);
    rows.push({
      what: `fromDLPack(tensor) + dispose, ${shape}`,
      ours: ['node', `own-${shape}`],
      peers: { 'numpy<-numpy': numpy, ...others(shape), ...takers(shape) },
      must: ['numpy<-numpy', 0.7],
      aim: 0.4,
    });
    rows.push({
      what: `__dlpack__ + fromDLPack(capsule) + dispose, ${shape}`,
      ours: ['node', `capsule-${shape}`],
      peers: { 'numpy<-numpy': numpy, 'bare tagged External': ['node', 'bare-external'] },
      must: ['numpy<-numpy', 2.5],
      aim: 1.5,
    });
    rows.push({
      what: `__dlpack__ + fromDLPack(capsule) + dispose, ${shape}`,
      ours: ['node', `capsule-${shape}`],
      peers: { 'numpy<-zarrista': ['python', `numpy<-zarrista ${shape}`] },
      must: ['numpy<-zarrista', 1],
    });
  }
  rows.push({
    what: 'allocate + freeze + intoDLPack + __dlpack__ + release, 4 KiB',
    ours: ['node', 'move'],
    peers: { 'numpy<-numpy, copy=True': ['python', 'numpy<-numpy copy 4KiB'] },
    must: ['numpy<-numpy, copy=True', 3],
    aim: 1.5,
  });
  for (const shape of SHAPES) {
    rows.push({
      what: `DLTensor from a value, called from C, ${shape}`,
      ours: ['node', `borrow-${shape}`],
      peers: { 'numpy<-numpy': NUMPY(shape) },
      must: ['numpy<-numpy', 0.8],
      aim: 36 / 127,
    });
    rows.push({
      what: `DLTensor from a value, called from C, ${shape}`,
      ours: ['node', `borrow-${shape}`],
      peers: { 'Node-API property read': ['node', 'property'] },
      must: ['Node-API property read', 2],
    });
    rows.push({
      what: `managed tensor from a value + deleter, called from C, ${shape}`,
      ours: ['node', `manage-${shape}`],
      peers: { 'numpy<-numpy': NUMPY(shape) },
      must: ['numpy<-numpy', 1],
      aim: 47 / 127,
    });
  }
  for (const shape of SHAPES) {
    rows.push({
      what: `struct built and freed in the core, ${shape}`,
      ours: ['core', `core-${shape}`],
      peers: { 'dlpark, fixed rank': ['rust', `fixed-${shape}`], 'dlpark, any rank': ['rust', `dynamic-${shape}`] },
      must: ['dlpark, fixed rank', 1.5],
      aim: 1,
    });
  }
  for (const [name, what] of [
    ['own', 'fromDLPack(tensor) + dispose'],
    ['capsule', '__dlpack__ + fromDLPack(capsule) + dispose'],
    ['borrow', 'DLTensor from a value'],
    ['manage', 'managed tensor from a value + deleter'],
  ]) {
    rows.push({
      what: `${what}, 1 GiB`,
      ours: ['node', `${name}-1GiB`],
      peers: { 'the same, 1 KiB': ['node', `${name}-1KiB`] },
      must: ['the same, 1 KiB', 1.1],
      aim: 1,
    });
  }
  rows.push({
    what: 'first view() + releaseViews()',
    ours: ['node', 'first-view'],
    peers: { 'bare external ArrayBuffer + typed array + detach': ['node', 'bare-view'] },
    must: ['bare external ArrayBuffer + typed array + detach', 1.15],
  });
  rows.push({
    what: 'next view()',
    ours: ['node', 'next-view'],
    peers: { 'bare native call': ['node', 'bare-call'] },
    must: ['bare native call', 5],
  });
  return rows;
}

async function timed({ quick }) {
  const { peers, facts, skipped } = await startPeers(quick);
  const rows = timedRows();
  const known = ([process, name]) => peers[process] !== undefined && (peers[process].cases?.includes(name) ?? true);
  const key = ([process, name]) => `${process}/${name}`;
  const cases = rows.flatMap(({ ours, peers: all }) => [ours, ...Object.values(all)]).filter(known);
  // What several rows name is measured once.
  const contestants = Object.fromEntries(
    cases.map(([process, name]) => [key([process, name]), (iterations) => peers[process].time(name, iterations)]),
  );
  const results = await race(contestants, { quick, roundNs: 6e6 });
  for (const peer of Object.values(peers)) peer.end();
  return {
    facts,
    skipped,
    rows: rows.map(({ what, ours, peers: all, must: [peer, ratio], aim }) => {
      const there = Object.entries(all).filter(([, entry]) => known(entry));
      const figures = Object.fromEntries(there.map(([name, entry]) => [name, results[key(entry)]]));
      return row(
        { ours: results[key(ours)], ...figures },
        { what, must: atMost(peer, ratio), aim: aim === undefined ? undefined : `${aim.toFixed(2)} x` },
      );
    }),
  };
}

function runNode(args) {
  const begin = process.hrtime.bigint();
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  const milliseconds = Number(process.hrtime.bigint() - begin) / 1e6;
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed: ${stderr}`);
  return { milliseconds, stdout };
}

/** What require adds to the start of Node. */
function cold({ quick }) {
  const empty = [];
  const loaded = [];
  const entry = JSON.stringify(path.join(root, 'dist/index.js'));
  const rounds = quick ? 8 : 25;
  for (let round = 0; round < rounds; round++) {
    empty.push(runNode(['-e', '0']).milliseconds);
    loaded.push(runNode(['-e', `require(${entry})`]).milliseconds);
  }
  const without = summary(empty);
  const having = summary(loaded);
  const ours = { best: having.best - without.best, median: having.median - without.median, iterations: rounds };
  return row(
    { ours, 'empty node': without },
    {
      what: "require('node-dlpack'), cold, on top of an empty node",
      unit: 'ms',
      must: atMost('empty node', 0.3),
      aim: '0.10 x',
    },
  );
}

const memory = (job, count) =>
  JSON.parse(runNode(['--expose-gc', 'bench/handoff-memory.mjs', addon, job, String(count)]).stdout);

/** Not a comparison with a peer, but with a bound. */
function bounded(what, unit, value, bound, more) {
  return { what, unit, ours: { best: value, median: value, ...more }, peers: {}, must: undefined, met: value <= bound };
}

function footprint({ quick }) {
  const count = quick ? 20_000 : 100_000;
  const rows = [];
  for (const [job, what] of [
    ['alive-own', 'a live tensor with 24 bytes of its own, heap + native'],
    ['alive-shared', 'a live tensor over shared memory, heap + native'],
  ]) {
    const { heap, native } = memory(job, count);
    rows.push({
      ...bounded(what, 'bytes', heap + native, 700, { iterations: count }),
      aim: 'at most 700 bytes; 400',
      remark: `heap ${Math.round(heap)}, native ${Math.round(native)}`,
    });
  }
  const handOffs = quick ? 300_000 : 10_000_000;
  for (const [job, what] of [
    ['flat-disposed', 'hand-offs with dispose()'],
    ['flat-dropped', 'hand-offs without, a yield every 10,000'],
    ['flat-capsules', 'capsule round trips with dispose()'],
  ]) {
    const { grown } = memory(job, job === 'flat-capsules' ? handOffs / 10 : handOffs);
    rows.push({
      ...bounded(`growth of the resident set, ${what}`, 'bytes', Math.max(grown, 0), 32 << 20, {
        iterations: handOffs,
      }),
      aim: 'flat: at most 32 MiB after 500,000',
      remark: '',
    });
  }
  return rows;
}

export async function run({ quick = false } = {}) {
  const { facts, skipped, rows } = await timed({ quick });
  return { facts, skipped, rows: [...rows, cold({ quick }), ...footprint({ quick })] };
}

await runAlone(import.meta);
