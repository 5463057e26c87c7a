/**
 * A managed tensor of the addon's, read field by field from its raw bytes: what the library makes of it is not asked,
 * since it forgives what others do not. Offsets are those of DLPack 1.3 on 64-bit machines.
 */
import { native, scratchBits, Slot, StructKind } from '../../native';
import { fromPointer, makeCapsule, type ManagedPointer } from '../../unsafe';
import { releaseCapsule } from '../../capsule';
import { expect, Skip } from './failure';
import type { Form } from './probe';

const TENSOR_BYTES = 48;

export class Struct {
  readonly versioned: boolean;
  readonly address: bigint;

  constructor({ address, versioned }: ManagedPointer) {
    this.address = address;
    this.versioned = versioned;
  }

  get bytes(): number {
    return this.versioned ? 80 : 64;
  }

  #view(): DataView {
    return new DataView(peek(this.address, this.bytes).buffer);
  }

  get #tensor(): number {
    return this.versioned ? 32 : 0;
  }

  get version(): readonly [number, number] {
    const view = this.#view();
    return [view.getUint32(0, true), view.getUint32(4, true)];
  }
  /** 0n for a legacy struct. */
  get flags(): bigint {
    return this.versioned ? this.#view().getBigUint64(24, true) : 0n;
  }
  get deleter(): bigint {
    return this.#view().getBigUint64(this.versioned ? 16 : 56, true);
  }
  get data(): bigint {
    return this.#view().getBigUint64(this.#tensor, true);
  }
  get device(): readonly [number, number] {
    const view = this.#view();
    return [view.getInt32(this.#tensor + 8, true), view.getInt32(this.#tensor + 12, true)];
  }
  get ndim(): number {
    return this.#view().getInt32(this.#tensor + 16, true);
  }
  get dtype(): readonly [number, number, number] {
    const view = this.#view();
    return [
      view.getUint8(this.#tensor + 20),
      view.getUint8(this.#tensor + 21),
      view.getUint16(this.#tensor + 22, true),
    ];
  }
  get byteOffset(): bigint {
    return this.#view().getBigUint64(this.#tensor + 40, true);
  }
  /** undefined: NULL. */
  get shape(): readonly number[] | undefined {
    return this.#numbers(24);
  }
  /** undefined: NULL. */
  get strides(): readonly number[] | undefined {
    return this.#numbers(32);
  }
  get form(): Form {
    return { dtype: this.dtype, shape: this.shape ?? [] };
  }
  /** Elements; 0 when ndim or an extent is nonsense. */
  get size(): number {
    return (this.shape ?? []).reduce((size, extent) => size * Math.max(0, extent), 1);
  }

  #numbers(offset: number): readonly number[] | undefined {
    const address = this.#view().getBigUint64(this.#tensor + offset, true);
    if (address === 0n) return undefined;
    expect(this.ndim >= 0 && this.ndim <= 64, `ndim is ${this.ndim}`);
    const bytes = peek(address, 8 * this.ndim);
    return Array.from({ length: this.ndim }, (_, axis) =>
      Number(new DataView(bytes.buffer).getBigInt64(8 * axis, true)),
    );
  }

  /** Calls the deleter, here and now. */
  release(): void {
    releaseCapsule(this.intoCapsule());
  }

  /**
   * Calls the deleter on a plain native thread.
   *
   * @throws Skip where the system has none to spare; the deleter was called here then
   */
  releaseOnThread(): void {
    scratchBits[Slot.Element] = BigInt.asIntN(64, this.address);
    const status = native.deleteOnThread(this.versioned ? StructKind.Versioned : StructKind.Legacy);
    if (status >= 0) return;
    this.release();
    throw new Skip('the system has no thread to spare');
  }

  /** A fresh capsule owns it now. */
  intoCapsule(): object {
    return makeCapsule({ address: this.address, versioned: this.versioned });
  }

  /** Overwrites the tensor's description, as a consumer may: what is left to the deleter is the context and itself. */
  scramble(): void {
    const memory = fromPointer({
      address: this.address,
      shape: [this.bytes],
      dtype: 'uint8',
      readOnly: false,
      release: () => undefined,
    });
    const bytes = memory.view({ writable: true });
    bytes.fill(0x5a, this.#tensor, this.#tensor + TENSOR_BYTES);
    memory.dispose();
  }
}

/** Bytes at an address, which must be readable. */
export function peek(address: bigint, length: number): Uint8Array {
  if (length === 0) return new Uint8Array(0);
  const memory = fromPointer({ address, shape: [length], dtype: 'uint8', release: () => undefined });
  const bytes = memory.toTypedArray();
  memory.dispose();
  return bytes;
}
