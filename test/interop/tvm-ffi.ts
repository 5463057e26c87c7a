/**
 * The C library of TVM-FFI, called by address through koffi: a consumer and producer of managed tensors in plain C that was
 * written without us, and that knows nothing of Node.
 */
import path = require('node:path');
import { lab } from '../support/lab.js';
import { pythonPeer, pythonVersionOf, sitePackages } from './python-peers.js';

interface Koffi {
  load(file: string): {
    func(name: string, result: string, parameters: readonly unknown[]): (...args: unknown[]) => unknown;
  };
  out(type: unknown): unknown;
  pointer(type: string): unknown;
}

const koffi = pythonPeer<Koffi>('koffi');
const library = koffi.load(path.join(sitePackages, 'tvm_ffi/lib/libtvm_ffi.so'));

const ADDRESS = 'uintptr_t';
const OUT = koffi.out(koffi.pointer(ADDRESS));

/** By the struct: what turns one into an object of TVM's, and back. */
const FROM = {
  versioned: library.func('TVMFFITensorFromDLPackVersioned', 'int', [ADDRESS, 'int32_t', 'int32_t', OUT]),
  legacy: library.func('TVMFFITensorFromDLPack', 'int', [ADDRESS, 'int32_t', 'int32_t', OUT]),
};
const TO = {
  versioned: library.func('TVMFFITensorToDLPackVersioned', 'int', [ADDRESS, OUT]),
  legacy: library.func('TVMFFITensorToDLPack', 'int', [ADDRESS, OUT]),
};
const decRef = library.func('TVMFFIObjectDecRef', 'int', [ADDRESS]);
const moveRaised = library.func('TVMFFIErrorMoveFromRaised', 'void', [OUT]);

export type Kind = 'versioned' | 'legacy';
export const KINDS: readonly Kind[] = ['versioned', 'legacy'];

export const tvmVersion = pythonVersionOf('apache-tvm-ffi') ?? '';

/** Every object of TVM's begins with a header of this size (TVMFFIObject); a tensor's DLTensor and an error's texts follow. */
const OBJECT_HEADER_BYTES = 24;

export interface FromOptions {
  readonly alignment?: number;
  readonly contiguous?: boolean;
}

/** An object of TVM's around a managed tensor, which it owns from now on. Where it refuses, the managed tensor is still the caller's. */
export function tvmFromDLPack(
  kind: Kind,
  managed: bigint,
  { alignment = 0, contiguous = false }: FromOptions = {},
): bigint {
  return called((out) => FROM[kind](managed, alignment, contiguous ? 1 : 0, out));
}

/** A managed tensor over an object of TVM's, which it keeps alive. */
export function tvmToDLPack(kind: Kind, tensor: bigint): bigint {
  return called((out) => TO[kind](tensor, out));
}

export function tvmRelease(object: bigint): void {
  if (decRef(object) !== 0) throw new Error('TVMFFIObjectDecRef failed');
}

/** What a tensor of TVM's says of itself: the data pointer of the DLTensor within it. */
export function tvmDataAddress(tensor: bigint): bigint {
  return addressAt(tensor + BigInt(OBJECT_HEADER_BYTES));
}

function called(call: (out: unknown[]) => unknown): bigint {
  const out: unknown[] = [0n];
  if (call(out) !== 0) throw raised();
  return BigInt(out[0] as number | bigint);
}

/** The error that TVM keeps for the thread, as an Error. */
function raised(): Error {
  const out: unknown[] = [0n];
  moveRaised(out);
  const error = BigInt(out[0] as number | bigint);
  const cell = error + BigInt(OBJECT_HEADER_BYTES); // kind and message: each an address and a length
  const message = `${textAt(cell)}: ${textAt(cell + 16n)}`;
  tvmRelease(error);
  return new Error(message);
}

function textAt(cell: bigint): string {
  return Buffer.from(lab.peek(addressAt(cell), Number(addressAt(cell + 8n)))).toString();
}

function addressAt(address: bigint): bigint {
  const bytes = lab.peek(address, 8);
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
}
