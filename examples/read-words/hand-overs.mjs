// The ledger: every border that a tensor crossed, with the address on either side of it.
import { HandOverError } from './errors.mjs';

export const WRITABLE = 0n;
export const READ_ONLY = 1n;
export const IS_COPIED = 2n;

const FLAGS = [
  [READ_ONLY, 'READ_ONLY'],
  [IS_COPIED, 'IS_COPIED'],
  [4n, 'IS_SUBBYTE_TYPE_PADDED'],
];

/** The flag bits of a DLPack struct by their names; 0 is the flag word of memory that may be written. */
export function flagNames(bits) {
  const names = FLAGS.filter(([bit]) => (bits & bit) !== 0n).map(([, name]) => name);
  return names.length === 0 ? '0' : names.join(' | ');
}

export class HandOvers {
  #rows = new Map();
  #picture = 0;

  /** What is recorded from now on belongs to the next picture. */
  nextPicture() {
    this.#picture++;
  }

  /**
   * Notes a hand-over, and asserts that it copied nothing: the address that the taker sees must be the one that the
   * giver named. The taker's comes from the taker's side wherever there is one to ask (the C addon's reading of the
   * struct, or Node-API's of the typed array).
   *
   * `again` does the same hand-over once more, for the clock, and leaves everything as it was; it may return the
   * milliseconds itself when only a part counts. `sample` gives the same bytes as a typed array with a buffer to
   * itself, for what one does without this library.
   */
  record(name, { what, given, received, flags, bytes, again, sample, note }) {
    if (given !== received) {
      throw new HandOverError(`${name}: ${hex(received)} arrived where ${hex(given)} was given, so a copy was made`);
    }
    const count = (this.#rows.get(name)?.count ?? 0) + 1;
    const row = { name, what, address: received, flags, bytes, copies: 0, count, again, sample, note };
    this.#rows.set(name, { ...row, picture: this.#picture });
  }

  /** Asserts that flags are what the table of the doors promises. */
  expectFlags(name, found, expected) {
    if (found !== expected)
      throw new HandOverError(`${name}: flags ${flagNames(found)} where ${flagNames(expected)} was promised`);
    return flagNames(found);
  }

  rows() {
    return [...this.#rows.values()];
  }

  /** Those that the current picture did not repeat: only an earlier picture's tensors can do them again. */
  earlierRows() {
    return this.rows().filter(({ picture }) => picture < this.#picture);
  }
}

export const hex = (address) => `0x${address.toString(16)}`;
