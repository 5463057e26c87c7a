/** Tokens on their way to other threads, under the debug switches, and when the process ends or its memory does. */
import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import path = require('node:path');
import { OwnedTensor, stats, Tensor } from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { runChild } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';
import { expectStructsDeletedOnce, matrix } from './support/fixtures.js';
import { SANITIZED } from './support/sanitized.js';
import { inWorker, pause } from './support/token-tests.js';

expectCountersAtZero();
expectStructsDeletedOnce();

describe('between threads', () => {
  test('a shared tensor is the same memory there', async () => {
    using tensor = matrix();
    const { answer, tokens } = await inWorker({ do: 'read', token: tensor.share() });
    expect(answer).toEqual({
      values: [
        [0, 1, 2],
        [3, 4, 5],
      ],
      readOnly: true,
      address: dataAddress(tensor),
      again: 'ERR_DLPACK_TOKEN',
    });
    expect([tokens, stats().tokens]).toEqual([0, 0]);
    expect(tensor.isUnique).toBe(true); // the worker's end dropped its tensor
  });

  test('what a worker shared is there after its end', async () => {
    const { answer, tokens } = await inWorker({ do: 'share', ttl: 60_000 });
    expect(tokens).toBe(1); // of the process, so the worker sees it too
    expect(stats()).toMatchObject({ tensors: 0, tokens: 1, blocks: 1 });
    using got = Tensor.fromShared(String(answer));
    expect([got.toArray(), got.isUnique]).toEqual([[1, 2, 3], true]);
  });

  test('what a worker transferred is writable here after its end', async () => {
    const { answer } = await inWorker({ do: 'transfer' });
    expect(answer).toMatchObject({ left: 0, consumed: true });
    using got = OwnedTensor.fromTransfer((answer as { token: string }).token);
    got.fill(7);
    expect([got.dtype, got.shape, got.at(1, 1)]).toEqual(['int32', [2, 2], 7]);
  });

  test('memory goes there and back, at one address', async () => {
    const owned = OwnedTensor.from(new Float64Array([1, -2, 3]));
    const address = dataAddress(owned);
    const { answer } = await inWorker({ do: 'negate', token: owned.transfer() });
    using back = OwnedTensor.fromTransfer(String(answer));
    expect(dataAddress(back)).toBe(address);
    expect([back.at(0), back.at(1), back.at(2)]).toEqual([-1, 2, -3]);
  });

  test('what is shared and let go here can move there', async () => {
    const tensor = matrix();
    const address = dataAddress(tensor);
    const token = tensor.share();
    tensor.dispose();
    const { answer } = await inWorker({ do: 'move', token });
    using back = OwnedTensor.fromTransfer(String(answer));
    expect([dataAddress(back), back.at(1, 1)]).toEqual([address, 9]);
  });

  test('what a worker left in transit is swept here', async () => {
    await inWorker({ do: 'share', ttl: 1 });
    await pause(5);
    expect(stats()).toMatchObject({ tokens: 0, blocks: 0 });
  });

  test('of two threads that claim the same tokens each token goes to one', async () => {
    const tokens = Array.from({ length: 500 }, () => OwnedTensor.allocate([16], 'uint8').transfer());
    const gate = new SharedArrayBuffer(4);
    const answers = await Promise.all([inWorker({ do: 'race', tokens, gate }), inWorker({ do: 'race', tokens, gate })]);
    const [first, second] = answers.map(({ answer }) => answer as { won: number; refused: number });
    expect((first?.won ?? 0) + (second?.won ?? 0)).toBe(500);
    expect((first?.refused ?? 0) + (second?.refused ?? 0)).toBe(500);
    expect(stats()).toMatchObject({ tokens: 0, blocks: 0 });
  });
});

describe('with NODE_DLPACK_DEBUG', () => {
  test.each(['no-external-buffers', 'protect'])('%s a transfer takes along what was written to data', async (debug) => {
    const { code, output } = await runChild('token-switches', ['transfer'], { NODE_DLPACK_DEBUG: debug });
    expect([code, output]).toEqual([0, '5 2 4\n']);
  });

  test('protect, memory stays read-only while it is in transit and after its claim', async () => {
    const { signal, output } = await runChild('token-switches', ['write'], { NODE_DLPACK_DEBUG: 'protect' });
    expect([signal, output]).toEqual(['SIGSEGV', 'read 3\n']);
  });
});

describe('a process', () => {
  test.each([
    ['return', 0],
    ['exit', 7],
    ['throw', 1],
  ])('ends in peace with tokens out: %s', async (how, code) => {
    expect(await runChild('token-ending', [how])).toMatchObject({ code, signal: null, hung: false });
  });

  const limited = process.platform === 'linux' && !SANITIZED ? test : test.skip;
  limited('that is out of memory has dropped expired tokens before it says so', () => {
    // Room for one piece of memory above what this very Node takes before it has any: that differs by version and machine.
    const child = path.join(__dirname, 'support/token-memory.js');
    const taken = Number(spawnSync(process.execPath, [child, 'measure'], { encoding: 'utf8' }).stdout);
    expect(taken).toBeGreaterThan(0);
    const command = `ulimit -v ${taken + 3 * 2 ** 20} && exec "$0" "$1"`;
    const { status, stdout } = spawnSync('sh', ['-c', command, process.execPath, child], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, 'ERR_DLPACK_MEMORY given\n']);
  });
});
