import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { interpreterOf, platformName } from '../dist/platform.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

/** A file in memory. */
const reading = (file: Buffer) => (offset: number, length: number) => file.subarray(offset, offset + length);

/** The beginning of a 64-bit ELF file that names an interpreter, after one other program header. */
function elf(interpreter: string): Buffer {
  const file = Buffer.alloc(512);
  file.writeUInt32BE(0x7f454c46, 0);
  file[4] = 2;
  file[5] = 1;
  file.writeBigUInt64LE(64n, 32); // where the program headers begin
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(2, 56);
  file.writeUInt32LE(6, 64);
  file.writeUInt32LE(3, 120);
  file.writeBigUInt64LE(256n, 120 + 8);
  file.writeBigUInt64LE(BigInt(interpreter.length + 1), 120 + 32);
  file.write(interpreter, 256, 'latin1');
  return file;
}

test('the interpreter of an ELF file is found', () => {
  expect(interpreterOf(reading(elf('/lib/ld-musl-x86_64.so.1')))).toBe('/lib/ld-musl-x86_64.so.1');
});

test('of a file that is none, or ends too early, there is none', () => {
  const whole = elf('/lib/ld-musl-x86_64.so.1');
  for (const file of [Buffer.from('#!/bin/sh\n'), whole.subarray(0, 60), whole.subarray(0, 130), Buffer.alloc(0)])
    expect(interpreterOf(reading(file))).toBeUndefined();
});

test('the name of this platform says what Node says of its C library', () => {
  const report = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  const musl = process.platform === 'linux' && report.header.glibcVersionRuntime === undefined;
  expect(platformName()).toBe(`${process.platform}-${process.arch}${musl ? '-musl' : ''}`);
  if (process.platform === 'linux')
    expect(interpreterOf(reading(readFileSync(process.execPath)))?.includes('/ld-musl-')).toBe(musl);
});
