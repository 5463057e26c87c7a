/**
 * The head of an npy file, formats 1.0 to 3.0: magic, version, length, and a Python dictionary with exactly the keys
 * descr, fortran_order and shape.
 *
 * Nothing of it is evaluated, and nothing is guessed: what is not such a dictionary is an error that names the place. A
 * reader that forgives shows other numbers than those that were written.
 */
import { bufferError } from '../errors';
import { MAX_NDIM, sizeOf } from '../shape';
import type { OpenSource } from './source';

export interface NpyHeader {
  /** As NumPy spells a dtype: `<f4`. */
  readonly descr: string;
  readonly fortranOrder: boolean;
  readonly shape: readonly number[];
  /** Where the elements begin, in bytes. */
  readonly dataOffset: number;
}

const MAGIC = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59); // \x93NUMPY
/** Magic, two bytes of version. */
const PREFIX = 8;
/** More than any plain array needs. The length comes from outside, and as many bytes would be read. */
const MOST_HEADER_BYTES = 65_536;
/** NumPy aligns the elements to this. */
const ALIGNMENT = 64;

/** @throws BufferError that names what is wrong */
export function readNpyHeader(source: OpenSource): NpyHeader {
  const fail = (what: string): never => {
    throw bufferError(`${source.name}: ${what}`);
  };
  if (source.byteLength < PREFIX) return fail(`has ${source.byteLength} bytes; an npy file begins with ${PREFIX}`);
  const prefix = source.bytes(0, PREFIX);
  if (MAGIC.some((byte, index) => prefix[index] !== byte))
    return fail('is no npy file: it does not begin with \\x93NUMPY');
  const [major = 0, minor = 0] = prefix.subarray(MAGIC.length);
  if (major < 1 || major > 3 || minor !== 0)
    return fail(`npy format is ${major}.${minor}; 1.0, 2.0 and 3.0 can be read`);
  const lengthBytes = major === 1 ? 2 : 4;
  const begin = PREFIX + lengthBytes;
  if (source.byteLength < begin) return fail(`ends at byte ${source.byteLength}, within the length of its header`);
  const word = new DataView(source.bytes(PREFIX, lengthBytes).buffer);
  const length = major === 1 ? word.getUint16(0, true) : word.getUint32(0, true);
  if (length > MOST_HEADER_BYTES) return fail(`its header has ${length} bytes; at most ${MOST_HEADER_BYTES} are read`);
  const dataOffset = begin + length;
  if (source.byteLength < dataOffset) {
    return fail(`ends at byte ${source.byteLength}, within its header, which goes to ${dataOffset}`);
  }
  // UTF-8 in 3.0; but nothing outside ASCII can stand in the header of what is read here.
  const text = Buffer.from(source.bytes(begin, length)).toString('latin1');
  return { ...new Dictionary(text, fail).read(), dataOffset };
}

/** The bytes before the elements: version 1.0, which is long enough for 64 axes. */
export function npyHeader(descr: string, fortranOrder: boolean, shape: readonly number[]): Uint8Array {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`;
  const dictionary = `{'descr': '${descr}', 'fortran_order': ${fortranOrder ? 'True' : 'False'}, 'shape': ${tuple}, }`;
  const begin = PREFIX + 2;
  const total = Math.ceil((begin + dictionary.length + 1) / ALIGNMENT) * ALIGNMENT;
  const bytes = Buffer.alloc(total, ' ');
  bytes.set(MAGIC);
  bytes.set([1, 0], MAGIC.length);
  bytes.writeUInt16LE(total - begin, PREFIX);
  bytes.write(dictionary, begin, 'latin1');
  bytes.write('\n', total - 1);
  return bytes;
}

type Fail = (what: string) => never;
type Content = Omit<NpyHeader, 'dataOffset'>;

/** The dictionary: as much of Python's syntax as can stand in it. */
class Dictionary {
  #position = 0;

  constructor(
    private readonly text: string,
    private readonly fail: Fail,
  ) {}

  read(): Content {
    const found: { -readonly [K in keyof Content]?: Content[K] } = {};
    this.#expect('{');
    while (!this.#take(/\}/y)) {
      const key = this.#string('a key');
      this.#expect(':');
      if (key !== 'descr' && key !== 'fortran_order' && key !== 'shape') {
        return this.fail(`its header has the key ${quote(key)}; an npy header has descr, fortran_order and shape`);
      }
      const name = key === 'fortran_order' ? 'fortranOrder' : key;
      if (found[name] !== undefined) return this.fail(`its header has the key ${key} twice`);
      if (name === 'descr') found[name] = this.#descr();
      else if (name === 'shape') found[name] = this.#shape();
      else found[name] = this.#boolean();
      if (!this.#take(/,/y) && !this.#at(/\}/y)) return this.#unexpected("',' or '}'");
    }
    this.#take(/\s*/y);
    if (this.#position < this.text.length) return this.#unexpected('its end');
    const { descr, fortranOrder, shape } = found;
    if (descr === undefined) return this.fail('its header lacks descr');
    if (fortranOrder === undefined) return this.fail('its header lacks fortran_order');
    if (shape === undefined) return this.fail('its header lacks shape');
    return { descr, fortranOrder, shape };
  }

  #descr(): string {
    if (this.#at(/[[(]/y)) {
      return this.fail(
        `descr is ${this.#excerpt()}, a structured dtype; an array of one dtype can be read. Save the fields one by one`,
      );
    }
    return this.#string('descr');
  }

  #boolean(): boolean {
    const word = this.#take(/(True|False)\b/y);
    return word === undefined ? this.#unexpected('True or False for fortran_order') : word === 'True';
  }

  #shape(): number[] {
    const shape: number[] = [];
    this.#expect('(');
    let comma = false;
    while (!this.#take(/\)/y)) {
      // Python 2 wrote long integers with an L.
      const digits = this.#take(/(0|[1-9][0-9]*)L?(?![0-9A-Za-z_.])/y);
      if (digits === undefined) return this.#unexpected('an extent >= 0 of shape');
      const extent = Number(digits);
      if (!Number.isSafeInteger(extent)) return this.fail(`shape[${shape.length}] is ${digits}, past 2^53 - 1`);
      shape.push(extent);
      comma = this.#take(/,/y) !== undefined;
      if (!comma && !this.#at(/\)/y)) return this.#unexpected("',' or ')' in shape");
    }
    if (shape.length === 1 && !comma) return this.fail(`shape is (${shape[0]}), a number; one axis is (${shape[0]},)`);
    if (shape.length > MAX_NDIM) return this.fail(`shape has ${shape.length} axes; a tensor has at most ${MAX_NDIM}`);
    if (!Number.isSafeInteger(sizeOf(shape))) {
      return this.fail(`shape is (${shape.join(', ')}); its extents multiply to more elements than 2^53 - 1`);
    }
    return shape;
  }

  #string(what: string): string {
    return this.#take(/'([^'\\\n]*)'/y) ?? this.#take(/"([^"\\\n]*)"/y) ?? this.#unexpected(`a string for ${what}`);
  }

  #expect(mark: string): void {
    if (this.#take(mark === '{' ? /\{/y : mark === ':' ? /:/y : /\(/y) === undefined) this.#unexpected(`'${mark}'`);
  }

  /** What the pattern finds here, after blanks: its group, or all of it. Undefined when it does not. */
  #take(pattern: RegExp): string | undefined {
    const begin = this.#afterBlanks();
    pattern.lastIndex = begin;
    const match = pattern.exec(this.text);
    if (match === null) return undefined;
    this.#position = pattern.lastIndex;
    return match[1] ?? match[0];
  }

  #at(pattern: RegExp): boolean {
    pattern.lastIndex = this.#afterBlanks();
    return pattern.test(this.text);
  }

  #afterBlanks(): number {
    const blanks = /[ \t\r\n\f]*/y;
    blanks.lastIndex = this.#position;
    blanks.exec(this.text);
    return blanks.lastIndex;
  }

  #excerpt(): string {
    return quote(this.text.slice(this.#afterBlanks()));
  }

  #unexpected(wanted: string): never {
    const at = this.#afterBlanks();
    const found = at < this.text.length ? this.#excerpt() : 'the end';
    return this.fail(`its header is no npy header: expected ${wanted} at character ${at}, found ${found}`);
  }
}

/** A text from outside as a message can carry it: one line, control characters escaped. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 37)}...` : text);
}
