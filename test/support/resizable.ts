/** Buffers that change their size, which the compiler's ES2022 library does not know. */

export function resizable(bytes: number, maxByteLength: number): ArrayBuffer {
  const buffer: unknown = Reflect.construct(ArrayBuffer, [bytes, { maxByteLength }]);
  if (!(buffer instanceof ArrayBuffer)) throw new Error('no ArrayBuffer');
  return buffer;
}

export function growable(bytes: number, maxByteLength: number): SharedArrayBuffer {
  const buffer: unknown = Reflect.construct(SharedArrayBuffer, [bytes, { maxByteLength }]);
  if (!(buffer instanceof SharedArrayBuffer)) throw new Error('no SharedArrayBuffer');
  return buffer;
}

export function resize(buffer: ArrayBuffer, bytes: number): void {
  const method: unknown = Reflect.get(buffer, 'resize');
  if (typeof method !== 'function') throw new Error('this engine has no ArrayBuffer.prototype.resize');
  Reflect.apply(method, buffer, [bytes]);
}
