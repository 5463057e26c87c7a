/** What NumPy printed of an array, and what util.inspect prints of a tensor with the same elements. */
import { inspect } from 'node:util';
import { Tensor, type DType } from '../../dist/index.js';

export interface Printed {
  readonly kind: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Of the elements, in base64. */
  readonly bytes: string;
  /** Of a line. */
  readonly width: number;
  readonly text: string;
}

export function parsePrinted(lines: string): Printed[] {
  return lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Printed);
}

/** NumPy's text in the words of JavaScript. */
export function expectedOf({ text }: Printed): string {
  return text.replaceAll('True', 'true').replaceAll('False', 'false').replaceAll('j', 'i');
}

/** Ours, without the head. */
export function printOf({ dtype, shape, bytes, width }: Printed): string {
  const data = Buffer.from(bytes, 'base64');
  using tensor = Tensor.from(new DataView(data.buffer, data.byteOffset, data.byteLength), { shape, dtype });
  const text = inspect(tensor, { breakLength: width });
  return text.slice(text.indexOf(' read-only') + ' read-only'.length + 1);
}
