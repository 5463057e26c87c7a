/** The files in test/files/vectors, and new ones that live as long as the test file. */
import { afterAll } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path = require('node:path');

export const vectors = path.resolve(__dirname, '../../test/files/vectors');

export function vector(name: string): string {
  return path.join(vectors, name);
}

export function vectorBytes(name: string): Buffer {
  return readFileSync(vector(name));
}

/** A folder that is gone when the tests of the file have ended. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'node-dlpack-files-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** An npy file around any header. */
export function npyFile(header: string, data: Uint8Array = new Uint8Array(0), version = 1): Buffer {
  const prefix = Buffer.from([0x93, ...Buffer.from('NUMPY'), version, 0]);
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(header.length);
  else length.writeUInt32LE(header.length);
  return Buffer.concat([prefix, length, Buffer.from(header, 'latin1'), data]);
}

/** A safetensors file around any header. */
export function safetensorsFile(header: string | object, data: Uint8Array = new Uint8Array(0)): Buffer {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, data]);
}
