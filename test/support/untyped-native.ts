/** Native functions called with what their types forbid, as hostile code would. */
import { native } from '../../dist/native.js';

type Untyped = (...values: unknown[]) => unknown;

const functions = new Map(
  Object.entries(native).filter((entry): entry is [string, Untyped] => typeof entry[1] === 'function'),
);

export function call(name: string, ...values: unknown[]): unknown {
  const method = functions.get(name);
  if (method === undefined) throw new Error(`no native function ${name}`);
  return method(...values);
}
