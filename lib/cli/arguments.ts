/**
 * What stands on the command line, for every command alike: an option that does not exist, a value that is missing and
 * a word too many are named, never ignored.
 */
import { parseArgs } from 'node:util';

export interface Grammar {
  /** Of the command: `inspect`. */
  readonly command: string;
  /** Options without a value, by their long names. */
  readonly flags: readonly string[];
  /** Options with one. */
  readonly values?: readonly string[];
  /** Words beside the options: what they are, as usage texts have it (`<file>`). */
  readonly words?: readonly string[];
}

export interface Arguments {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, string>;
  readonly words: readonly string[];
}

/** What was typed cannot be understood: exit code 2. */
export class UsageError extends Error {}

/** Is help asked for? It is understood everywhere, and then nothing else has to be right. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}

/** @throws UsageError that names what is wrong */
export function parseArguments(args: readonly string[], grammar: Grammar): Arguments {
  const { flags: flagNames, values: valueNames = [], words: wordNames = [] } = grammar;
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(valueNames.map((name) => [name, { type: 'string' as const }])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const flags = new Set<string>();
  const values = new Map<string, string>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    if (valueNames.includes(name) && rawName.startsWith('--')) {
      if (value === undefined) throw new UsageError(`${rawName} needs a value`);
      values.set(name, value);
    } else if (flagNames.includes(name) && rawName.startsWith('--')) {
      if (value !== undefined) throw new UsageError(`${rawName} takes no value, and was given '${value}'`);
      flags.add(name);
    } else {
      const known = [...flagNames, ...valueNames, 'help'].map((option) => `--${option}`).join(', ');
      throw new UsageError(`there is no option '${rawName}'; the options are ${known}`);
    }
  }
  const surplus = words[wordNames.length];
  if (surplus !== undefined) throw new UsageError(`'${surplus}' is one word too many`);
  return { flags, values, words };
}
