/**
 * The bytes of a contiguous tensor, one part after the other: tensors can be larger than any ArrayBuffer, and where the
 * runtime forbids views of native memory a part is all that must be copied at a time.
 */
import { DTYPES } from '../dtype';
import { TensorFlag } from '../native';
import type { Tensor } from '../tensor';
import { metadataOf } from '../tensor-base';

export interface PartOptions {
  /** Of a writable loan: may `use` write into the parts? */
  readonly writable?: boolean;
  readonly partBytes?: number;
}

const PART_BYTES = 2 ** 26;

/**
 * Calls `use` with each part and the place of its first byte in the whole. A part is only valid during the call. Memory
 * from outside, whose pages may be protected, is copied part by part.
 */
export function eachPart(
  tensor: Tensor,
  use: (part: Uint8Array, from: number) => void,
  { writable = false, partBytes = PART_BYTES }: PartOptions = {},
): void {
  const { strideBits } = DTYPES[tensor.dtype];
  const step = Math.max(8, Math.floor(partBytes / strideBits) * 8); // packed parts start on whole bytes
  const isProtected = metadataOf(tensor).has(TensorFlag.Protected);
  const flat = tensor.reshape([-1]);
  try {
    for (let from = 0; from < flat.size; from += step) {
      const part = flat.slice([from, Math.min(from + step, flat.size)]);
      const give = (bits: ArrayBufferView): void => use(asBytes(bits), (from * strideBits) / 8);
      try {
        if (isProtected) give(part.toTypedArray({ bits: true }));
        else if (writable) part.withView(give, { bits: true, writable: true });
        else part.withView((bits) => give(bits as ArrayBufferView), { bits: true });
      } finally {
        part.dispose();
      }
    }
  } finally {
    flat.dispose();
  }
}

/** The same memory, by bytes. */
export function asBytes(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
