/**
 * Which of the package's binaries is this platform's: `linux-x64`, `linux-arm64-musl`, `darwin-arm64`, `win32-x64`, …
 *
 * The names are those of the folders under `prebuilds/`. On Linux the C library is part of them: a binary made for one
 * does not load with the other.
 */
import { closeSync, openSync, readSync } from 'node:fs';

/** `length` bytes of a file from `offset` on, or fewer where it ends. */
type Read = (offset: number, length: number) => Buffer;

/** The program interpreter that an ELF file names; undefined where it names none, or is no such file. */
export function interpreterOf(read: Read): string | undefined {
  const header = read(0, 64);
  const is64 = header.length === 64 && header.readUInt32BE(0) === 0x7f454c46 && header[4] === 2 && header[5] === 1;
  if (!is64) return undefined;
  const entrySize = header.readUInt16LE(54);
  const entries = read(Number(header.readBigUInt64LE(32)), entrySize * header.readUInt16LE(56));
  for (let at = 0; at + 56 <= entries.length; at += entrySize) {
    if (entries.readUInt32LE(at) !== 3) continue; // PT_INTERP
    const length = Number(entries.readBigUInt64LE(at + 32));
    return read(Number(entries.readBigUInt64LE(at + 8)), Math.min(length, 4096))
      .toString('latin1')
      .split('\0', 1)[0];
  }
  return undefined;
}

/** Of the program that this process runs. */
function ownInterpreter(): string | undefined {
  const file = openSync(process.execPath, 'r');
  try {
    return interpreterOf((offset, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
    });
  } finally {
    closeSync(file);
  }
}

/**
 * Does the C library of this process come from musl? Looked up in the program itself, which takes a fraction of a millisecond:
 * Node's
 * own report, which is asked where the program tells nothing, takes tens of milliseconds.
 */
function usesMusl(): boolean {
  try {
    const interpreter = ownInterpreter();
    if (interpreter !== undefined) return interpreter.includes('/ld-musl-');
  } catch {
    // Not readable: a permission, or a program that was deleted while it runs.
  }
  const { report } = process as { report?: NodeJS.ProcessReport | undefined };
  if (report === undefined) return false;
  const answer: unknown = report.getReport();
  const text: unknown = typeof answer === 'string' ? JSON.parse(answer) : answer;
  const header: unknown = typeof text === 'object' && text !== null && 'header' in text ? text.header : undefined;
  return typeof header === 'object' && header !== null && !('glibcVersionRuntime' in header);
}

/** The name of this platform. That there is one does not say that the package has a binary for it. */
export function platformName(): string {
  const name = `${process.platform}-${process.arch}`;
  return process.platform === 'linux' && usesMusl() ? `${name}-musl` : name;
}
