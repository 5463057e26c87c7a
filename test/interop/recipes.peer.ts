/**
 * The recipes are executed, against the real libraries: each block of docs/recipes/*.md that imports one of the
 * JavaScript peers, and each example in the doc comments of the adapters that does, must compile under `strict`, end with exit code 0 and print exactly what its `// -> value` comments
 * say. And interop/js/types.mts, which holds the adapters against the libraries' own types, must compile.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { examplesOf, needsPackages } from '../support/doc-examples.js';
import { Programs, WELL_ENDED, type Compilation } from '../support/documented-programs.js';
import { blocksOf } from '../support/markdown.js';
import { identityModel } from './onnx-model.js';
import { peer, peersFolder } from './peers.js';

const root = path.resolve(__dirname, '../..');
const recipes = path.join(root, 'docs/recipes');
const pages = readdirSync(recipes).filter((name) => name.endsWith('.md'));
const blocks = [
  ...pages
    .flatMap((page) => blocksOf(page, readFileSync(path.join(recipes, page), 'utf8')))
    .filter((block) => block.language === 'ts' && block.code.includes("from 'node-dlpack/interop'")),
  ...examplesOf('interop/index').flatMap(({ blocks: own }) => own.filter(needsPackages)),
];
const programs = new Programs('dist-test/recipes', blocks, {
  packages: path.join(peersFolder, 'node_modules'),
  compilerOptions: {
    lib: ['es2022', 'esnext.disposable', 'dom'],
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
  },
  furnish: async (workplace) => {
    copyFileSync(path.join(peersFolder, 'types.mts'), path.join(workplace, 'types.mts'));
    await makeInputs(workplace);
  },
});

describe('recipes', () => {
  let compilation: Compilation;

  beforeAll(async () => {
    compilation = await programs.prepare();
  });

  test('compile under strict TypeScript, and so does types.mts', () => {
    expect(compilation).toEqual({ status: 0, output: '' });
  });

  test.each(blocks.map((block) => [block.where, block] as const))('%s runs and prints what it says', (_, block) => {
    expect(block.printed.length).toBeGreaterThan(0);
    const { ending, printed } = programs.run(block);
    expect(ending).toEqual(WELL_ENDED);
    expect(printed).toEqual(block.printed);
  });

  test('show every function of the entry', () => {
    const names = Object.keys(require('../../dist/interop/index.js') as object).filter((name) => name !== '__esModule');
    const text = pages.map((page) => readFileSync(path.join(recipes, page), 'utf8')).join('\n');
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });
});

/** The files that recipes read. */
async function makeInputs(workplace: string): Promise<void> {
  writeFileSync(path.join(workplace, 'model.onnx'), identityModel('float32', [1, 4]));
  writeFileSync(path.join(workplace, 'frames.onnx'), identityModel('float32', [1, 3, 48, 48]));
  writeFileSync(
    path.join(workplace, 'frames.rgb'),
    Uint8Array.from({ length: 24 }, (_, i) => i),
  );
  writeFileSync(
    path.join(workplace, 'weights.bin'),
    Buffer.concat([Buffer.from('head:'), Buffer.from(new Float32Array([1, 2, 3, 4]).buffer)]),
  );
  const sharp = peer<(input: Uint8Array, options: object) => { png(): { toBuffer(): Promise<Buffer> } }>('sharp');
  const pixels = Uint8Array.from({ length: 18 }, (_, i) => i * 10);
  const png = sharp(pixels, { raw: { width: 3, height: 2, channels: 3 } }).png();
  writeFileSync(path.join(workplace, 'picture.png'), await png.toBuffer());
}
