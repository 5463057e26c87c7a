/**
 * The documentation is executed. Every ```js and ```ts block of README.md and docs/ is a program that must end with
 * exit code 0 and print exactly what its `// -> value` comments say, one line each; a block that cannot run here says
 * so in its first line, `// not run: why`. TypeScript blocks are compiled first, under `strict`. And every public name
 * has a doc comment and a place in the documentation, every source file a line in docs/architecture.md. Without this,
 * an example that no longer works, or a name that nobody explains, is found by a newcomer.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path = require('node:path');
import { isProgram, Programs, WELL_ENDED, type Compilation } from './support/documented-programs.js';
import { blocksOf, linksOf, mapOf, wordsOfCode } from './support/markdown.js';
import { commentOf, exportsOf, membersOf, type Reader } from './support/public-names.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const root = path.resolve(__dirname, '..');
const pages = [
  'README.md',
  ...readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const documentation = pages.map((page) => readFileSync(path.join(root, page), 'utf8')).join('\n');

// --- blocks of code

const blocks = pages.flatMap((page) => blocksOf(page, readFileSync(path.join(root, page), 'utf8')));
const programs = blocks.filter(isProgram);
const documented = new Programs('dist-test/documentation', programs);

describe('code in the documentation', () => {
  let compilation: Compilation;

  beforeAll(async () => {
    compilation = await documented.prepare();
  });

  it('shows at least one example in README.md that is run', () => {
    expect(programs.filter((block) => block.where.startsWith('README.md')).length).toBeGreaterThan(0);
  });

  it('has only blocks in languages that are known to be run or not to be', () => {
    const known = new Set(['js', 'ts', 'sh', 'text', 'c', 'cpp', 'rust', 'gyp', 'cmake', 'json', 'python']);
    expect(
      blocks.filter((block) => !known.has(block.language)).map((block) => `${block.where} ${block.language}`),
    ).toEqual([]);
  });

  it('compiles under strict TypeScript', () => {
    expect(compilation).toEqual({ status: 0, output: '' });
  });

  it.each(programs.map((block) => [block.where, block] as const))(
    '%s runs and prints what it says',
    (_where, block) => {
      const { ending, printed } = documented.run(block);
      expect(ending).toEqual(WELL_ENDED);
      if (block.printed.length > 0) expect(printed).toEqual(block.printed);
    },
  );

  it('finds the promised lines, the reason not to run, and the language of a block', () => {
    const fence = '`'.repeat(3);
    const text = [
      '# Page',
      `${fence}js`,
      'console.log(1 + 1); // -> 2',
      fence,
      '',
      `${fence}ts`,
      '// not run: needs a GPU',
      fence,
    ].join('\n');
    expect(blocksOf('page.md', text)).toEqual([
      { where: 'page.md:2', language: 'js', code: 'console.log(1 + 1); // -> 2', printed: ['2'], notRun: undefined },
      { where: 'page.md:6', language: 'ts', code: '// not run: needs a GPU', printed: [], notRun: 'needs a GPU' },
    ]);
  });
});

// --- the map of the house, and links

const map = mapOf(readFileSync(path.join(root, 'docs/architecture.md'), 'utf8'));

/** What is directly in a folder, by name without extension: a header and its source are one concept. */
function conceptsIn(folder: string): Set<string> {
  const sources = readdirSync(path.join(root, folder)).filter((file) => /\.(ts|h|c|cc)$/.test(file));
  return new Set(sources.map((file) => file.replace(/\.(ts|h|c|cc)$/, '')));
}

describe('docs/architecture.md', () => {
  it('maps the folders of the product', () => {
    const folders = [
      'include/',
      'include/dlpack/',
      'src-native/core/',
      'src-native/binding/',
      'lib/',
      'lib/interop/',
      'lib/files/',
    ];
    expect([...map.keys()]).toEqual(expect.arrayContaining(folders));
  });

  it.each([...map.keys()])('has one line for each concept in %s, and none for what is not there', (folder) => {
    const described = map.get(folder) ?? [];
    expect(new Set(described)).toEqual(conceptsIn(folder));
    expect(described).toHaveLength(new Set(described).size);
  });
});

describe('links in the documentation', () => {
  it.each(pages)('of %s lead to files that exist', (page) => {
    const targets = linksOf(readFileSync(path.join(root, page), 'utf8'));
    expect(targets.filter((target) => !existsSync(path.join(root, path.dirname(page), target)))).toEqual([]);
  });
});

// --- public names

const readDeclarations: Reader = (module) => readFileSync(path.join(root, 'dist', `${module}.d.ts`), 'utf8');

const ENTRIES = ['index', 'unsafe', 'python', 'files/index'];

// Those of the adapters are many and stand in the recipes.
describe.each([...ENTRIES, 'interop/index'])('public names of %s', (module) => {
  const names = exportsOf(module, readDeclarations);

  it('are all seen by this check: it knows at least what the module exports at run time', () => {
    const atRunTime = Object.keys(require(`../dist/${module}.js`) as object).filter((name) => name !== '__esModule');
    expect(atRunTime.length).toBeGreaterThan(0);
    expect(names.map((entry) => entry.name)).toEqual(expect.arrayContaining(atRunTime));
  });

  it('have a doc comment each', () => {
    expect(
      names.filter((entry) => commentOf(entry, readDeclarations) === undefined).map((entry) => entry.name),
    ).toEqual([]);
  });

  it('have a doc comment on each public member', () => {
    const bare = names.flatMap((entry) =>
      membersOf(entry, readDeclarations)
        .filter((member) => member.comment === undefined)
        .map((member) => `${entry.name}.${member.name}`),
    );
    expect(bare).toEqual([]);
  });
});

describe.each(ENTRIES)('public names of %s', (module) => {
  const names = exportsOf(module, readDeclarations);
  const words = wordsOfCode(documentation);

  it('stand in README.md or docs/', () => {
    expect(names.filter((entry) => !words.has(entry.name)).map((entry) => entry.name)).toEqual([]);
  });

  it('of classes stand there with every member', () => {
    const classes = names.filter((entry) =>
      /^export declare (?:abstract )?class /m.test(readDeclarations(entry.module)),
    );
    const missing = classes.flatMap((entry) =>
      membersOf(entry, readDeclarations)
        .filter((member) => (member.name.match(/[\w$]+/g) ?? []).some((word) => !words.has(word)))
        .map((member) => `${entry.name}.${member.name}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('the check of public names', () => {
  const files: Readonly<Record<string, string>> = {
    index: [
      "export { made, Box as Case } from './a.js';",
      "export type { Shape } from './a.js';",
      "export * from './b.js';",
    ].join('\n'),
    a: [
      "import { Base } from './base.js';",
      '/** Makes it. */',
      'export declare function made(): void;',
      'export declare function made(x: number): void;',
      '/** Holds it. */',
      'export declare class Box<T extends object> extends Base<T> {',
      '    #private;',
      '    private hidden;',
      '    /** @internal */',
      '    [key]: number;',
      '    /** How wide. */',
      '    readonly width: number;',
      '    open(): void;',
      '}',
      'export type Shape = readonly number[];',
    ].join('\n'),
    base: [
      'export declare abstract class Base<T> {',
      '    /** Was it shut? */',
      '    get shut(): boolean;',
      '    protected lid: T;',
      '    get odd(): T;',
      '}',
    ].join('\n'),
    b: '/** */\nexport declare const EMPTY = 1;\n',
    odd: 'export default 1;\n',
  };
  const read: Reader = (module) => files[module] ?? '';

  it('follows names to the files that declare them', () => {
    expect(exportsOf('index', read)).toEqual([
      { name: 'made', module: 'a', declaredAs: 'made' },
      { name: 'Case', module: 'a', declaredAs: 'Box' },
      { name: 'Shape', module: 'a', declaredAs: 'Shape' },
      { name: 'EMPTY', module: 'b', declaredAs: 'EMPTY' },
    ]);
  });

  it('finds names without a comment, and those whose comment is empty', () => {
    const bare = exportsOf('index', read)
      .filter((entry) => commentOf(entry, read) === undefined)
      .map((entry) => entry.name);
    expect(bare).toEqual(['Shape', 'EMPTY']);
  });

  it('finds public members without a comment, inherited ones too', () => {
    expect(membersOf({ name: 'Case', module: 'a', declaredAs: 'Box' }, read)).toEqual([
      { name: 'width', kind: 'property', comment: 'How wide.' },
      { name: 'open', kind: 'method', comment: undefined },
      { name: 'shut', kind: 'getter', comment: 'Was it shut?' },
      { name: 'odd', kind: 'getter', comment: undefined },
    ]);
  });

  it('refuses an export that it does not understand', () => {
    expect(() => exportsOf('odd', read)).toThrow(
      'odd: an export in a form that this check does not understand: export default 1;',
    );
  });

  it('counts a name only where it stands in code', () => {
    expect([...wordsOfCode('made is not `Shape`\n```js\nEMPTY\n```')]).toEqual(['Shape', 'js', 'EMPTY']);
  });
});
