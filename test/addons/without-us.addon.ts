/**
 * The example addons exchange tensors with each other, in a process that never loads the library: what crosses is the
 * contract in the header, and nothing of ours.
 */
import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import path = require('node:path');
import { promisify } from 'node:util';
import { FILES, SUM } from './example-addons.js';
import type { Exchange } from './exchange-alone.js';

const pairs = FILES.flatMap(([from, fromFile]) => FILES.map(([to, toFile]) => [from, to, fromFile, toFile] as const));

describe.each(pairs)('a tensor of addon-%s taken by addon-%s', (_from, _to, fromFile, toFile) => {
  test('lies where it lay, has its values, and ends once', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--expose-gc',
      path.join(__dirname, 'exchange-alone.js'),
      fromFile,
      toFile,
    ]);
    const exchange = JSON.parse(stdout) as Exchange; // by exchange-alone.ts, which is ours
    expect(exchange).toEqual({
      libraryLoaded: false,
      sums: [SUM, SUM],
      sameAddress: true,
      held: { before: 0, made: 1, taken: 0, abandoned: 0 },
      usedTwice: 'ERR_DLPACK_CONSUMED',
    });
  });
});
