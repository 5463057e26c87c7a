/**
 * NODE_DLPACK_DEBUG: runtimes without external ArrayBuffers, and pages that refuse writes, each in a process of its
 * own.
 */
import { describe, expect, test } from '@jest/globals';
import { runChild, type Ending } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

describe('no-external-buffers', () => {
  test('every rule for such runtimes holds', async () => {
    const { code, signal, output } = await runChild('staging', [], { NODE_DLPACK_DEBUG: 'no-external-buffers' });
    expect(output.split('\n').filter((line) => line.startsWith('held: '))).toHaveLength(15);
    expect([code, signal, output.replaceAll(/held: .*\n/g, '')]).toEqual([0, null, '']);
  });
});

describe('protect', () => {
  test('a write through a read-only view ends the process at that line', async () => {
    const { code, signal, output } = await runChild('protect', ['write'], { NODE_DLPACK_DEBUG: 'protect' });
    expect([code, signal, output]).toEqual([null, 'SIGSEGV', 'read 3\n']);
  });

  test('without it, nothing tells: the switch makes the difference', async () => {
    const { code, output } = await runChild('protect', ['write'], { NODE_DLPACK_DEBUG: '' });
    expect([code, output]).toEqual([0, 'read 3\nwritten\n']);
  });

  test('owners, moved memory and writable loans are written as ever', async () => {
    const { code, output } = await runChild('protect', ['owner'], { NODE_DLPACK_DEBUG: ' protect ' });
    expect([code, output]).toEqual([0, '5 6 4\n']);
  });
});

describe('leaks', () => {
  const leaks = (way: string): Promise<Ending> => runChild('leaks', [way], { NODE_DLPACK_DEBUG: 'leaks' });
  const place = (name: string): string =>
    `made at ${name === '' ? '' : `${name} \\(`}/.*/dist-test/support/leaks\\.js:\\d+:\\d+\\)?\n`;

  test('nothing is reported where everything was disposed, returned or consumed', async () => {
    expect(await leaks('nothing')).toMatchObject({ code: 0, output: 'node-dlpack: nothing is alive at exit\n' });
  });

  test.each(['some', 'worker'])('what is alive is told with the line that made it: %s', async (way) => {
    const { code, output } = await leaks(way);
    expect(code).toBe(0);
    expect(output).toMatch(
      new RegExp(
        `^node-dlpack: alive at exit: 4 tensors over 88 bytes, 1 unused capsules\n` +
          ` {2}3 x Tensor<float64> \\[3\\], 24 bytes, ${place('makeOne')}` +
          ` {2}OwnedTensor<float32> \\[2, 2\\], 16 bytes, ${place('.*some')}` +
          ` {2}capsule 'dltensor_versioned', ${place('.*some')}` +
          ` {2}in the whole process: exports 1, views 0, tokens 0, pieces of memory 5\n`,
      ),
    );
  });

  test('process.exit() is an end too, and its code stays', async () => {
    const { code, output } = await leaks('exit');
    expect([code, output]).toEqual([3, expect.stringMatching(/^node-dlpack: alive at exit: 1 tensors over 24 bytes/)]);
  });

  test('of many that were disposed nothing is left', async () => {
    const { output } = await leaks('many');
    expect(output).toMatch(/^node-dlpack: alive at exit: 1 tensors over 24 bytes/);
  });

  test('what the collector found is no leak, and its memory is free', async () => {
    const { output } = await leaks('collected');
    expect(output).toBe('bytes 0\nnode-dlpack: nothing is alive at exit\n');
  });

  test('a hook for stacks that throws costs the line, and nothing else', async () => {
    const { code, output } = await leaks('hook');
    expect([code, output]).toEqual([0, expect.stringContaining('Tensor<float64> [3], 24 bytes, made at somewhere')]);
  });

  test('without the switch nothing is printed', async () => {
    expect(await runChild('leaks', ['some'], { NODE_DLPACK_DEBUG: '' })).toMatchObject({ code: 0, output: '' });
  });
});

test('node-dlpack:collected tells of what nobody disposed, and of nothing else', async () => {
  const { code, output } = await runChild('late-collection', [], { NODE_DLPACK_DEBUG: '' });
  expect([code, output.trim().split('\n')]).toEqual([
    0,
    [
      '[]',
      '[7,{"tensors":0,"exports":0,"views":1,"tokens":0,"blocks":1,"bytes":8}]',
      '{"className":"OwnedTensor","dtype":"int16","shape":[4],"byteLength":8}',
      '{"className":"Tensor","dtype":"float32","shape":[2,3],"byteLength":24}',
      '{"className":"Tensor","dtype":"float64","shape":[1],"byteLength":8}',
    ],
  ]);
});

test('both switches together, with blanks between', async () => {
  const { code, output } = await runChild('protect', ['owner'], { NODE_DLPACK_DEBUG: 'protect, no-external-buffers,' });
  expect([code, output]).toEqual([1, expect.stringMatching(/this runtime forbids external ArrayBuffers/)]);
});

test('a name that is no switch gets a warning', async () => {
  const { code, output } = await runChild('protect', ['owner'], { NODE_DLPACK_DEBUG: 'protct' });
  expect([code, output]).toEqual([
    0,
    expect.stringMatching(/NODE_DLPACK_DEBUG names 'protct'; the switches are protect, no-external-buffers, leaks/),
  ]);
});
