/**
 * Node processes that a test starts, watches and judges by exit code and signal: what a crash at the very end looks
 * like from outside.
 */
import { spawn } from 'node:child_process';
import path = require('node:path');

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** It had to be stopped because it did not end. */
  hung: boolean;
  output: string;
}

const TIME_LIMIT_MS = 50_000;

/** Runs support/<script>.js with arguments, under --expose-gc and whatever other flags of the runtime. */
export function runChild(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Promise<Ending> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--expose-gc', ...flags, path.join(__dirname, `${script}.js`), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    let output = '';
    let hung = false;
    child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => void (output += chunk.toString()));
    const limit = setTimeout(() => {
      hung = true;
      child.kill('SIGKILL');
    }, TIME_LIMIT_MS);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal, hung, output });
    });
  });
}
