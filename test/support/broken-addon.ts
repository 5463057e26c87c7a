/**
 * Addons that break one rule each, for the tests of `node-dlpack check`: modules with a makeTensor or a takeTensor that
 * do with the laboratories' help what bad addons do. `check` is given this file once for each fault, by a file name that
 * ends in the fault's (the file system has only this one: see `brokenAddon`).
 */
import { lab, type StructSpec } from './lab-addon.js';
import { kit } from './kit-lab.js';
import { makeStruct } from './lab.js';

export interface Addon {
  makeTensor?: () => unknown;
  takeTensor?: (x: unknown) => unknown;
  held?: () => number;
  takes?: unknown;
}

const made = (spec: StructSpec): Addon => ({ makeTensor: () => makeStruct({ flags: 0, ...spec }).capsule() });

/** A sound consumer of float32: takes, sums up, releases. */
function sound(x: unknown): { sum: number } {
  const managed = kit.take(x);
  const { data, byteOffset, shape, strides } = kit.look(managed);
  const count = (shape ?? []).reduce((size, extent) => size * extent, 1);
  void strides;
  const bytes = lab.peek(data + BigInt(byteOffset), 4 * count);
  kit.release(managed);
  return { sum: new Float32Array(bytes.buffer, bytes.byteOffset, count).reduce((sum, element) => sum + element, 0) };
}

const takes = { dtype: 'float32', shape: [2, 3] };
const taking = (takeTensor: (x: unknown) => unknown): Addon => ({ takeTensor, takes });

const kept: unknown[] = [];
let same: object | undefined;

/** By name; the rules that it breaks are in test/360-check.test.ts. */
export const BROKEN: Readonly<Record<string, Addon>> = {
  'makes nothing': { makeTensor: () => undefined },
  'makes a stranger’s External': { makeTensor: () => lab.makeUntaggedExternal() },
  'makes one capsule for all': { makeTensor: () => (same ??= makeStruct().capsule()) },
  'makes legacy structs': made({ versioned: false }),
  'makes version 2': made({ major: 2 }),
  'makes negative extents': made({ shape: [2, -3], strides: [3, 1], bytes: new Uint8Array(24) }),
  'leaves out strides': made({ strides: null }),
  'invents a dtype': made({ dtype: [2, 31, 1] }),
  'forgets data': made({ data: null }),
  'misaligns data': made({ misalign: 2 }),
  'has data without elements': made({ shape: [0], bytes: new Uint8Array(4) }),
  'begins at an offset': made({ byteOffset: 4, bytes: new Uint8Array(28) }),
  'has a second CPU': made({ device: [1, 1] }),
  'leaves flags uninitialised': made({ flags: 0xa5a5n }),
  'lends shared elements writable': made({ strides: [0, 1] }),
  'has no deleter': made({ deleter: false }),
  'answers anything': {
    makeTensor: () => ({ __dlpack__: () => makeStruct({ flags: 2 }).capsule(), __dlpack_device__: () => [2, 0] }),
  },
  'moves its elements': {
    makeTensor: () => {
      const struct = makeStruct();
      setTimeout(() => lab.poke(struct.data, new Uint8Array([9])), 0);
      return struct.capsule();
    },
  },
  'ends the process in its deleter': {
    makeTensor: () => kit.make(kit.wrap([2, 3], null, 0)),
    takeTensor: () => process.kill(process.pid, 'SIGKILL'),
    takes,
  },
  'leaks what it makes': {
    makeTensor: () => {
      kept.push(Buffer.alloc(1 << 16, 1));
      return kit.make(kit.wrap([1 << 14], null, 2));
    },
  },
  'miscounts what it holds': { makeTensor: () => makeStruct().capsule(), held: () => kept.push(1) },
  'never releases': taking((x) => void kept.push(kit.take(x))),
  'releases twice': taking((x) => {
    const managed = kit.take(x);
    kit.release(managed);
    kit.release(managed);
  }),
  'looks without taking': taking((x) => lab.lookIntoCapsule(x)),
  'takes capsules alone': taking((x) => {
    if (typeof x !== 'object' || x === null || '__dlpack__' in x) throw new TypeError('no capsule');
    return sound(x);
  }),
  'asks twice': taking((x) => {
    const producer = x as { __dlpack__?: (options: object) => object; __dlpack_device__?: () => unknown };
    if (typeof producer.__dlpack__ !== 'function') return sound(x);
    producer.__dlpack_device__?.();
    kit.release(kit.take(producer.__dlpack__({ max_version: [1, 3] })));
    return sound(x);
  }),
  'asks for no version': taking((x) => {
    const producer = x as { __dlpack__?: (options?: object) => object };
    return sound(typeof producer.__dlpack__ === 'function' ? producer.__dlpack__() : x);
  }),
  'takes anything': taking((x) => {
    try {
      return sound(x);
    } catch {
      return undefined;
    }
  }),
  'hides the producer’s error': taking((x) => {
    try {
      return sound(x);
    } catch (error) {
      throw new Error('something went wrong', { cause: error });
    }
  }),
  'writes to read-only memory': taking((x) => {
    const managed = kit.take(x);
    lab.poke(kit.look(managed).data, new Uint8Array([1, 2, 3]));
    kit.release(managed);
  }),
  'writes to the struct': taking((x) => {
    const managed = kit.take(x);
    lab.poke(managed + 24n, new Uint8Array([1]));
    kit.release(managed);
  }),
  'ignores byte_offset': taking((x) => {
    const managed = kit.take(x);
    const bytes = lab.peek(kit.look(managed).data, 24);
    kit.release(managed);
    return { sum: new Float32Array(bytes.buffer, bytes.byteOffset, 6).reduce((sum, element) => sum + element, 0) };
  }),
  'ignores strides': taking(sound),
  'checks nothing': taking((x) => {
    const managed = kit.take(x);
    lab.peek(kit.look(managed).data, 4);
    kit.release(managed);
  }),
  'uses what it does not take': taking((x) => (x !== null && typeof x === 'object' && 'data' in x ? 0 : sound(x))),
};
