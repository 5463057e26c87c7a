// What every script here needs: the root, running a command, and doing a step only when its inputs changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
export const jobs = Math.min(availableParallelism(), 8);

/** Runs a command in `cwd` (the root by default), its output on ours. Ends this process with its exit code when it fails. */
export function run(command, args, options = {}) {
  const status = tryRun(command, args, options);
  if (status !== 0) {
    console.error(`failed (exit ${status}): ${[path.basename(command), ...args].join(' ')}`);
    process.exit(status || 1);
  }
}

/** As run, but returns the exit code. */
export function tryRun(command, args, { cwd = root, env = {}, quiet = false } = {}) {
  const result = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    encoding: 'utf8',
  });
  if (result.error) throw result.error;
  if (quiet && result.status !== 0) process.stderr.write(`${result.stdout}${result.stderr}`);
  return result.status ?? 1;
}

/** Runs a JavaScript tool of a package in node_modules by its path, without a shell. */
export function runTool(relativePath, args, options) {
  run(process.execPath, [path.join(root, 'node_modules', relativePath), ...args], options);
}

function* filesUnder(entry) {
  if (!existsSync(entry)) return;
  if (statSync(entry).isFile()) {
    yield entry;
    return;
  }
  for (const name of readdirSync(entry).toSorted()) {
    if (name === 'node_modules' || name === 'build' || name === 'out' || name.startsWith('.')) continue;
    yield* filesUnder(path.join(entry, name));
  }
}

function digest(inputs) {
  const hash = createHash('sha256').update(
    `${process.version} ${process.platform} ${process.arch} ${process.env.CXXFLAGS ?? ''}`,
  );
  for (const input of inputs) {
    for (const file of filesUnder(path.join(root, input))) {
      hash.update(`\0${path.relative(root, file)}\0`).update(readFileSync(file));
    }
  }
  return hash.digest('hex');
}

/**
 * Does `action` unless `output` exists and its inputs (files or folders, by content) are those of the last time. The stamp is written last, so
 * a step that failed half-way is done again. Where `action` answers a promise, so does this. Stamps lie outside the outputs: some of those are published.
 */
export function step(title, { inputs, output, fresh = false }, action) {
  const stamp = path.join(root, '.cache/stamps', title.replaceAll(/[^a-z0-9]+/gi, '-'));
  const now = digest(inputs);
  const done = path.join(root, output);
  if (existsSync(done) && existsSync(stamp) && readFileSync(stamp, 'utf8') === now) return;
  console.log(`> ${title}`);
  rmSync(stamp, { force: true });
  if (fresh) rmSync(done, { recursive: true, force: true });
  const finish = () => {
    mkdirSync(path.dirname(stamp), { recursive: true });
    writeFileSync(stamp, now);
  };
  const result = action();
  return result instanceof Promise ? result.then(finish) : finish();
}

/** Packages exactly as a lockfile says; nobody's install script is run: none is needed, and package managers block them. */
export function installPackages(folder) {
  step(`packages of ${folder}`, { inputs: [`${folder}/package-lock.json`], output: `${folder}/node_modules` }, () => {
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: path.join(root, folder) });
  });
}

/** Python packages exactly as a file of requirements says, in a virtual environment of their own. Answers its folder of programs. */
export function installPython(environment, requirements) {
  step(`Python packages in ${environment}`, { inputs: [requirements], output: environment, fresh: true }, () => {
    run('python3', ['-m', 'venv', environment]);
    run(path.join(root, environment, 'bin/pip'), ['install', '-q', '--disable-pip-version-check', '-r', requirements]);
  });
  return path.join(root, environment, 'bin');
}

/** A native addon with its binding.gyp in `folder`; everything it is made from in `inputs`. */
export function buildAddon(title, folder, inputs) {
  step(title, { inputs, output: `${folder}/build` }, () => {
    runTool('node-gyp/bin/node-gyp.js', ['-C', folder, '--silent', '-j', String(jobs), 'configure', 'build']);
  });
}

/** Is there such a program, whatever it says of --version? */
export function has(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** Debian packages, where this process may install them. Answers whether it did. */
export function tryAptInstall(packages) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !has('apt-get')) return false;
  console.log(`> apt-get install ${packages.join(' ')}`);
  // Another run on the same machine may hold the lock.
  const apt = (...args) =>
    tryRun('apt-get', ['-o', 'DPkg::Lock::Timeout=600', '-qq', ...args], {
      quiet: true,
      env: { DEBIAN_FRONTEND: 'noninteractive' },
    }) === 0;
  const install = () => apt('install', '-y', '--no-install-recommends', ...packages);
  return install() || (apt('update') && install());
}

/** The same for packages that nothing goes without: whoever may not install them is told what is missing. */
export function aptInstall(packages) {
  if (tryAptInstall(packages)) return;
  console.error(`missing: ${packages.join(', ')}. On Debian or Ubuntu: apt-get install ${packages.join(' ')}`);
  process.exit(1);
}
