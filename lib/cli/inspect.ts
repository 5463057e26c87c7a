/**
 * `node-dlpack inspect <file>`: what is in a file: dtype, layout, a summary of the elements, the elements as
 * `console.log` shows them, and a picture where they look like one.
 */
import { inspect as show } from 'node:util';
import { DTYPES, isDType, type DType } from '../dtype';
import type { Tensor } from '../tensor';
import { parseArguments, UsageError } from './arguments';
import { openFile, type Contents } from './inspect/contents';
import { drawPicture } from './inspect/picture';
import { summarize, type Summary } from './inspect/summary';
import { formatBytes, hasColours, printJson, printTable } from './output';

/** @returns the exit code */
export async function inspect(args: readonly string[]): Promise<number> {
  const { flags, values, words } = parseArguments(args, {
    command: 'inspect',
    flags: ['json', 'no-picture'],
    values: ['tensor', 'dtype'],
    words: ['<file>'],
  });
  const [file] = words;
  if (file === undefined) throw new UsageError('a file is missing');
  const contents = await openFile(file, { tensor: values.get('tensor'), dtype: parseDTypeOption(values.get('dtype')) });
  const json = flags.has('json');
  if (contents.tensor === undefined) list(contents, json);
  else describe(contents, contents.tensor, { json, picture: !flags.has('no-picture') });
  return 0;
}

function parseDTypeOption(name: string | undefined): DType | undefined {
  if (name === undefined || isDType(name)) return name;
  throw new UsageError(`--dtype is '${name}'; the dtypes are ${Object.keys(DTYPES).join(', ')}`);
}

/** Names alone: the elements of a file with many tensors are not read. */
function list({ file, format, entries, metadata }: Contents, json: boolean): void {
  if (json) return printJson({ file, format, metadata, tensors: entries });
  console.log(`${file}: ${format}, ${entries.length} tensors`);
  printMetadata(metadata);
  if (entries.length === 0) return;
  printTable(
    entries.map(({ name, dtype, shape, byteLength }) => [
      name,
      `${dtype} [${shape.join(', ')}] ${formatBytes(byteLength)}`,
    ]),
    '  ',
  );
  console.log('\n--tensor <name> shows one of them.');
}

function printMetadata(metadata: Readonly<Record<string, string>>): void {
  const rows = Object.entries(metadata);
  if (rows.length > 0)
    printTable(
      rows.map(([name, text]) => [name, show(text)]),
      '  ',
    );
}

function describe(
  { file, format, name, metadata }: Contents,
  tensor: Tensor,
  { json, picture }: { readonly json: boolean; readonly picture: boolean },
): void {
  const { dtype, shape, strides, size, byteLength, isContiguous } = tensor;
  const summary = summarize(tensor);
  const order = isContiguous ? 'row-major' : isColumnMajor(tensor) ? 'column-major' : 'strided';
  if (json) {
    return printJson({ file, format, name, metadata, dtype, shape, strides, order, size, byteLength, summary });
  }
  console.log(`${file}${name === undefined ? '' : ` ${show(name)}`}: ${format}`);
  printMetadata(metadata);
  printTable(
    [
      ['dtype', dtype],
      ['shape', `[${shape.join(', ')}]`],
      ['strides', `[${strides.join(', ')}], ${order}`],
      ['size', `${size} ${size === 1 ? 'element' : 'elements'}, ${formatBytes(byteLength)}`],
      ...summaryRows(summary),
    ],
    '  ',
  );
  printHistogram(summary);
  const colours = hasColours();
  const columns = process.stdout.columns ?? 80;
  const drawn = picture ? drawPicture(tensor, summary, { colours, columns }) : undefined;
  console.log(drawn ?? show(tensor, { colors: colours, breakLength: columns }));
}

function isColumnMajor(tensor: Tensor): boolean {
  const columns = tensor.transpose();
  const { isContiguous } = columns;
  columns.dispose();
  return isContiguous;
}

function summaryRows({ min, max, mean, nan, positiveInfinity, negativeInfinity }: Summary): [string, string][] {
  const rows: [string, string][] = [];
  if (min !== undefined) rows.push(['min', formatValue(min)]);
  if (max !== undefined) rows.push(['max', formatValue(max)]);
  if (mean !== undefined) rows.push(['mean', [mean].flat().map(formatValue).join(', ')]);
  rows.push(['NaN', String(nan)]);
  if (positiveInfinity + negativeInfinity > 0)
    rows.push(['infinite', `${positiveInfinity} up, ${negativeInfinity} down`]);
  return rows;
}

/** Six digits are enough for a look. */
function formatValue(value: number | bigint): string {
  if (typeof value === 'bigint' || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(6)));
}

const BAR = 40;

function printHistogram({ histogram }: Summary): void {
  const most = Math.max(...histogram.map(({ count }) => count), 1);
  const edges = histogram.map(({ from }) => formatEdge(from));
  const width = Math.max(...edges.map((edge) => edge.length), 0);
  for (const [index, { count }] of histogram.entries()) {
    const bar = '#'.repeat(count === 0 ? 0 : Math.max(1, Math.round((count / most) * BAR)));
    console.log(`  ${(edges[index] ?? '').padStart(width)} | ${bar.padEnd(BAR)} ${count}`.trimEnd());
  }
}

function formatEdge(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e9 ? String(value) : String(Number(value.toPrecision(4)));
}
