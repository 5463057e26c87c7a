/**
 * `ArrayBuffer.prototype.transfer`, which moves the bytes of a buffer into a new one. Node 20 has it behind a flag of
 * V8; it takes effect in realms made after the flag is set, and a method of one realm works on the buffers of another.
 */
import v8 = require('node:v8');
import vm = require('node:vm');

function findTransfer(): unknown {
  const own: unknown = Reflect.get(ArrayBuffer.prototype, 'transfer');
  if (own !== undefined) return own;
  v8.setFlagsFromString('--harmony-rab-gsab-transfer');
  return vm.runInNewContext('ArrayBuffer.prototype.transfer');
}

const transfer = findTransfer();

/** The buffer that has the bytes now; `buffer` is detached. */
export function movedBytes(buffer: ArrayBuffer): ArrayBuffer {
  if (typeof transfer !== 'function') throw new Error('this engine has no ArrayBuffer.prototype.transfer');
  const moved: unknown = Reflect.apply(transfer, buffer, []);
  // Of another realm, so `instanceof` is not the question to ask.
  if (!isArrayBuffer(moved)) throw new Error('transfer() returned no ArrayBuffer');
  return moved;
}

function isArrayBuffer(value: unknown): value is ArrayBuffer {
  return Object.prototype.toString.call(value) === '[object ArrayBuffer]';
}
