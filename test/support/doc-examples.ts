/**
 * The examples in doc comments, as the compiler passed them on: what a user sees who hovers over a name. In a hover
 * nobody wants to read imports, and whoever hovers has the name already; so they are written above an example here, for
 * each public name that stands in it.
 */
import { readFileSync } from 'node:fs';
import path = require('node:path');
import { blocksOf, type Block } from './markdown.js';
import { commentOf, exportsOf, membersOf, type PublicName, type Reader } from './public-names.js';

const root = path.resolve(__dirname, '../..');
/** Entries by the module that they are, the root first: what stands in several is taken from there. */
const ENTRIES: Readonly<Record<string, string>> = {
  index: 'node-dlpack',
  unsafe: 'node-dlpack/unsafe',
  'files/index': 'node-dlpack/files',
  'interop/index': 'node-dlpack/interop',
};

const readDeclarations: Reader = (module) => readFileSync(path.join(root, 'dist', `${module}.d.ts`), 'utf8');

/** What a user can hover over, and what its doc comment says. */
export interface Documented {
  /** `fromDLPack`, `Tensor.from`, `Tensor#slice`. */
  readonly name: string;
  /** Functions, classes and their members need an example; one that a type has is run all the same. */
  readonly needsExample: boolean;
  readonly comment: string;
  /** With imports. */
  readonly blocks: readonly Block[];
}

const namesOf = new Map(Object.keys(ENTRIES).map((module) => [module, exportsOf(module, readDeclarations)]));

/** The code of an example, with what it imports in front. */
function withImports(code: string): string {
  const words = new Set(code.replaceAll(/\/\/.*$/gm, '').match(/(?<![.\w$])[A-Za-z_$][\w$]*/g) ?? []);
  for (const [, own] of code.matchAll(/\b(?:const|let|class|function|import) (?:\* as )?(\w+)/g))
    words.delete(own ?? '');
  const lines: string[] = [];
  for (const [module, names] of namesOf) {
    const used = names.map(({ name }) => name).filter((name) => words.delete(name));
    if (used.length > 0) lines.push(`import { ${used.join(', ')} } from '${ENTRIES[module]}';`);
  }
  return [...lines, code].join('\n');
}

function documented(name: string, comment: string, needsExample = true): Documented {
  const blocks = blocksOf(name, comment).map((block) => ({ ...block, code: withImports(block.code) }));
  return { name, needsExample, comment, blocks };
}

function isClassOrFunction({ module, declaredAs }: PublicName): 'class' | 'function' | undefined {
  const declaration = new RegExp(`^export declare (?:abstract )?(class|function) ${declaredAs}\\b`, 'm');
  const kind = declaration.exec(readDeclarations(module))?.[1];
  return kind === 'class' || kind === 'function' ? kind : undefined;
}

/** All that is exported, and the members of classes, inherited ones too, each with the examples of its doc comment. */
export function examplesOf(module: string): Documented[] {
  return (namesOf.get(module) ?? []).flatMap((entry) => {
    const kind = isClassOrFunction(entry);
    const own = documented(entry.name, commentOf(entry, readDeclarations) ?? '', kind !== undefined);
    if (kind !== 'class') return [own];
    const members = membersOf(entry, readDeclarations).map(({ name, kind: memberKind, comment }) =>
      documented(`${entry.name}${memberKind === 'static' ? '.' : '#'}${name}`, comment ?? ''),
    );
    return [own, ...members];
  });
}

/** Does it import a package other than this one and Node's own? */
export function needsPackages(block: Block): boolean {
  return [...block.code.matchAll(/from '([^']+)'/g)].some(([, name]) => !/^node(?::|-dlpack)/.test(name ?? ''));
}
