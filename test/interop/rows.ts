/**
 * What an exchange with a real library came to, for the table in docs/interop.md. A test records a row as its last act,
 * when everything that the row says has been asserted: a row in the table is a row that was just proven.
 */
import { appendFileSync } from 'node:fs';

export interface Row {
  readonly library: string;
  readonly version: string;
  /** `in`: the library's array became a tensor of ours. `out`: a tensor of ours became the library's. */
  readonly direction: 'in' | 'out';
  /** What crossed: `typed array`, `DLManagedTensor`, `DLManagedTensorVersioned`. */
  readonly struct: string;
  /** Of the elements, between the one memory and the other. */
  readonly copies: number;
  /** May the receiver write? */
  readonly writable: 'yes' | 'no';
  /** One line, the same at every run. */
  readonly remarks: string;
}

/** The file of rows, one JSON object a line; nothing is recorded where the environment names none. */
const FILE = process.env['NODE_DLPACK_INTEROP_RESULTS'];

/** One short write, so that test files which run at once do not mix their lines. */
export function recordRow(row: Row): void {
  if (FILE !== undefined && FILE !== '') appendFileSync(FILE, `${JSON.stringify(row)}\n`);
}
