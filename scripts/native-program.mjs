// A program from C and C++ files, without Node: what the tests of the core and the fuzz targets are. An object is compiled again only when it is older
// than its source or a header of it, or when the command for it changed.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { jobs, root } from './steps.mjs';

/** What everything here is compiled with, beside a language and a mode. Sanitizers and warnings decide alike for tests and targets. */
export const commonFlags = [
  '-Wall',
  '-Wextra',
  '-Wpedantic',
  '-Werror',
  '-fvisibility=hidden',
  '-ffp-contract=off',
  '-DNODE_DLPACK_FAILURE_INJECTION',
  '-DNODE_DLPACK_PLANTED_FAULTS',
  '-Iinclude',
  '-Isrc-native/core',
  '-Itest/core',
];

/** The C and C++ files of a folder, in order. */
export function sourcesIn(where) {
  return readdirSync(path.join(root, where))
    .filter((name) => ['.cc', '.c'].includes(path.extname(name)))
    .toSorted()
    .map((name) => path.join(where, name));
}

/** The files an object was made from, as the compiler wrote them down: a make rule. */
function dependencies(object) {
  const file = object.replace(/\.o$/, '.d');
  if (!existsSync(file)) return undefined;
  return readFileSync(file, 'utf8')
    .replace(/^.*?\.o:/s, '')
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '\\');
}

function isFresh({ object, command }) {
  const record = `${object}.command`;
  if (!existsSync(object) || !existsSync(record) || readFileSync(record, 'utf8') !== command.join(' ')) return false;
  const made = statSync(object).mtimeMs;
  const files = dependencies(object);
  return (
    files?.every((file) => {
      const dependency = path.resolve(root, file);
      return existsSync(dependency) && statSync(dependency).mtimeMs <= made;
    }) ?? false
  );
}

/** Resolves to whether it succeeded; what it printed is passed on whole, not mixed with another's. */
function compile({ source, object, command }) {
  return new Promise((resolve, reject) => {
    const [program, ...args] = command;
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    child.stdout.on('data', (data) => {
      printed += data;
    });
    child.stderr.on('data', (data) => {
      printed += data;
    });
    child.on('error', reject);
    child.on('close', (status) => {
      process.stderr.write(printed);
      if (status === 0) writeFileSync(`${object}.command`, command.join(' '));
      else console.error(`failed: ${source}`);
      resolve(status === 0);
    });
  });
}

async function compileAll(queue) {
  let ok = true;
  async function worker() {
    const next = queue.shift();
    if (!ok || next === undefined) return;
    if (!(await compile(next))) ok = false;
    await worker();
  }
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, worker));
  if (!ok) process.exit(1);
}

/**
 * Compiles `sources` below `folder` and links them once for each entry of `programs` (name -> the sources that only this one has). `compilers`: by file
 * extension, the command up to the sources. Ends this process with the compiler's verdict when something fails. Answers where the programs are.
 */
export async function buildPrograms({ title, folder, sources, programs, compilers, linkFlags }) {
  mkdirSync(path.join(root, folder), { recursive: true });
  const objectOf = (source) => {
    const object = path.join(root, folder, `${source.replaceAll(/[/\\]/g, '-')}.o`);
    return { source, object, command: [...compilers[path.extname(source)], '-MMD', '-c', source, '-o', object] };
  };
  const shared = sources.map(objectOf);
  const own = Object.entries(programs).map(([name, files]) => [name, files.map(objectOf)]);
  const all = [...shared, ...own.flatMap(([, objects]) => objects)];
  const stale = all.filter((object) => !isFresh(object));
  if (stale.length > 0) console.log(`> ${title}: ${stale.length} of ${all.length} files`);
  await compileAll([...stale]);
  return Object.fromEntries(
    own.map(([name, objects]) => {
      const program = path.join(root, folder, name);
      link(program, [...shared, ...objects], [...compilers['.cc'], ...linkFlags]);
      return [name, program];
    }),
  );
}

function link(program, objects, [compiler, ...flags]) {
  const args = [...flags, ...objects.map(({ object }) => object), '-pthread', '-o', program];
  const record = `${program}.command`;
  const command = [compiler, ...args].join(' ');
  const linked = existsSync(program) ? statSync(program).mtimeMs : 0;
  const fresh =
    existsSync(record) &&
    readFileSync(record, 'utf8') === command &&
    objects.every(({ object }) => statSync(object).mtimeMs <= linked);
  if (fresh) return;
  const { status, error } = spawnSync(compiler, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) throw error;
  if (status !== 0) process.exit(1);
  writeFileSync(record, command);
}
