/**
 * The recipes for Python are executed: each JavaScript block of docs/recipes/python-*.md is a program, each Python block of
 * python-libraries.md runs with fresh tokens, and both must print exactly what their `-> value` comments say.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { OwnedTensor, Tensor, stats } from '../../dist/index.js';
import { collectUntil } from '../support/counters.js';
import { koffiPython } from './koffi-python.js';
import { libpython, pythonFolder, sitePackages } from './python-peers.js';
import { Python } from './python.js';

const root = path.resolve(__dirname, '../..');
/** Inside the package, so that its own name resolves to this very copy; the embedders resolve through a link. */
const workplace = path.join(root, 'dist-test/python-recipes');

interface Block {
  readonly where: string;
  readonly language: string;
  readonly code: string;
  readonly printed: string[];
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(path.join(root, 'docs/recipes', page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map((match) => {
    const code = match[2] ?? '';
    return {
      where: `${page}:${text.slice(0, match.index).split('\n').length}`,
      language: match[1] ?? '',
      code,
      printed: [...code.matchAll(/(?:\/\/|#) -> (.*)$/gm)].map((value) => (value[1] ?? '').trimEnd()),
    };
  });
}

function lines(output: string): string[] {
  return output.trimEnd().split(/\s*\n/);
}

describe('programs', () => {
  const blocks = ['python-koffi.md', 'python-node-calls-python.md'].flatMap(blocksOf);
  const programs = blocks.filter((block) => block.language === 'js');

  beforeAll(() => {
    rmSync(workplace, { recursive: true, force: true });
    mkdirSync(workplace, { recursive: true });
    symlinkSync(path.join(pythonFolder, 'node_modules'), path.join(workplace, 'node_modules'), 'junction');
    for (const { code } of blocks) {
      const name = /^# (\w+\.py)$/m.exec(code)?.[1];
      if (name !== undefined) writeFileSync(path.join(workplace, name), code);
    }
  });

  test.each(programs.map((block) => [block.where, block] as const))(
    '%s runs and prints what it says',
    (where, block) => {
      const file = path.join(workplace, `${where.replaceAll(/[^A-Za-z0-9]+/g, '-')}.cjs`);
      // `using` is for a newer Node than the oldest one that this library runs on.
      writeFileSync(file, block.code.replaceAll(/^using /gm, 'const '));
      const result = spawnSync(process.execPath, [file], {
        cwd: workplace,
        encoding: 'utf8',
        env: { ...process.env, LIBPYTHON: libpython, PYTHONPATH: sitePackages, PYTHONDONTWRITEBYTECODE: '1' },
      });
      expect({ status: result.status, stderr: result.stderr }).toEqual({ status: 0, stderr: '' });
      expect(lines(result.stdout)).toEqual(block.printed);
    },
  );

  test('there are two', () => expect(programs).toHaveLength(2));
});

describe('python-libraries.md', () => {
  const python = new Python(koffiPython());
  const blocks = blocksOf('python-libraries.md').filter((block) => block.language === 'python');

  test.each(blocks.map((block) => [block.where, block] as const))(
    '%s runs and prints what it says',
    async (_, block) => {
      const values = Float32Array.of(0, 1, 2, 3, 4, 5);
      const tensor = Tensor.from(values, { shape: [2, 3] });
      const owned = OwnedTensor.from(values, { shape: [2, 3] });
      const scope = { token: tensor.share(), owner: owned.transfer() };
      const [printed, back] = python.run(`
import contextlib, io
scope = ${JSON.stringify(scope)}
output = io.StringIO()
with contextlib.redirect_stdout(output):
    exec(${JSON.stringify(block.code)}, scope)
result = [output.getvalue(), scope.get('back')]
for token in (scope['token'], scope['owner']):
    with contextlib.suppress(node_dlpack.DLPackStateError):
        node_dlpack.revoke(token)
scope.clear()`) as [string, string | null];
      expect(lines(printed)).toEqual(block.printed);
      if (back !== null) Tensor.fromShared(back).dispose();
      tensor.dispose();
      // JAX keeps what others dropped until Python collects.
      await collectUntil(() => {
        python.run('import gc\ngc.collect()');
        return stats().blocks === 0;
      });
      expect(stats()).toMatchObject({ tensors: 0, exports: 0, tokens: 0, blocks: 0 });
    },
  );

  test('there is one for each library that is installed every time', () => {
    const imported = new Set(
      blocks.flatMap(({ code }) => [...code.matchAll(/^import (\w+)/gm)].map((match) => match[1])),
    );
    for (const name of ['numpy', 'ml_dtypes', 'jax', 'mlx', 'pyarrow', 'tvm_ffi', 'zarrista'])
      expect(imported).toContain(name);
  });
});
