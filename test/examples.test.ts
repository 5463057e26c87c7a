/**
 * What a user sees who hovers over a name: every function and every member of a class has an example that runs and
 * prints what it says, and names the code of each error that it throws. Without this, the place where most users look
 * is the one that nobody keeps right.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { expectCountersAtZero } from './support/counters.js';
import { examplesOf, needsPackages } from './support/doc-examples.js';
import { isProgram, Programs, WELL_ENDED, type Compilation } from './support/documented-programs.js';

expectCountersAtZero();

const documented = ['index', 'unsafe', 'files/index', 'interop/index'].flatMap(examplesOf);

it('are all seen by this check', () => {
  const names = documented.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(['fromDLPack', 'Tensor', 'Tensor.from', 'Tensor#slice', 'Tensor#shape', 'OwnedTensor#data']),
  );
  expect(names).toEqual(expect.arrayContaining(['adopt', 'readNpy', 'toOrt']));
});

describe('an example', () => {
  it('stands in the doc comment of each', () => {
    expect(
      documented.filter(({ blocks, needsExample }) => blocks.length === 0 && needsExample).map(({ name }) => name),
    ).toEqual([]);
  });

  it('is TypeScript, and promises something', () => {
    const wrong = documented.flatMap(({ blocks }) =>
      blocks.filter((block) => block.language !== 'ts' || (block.notRun === undefined && block.printed.length === 0)),
    );
    expect(wrong.map(({ where }) => where)).toEqual([]);
  });

  // What the two classes inherit from one base has one example. Those that need a library run with the recipes.
  const seen = new Set<string>();
  const programs = documented
    .flatMap(({ blocks }) => blocks.filter(isProgram))
    .filter((block) => !needsPackages(block) && !seen.has(block.code) && seen.add(block.code));
  // 'dom' has the types of WebAssembly, which Node's own leave out.
  const running = new Programs('dist-test/examples', programs, {
    compilerOptions: { lib: ['es2022', 'esnext.disposable', 'dom'] },
  });
  let compilation: Compilation;

  beforeAll(async () => {
    compilation = await running.prepare();
  });

  it('compiles under strict TypeScript', () => {
    expect(compilation).toEqual({ status: 0, output: '' });
  });

  it.each(programs.map((block) => [block.where, block] as const))(
    '%s runs and prints what it says',
    (_where, block) => {
      const { ending, printed } = running.run(block);
      expect(ending).toEqual(WELL_ENDED);
      expect(printed).toEqual(block.printed);
    },
  );
});

describe('what is thrown', () => {
  it('is named with its code', () => {
    const uncoded = documented.flatMap(({ name, comment }) => {
      const thrown = comment.slice(comment.indexOf('@throws')).replaceAll(/\s+/g, ' ');
      if (!comment.includes('@throws')) return [];
      return [...thrown.matchAll(/(?<!\w)(BufferError|DLPackStateError|TypeError|RangeError)\b(?! \(`ERR_)/g)].map(
        (match) => `${name}: ${match[0]}`,
      );
    });
    expect(uncoded).toEqual([]);
  });
});
