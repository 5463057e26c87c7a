/**
 * Keys that stand twice in one object of a JSON text. `JSON.parse` keeps the last without a word; two readers of one
 * file could then see two different tensors under one name.
 */

/** @param text valid JSON @returns the first key, decoded, that an object has twice; undefined when there is none */
export function firstDuplicate(text: string): string | undefined {
  const open: (Set<string> | undefined)[] = []; // keys of the objects around; undefined for an array
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:[ \t\r\n]*:)?|[{}[\]]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token.endsWith(':')) {
      const key = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)) as string;
      const keys = open.at(-1);
      if (keys?.has(key) === true) return key;
      keys?.add(key);
    }
  }
  return undefined;
}
