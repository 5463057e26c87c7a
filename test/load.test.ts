import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path = require('node:path');
import { afterAll, describe, expect, test } from '@jest/globals';
import { loadAddon } from '../dist/load.js';
import { platformName } from '../dist/platform.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const folder = mkdtempSync(path.join(tmpdir(), 'node-dlpack-load-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BUILT = ['build', 'Release', 'node_dlpack.node'];
const prebuilt = (platform: string): string[] => ['prebuilds', platform, 'node_dlpack.node'];

/** A package root of its own for each test, since what was loaded from one is not loaded again. */
function packageRoot(name: string, files: Readonly<Record<string, string>>): string {
  const root = path.join(folder, name);
  for (const [file, text] of Object.entries({ 'package.json': '{}', ...files })) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  return root;
}

function errorOf(root: string, platform?: string): unknown {
  try {
    loadAddon(root, platform);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('a package without a binary for the platform', () => {
  const root = packageRoot('elsewhere', {
    [path.join(...prebuilt('haiku-x64'))]: '',
    [path.join(...prebuilt('beos-ppc'))]: '',
  });
  const error = errorOf(root, 'plan9-mips');

  test('is an Error with its code', () => {
    expect(error).toMatchObject({ name: 'Error', code: 'ERR_DLPACK_NOT_BUILT' });
  });

  test('says on what it runs, what it looked for, what there is, and the command that helps', () => {
    const text = String(error);
    expect(text).toContain(`${process.platform} ${process.arch} with Node.js ${process.version}`);
    expect(text).toContain(
      `neither ${path.join(root, ...BUILT)} nor ${path.join(root, ...prebuilt('plan9-mips'))} exists`,
    );
    expect(text).toMatch(/has binaries for (beos-ppc, haiku-x64|haiku-x64, beos-ppc)\./);
    expect(text).toContain(`Build one for plan9-mips with \`npx node-dlpack build\` in ${root}`);
  });
});

test('a clone that was not built: the command is that of the repository', () => {
  const text = String(errorOf(packageRoot('clone', { 'binding.gyp': '{}' })));
  expect(text).toContain(`neither ${path.join(folder, 'clone', ...BUILT)} nor`);
  expect(text).toContain('`npm run build`');
});

test('a bundle without the binary: the text names the entry to bundle', () => {
  const root = path.join(folder, 'bundle');
  mkdirSync(root);
  expect(String(errorOf(root, 'linux-x64'))).toContain('Bundle `node-dlpack/linux-x64` in place of `node-dlpack`');
});

describe('a file that is no addon', () => {
  test('as a build: the text says that it is there, why it does not load, and how to come to another', () => {
    const root = packageRoot('broken-build', { [path.join(...BUILT)]: 'not an addon' });
    const error = errorOf(root);
    expect(error).toMatchObject({ code: 'ERR_DLPACK_NOT_BUILT' });
    expect(error).toHaveProperty('cause');
    expect(String(error)).toMatch(
      /build.Release.node_dlpack\.node is there and does not load: .*(invalid ELF header|file too short)/,
    );
    expect(String(error)).toContain('npx node-dlpack build');
  });

  test('as a build, beside the binary that the package carries: that one is not taken in silence', () => {
    const root = packageRoot('broken-beside', { [path.join(...BUILT)]: 'not an addon' });
    const carried = path.join(root, ...prebuilt(platformName()));
    mkdirSync(path.dirname(carried), { recursive: true });
    copyFileSync(path.join(__dirname, '..', ...BUILT), carried);
    expect(String(errorOf(root))).toContain(`Remove ${path.join(root, 'build')}`);
    rmSync(path.join(root, 'build'), { recursive: true });
    expect(errorOf(root)).toBeUndefined();
  });

  test('as the binary that the package carries', () => {
    const root = packageRoot('broken-prebuild', { [path.join(...prebuilt('plan9-mips'))]: 'not an addon' });
    expect(String(errorOf(root, 'plan9-mips'))).toMatch(
      /prebuilds.plan9-mips.node_dlpack\.node is there and does not load/,
    );
  });
});
