// Fuzzing the core with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, without Node: `npm run fuzz` lists the targets,
// `npm run fuzz -- <target> <seconds>` runs one over its corpus, `npm run fuzz -- --ci [seconds]` each of them, two at a time.
// `-- <target> --runs <n>` stops after so many executions instead; `-- <target> --merge` makes of what was found the smallest corpus that reaches as far.
// What is new goes to .cache/fuzz; an input that fails is left there as <target>-crash-…, and `npm run fuzz -- <target> <file>` runs it again.
// A corpus is a text file, fuzz/corpus/<target>.txt: one input a line, in base64.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildPrograms, commonFlags, sourcesIn } from './native-program.mjs';
import { aptInstall, has, installPackages, jobs, root } from './steps.mjs';

/** Files of fuzz/ that are no target: what targets share. */
const shared = ['fuzz/fuzz.cc', 'fuzz/foreign_struct.cc'];
const targets = sourcesIn('fuzz')
  .filter((source) => !shared.includes(source))
  .map((source) => path.basename(source, '.cc'));

const VERSION = 19;
const sanitizers = 'address,undefined';
const flags = [
  '-O2',
  '-g',
  '-fno-omit-frame-pointer',
  `-fsanitize=fuzzer-no-link,${sanitizers}`,
  '-fsanitize-coverage-ignorelist=fuzz/no-coverage.txt',
  '-fno-sanitize-recover=all',
  ...commonFlags,
  '-Inode_modules/node-api-headers/include',
];

async function build() {
  // For node_api.h, which the kit's headers include.
  installPackages('.');
  if (!has(`clang++-${VERSION}`) || !existsSync(`/usr/lib/llvm-${VERSION}/lib/clang/${VERSION}/lib/linux`))
    aptInstall(['clang-19', 'libclang-rt-19-dev']);
  return buildPrograms({
    title: 'fuzz targets',
    folder: 'build/fuzz',
    sources: [...sourcesIn('src-native/core'), 'test/core/support.cc', 'test/core/convert_reference.cc', ...shared],
    programs: Object.fromEntries(targets.map((target) => [target, [`fuzz/${target}.cc`]])),
    compilers: {
      '.cc': [`clang++-${VERSION}`, '-std=c++17', '-fno-exceptions', '-fno-rtti', ...flags],
      '.c': [`clang-${VERSION}`, '-std=c11', ...flags],
    },
    linkFlags: [`-fsanitize=fuzzer,${sanitizers}`],
  });
}

const corpusOf = (target) => path.join(root, 'fuzz/corpus', `${target}.txt`);
const foundBy = (target) => path.join(root, '.cache/fuzz', target);
const seedsOf = (target) => path.join(root, '.cache/fuzz/seeds', target);

/** The corpus as libFuzzer wants it, one file an input. Answers how many there are. */
function unpackCorpus(target) {
  rmSync(seedsOf(target), { recursive: true, force: true });
  mkdirSync(seedsOf(target), { recursive: true });
  if (!existsSync(corpusOf(target))) return 0;
  const lines = readFileSync(corpusOf(target), 'utf8').split('\n').filter(Boolean);
  for (const [index, line] of lines.entries())
    writeFileSync(path.join(seedsOf(target), String(index)), Buffer.from(line, 'base64'));
  return lines.length;
}

/** The folder's inputs as the corpus, shortest first, so that a change of one is a change of one line. */
function packCorpus(target, folder) {
  const inputs = readdirSync(folder).map((name) => readFileSync(path.join(folder, name)));
  const lines = inputs
    .toSorted((a, b) => a.length - b.length || a.compare(b))
    .map((input) => input.toString('base64'))
    .filter(Boolean);
  mkdirSync(path.dirname(corpusOf(target)), { recursive: true });
  writeFileSync(corpusOf(target), `${lines.join('\n')}\n`);
  console.log(`${path.relative(root, corpusOf(target))}: ${lines.length} inputs`);
}

/** Resolves to what one run of a target printed and its exit code. What is new goes to the first of the folders. */
function runTarget(program, target, options, folders = [foundBy(target), seedsOf(target)]) {
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  const args = [
    ...folders,
    `-artifact_prefix=${path.join(root, '.cache/fuzz')}/${target}-`,
    '-max_len=512',
    '-timeout=20',
    '-rss_limit_mb=3000',
    '-print_final_stats=1',
    ...options,
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
    let printed = '';
    child.stderr.on('data', (data) => {
      printed += data;
    });
    child.on('error', reject);
    child.on('close', (status) => resolve({ target, status, printed }));
  });
}

function report({ target, status, printed }) {
  const stat = (name) => Number(new RegExp(`stat::${name}:\\s+(\\d+)`).exec(printed)?.[1] ?? 0);
  const coverage = [...printed.matchAll(/cov: (\d+) ft: (\d+) corp: (\d+)/g)].at(-1);
  const executions = stat('number_of_executed_units');
  if (status !== 0) console.error(printed.slice(-8000));
  console.log(
    `${status === 0 ? 'PASS' : 'FAIL'} fuzz ${target}: ${executions} executions, ${stat('average_exec_per_sec')} a second, ${coverage?.[1] ?? 0} edges, corpus ${coverage?.[3] ?? 0}`,
  );
  return status === 0 && executions > 0;
}

const [first, ...rest] = process.argv.slice(2);
if (first === undefined) {
  console.log(`targets: ${targets.join(', ')}\nnpm run fuzz -- <target> <seconds>`);
} else if (first === '--ci') {
  const seconds = Number(rest[0] ?? 30);
  const programs = await build();
  const queue = [...targets];
  let ok = true;
  const worker = async () => {
    const target = queue.shift();
    if (target === undefined) return;
    // A target without a corpus would start from nothing and find nothing in the time.
    if (unpackCorpus(target) === 0) {
      console.error(`FAIL fuzz ${target}: no corpus`);
      ok = false;
    } else {
      ok = report(await runTarget(programs[target], target, [`-max_total_time=${seconds}`])) && ok;
    }
    await worker();
  };
  await Promise.all(Array.from({ length: Math.min(2, jobs) }, worker));
  process.exit(ok ? 0 : 1);
} else if (!targets.includes(first)) {
  console.error(`no such target: ${first}; there are ${targets.join(', ')}`);
  process.exit(1);
} else {
  const program = (await build())[first];
  const [how = '60', count] = rest;
  unpackCorpus(first);
  if (how === '--merge') {
    const merged = path.join(root, '.cache/fuzz/merged', first);
    rmSync(merged, { recursive: true, force: true });
    const { status, printed } = await runTarget(
      program,
      first,
      ['-set_cover_merge=1'],
      [merged, seedsOf(first), foundBy(first)],
    );
    if (status === 0) packCorpus(first, merged);
    else console.error(printed.slice(-4000));
    process.exit(status ?? 1);
  }
  const isFile = existsSync(how) && statSync(how).isFile();
  const options = how === '--runs' ? [`-runs=${count}`] : [`-max_total_time=${how}`];
  if (isFile) {
    const child = spawn(program, [how], { cwd: root, stdio: 'inherit' });
    child.on('close', (status) => process.exit(status ?? 1));
  } else {
    process.exit(report(await runTarget(program, first, options)) ? 0 : 1);
  }
}
