/**
 * What a module makes public, read from the declarations that the compiler wrote: each name, where it is declared,
 * whether a doc comment stands there, and the members of classes and interfaces.
 */
import path = require('node:path');

/** Reads a declaration file, given without its extension. */
export type Reader = (module: string) => string;

export interface PublicName {
  readonly name: string;
  /** The file that declares it, and its name there. */
  readonly module: string;
  readonly declaredAs: string;
}

const DECLARATION =
  'export (?:declare )?(?:abstract )?(?:class|function|const enum|const|let|enum|interface|type|namespace) ';

/** What a module exports, re-exports followed to their declarations. An export that is not understood is an error. */
export function exportsOf(module: string, read: Reader): PublicName[] {
  const text = read(module).replaceAll(/\/\*[\s\S]*?\*\//g, '');
  const from = (specifier: string) => path.posix.join(path.posix.dirname(module), specifier.replace(/\.js$/, ''));
  const names: PublicName[] = [];
  for (const match of text.matchAll(/^export\b[^\n]*/gm)) {
    const rest = text.slice(match.index);
    const declared = new RegExp(`^${DECLARATION}([\\w$]+)`).exec(rest);
    const list = /^export (?:type )?\{([^}]*)\}(?: from ['"]([^'"]+)['"])?;/.exec(rest);
    const star = /^export (?:type )?\* from ['"]([^'"]+)['"];/.exec(rest);
    if (declared !== null) {
      const name = declared[1] ?? '';
      names.push({ name, module, declaredAs: name });
    } else if (star !== null) {
      names.push(...exportsOf(from(star[1] ?? ''), read));
    } else if (list !== null) {
      for (const entry of (list[1] ?? '')
        .split(',')
        .map((part) => part.trim().replace(/^type /, ''))
        .filter((part) => part !== '')) {
        const [inside = '', outside = inside] = entry.split(' as ');
        const source = list[2] ?? importedFrom(text, inside);
        const target =
          source === undefined
            ? undefined
            : exportsOf(from(source), read).find((candidate) => candidate.name === inside);
        names.push({ name: outside, module: target?.module ?? module, declaredAs: target?.declaredAs ?? inside });
      }
    } else {
      throw new Error(`${module}: an export in a form that this check does not understand: ${match[0]}`);
    }
  }
  return names.filter((entry, index) => names.findIndex((other) => other.name === entry.name) === index);
}

function importedFrom(text: string, name: string): string | undefined {
  for (const match of text.matchAll(/^import (?:type )?\{([^}]*)\} from ['"]([^'"]+)['"];/gm)) {
    if ((match[1] ?? '').split(',').some((entry) => entry.trim().replace(/^type /, '') === name)) return match[2];
  }
  return undefined;
}

/** The lines of the doc comment that stands directly before `index`, if one that says something does. */
function commentBefore(text: string, index: number): string | undefined {
  const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text.slice(0, index))?.[1];
  const lines = comment?.split('\n').map((line) => line.replace(/^\s*\* ?/, ''));
  return lines?.join('\n').trim() || undefined;
}

/** Its doc comment; of overloads the first that has one. */
export function commentOf({ module, declaredAs }: PublicName, read: Reader): string | undefined {
  const text = read(module);
  const declarations = text.matchAll(
    new RegExp(`^(?:${DECLARATION}|declare (?:class|function|const) )${declaredAs}\\b`, 'gm'),
  );
  return [...declarations].map((match) => commentBefore(text, match.index)).find((comment) => comment !== undefined);
}

/** What a member is, as the compiler writes it. */
export type MemberKind = 'static' | 'method' | 'getter' | 'property';

export interface Member {
  readonly name: string;
  readonly kind: MemberKind;
  /** Of overloads the first that has one. */
  readonly comment: string | undefined;
}

function kindOf(modifiers: string, after: string): MemberKind {
  if (/\bget\b/.test(modifiers)) return 'getter';
  if (!/^[(<]/.test(after)) return 'property';
  return /\bstatic\b/.test(modifiers) ? 'static' : 'method';
}

/**
 * Public members of a class or interface, and of what a class extends, in the compiler's own layout: four spaces before
 * each.
 */
export function membersOf({ module, declaredAs }: PublicName, read: Reader): Member[] {
  const text = read(module);
  const head = new RegExp(
    `^export (?:declare )?(?:abstract )?(?:class|interface) ${declaredAs}\\b[^\\n]*\\{\\n`,
    'm',
  ).exec(text);
  if (head === null) return [];
  const end = text.indexOf('\n}', head.index);
  const members = new Map<string, Member>();
  for (const match of text.matchAll(
    /^ {4}(?! )((?:(?:static|readonly|abstract|get|set|private|protected|override) )*)(#?[\w$]+|\[[^\]]+\])/gm,
  )) {
    if (match.index < head.index || match.index > end) continue;
    const [, modifiers = '', name = ''] = match;
    const comment = commentBefore(text, match.index);
    if (
      name.startsWith('#') ||
      name === 'constructor' ||
      /private|protected/.test(modifiers) ||
      comment?.startsWith('@internal') === true
    )
      continue;
    const known = members.get(name);
    const kind = known?.kind ?? kindOf(modifiers, text.slice(match.index + match[0].length));
    members.set(name, { name, kind, comment: known?.comment ?? comment });
  }
  const base = /\bclass \w+(?:<.*?>)? extends (\w+)/.exec(head[0])?.[1];
  const source = base === undefined ? undefined : importedFrom(text, base);
  if (base !== undefined && source !== undefined) {
    const baseModule = path.posix.join(path.posix.dirname(module), source.replace(/\.js$/, ''));
    for (const member of membersOf({ name: base, module: baseModule, declaredAs: base }, read)) {
      if (!members.has(member.name)) members.set(member.name, member);
    }
  }
  return [...members.values()];
}
