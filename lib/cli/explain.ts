/**
 * `node-dlpack explain <code>`: what an error means, what it says most often, and the ways out: the page of its code,
 * which lies in the package, so that it is the page of this version and needs no network.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path = require('node:path');
import { parseArguments } from './arguments';
import { printJson } from './output';

const PAGES = path.join(__dirname, '../../docs/errors');

/** @returns the exit code */
export function explain(args: readonly string[]): number {
  const { flags, words } = parseArguments(args, { command: 'explain', flags: ['json'], words: ['<code>'] });
  const codes = readdirSync(PAGES)
    .filter((name) => name.startsWith('ERR_'))
    .map((name) => name.replace('.md', ''));
  // oxlint-disable-next-line unicorn/no-array-sort -- toSorted is not in every TypeScript library that this is built for; the array is ours
  codes.sort();
  const [word] = words;
  if (word === undefined) {
    if (flags.has('json')) printJson(codes);
    else console.log(codes.join('\n'));
    return 0;
  }
  const code = word.toUpperCase();
  if (!codes.includes(code)) {
    console.error(`node-dlpack explain: there is no code ${word}; the codes are ${codes.join(', ')}`);
    return 1;
  }
  const page = plain(readFileSync(path.join(PAGES, `${code}.md`), 'utf8'));
  if (flags.has('json')) printJson({ code, page });
  else console.log(page);
  return 0;
}

/** For a terminal: links lead nowhere there, and emphasis is only noise. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .trimEnd();
}
