/** A process in which somebody replaced what the library uses of the engine, before or after it was loaded. */
import assert = require('node:assert/strict');
import { readdirSync, readFileSync } from 'node:fs';
import path = require('node:path');

type Library = typeof import('../../dist/index.js');

const load = (): Library => require('../../dist/index.js') as Library;

/** The main road, with every counter back at the end. */
function work({ fromDLPack, OwnedTensor, scope, stats, Tensor }: Library): void {
  scope(() => {
    const owned = OwnedTensor.allocate([2, 3], 'float32');
    owned.data.set([1, 2, 3, 4, 5, 6]);
    const tensor = owned.freeze();
    const back = fromDLPack(tensor.__dlpack__({ max_version: [1, 3] }));
    assert.equal(back.at(1, 2), 6);
    assert.deepEqual([...back.slice(0).toTypedArray()], [1, 2, 3]);
    assert.equal(tensor.to('int8', { scale: [2, 3] }).at(1, 0), 12);
    assert.equal(Tensor.from([[1n], [2n]]).size, 2);
  });
  assert.deepEqual(stats(), { tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 });
}

/** Makes much garbage: what collects it must be what the library found when it was loaded. */
function litter({ Tensor }: Library): void {
  for (let count = 0; count < 3000; count += 1) Tensor.from([count]);
}

const refuse = (): never => {
  throw new Error('a replaced global was called');
};

/** A few collections, with turns of the loop in which the library hears of them. */
async function collected(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    globalThis.gc?.();
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
}

const ACCESSORS: readonly PropertyDescriptor[] = [
  { get: () => undefined },
  { get: () => undefined, set: refuse },
  { get: () => undefined, set: () => undefined },
];

const ways: Readonly<Record<string, () => void | Promise<void>>> = {
  polluted() {
    const library = load();
    work(library);
    const keys = ['stream', 'max_version', 'dl_device', 'copy', 'writable', 'bits'];
    const polluting = Object.assign(Object.create(null) as PropertyDescriptor, { get: refuse, configurable: true });
    // oxlint-disable-next-line no-extend-native -- this is what is tested
    for (const key of keys) Object.defineProperty(Object.prototype, key, polluting);
    // Options that are left out are not looked for; those that are given are read, inherited ones too, as ever in JavaScript.
    const tensor = library.Tensor.from([1, 2]);
    assert.equal(tensor.at(1), 2);
    assert.throws(() => tensor.view({}), /replaced global/);
    for (const key of keys) Reflect.deleteProperty(Object.prototype, key);
    tensor.dispose();
    work(library);
  },
  /** Accessors in place of every property that the library assigns: it must not meet them, let alone half way. */
  accessors() {
    const library = load();
    work(library);
    const folder = path.dirname(require.resolve('../../dist/index.js'));
    const assigned = readdirSync(folder)
      .filter((file) => file.endsWith('.js'))
      .flatMap((file) => [...readFileSync(path.join(folder, file), 'utf8').matchAll(/\bthis\.(\w+) = /g)])
      .map((match) => match[1] ?? '');
    assert.ok(assigned.includes('dtype') && assigned.includes('code'));
    const read = Object.keys({ aliases: 0, cause: 0, index: 0, limit: 0, name: 0, shape: 0, strides: 0 });
    let elements = 100;
    for (const key of new Set([...assigned, ...read])) {
      for (const accessor of ACCESSORS) {
        // oxlint-disable-next-line no-extend-native -- this is what is tested
        Object.defineProperty(Object.prototype, key, { ...accessor, configurable: true });
        work(library);
        const shared = library.Tensor.from(new Float32Array(elements++)); // of a size that was never there before
        const slice = shared.slice([0, 1]);
        assert.throws(() => shared.intoDLPack(), {
          code: 'ERR_DLPACK_BUFFER',
          aliases: { tensors: 1, exports: 0, views: 0, tokens: 0 },
        });
        assert.throws(() => shared.at(elements), { code: 'ERR_OUT_OF_RANGE' });
        slice.dispose();
        shared.dispose();
        assert.throws(() => shared.at(0), { code: 'ERR_DLPACK_DISPOSED' });
        Reflect.deleteProperty(Object.prototype, key);
      }
    }
    work(library);
  },
  /** The same for indices of arrays, which the engine's own push meets too. What was alive is, and nothing is left. */
  async indices() {
    const library = load();
    const kept = new Set<ReturnType<Library['Tensor']['fromShared']>>();
    for (const key of ['0', '1', '5', '100', '300']) {
      for (const accessor of ACCESSORS) {
        for (const prototype of [Object.prototype, Array.prototype]) {
          Object.defineProperty(prototype, key, { ...accessor, configurable: true });
          try {
            for (let count = 0; count < 400; count += 1) library.Tensor.from(Float32Array.of(1)).transpose();
            kept.add(library.Tensor.from(Float32Array.of(2)));
          } catch {
            // As it likes.
          }
          Reflect.deleteProperty(prototype, key);
        }
      }
    }
    assert.ok(kept.size > 10);
    await collected();
    for (const tensor of kept) {
      assert.equal(tensor.at(0), 2);
      tensor.dispose();
    }
    await collected();
    work(library);
  },
  'no-registry'() {
    const library = load();
    Reflect.set(globalThis, 'FinalizationRegistry', refuse);
    Reflect.set(globalThis, 'WeakRef', refuse);
    litter(library);
    globalThis.gc?.();
    work({ ...library, stats: () => ({ tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 }) });
  },
  'no-immediate'() {
    const library = load();
    Reflect.set(globalThis, 'setImmediate', refuse);
    litter(library);
    work({ ...library, stats: () => ({ tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 }) });
  },
  /** What is gone before the library is loaded is missed at the load, by an error, not by a crash later. */
  'own-realm-globals'() {
    Reflect.set(globalThis, 'FinalizationRegistry', undefined);
    assert.throws(load, (error: unknown) => error instanceof Error);
  },
};

const way = ways[process.argv[2] ?? ''];
if (way === undefined) throw new Error('name a way');
void Promise.resolve(way());
process.on('exit', (code) => {
  if (code === 0) process.stdout.write('as it should be\n');
});
