/** What the tests read out of Markdown: blocks of code, maps of folders, words that stand in code, links. */

export interface Block {
  /** `README.md:17`: the line of the opening fence. */
  readonly where: string;
  readonly language: string;
  readonly code: string;
  /** What `// -> value` comments promise, in order. */
  readonly printed: readonly string[];
  /** The reason that the block gives for not being run. */
  readonly notRun: string | undefined;
}

export function blocksOf(page: string, text: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; language: string; lines: string[] } | undefined;
  text.split('\n').forEach((line, index) => {
    const fence = /^\s*```\s*(.*?)\s*$/.exec(line);
    if (fence === null) {
      open?.lines.push(line);
    } else if (open === undefined) {
      open = { line: index + 1, language: fence[1] ?? '', lines: [] };
    } else {
      const code = open.lines.join('\n');
      blocks.push({
        where: `${page}:${open.line}`,
        language: open.language,
        code,
        printed: [...code.matchAll(/\/\/ -> (.*)$/gm)].map((match) => (match[1] ?? '').trimEnd()),
        notRun: /^\/\/ not run: (\S.*)/.exec(code)?.[1],
      });
      open = undefined;
    }
  });
  if (open !== undefined) throw new Error(`${page}:${open.line}: the block of code is never closed`);
  return blocks;
}

/** `folder/` lines, each followed by indented `name  what it is` lines, from the text blocks of a page. */
export function mapOf(text: string): Map<string, string[]> {
  const map = new Map<string, string[]>();
  let names: string[] = [];
  for (const line of blocksOf('map', text)
    .filter((block) => block.language === 'text')
    .flatMap((block) => block.code.split('\n'))) {
    const folder = /^(\S+\/)$/.exec(line)?.[1];
    const entry = /^ {2}(\S+) +\S/.exec(line)?.[1];
    if (folder !== undefined) map.set(folder, (names = []));
    if (entry !== undefined) names.push(entry);
  }
  return map;
}

/** Whole words that stand in the code of a Markdown text, between backticks or in blocks. */
export function wordsOfCode(markdown: string): ReadonlySet<string> {
  const code = [...markdown.matchAll(/```[\s\S]*?```|`[^`\n]+`/g)].map((match) => match[0]).join(' ');
  return new Set(code.match(/[\w$]+/g) ?? []);
}

/** Where relative links lead, without their fragments. */
export function linksOf(text: string): string[] {
  const targets = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map((match) => match[1] ?? '');
  return targets.filter((target) => !/^https?:/.test(target));
}
