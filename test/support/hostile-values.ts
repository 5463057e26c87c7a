/**
 * Every kind of wrong value: what a caller's mistake, a stranger's object or an attacker puts where something else is
 * expected. Each is made afresh for each call, since some spend themselves, and may be given something to do in the
 * middle of the call (`disturb`, which disposes what the call works on).
 */
import { createContext, runInContext } from 'node:vm';
import { OwnedTensor, releaseCapsule, Tensor } from '../../dist/index.js';
import { growable, resizable, resize } from './resizable.js';

/** Thrown by hostile values themselves: a function may let it through. */
export class HostileError extends Error {}

export interface Hostile {
  readonly name: string;
  /** `disturb` disposes the tensor that the call works on, as a getter or a trap might. */
  readonly make: (disturb: () => void) => unknown;
  /** May the engine itself refuse to touch it, with an error of its own (a revoked Proxy, a class called as a function,
   * a property of an object that only has the prototype of a typed array)? */
  readonly engineRefuses?: boolean;
}

function refuse(): never {
  throw new HostileError('a hostile value was touched');
}

/** Every trap does `act`, and then what the target would. */
function trapped(target: object, act: () => void): object {
  const traps: ProxyHandler<object> = {};
  for (const name of Object.getOwnPropertyNames(Reflect)) {
    const operation: unknown = Reflect.get(Reflect, name);
    if (typeof operation !== 'function') continue;
    Reflect.set(traps, name, (...args: unknown[]): unknown => {
      act();
      const [first, ...rest] = args;
      const result: unknown = Reflect.apply(operation, Reflect, [first, ...rest.slice(0, name === 'get' ? 1 : 3)]);
      return result;
    });
  }
  return new Proxy(target, traps);
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** An array of which one element, or whatever else, is a getter. */
function withGetter(target: object, key: PropertyKey, get: () => unknown): object {
  return Object.defineProperty(target, key, { get, configurable: true, enumerable: true });
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

/** Making it takes long, and nobody changes it. */
const DEEP = nested(100_000);

const otherRealm = createContext({});

function inOtherRealm(code: string): unknown {
  return runInContext(code, otherRealm);
}

function cyclic(): unknown[] {
  const array: unknown[] = [];
  array.push(array);
  return array;
}

function detached(): Float32Array {
  const array = new Float32Array(6);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

function outOfBounds(): Float32Array {
  const buffer = resizable(24, 48);
  const array = new Float32Array(buffer, 8, 4);
  resize(buffer, 4);
  return array;
}

class LyingArray extends Array<unknown> {
  static override get [Symbol.species](): ArrayConstructor {
    return refuse();
  }
  override map(): never {
    return refuse();
  }
  override [Symbol.iterator](): never {
    return refuse();
  }
}

class LyingBytes extends Uint8Array<ArrayBuffer> {
  override get byteLength(): number {
    return 2 ** 40;
  }
  override get byteOffset(): number {
    return -8;
  }
  override get length(): number {
    return NaN;
  }
  override get buffer(): ArrayBuffer {
    return new ArrayBuffer(1);
  }
}

/** Tensors behind hostile values. */
const sources: (Tensor | OwnedTensor)[] = [];

function liveTensor(): Tensor {
  const tensor = Tensor.from(Float32Array.of(1, 2, 3, 4, 5, 6), { shape: [2, 3] });
  sources.push(tensor);
  return tensor;
}

function liveOwned(): OwnedTensor {
  const owned = OwnedTensor.from(Float32Array.of(1, 2, 3, 4, 5, 6), { shape: [2, 3] });
  sources.push(owned);
  return owned;
}

/** Disposes what hostile values were made over, in case nobody asked them. */
export function discardHostile(): void {
  for (const source of sources.splice(0)) source.dispose();
}

/** A tensor's own prototype and symbols, with another number for a handle. */
function forged(change: (handle: number) => unknown): object {
  using tensor = Tensor.from(Float32Array.of(1, 2, 3));
  const copy: object = Object.create(Tensor.prototype) as object;
  for (const key of Reflect.ownKeys(tensor)) {
    const value: unknown = Reflect.get(tensor, key);
    Reflect.set(copy, key, typeof value === 'number' && value > 2 ? change(value) : value);
  }
  return copy;
}

function disposed(): Tensor {
  const tensor = Tensor.from([1, 2, 3]);
  tensor.dispose();
  return tensor;
}

function consumed(): OwnedTensor {
  const owned = OwnedTensor.allocate([3], 'float32');
  owned.freeze().dispose();
  return owned;
}

function usedCapsule(): object {
  const capsule = OwnedTensor.allocate([3], 'float32').__dlpack__();
  releaseCapsule(capsule);
  return capsule;
}

/** A producer whose `__dlpack__` answers this. */
function producing(answer: unknown, device: unknown = [1, 0]): object {
  return { __dlpack__: () => answer, __dlpack_device__: () => device };
}

const PRIMITIVES: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  2,
  1.5,
  NaN,
  Infinity,
  -Infinity,
  5e-324,
  1e308,
  65,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  2 ** 53,
  -(2 ** 53),
  0n,
  -1n,
  2n ** 64n,
  2n ** 200n,
  '',
  'x',
  '0',
  'float32',
  '__proto__',
  'constructor',
  '\u0000',
  'x'.repeat(100_000),
  Symbol('hostile'),
  Symbol.iterator,
];

function nameOf(value: unknown): string {
  if (typeof value === 'string') return value.length > 20 ? 'a long string' : JSON.stringify(value);
  return Object.is(value, -0) ? '-0' : `${String(value)}${typeof value === 'bigint' ? 'n' : ''}`;
}

const OBJECTS: Readonly<Record<string, Hostile['make']>> = {
  '{}': () => ({}),
  '[]': () => [],
  'an object without a prototype': () => Object.create(null) as object,
  'a function': () => () => undefined,
  'a function that throws': () => refuse,
  'a function that disposes': (disturb) => disturb,
  'an async function': () => async () => Promise.resolve(),
  'boxed values': (): unknown[] => [1, 'float32', 1n, Symbol('boxed')].map((value): unknown => Object(value)),
  'a boxed number': () => Object(3) as object,
  'a boxed string': () => Object('float32') as object,
  'a Date': () => new Date(NaN),
  'a RegExp': () => /x/,
  'a Map': () => new Map([[0, 1]]),
  'a WeakMap': () => new WeakMap(),
  'a promise': () => Promise.resolve(1),
  'a thenable that throws': () => ({ then: refuse }),
  'an object whose then is a getter that throws': () => withGetter({}, 'then', refuse),
  'an object that refuses conversion': () => ({ [Symbol.toPrimitive]: refuse, valueOf: refuse, toString: refuse }),
  'an object that disposes when converted': (disturb) => ({ valueOf: () => (disturb(), 1), toString: () => 'float32' }),
  'an iterator that throws': () => ({ [Symbol.iterator]: refuse, length: 2 }),
  'an array-like': () => ({ length: 2, 0: 2, 1: 3 }),
  'an array-like of absurd length': () => ({ length: 2 ** 53 - 1, 0: 2 }),
  'a sparse array': () => Array.from({ length: 3 }).fill(1, 0, 1),
  'an array with holes': () => Object.assign([], { 2: 3 }),
  'an array of the greatest length': () => Object.assign([], { length: 2 ** 32 - 1 }),
  'an array subclass that lies': () => LyingArray.from([2, 3]),
  'an array that throws at an element': () => withGetter([2, 3], 1, refuse),
  'an array that disposes at an element': (disturb) => withGetter([2, 3], 1, () => (disturb(), 3)),
  'an array that grows while it is read': () => {
    const array: unknown[] = [2, 3];
    return withGetter(array, 0, () => (array.push(9), 2));
  },
  'an array that shrinks while it is read': () => {
    const array: unknown[] = [2, 3];
    return withGetter(array, 0, () => ((array.length = 1), 2));
  },
  'an array in itself': cyclic,
  'a ragged array': () => [[1, 2], [3]],
  'arrays 70 deep': () => nested(70),
  'a Proxy': () => new Proxy({}, {}),
  'a Proxy of an array': () => new Proxy([2, 3], {}),
  'a Proxy that throws at everything': () => trapped({}, refuse),
  'a Proxy of a function that throws at everything': () => trapped(() => undefined, refuse),
  'a Proxy that disposes at everything': (disturb) => trapped({}, disturb),
  'a Proxy of an array that disposes at everything': (disturb) => trapped([2, 3], disturb),
  'no elements': () => new Float32Array(0),
  'six floats': () => new Float32Array(6),
  'six bigints': () => new BigInt64Array(6),
  'clamped bytes': () => new Uint8ClampedArray(24),
  'a Buffer': () => Buffer.alloc(24),
  'a DataView': () => new DataView(new ArrayBuffer(24)),
  'an ArrayBuffer': () => new ArrayBuffer(24),
  'a SharedArrayBuffer': () => new SharedArrayBuffer(24),
  'shared elements': () => new Float32Array(new SharedArrayBuffer(24)),
  'a detached typed array': detached,
  'a detached ArrayBuffer': () => detached().buffer,
  'a resizable typed array': () => new Float32Array(resizable(24, 48)),
  'a growable shared typed array': () => new Float32Array(growable(24, 48)),
  'a typed array out of bounds': outOfBounds,
  'a typed array that lies': () => LyingBytes.of(1, 2, 3, 4),
  'a typed array without a prototype': () => Object.setPrototypeOf(new Float32Array(6), null) as object,
  'a typed array with own getters': () => withGetter(new Float32Array(6), 'buffer', refuse),
  'an Error': () => new Error('hostile'),
  'a live Tensor': liveTensor,
  'a live OwnedTensor': liveOwned,
  'a disposed Tensor': disposed,
  'a consumed OwnedTensor': consumed,
  'the prototype of Tensor': () => Tensor.prototype,
  'an object given the prototype of Tensor': () => Object.create(Tensor.prototype) as object,
  'an object given the prototype of OwnedTensor': () => Object.create(OwnedTensor.prototype) as object,
  'a child of a live Tensor': () => Object.create(liveTensor()) as object,
  'a Proxy of a live Tensor': () => new Proxy(liveTensor(), {}),
  'a Proxy of a live OwnedTensor': () => new Proxy(liveOwned(), {}),
  'a forged handle, stale': () => forged((handle) => handle),
  'a forged handle, the next slot': () => forged((handle) => handle + 1),
  'a forged handle, the next generation': () => forged((handle) => handle + 2 ** 24),
  'a forged handle, fractional': () => forged((handle) => handle + 0.5),
  'a forged handle, NaN': () => forged(() => NaN),
  'a forged handle, a text': () => forged(() => '1'),
  'a used capsule': usedCapsule,
  'a token of nobody': () => `dlpack-${'f'.repeat(32)}`,
  'a producer of nothing': () => producing(undefined),
  'a producer of a used capsule': () => producing(usedCapsule()),
  'a producer of a promise': () => producing(Promise.resolve()),
  'a producer on no device': () => producing({}, undefined),
  'a producer on a device of many numbers': () => producing({}, [1, 0, 0]),
  'a producer on a device that throws': () => producing({}, withGetter([1, 0], 0, refuse)),
  'a producer that throws': () => ({ __dlpack__: refuse, __dlpack_device__: () => [1, 0] }),
  'a producer whose device throws': () => ({ __dlpack__: () => ({}), __dlpack_device__: refuse }),
  'a producer whose members throw': () => withGetter({ __dlpack_device__: () => [1, 0] }, '__dlpack__', refuse),
  'a producer that disposes': (disturb) => ({
    __dlpack__: () => (disturb(), usedCapsule()),
    __dlpack_device__: () => (disturb(), [1, 0]),
  }),
  'a producer that disposes its own source': () => {
    const source = liveTensor();
    return {
      __dlpack__: (options: object) => {
        const capsule = source.__dlpack__(options);
        source.dispose();
        return capsule;
      },
      __dlpack_device__: () => [1, 0],
    };
  },
  'an array of another realm': () => inOtherRealm('[2, 3]'),
  'an object of another realm': () => inOtherRealm('({})'),
  'a typed array of another realm': () => inOtherRealm('new Float32Array(6)'),
  'a function of another realm': () => inOtherRealm('(() => 1)'),
};

const ENGINE_REFUSES: Readonly<Record<string, Hostile['make']>> = {
  'a class': () => HostileError,
  'an object with the prototype of a typed array': () => Object.create(Float32Array.prototype) as object,
  'the class Tensor': () => Tensor,
  'a Proxy of a typed array': () => new Proxy(new Float32Array(6), {}),
  'a revoked Proxy': () => revoked({}),
  'a revoked Proxy of an array': () => revoked([2, 3]),
  'a revoked Proxy of a function': () => revoked(() => undefined),
  'arrays 100,000 deep': () => DEEP,
};

/** Alone, as the only element, and after one that is right. */
const primitives = PRIMITIVES.flatMap((value): Hostile[] => [
  { name: nameOf(value), make: () => value },
  { name: `[${nameOf(value)}]`, make: () => [value] },
  { name: `[2, ${nameOf(value)}]`, make: () => [2, value] },
  { name: `[null, 0, ${nameOf(value)}]`, make: () => [null, 0, value] },
]);

export const HOSTILE: readonly Hostile[] = [
  ...primitives,
  ...Object.entries(OBJECTS).map(([name, make]) => ({ name, make })),
  ...Object.entries(ENGINE_REFUSES).map(([name, make]) => ({ name, make, engineRefuses: true })),
  { name: 'a list of objects', make: (disturb) => Object.values(OBJECTS).map((make) => make(disturb)) },
];
