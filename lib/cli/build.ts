/**
 * `node-dlpack build`: compiles the addon from the sources in the package, where it carries no binary that loads.
 *
 * In a folder for temporary files, on a copy: make cannot build below a path with a space, and whatever becomes of the
 * build, the package holds either the finished binary or what it held before. What the compiler needs beside the sources
 * comes from npm, in the versions that the package was developed with.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path = require('node:path');
import { parseArguments } from './arguments';
import { printJson } from './output';

const NEEDED = ['node-addon-api', 'node-gyp'] as const;

/** A step that failed, in words for whoever reads the output above it. */
class BuildError extends Error {}

/** @returns the exit code */
export function build(args: readonly string[]): number {
  const { flags } = parseArguments(args, { command: 'build', flags: ['json'] });
  try {
    const binary = buildIn(path.resolve(__dirname, '..', '..'));
    if (flags.has('json')) printJson({ binary });
    else console.log(`built ${binary}`);
    return 0;
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    if (flags.has('json')) printJson({ error: error.message });
    else console.error(`node-dlpack build: ${error.message}`);
    return 1;
  }
}

function buildIn(root: string): string {
  if (existsSync(path.join(root, 'binding.gyp')))
    throw new BuildError(`${root} is a clone of the repository: \`npm run build\` builds it`);
  const folder = mkdtempSync(path.join(tmpdir(), 'node-dlpack-build-'));
  try {
    for (const name of ['src-native', 'include'])
      cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    writeFileSync(path.join(folder, 'binding.gyp'), "{'includes': ['src-native/addon.gypi']}\n");
    const scripts = { build: 'node-gyp --silent configure build --jobs max' };
    writeFileSync(
      path.join(folder, 'package.json'),
      JSON.stringify({ private: true, scripts, dependencies: needed(root) }),
    );
    npm(folder, ['install', '--ignore-scripts', '--no-audit', '--no-fund'], 'npm could not install node-gyp');
    // Through npm, which tells node-gyp where the headers of Node are, where somebody configured that.
    npm(folder, ['run', 'build'], 'the compiler failed; it needs Python 3 and a C++ compiler');
    return install(path.join(folder, 'build', 'Release', 'node_dlpack.node'), root);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As the package's own manifest has it. */
function needed(root: string): Record<string, string> {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  return Object.fromEntries(NEEDED.map((name) => [name, manifest.devDependencies[name] ?? '*']));
}

/** Its output goes to our standard error: standard output is for the answer. */
function npm(folder: string, args: readonly string[], failure: string): void {
  const windows = process.platform === 'win32'; // there npm is a script of the shell's
  const { error, status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 2, 2], shell: windows });
  if (error !== undefined) throw new BuildError(`npm does not start (${error.message}); node-gyp comes through it`);
  if (status !== 0) throw new BuildError(`${failure}: see above (exit code ${status})`);
}

function install(made: string, root: string): string {
  const binary = path.join(root, 'build', 'Release', 'node_dlpack.node');
  try {
    mkdirSync(path.dirname(binary), { recursive: true });
    cpSync(made, `${binary}.new`);
    renameSync(`${binary}.new`, binary);
  } catch (error) {
    throw new BuildError(`${binary} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { status } = spawnSync(process.execPath, ['-e', 'require(process.argv[1])', root], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new BuildError(`${binary} was built and does not load: see above`);
  return binary;
}
