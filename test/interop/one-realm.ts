/**
 * The environment of these tests: jest gives each test file a realm with typed arrays of its own, but native libraries
 * make theirs in the process' main realm and libraries test with `instanceof`. A program has one realm, and so has
 * this.
 */
import { TestEnvironment } from 'jest-environment-node';

const SHARED = [
  'ArrayBuffer',
  'SharedArrayBuffer',
  'DataView',
  'Int8Array',
  'Int16Array',
  'Int32Array',
  'BigInt64Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Uint16Array',
  'Uint32Array',
  'BigUint64Array',
  'Float16Array',
  'Float32Array',
  'Float64Array',
];

class OneRealm extends TestEnvironment {
  constructor(...args: ConstructorParameters<typeof TestEnvironment>) {
    super(...args);
    for (const name of SHARED) {
      const value: unknown = Reflect.get(globalThis, name);
      if (value !== undefined) Reflect.set(this.global, name, value);
    }
  }
}

export = OneRealm;
