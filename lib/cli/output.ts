/**
 * How commands print: JSON, or lines for people. Colours only where a terminal reads them and nobody asked for none
 * (NO_COLOR, the convention of many tools).
 */

export function hasColours(): boolean {
  const { NO_COLOR: refused, TERM: terminal } = process.env;
  return process.stdout.isTTY && (refused === undefined || refused === '') && terminal !== 'dumb';
}

/** JSON has neither bigints nor NaN: a bigint that a number holds becomes one, others a string; NaN becomes null. */
export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? fromBigInt(item) : item), 2));
}

function fromBigInt(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** `name  value`, aligned. */
export function printTable(rows: readonly (readonly [name: string, value: string])[], indent = ''): void {
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) console.log(`${indent}${name.padEnd(width)}  ${value}`.trimEnd());
}

/** `1536 bytes (1.5 KiB)`. */
export function formatBytes(bytes: number): string {
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length);
  const text = `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  return power === 0 ? text : `${text} (${(bytes / 1024 ** power).toPrecision(3)} ${units[power - 1]})`;
}
