import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path = require('node:path');
import { afterAll, describe, expect, test } from '@jest/globals';
import { extract, loadAsset } from '../dist/single-executable.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const parent = mkdtempSync(path.join(tmpdir(), 'node-dlpack-asset-'));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

const bytes = Buffer.from('the bytes of an addon');

describe('the file of an asset', () => {
  test('holds its bytes, in a folder that is ours alone', () => {
    const file = extract('a.node', bytes, parent);
    expect(readFileSync(file)).toEqual(bytes);
    if (process.platform !== 'win32') expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
  });

  test('is the same one for the same bytes, and another for others', () => {
    const file = extract('a.node', bytes, parent);
    expect(extract('a.node', bytes, parent)).toBe(file);
    expect(extract('a.node', Buffer.from('other bytes'), parent)).not.toBe(file);
  });

  test('is written anew where it does not say what the asset says', () => {
    const file = extract('a.node', bytes, parent);
    writeFileSync(file, 'half of the by');
    expect(readFileSync(extract('a.node', bytes, parent))).toEqual(bytes);
  });

  test('is not put where others can write, nor behind a link', () => {
    const file = extract('a.node', bytes, parent);
    chmodSync(path.dirname(file), 0o777);
    expect(() => extract('a.node', bytes, parent)).toThrow('is open to other users');
    rmSync(path.dirname(file), { recursive: true });
    mkdirSync(path.join(parent, 'elsewhere'));
    symlinkSync(path.join(parent, 'elsewhere'), path.dirname(file));
    expect(() => extract('a.node', bytes, parent)).toThrow('is open to other users');
    expect(existsSync(path.join(parent, 'elsewhere', 'a.node'))).toBe(false);
  });
});

test('where the program is no single executable application there is no asset', () => {
  expect(loadAsset('node_dlpack.node')).toBeUndefined();
});
