// Where a run took place, and how it was kept to one core.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { root } from '../../scripts/steps.mjs';

const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);

/** `L1d 32 KiB, L1i 32 KiB, L2 1 MiB, L3 32 MiB`, of the first core. */
function caches() {
  const folder = '/sys/devices/system/cpu/cpu0/cache';
  if (!existsSync(folder)) return 'not known here';
  const names = readdirSync(folder)
    .filter((name) => /^index\d+$/.test(name))
    .toSorted();
  const described = names.map((name) => {
    const [level, type, size] = ['level', 'type', 'size'].map((file) => read(path.join(folder, name, file)) ?? '?');
    const kind = { Data: 'd', Instruction: 'i' }[type] ?? '';
    return `L${level}${kind} ${size.replace(/K$/, ' KiB').replace(/M$/, ' MiB')}`;
  });
  return described.length > 0 ? described.join(', ') : 'not known here';
}

/** Facts about machine and versions, as { name: text }. */
export function machineFacts() {
  const cpus = os.cpus();
  return {
    CPU: `${cpus[0]?.model.trim() ?? os.arch()}, ${cpus.length} cores`,
    caches: caches(),
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    'Node.js': process.version,
    'node-dlpack': JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).version,
    'load average at the start': os
      .loadavg()
      .map((load) => load.toFixed(2))
      .join(' '),
  };
}

/** The last core that this process may use, by the kernel's list (`0-3,8`). */
function lastCore() {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(read('/proc/self/status') ?? '')?.[1];
  return list?.split(/[,-]/).at(-1);
}

/**
 * Keeps this process, all its threads and the processes that it starts from now on to one core. Answers what the
 * results shall say of it.
 */
export function pinToOneCore() {
  const core = lastCore();
  if (core === undefined) return 'not pinned: no list of cores on this system';
  const { status, error } = spawnSync('taskset', ['-a', '-c', '-p', core, String(process.pid)]);
  return error || status !== 0 ? 'not pinned: taskset is missing or refused' : `pinned to core ${core}`;
}
