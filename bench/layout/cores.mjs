// The rows of two threads need two cores: this process, which the bench keeps to one, may use all of them for a while.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';

function allowedCores() {
  const status = '/proc/self/status';
  return existsSync(status) ? /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(status, 'utf8'))?.[1] : undefined;
}

const moveTo = (cores) => spawnSync('taskset', ['-a', '-c', '-p', cores, String(process.pid)]).status === 0;

/** Whether there is a second core to be had. */
export function hasSecondCore() {
  const before = allowedCores();
  if (before === undefined) return os.cpus().length > 1; // never kept to one
  if (!moveTo(`0-${os.cpus().length - 1}`)) return false;
  const cores = allowedCores();
  moveTo(before);
  return /[,-]/.test(cores);
}

/** What `action` answers, done by this process on any core. */
export async function onAllCores(action) {
  const before = allowedCores();
  if (before !== undefined) moveTo(`0-${os.cpus().length - 1}`);
  try {
    return await action();
  } finally {
    if (before !== undefined) moveTo(before);
  }
}
