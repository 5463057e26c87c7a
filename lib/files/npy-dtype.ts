/**
 * NumPy's spelling of dtypes in npy files, both ways. What has no tensor here is refused by its name: strings, dates,
 * Python objects, and numbers in the byte order of other machines.
 */
import { endianness } from 'node:os';
import { DTYPES, type DType, type DTypeInfo } from '../dtype';
import { quote } from './npy-header';

const OWN_ORDER = endianness() === 'LE' ? '<' : '>';

const LETTERS: Readonly<Record<string, DTypeInfo['kind']>> = {
  b: 'bool',
  i: 'int',
  u: 'uint',
  f: 'float',
  c: 'complex',
};

/** Why other kinds of elements cannot be read, by NumPy's letter. */
const OTHERS: Readonly<Record<string, string>> = {
  O: 'Python objects: they are pickled, and reading a pickle runs what it says. Save an array of numbers',
  S: 'byte strings; only numbers and booleans can be read',
  a: 'byte strings; only numbers and booleans can be read',
  U: 'strings; only numbers and booleans can be read',
  M: 'dates; save them as integers, with view("int64")',
  m: 'durations; save them as integers, with view("int64")',
};

const BY_SPELLING: ReadonlyMap<string, DTypeInfo> = new Map(
  Object.entries(LETTERS).flatMap(([letter, kind]) =>
    Object.values<DTypeInfo>(DTYPES)
      .filter((info) => info.kind === kind && isNumPys(info))
      .map((info) => [`${letter}${info.itemsize}`, info] as const),
  ),
);

/** The dtypes that NumPy itself has. */
function isNumPys({ name }: DTypeInfo): boolean {
  return name === 'bool' || /^(u?int|float|complex)\d+$/.test(name);
}

/** What a descr means: a dtype, bare bytes of a size, or why it cannot be read. */
export type Meaning = { readonly dtype: DTypeInfo } | { readonly bareBytes: number } | { readonly refusal: string };

export function meaningOf(descr: string): Meaning {
  const match = /^([<>|=]?)([A-Za-z])(\d*)(\[\w+\])?$/.exec(descr);
  const shown = quote(descr);
  if (match === null) return { refusal: `descr is ${shown}, which is no dtype of NumPy's` };
  const [, order = '', letter = '', size = '', unit] = match;
  const other = OTHERS[letter];
  if (other !== undefined) return { refusal: `descr is ${shown}: ${other}` };
  if (letter === 'V' && unit === undefined && /^[1-9]\d{0,8}$/.test(size)) return { bareBytes: Number(size) };
  const dtype = unit === undefined ? BY_SPELLING.get(`${letter}${size}`) : undefined;
  if (dtype === undefined) return { refusal: `descr is ${shown}; there is no such dtype here` };
  if (dtype.itemsize === 1 || order === OWN_ORDER) return { dtype };
  if (order === '<' || order === '>') {
    const name = order === '>' ? 'big-endian' : 'little-endian';
    return {
      refusal: `descr is ${shown}, ${name}; this machine is not. Save it with astype('${OWN_ORDER}${letter}${size}')`,
    };
  }
  return { refusal: `descr is ${shown}, which does not say its byte order; '${OWN_ORDER}${letter}${size}' does` };
}

/**
 * How a dtype is written. The small floats, which NumPy has no name for, are bare bytes, as ml_dtypes writes them.
 * @returns undefined for packed sub-byte dtypes, whose elements are no bytes
 */
export function descrOf(dtype: DType): string | undefined {
  const info: DTypeInfo = DTYPES[dtype];
  if (info.bitPacked) return undefined;
  const order = info.itemsize === 1 ? '|' : OWN_ORDER;
  if (!isNumPys(info)) return `${order}V${info.itemsize}`;
  const letter = Object.keys(LETTERS).find((key) => LETTERS[key] === info.kind);
  return `${order}${letter}${info.itemsize}`;
}
