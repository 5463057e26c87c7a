/**
 * Writes through a view in the protect debug mode; run as a process of its own, since the write may be a fault.
 * Argument: what is written to. Prints 'written' when it got that far.
 */
import { Config, native, ViewMode } from '../../dist/native.js';
import { allocate, DTYPE, made, madeBuffer, ownerOf, tensorOf } from './native-tensors.js';
import type { Handle } from '../../dist/native.js';

const SOURCE = Uint8Array.of(1, 2, 3);

export const TARGETS: Readonly<Record<string, () => Handle>> = {
  owner: () => allocate([3], DTYPE.uint8),
  'owned copy': () => ownerOf(SOURCE, [3], DTYPE.uint8),
  frozen: () => made(native.freeze(allocate([3], DTYPE.uint8))),
  'copy that is a tensor': () => tensorOf(SOURCE, [3], DTYPE.uint8),
  slice: () => made(native.flip(tensorOf(SOURCE, [3], DTYPE.uint8), 0)),
  'copy of a tensor': () => made(native.copy(tensorOf(SOURCE, [3], DTYPE.uint8), false)),
  'moved out': () => made(native.move(tensorOf(SOURCE, [3], DTYPE.uint8))),
  converted: () => made(native.convert(tensorOf(SOURCE, [3], DTYPE.uint8), DTYPE.uint8, 0, undefined, undefined)),
  'writable loan': () => made(native.lendBegin(allocate([3], DTYPE.uint8), true)),
};

if (require.main === module) {
  native.configure(Config.ProtectPages);
  const make = TARGETS[process.argv[2] ?? ''];
  if (make === undefined) throw new Error('no such target');
  const handle = make();
  new Uint8Array(madeBuffer(native.view(handle, ViewMode.Unsafe)))[0] = 1;
  console.log('written');
}
