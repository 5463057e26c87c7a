/**
 * Flags that take something away from a process: code from strings, changeable intrinsics, native addons, permissions.
 * Either the library works as ever, or it says at the load what is missing. docs/runtimes.md has the table.
 */
import { realpathSync } from 'node:fs';
import path = require('node:path');
import { describe, expect, test } from '@jest/globals';
import { runChild } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const RIGHT = { values: [6, 1, 5, 6, 6, 'ERR_DLPACK_BUFFER', 3], left: [0, 0, 0], worker: 9 };

/** Only Node has these flags, and not each version all of them. */
const permission = ['--permission', '--experimental-permission'].find((flag) =>
  process.allowedNodeEnvironmentFlags.has(flag),
);
const isNode = !('bun' in process.versions) && !('deno' in process.versions);
const onNode = isNode ? test : test.skip;
const underPermissions = isNode && permission !== undefined ? test : test.skip;
const READING = '--allow-fs-read=*';

describe('works as ever', () => {
  onNode.each([
    ['--disallow-code-generation-from-strings'],
    ['--frozen-intrinsics'],
    ['--disable-proto=delete'],
    ['--disable-proto=throw'],
    ['--jitless'],
    ['--stack-size=200'],
    ['--max-old-space-size=40'],
  ])('under %s', async (flag) => {
    const { code, signal, output } = await runChild('flags', [], {}, [flag]);
    expect([code, signal, lastLine(output)]).toEqual([0, null, RIGHT]);
  });

  underPermissions('under the permission model, with addons and workers allowed', async () => {
    const flags = [String(permission), READING, '--allow-addons', '--allow-worker'];
    const { code, signal, output } = await runChild('flags', [], {}, flags);
    expect([code, signal, lastLine(output)]).toEqual([0, null, RIGHT]);
  });
});

describe('says what is missing, with the code ERR_DLPACK_NOT_BUILT', () => {
  onNode('under --no-addons', async () => {
    const { code, signal, output } = await runChild('flags', [], {}, ['--no-addons']);
    expect([code, signal]).toEqual([1, null]);
    expect(output).toMatch(/ERR_DLPACK_NOT_BUILT/);
    expect(output).toMatch(/may load no addon: it was started with `--no-addons`\. Start it without\./);
  });

  underPermissions('under the permission model without addons', async () => {
    const { code, signal, output } = await runChild('flags', [], {}, [String(permission), READING]);
    expect([code, signal]).toEqual([1, null]);
    expect(output).toMatch(/ERR_DLPACK_NOT_BUILT/);
    expect(output).toMatch(/may load no addon: it runs under the permission model without `--allow-addons`\./);
  });

  underPermissions('under the permission model that hides the binary', async () => {
    const root = path.join(__dirname, '..');
    // By both of its paths where a folder is a link, as in a copy of the tree that shares its packages.
    const readable = ['dist', 'dist-test', 'node_modules']
      .map((name) => path.join(root, name))
      .flatMap((folder) => [path.join(folder, '*'), path.join(realpathSync(folder), '*')]);
    // Each once: Node 20 ends the process at the second.
    const allowed = new Set([path.join(root, 'package.json'), ...readable]);
    const flags = [...allowed].map((file) => `--allow-fs-read=${file}`);
    const { code, signal, output } = await runChild('flags', [], {}, [String(permission), ...flags, '--allow-addons']);
    expect([code, signal]).toEqual([1, null]);
    expect(output).toMatch(/ERR_DLPACK_NOT_BUILT/);
    expect(output).toContain(
      `does not let this process read ${path.join(root, 'build', 'Release', 'node_dlpack.node')}`,
    );
    expect(output).toContain(`\`--allow-fs-read=${path.join(root, '*')}\``);
  });
});

/** The last line of what the child printed, without the warnings that some flags bring. */
function lastLine(output: string): unknown {
  const line = output.split('\n').find((text) => text.startsWith('{"values"'));
  return line === undefined ? output : (JSON.parse(line) as unknown);
}
