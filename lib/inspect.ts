/**
 * The text of `util.inspect` and `console.log`: dtype, shape, flags and values.
 *
 * As NumPy does it: columns below each other, above 1,000 elements only the edges of each axis, rows broken where a line
 * ends. It never throws, since what inspects is often in the middle of explaining another error.
 */
import type { InspectOptionsStylized } from 'node:util';
import { DTYPES, type Complex, type DType } from './dtype';
import { complexFormat, floatFormat, type Format } from './number-format';
import { formatShape, sizeOf } from './shape';

type Value = number | bigint | boolean | Complex;
type Style = (text: string, style: 'number' | 'bigint' | 'boolean' | 'special') => string;

/** What is to be shown. */
export interface Inspected {
  /** `Tensor` or `OwnedTensor`. */
  readonly className: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Words after the shape: `read-only`, `cuda:0`, ... */
  readonly flags: readonly string[];
  /** Why there are no values to show (`consumed`, `disposed`, `on cuda:0`); undefined when there are. */
  readonly noValues: string | undefined;
  /** Reads one element; called for the shown ones only, and not at all when `noValues` is given. */
  read(index: readonly number[]): Value;
}

/** More elements than this, and only edges are shown. */
const SUMMARY_THRESHOLD = 1000;
/** Items shown at each end of an elided axis, as far as that many elements may be shown; 0: the first item alone. */
const EDGES = [3, 2, 1, 0];
/** Elements that are read at most, however many axes there are. */
const MOST_SHOWN = 10_000;
const ELLIPSIS = '...';
/** Node's default is longer than the lines of most terminals. */
const NODE_BREAK_LENGTH = 128;
const BREAK_LENGTH = 80;

/**
 * The text. A tensor within an object that is nested deeper than `depth` is shown by its head alone.
 * @param depth the levels left, as `util.inspect` passes it
 * @param options what `util.inspect` passes; `breakLength`, `compact: true` (all on one line) and colours are respected
 */
export function inspectTensor(tensor: Inspected, depth: unknown, options: InspectOptionsStylized): string {
  const style: Style =
    typeof options.stylize === 'function' ? (text, kind) => options.stylize(text, kind) : (text) => text;
  const name = `${tensor.className}<${tensor.dtype}> ${formatShape(tensor.shape)}`;
  if (typeof depth === 'number' && depth < 0) return style(`[${name}]`, 'special');
  const words = tensor.noValues === undefined ? tensor.flags : [...tensor.flags, tensor.noValues];
  const head = words.length === 0 ? name : `${name} ${words.join(', ')}`;
  if (tensor.noValues !== undefined) return head;
  let root: Item;
  try {
    root = readItems(tensor, edgeFor(tensor.shape), []);
  } catch (error) {
    return `${head} (${error instanceof Error ? error.message : 'values cannot be read'})`;
  }
  const page = new Page(root, tensor.dtype, style);
  const { breakLength = BREAK_LENGTH } = options;
  const lineLength = breakLength === NODE_BREAK_LENGTH ? BREAK_LENGTH : breakLength;
  if (options.compact === true || breakLength === Infinity) return `${head} ${page.onOneLine(root)}`;
  if (tensor.shape.length < 2 && head.length + 1 + page.lengthOf(root) <= lineLength) {
    return `${head} ${page.rows(root, tensor.shape.length, ' ', Infinity)}`;
  }
  return `${head}\n${page.rows(root, tensor.shape.length, ' ', lineLength)}`;
}

/** An element, the gap in an elided axis, or an axis. */
type Item = { readonly value: Value } | typeof ELLIPSIS | readonly Item[];

/** How many items to show at each end of an axis; undefined: all of them. */
function edgeFor(shape: readonly number[]): number | undefined {
  if (sizeOf(shape) <= SUMMARY_THRESHOLD) return undefined;
  return EDGES.find((edge) => shape.reduce((shown, extent) => shown * shownOf(extent, edge), 1) <= MOST_SHOWN);
}

function shownOf(extent: number, edge: number | undefined): number {
  return edge === undefined ? extent : Math.min(extent, Math.max(2 * edge, 1));
}

function readItems(tensor: Inspected, edge: number | undefined, index: readonly number[]): Item {
  const extent = tensor.shape[index.length];
  if (extent === undefined) return { value: tensor.read(index) };
  if (sizeOf(tensor.shape) === 0) return [];
  const shown = shownOf(extent, edge);
  const take = (position: number): Item => readItems(tensor, edge, [...index, position]);
  const positions = Array.from({ length: shown }, (_, position) => position);
  if (shown === extent) return positions.map(take);
  const ahead = Math.ceil(shown / 2);
  const before = positions.slice(0, ahead).map(take);
  const after = positions.slice(ahead).map((position) => take(extent - shown + position));
  return [...before, ELLIPSIS, ...after];
}

function isAxis(item: Item): item is readonly Item[] {
  return Array.isArray(item);
}

function valuesIn(item: Item): Value[] {
  if (isAxis(item)) return item.flatMap(valuesIn);
  return item === ELLIPSIS ? [] : [item.value];
}

/** How the elements that are shown together are written: numbers by their dtype, all others to one width. */
function formatOf(values: readonly Value[], dtype: DType, isArray: boolean): Format<Value> {
  const { kind } = DTYPES[dtype];
  // The dtype says what the values are.
  if (kind === 'complex') return complexFormat(values as readonly Complex[], dtype) as Format<Value>;
  if (kind === 'float') return floatFormat(values as readonly number[], dtype) as Format<Value>;
  const least = kind === 'bool' && isArray ? 'false'.length : 0;
  const width = values.reduce((most: number, value) => Math.max(most, String(value).length), least);
  return (value) => String(value).padStart(width);
}

/** The elements as text, with brackets and line breaks. */
class Page {
  readonly #format: Format<Value>;

  constructor(
    root: Item,
    dtype: DType,
    private readonly style: Style,
  ) {
    this.#format = formatOf(valuesIn(root), dtype, isAxis(root));
  }

  /** Without line breaks, and without the blanks that make columns. */
  onOneLine(item: Item): string {
    if (isAxis(item)) return `[${item.map((entry) => this.onOneLine(entry)).join(', ')}]`;
    return item === ELLIPSIS ? ELLIPSIS : this.#styled(item.value, this.#format(item.value).trim());
  }

  /** Of an axis of elements, on one line. */
  lengthOf(item: Item): number {
    if (!isAxis(item)) return this.#text(item).length;
    return item.reduce((length, entry) => length + this.#text(entry).length + 2, 0);
  }

  /** One line a row, longer ones broken; blank lines between blocks of more axes. `indent`: what is before an item. */
  rows(item: Item, ndim: number, indent: string, lineLength: number): string {
    if (!isAxis(item)) return this.#leaf(item);
    if (ndim === 1) return `[${this.#row(item, indent, lineLength - 1)}]`;
    const gap = `,${'\n'.repeat(ndim - 1)}${indent}`;
    return `[${item.map((entry) => this.rows(entry, ndim - 1, `${indent} `, lineLength - 1)).join(gap)}]`;
  }

  #row(items: readonly Item[], indent: string, lineLength: number): string {
    let text = '';
    let column = indent.length;
    for (const [position, item] of items.entries()) {
      const { length } = this.#text(item);
      const isFirst = position === 0 || column === indent.length;
      const breaks = !isFirst && column + length > lineLength;
      if (position > 0) text += breaks ? `,\n${indent}` : ', ';
      if (breaks) column = indent.length;
      text += this.#leaf(item);
      column += length + 2;
    }
    return text;
  }

  /** An item without items, with the blanks around it. */
  #text(item: Item): string {
    if (isAxis(item)) return '[]';
    return item === ELLIPSIS ? ELLIPSIS : this.#format(item.value);
  }

  #leaf(item: Item): string {
    const text = this.#text(item);
    if (isAxis(item) || item === ELLIPSIS) return text;
    const bare = text.trim();
    return text.replace(bare, () => this.#styled(item.value, bare));
  }

  #styled(value: Value, text: string): string {
    if (typeof value === 'bigint') return this.style(text, 'bigint');
    return this.style(text, typeof value === 'boolean' ? 'boolean' : 'number');
  }
}
