/**
 * Where a file's bytes come from: a file on disk, or memory. The formats ask for ranges and for tensors, and know
 * nothing else of it.
 *
 * Rule: of a file on disk the elements are read once, straight into native memory; of memory they are copied once, by
 * `Tensor.from`. Nothing is allocated before the format has held every size against the size of the file, so a header
 * that lies costs nothing.
 */
import { constants } from 'node:buffer';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { types } from 'node:util';
import type { DType } from '../dtype';
import { bufferError, show, typeError } from '../errors';
import { OwnedTensor } from '../owned-tensor';
import { Tensor } from '../tensor';
import { bufferOf, byteLengthOf, byteOffsetOf, isDetached, isTypedArray } from '../typed-arrays';
import { asBytes, eachPart } from './parts';

/** A `file:` URL, such as `new URL('weights.npy', import.meta.url)`. */
export interface FileUrl {
  /** The whole of it. */
  readonly href: string;
  /** `file:`. */
  readonly protocol: string;
}

/** What can be read: a path, a `file:` URL, or the bytes of a file. */
export type FileSource = string | FileUrl | Uint8Array | ArrayBuffer;

export interface OpenSource {
  /** As an error names it. */
  readonly name: string;
  readonly byteLength: number;
  /** A copy of the bytes from `position` on, which must be there. */
  bytes(position: number, byteLength: number): Uint8Array;
  /** A tensor of the compact row-major elements from `position` on, which must be there. Nobody else holds its memory. */
  tensor<D extends DType>(position: number, shape: readonly number[], dtype: D): Tensor<D>;
}

/** Opens, calls `use`, closes. */
export function withSource<R>(source: unknown, operation: string, use: (open: OpenSource) => R): R {
  const bytes = bytesIn(source);
  if (bytes !== undefined) return use(new MemorySource(bytes));
  const file = fileName(source);
  if (file === undefined) {
    throw typeError(
      `${operation} was called with ${show(source)}; it takes a path, a file: URL, or the bytes of a file ` +
        '(Uint8Array or ArrayBuffer)',
    );
  }
  const descriptor = openSync(file, 'r');
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) {
      throw bufferError(`${file} is no regular file, so its size is not known; read it and give its bytes instead`);
    }
    return use(new DiskSource(descriptor, file, stats.size));
  } finally {
    closeSync(descriptor);
  }
}

/** The path that a string or a file: URL names; undefined for anything else. */
export function fileName(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  // Not by its class: every realm has one of its own.
  const href: unknown = Reflect.get(value, 'href');
  return typeof href === 'string' && typeof Reflect.get(value, 'protocol') === 'string'
    ? fileURLToPath(href)
    : undefined;
}

/** What a value holds of bytes, of any realm; undefined for what holds none. */
function bytesIn(value: unknown): Uint8Array | undefined {
  if (types.isAnyArrayBuffer(value)) {
    try {
      return new Uint8Array(value);
    } catch {
      throw typeError('the bytes are an ArrayBuffer that is detached');
    }
  }
  if (!isTypedArray(value)) return undefined;
  if (!types.isUint8Array(value)) return undefined;
  if (isDetached(value)) throw typeError('the bytes are a view of an ArrayBuffer that is detached, or shorter by now');
  return new Uint8Array(bufferOf(value), byteOffsetOf(value), byteLengthOf(value));
}

class MemorySource implements OpenSource {
  readonly name = 'the bytes';
  readonly byteLength: number;

  constructor(private readonly all: Uint8Array) {
    this.byteLength = all.byteLength;
  }

  bytes(position: number, byteLength: number): Uint8Array {
    return this.all.slice(position, position + byteLength);
  }

  tensor<D extends DType>(position: number, shape: readonly number[], dtype: D): Tensor<D> {
    const { buffer, byteOffset, byteLength } = this.all;
    const rest = new DataView(buffer, byteOffset + position, byteLength - position);
    return Tensor.from(rest, { shape, dtype, offset: 0 });
  }
}

/** Node reads at most 2 GiB at a time. */
const MOST_AT_ONCE = 2 ** 30;

class DiskSource implements OpenSource {
  constructor(
    private readonly descriptor: number,
    readonly name: string,
    readonly byteLength: number,
  ) {}

  bytes(position: number, byteLength: number): Uint8Array {
    const bytes = new Uint8Array(byteLength);
    this.readInto(bytes, position);
    return bytes;
  }

  tensor<D extends DType>(position: number, shape: readonly number[], dtype: D): Tensor<D> {
    const owned = OwnedTensor.allocate(shape, dtype);
    try {
      if (owned.byteLength <= constants.MAX_LENGTH) {
        owned.withView((bits) => this.readInto(asBytes(bits), position), { bits: true });
      } else {
        // No ArrayBuffer reaches over all of it.
        owned.lend((loan) => eachPart(loan, (part, from) => this.readInto(part, position + from), { writable: true }), {
          writable: true,
        });
      }
      return owned.freeze();
    } catch (error) {
      owned.dispose();
      throw error;
    }
  }

  private readInto(target: Uint8Array, position: number): void {
    for (let done = 0; done < target.byteLength;) {
      const length = Math.min(target.byteLength - done, MOST_AT_ONCE);
      const read = readSync(this.descriptor, target, done, length, position + done);
      if (read === 0) {
        throw bufferError(`${this.name} ends at byte ${position + done}: it became shorter while it was read`);
      }
      done += read;
    }
  }
}
