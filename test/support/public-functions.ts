/**
 * Every function that the package makes public, found by looking at what it exports: functions, static and instance
 * methods, getters, and the constructors themselves.
 */
import { readFileSync } from 'node:fs';
import path = require('node:path');

export type Callable = (...args: unknown[]) => unknown;

export interface PublicFunction {
  /** `fromDLPack`, `Tensor.from`, `Tensor#slice`, `get Tensor#shape`, `new Tensor`. */
  readonly name: string;
  readonly kind: 'function' | 'static' | 'method' | 'getter' | 'constructor';
  /** The entry of the package, as in `exports` of package.json: `.`, `./unsafe`. */
  readonly entry: string;
  /** To be applied with a receiver and arguments. */
  readonly call: Callable;
}

function isCallable(value: unknown): value is Callable {
  return typeof value === 'function';
}

function isClass(value: Callable): boolean {
  return Function.prototype.toString.call(value).startsWith('class');
}

/** The same text in every runtime: Node 20 brings a `Symbol.dispose` of its own making. */
function nameOfKey(key: string | symbol): string {
  if (key === Symbol.dispose) return '[Symbol.dispose]';
  return typeof key === 'symbol' ? `[${key.description}]` : key;
}

/** The value of an own property that is no getter. */
function valueOf(owner: object, key: PropertyKey): unknown {
  const descriptor = Reflect.getOwnPropertyDescriptor(owner, key);
  return descriptor?.value as unknown;
}

function* membersOf(name: string, made: Callable, entry: string): Generator<PublicFunction> {
  const prototype: unknown = made.prototype;
  // Errors are made as the engine makes them, which is slow for what it must first turn into a text.
  if (!(prototype instanceof Error)) {
    yield {
      name: `new ${name}`,
      kind: 'constructor',
      entry,
      call: (...args) => Reflect.construct(made, args) as unknown,
    };
  }
  for (const key of Reflect.ownKeys(made)) {
    const value = valueOf(made, key);
    if (isCallable(value)) yield { name: `${name}.${String(key)}`, kind: 'static', entry, call: value };
  }
  // What is inherited is there to be called too; of the engine's own classes it is the engine's business.
  for (let owner = prototype; isOurs(owner); owner = Object.getPrototypeOf(owner)) {
    for (const key of Reflect.ownKeys(owner)) {
      const value = valueOf(owner, key);
      const getter: unknown = Reflect.getOwnPropertyDescriptor(owner, key)?.get;
      const member = `${name}#${nameOfKey(key)}`;
      if (isCallable(getter)) yield { name: `get ${member}`, kind: 'getter', entry, call: getter };
      else if (key !== 'constructor' && isCallable(value)) yield { name: member, kind: 'method', entry, call: value };
    }
  }
}

function isOurs(prototype: unknown): prototype is object {
  if (typeof prototype !== 'object' || prototype === null) return false;
  const made: unknown = prototype.constructor;
  return isCallable(made) && !Function.prototype.toString.call(made).includes('[native code]');
}

/** What the package exports, by entry. */
function* entries(): Generator<[entry: string, exported: object]> {
  const root = path.resolve(__dirname, '../..');
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string | { default: string }>>;
  };
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue;
    const exported: unknown = require(path.join(root, target.default));
    if (typeof exported === 'object' && exported !== null) yield [entry, exported];
  }
}

export const PUBLIC_FUNCTIONS: readonly PublicFunction[] = [...entries()].flatMap(([entry, exported]) =>
  Object.entries(exported).flatMap(([name, value]: [string, unknown]): PublicFunction[] => {
    if (!isCallable(value)) return [];
    return isClass(value) ? [...membersOf(name, value, entry)] : [{ name, kind: 'function', entry, call: value }];
  }),
);
