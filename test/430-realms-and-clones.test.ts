/**
 * Objects of other realms (a vm context, jest's own), and what structured cloning makes of ours. docs/runtimes.md says
 * the same in words.
 */
import { describe, expect, test } from '@jest/globals';
import { deserialize, serialize } from 'node:v8';
import { createContext, runInContext, runInNewContext } from 'node:vm';
import { MessageChannel } from 'node:worker_threads';
import * as library from '../dist/index.js';
import { capsuleName, fromDLPack, OwnedTensor, releaseCapsule, stats, Tensor } from '../dist/index.js';
import { expectCountersAtZero } from './support/counters.js';
import { thrownBy } from './support/refusals.js';

expectCountersAtZero();

describe('a vm context', () => {
  test('may use the library that it is given: its arrays, options, producers and functions are as good as ours', () => {
    const before = stats();
    const result: unknown = runInNewContext(
      `(() => {
        const { OwnedTensor, Tensor, fromDLPack, scope } = library;
        return scope(() => {
          const tensor = Tensor.from(new Float32Array([1, 2, 3, 4, 5, 6]), { shape: [2, 3] });
          const nested = Tensor.from([[1n, 2n], [3n, 4n]]);
          const producer = { __dlpack__: (options) => tensor.__dlpack__(options), __dlpack_device__: () => [1, 0] };
          const imported = fromDLPack(producer, { copy: true });
          imported.set(new Float64Array([9, 9, 9]), { at: [0], scale: [2, 2, 2] });
          const owned = OwnedTensor.allocate([2], 'int32').fill(4);
          return [
            tensor.transpose([1, 0]).toArray().length,
            nested.at(1, 1) === 4n,
            imported.at(0, 2),
            imported.at(1, 2),
            owned.lend((loan) => loan.at(1)),
            tensor.withView((view) => view[5]),
            tensor.slice([0, 2, 1], 0).toArray().length,
          ];
        });
      })()`,
      { library },
    );
    expect(Array.from(result as ArrayLike<unknown>)).toEqual([3, true, 18, 6, 4, 6, 2]);
    expect(stats()).toEqual(before);
  });

  test('gets errors of the realm that the library was loaded in: their code is what to test', () => {
    const [code, isItsOwn] = runInNewContext(
      `(() => {
        try { library.Tensor.from('x'); } catch (error) { return [error.code, error instanceof TypeError]; }
      })()`,
      { library },
    ) as [string, boolean];
    expect([code, isItsOwn]).toEqual(['ERR_INVALID_ARG_TYPE', false]);
  });

  test('a tensor outlives the context that made it, and a view of it too', () => {
    let context: object | undefined = createContext({ library });
    const made = runInContext('library.Tensor.from(new Float32Array([1, 2, 3]))', context) as Tensor<'float32'>;
    const view = made.view();
    context = undefined;
    globalThis.gc?.();
    expect([made.at(2), view[2], context]).toEqual([3, 3, undefined]);
    made.dispose();
    expect(view.length).toBe(0);
  });
});

describe('structured cloning', () => {
  test('makes of a tensor an empty object, which is no tensor and holds no memory', async () => {
    using tensor = Tensor.from([1, 2, 3]);
    using owned = OwnedTensor.allocate([3], 'int8');
    const { port1, port2 } = new MessageChannel();
    const received = new Promise<unknown>((resolve) => port2.once('message', resolve));
    port1.postMessage(tensor);
    const clones: unknown[] = [
      structuredClone(tensor),
      structuredClone(owned),
      deserialize(serialize(tensor)),
      JSON.parse(JSON.stringify(tensor)),
      await received,
    ];
    port1.close();
    for (const clone of clones) {
      expect(Reflect.ownKeys(clone as object)).toEqual([]);
      expect(Reflect.get(Object(thrownBy(() => fromDLPack(clone as object))), 'code')).toBe('ERR_INVALID_ARG_TYPE');
    }
    expect([tensor.isUnique, owned.isUnique, stats().tensors]).toEqual([true, true, 2]);
  });

  test('refuses a capsule, which stays good', () => {
    using tensor = Tensor.from([1, 2, 3]);
    const capsule = tensor.__dlpack__({ max_version: [1, 3] });
    for (const clone of [structuredClone, serialize]) {
      expect(String(thrownBy(() => clone(capsule)))).toMatch(/could not be cloned|can not be cloned/);
    }
    expect(capsuleName(capsule)).toBe('dltensor_versioned');
    releaseCapsule(capsule);
  });

  test('copies what a view shows, and takes nothing of ours along', () => {
    using tensor = Tensor.from(Float32Array.of(1, 2, 3));
    const clone = structuredClone(tensor.view()) as Float32Array;
    clone[0] = 9;
    expect([[...clone], tensor.at(0)]).toEqual([[9, 2, 3], 1]);
    tensor.dispose();
    expect(clone.length).toBe(3);
  });

  test('keeps of an error its name and message, not its code', () => {
    const error = thrownBy(() => Tensor.fromShared('x'));
    const clone = structuredClone(error);
    expect([Reflect.get(Object(clone), 'message'), Reflect.get(Object(clone), 'code')]).toEqual([
      Reflect.get(Object(error), 'message'),
      undefined,
    ]);
  });
});
