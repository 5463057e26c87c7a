// Who takes part in the hand-off bench: processes that read `<case> <iterations>` lines and answer with nanoseconds, on the core of the bench, of which
// one works at a time. What they need is installed and built here, under .cache/.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { sourcesIn } from '../scripts/native-program.mjs';
import { has, root, run, step, tryRun } from '../scripts/steps.mjs';
import { pythonPeers } from './lib/peers.mjs';

const cache = path.join(root, '.cache');
export const addon = path.join(cache, 'bench-handoff', 'addon.node');
const core = path.join(cache, 'bench-handoff', 'core');
const rust = path.join(cache, 'bench-rust', 'release', 'handoff');

function buildNative() {
  const inputs = ['bench/handoff_addon.c', 'bench/handoff_core.cc', 'include', 'src-native/core'];
  step('bench addon and core', { inputs, output: '.cache/bench-handoff' }, () => {
    mkdirSync(path.dirname(addon), { recursive: true });
    const undefinedSymbols = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
    const headers = ['-Iinclude', '-Inode_modules/node-api-headers/include', '-DNAPI_VERSION=9', '-D_GNU_SOURCE'];
    const shared = ['-O3', '-shared', '-fPIC', '-fvisibility=hidden', ...undefinedSymbols];
    run(process.env.CC ?? 'cc', ['-std=c11', ...shared, ...headers, 'bench/handoff_addon.c', '-o', addon]);
    const flags = '-std=c++17 -O3 -fno-exceptions -fno-rtti -ffp-contract=off -fvisibility=hidden -fPIC'.split(' ');
    const libraries = ['-pthread', ...(process.platform === 'linux' ? ['-ldl'] : [])];
    run(process.env.CXX ?? 'c++', [
      ...flags,
      '-Iinclude',
      '-Isrc-native/core',
      'bench/handoff_core.cc',
      ...sourcesIn('src-native/core'),
      '-o',
      core,
      ...libraries,
    ]);
  });
}

function buildRust() {
  if (!has('cargo')) return 'cargo is not installed';
  let status = 0;
  step('bench of dlpark', { inputs: ['bench/handoff-rust'], output: '.cache/bench-rust' }, () => {
    status = tryRun('cargo', ['build', '--release', '--locked', '--quiet'], {
      cwd: path.join(root, 'bench/handoff-rust'),
      env: { CARGO_TARGET_DIR: path.join(cache, 'bench-rust') },
    });
  });
  return status === 0 ? undefined : 'dlpark does not build here';
}

class Peer {
  #child;
  #lines;

  constructor(command, args) {
    this.#child = spawn(command, args, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async line() {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`${this.#child.spawnargs.join(' ')} ended`);
    return value;
  }

  /** Nanoseconds of so many iterations. */
  async time(name, iterations) {
    this.#child.stdin.write(`${name} ${iterations}\n`);
    return Number(await this.line());
  }

  end() {
    this.#child.stdin.end();
  }
}

/** @returns the peers that could be started, by name, with what each said of itself; and which could not, and why */
export async function startPeers(quick) {
  buildNative();
  const { python, skipped } = pythonPeers({ heavy: !quick });
  const commands = {
    node: [process.execPath, ['bench/handoff-node.mjs', addon]],
    core: [core, []],
    python: [python, ['bench/handoff.py']],
  };
  const noRust = buildRust();
  if (noRust === undefined) commands.rust = [rust, []];
  else skipped.push(noRust);
  const peers = {};
  const facts = {};
  for (const [name, [command, args]] of Object.entries(commands)) {
    peers[name] = new Peer(command, args);
    const said = JSON.parse(await peers[name].line());
    peers[name].cases = said.cases;
    Object.assign(facts, said.facts);
  }
  return { peers, facts, skipped };
}
