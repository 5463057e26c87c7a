/** What `offer` answers to producers that are none, or that answer garbage: a named error, each deleter called once. */
import { describe, expect, test } from '@jest/globals';
import { stats, Tensor } from '../../dist/index.js';
import { dataAddress } from '../../dist/unsafe.js';
import type { Python, PythonError } from './python.js';

/** Fields of the struct, as Python writes them, and what the error must say of them. */
const MALFORMED: readonly (readonly [string, RegExp])[] = [
  ['ndim=-1', /ndim is -1/],
  ['ndim=65', /ndim is 65/],
  ['shape=None', /shape is NULL/],
  ['shape=(2, -3)', /shape\[1\] is -3/],
  ['shape=(1 << 62, 4)', /shape/],
  ['strides=(1 << 62, 1)', /strides\[0\] is/],
  ['strides=(3, -(1 << 63))', /strides\[1\] is/],
  ['with_data=False', /data is NULL/],
  ['offset=(1 << 64) - 4', /byte_offset is/],
  ['device=(99, 0)', /device_type is 99/],
  ['code=42', /code is 42/],
  ['bits=0', /bits is 0/],
  ['bits=33', /bits is 33/],
  ['lanes=4', /lanes is 4/],
];

const nothingLeft = (): void => expect(stats()).toMatchObject({ tensors: 0, tokens: 0, blocks: 0, bytes: 0 });

export function describeBadInput(python: () => Python): void {
  const attempt = (source: string): unknown => python().run(`from workshop import *\n${source}`);
  const failing = (source: string): PythonError => python().errorOf(() => attempt(source));

  describe('structs that are not what they should be', () => {
    test.each(MALFORMED)('%s: a BufferError that names it, and the deleter is called once', (fields, message) => {
      for (const versioned of ['True', 'False']) {
        const [type, code, text, deleted] = attempt(`
struct = Struct(versioned=${versioned}, ${fields})
try:
    node_dlpack.offer(struct)
    result = None
except BufferError as error:
    result = [type(error).__name__, error.code, str(error), struct.deleted]`) as [string, string, string, number];
        expect({ type, code, deleted }).toEqual({ type: 'DLPackBufferError', code: 'ERR_DLPACK_BUFFER', deleted: 1 });
        expect(text).toMatch(message);
        expect(text).toContain('DLPackBufferError in JavaScript');
      }
      nothingLeft();
    });

    test.each([0, 2, 7])('of major version %i: nothing but the deleter is touched', (major) => {
      const [text, deleted] = attempt(`
struct = Struct(major=${major}, shape=None, ndim=1 << 30, code=99, flags=0xffff)
try:
    result = node_dlpack.offer(struct)
except BufferError as error:
    result = [str(error), struct.deleted]`) as [string, number];
      expect(text).toMatch(`version.major is ${major}`);
      expect(deleted).toBe(1);
      nothingLeft();
    });

    test('of a higher minor version and with unknown flags are fine', () => {
      const token = attempt('struct = Struct(flags=0xff00)\nresult = node_dlpack.offer(struct)') as string;
      const tensor = Tensor.fromShared(token);
      expect({ readOnly: tensor.readOnly, values: tensor.toArray() }).toEqual({
        readOnly: false,
        values: [
          [0, 1, 2],
          [3, 4, 5],
        ],
      });
      tensor.dispose();
      expect(attempt('result = None')).toBeNull();
      nothingLeft();
    });

    test('that are not aligned are copied, or refused with copy=False', () => {
      const [token, address] = attempt(`
struct = Struct(data=2, code=1, bits=32)
result = [node_dlpack.offer(struct), str(ctypes.addressof(struct.memory) + 2), struct.deleted]`) as [
        string,
        string,
        number,
      ];
      const tensor = Tensor.fromShared(token);
      expect(String(dataAddress(tensor))).not.toBe(address);
      expect(tensor.zeroCopy).toBe(false);
      tensor.dispose();
      const [text, deleted] = attempt(`
struct = Struct(data=2, code=1, bits=32)
try:
    result = node_dlpack.offer(struct, copy=False)
except BufferError as error:
    result = [str(error), struct.deleted]`) as [string, number];
      expect(text).toMatch(/^copy=False cannot be kept: the data is not aligned/);
      expect(deleted).toBe(1);
      nothingLeft();
    });

    test('without strides are row-major', () => {
      const tensor = Tensor.fromShared(attempt('result = node_dlpack.offer(Struct(strides=None))') as string);
      expect(tensor.strides).toEqual([3, 1]);
      tensor.dispose();
      nothingLeft();
    });
  });

  describe('producers that are none', () => {
    test.each([
      ['None', 'None'],
      ['[1, 2]', 'a list'],
      ['"text"', 'a str'],
      ['object()', 'a object'],
    ])('%s: TypeError', (value, name) => {
      const error = failing(`node_dlpack.offer(${value})`);
      expect({ type: error.type, code: error.code }).toEqual({ type: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
      expect(error.message).toContain(`offer was given ${name}, which is neither an object with __dlpack__`);
    });

    test('one without __dlpack_device__, or with members that cannot be called: TypeError, and nothing is called', () => {
      for (const body of [
        'def __dlpack__(self, **asked): raise ZeroDivisionError',
        '__dlpack__ = 3\n    def __dlpack_device__(self): raise ZeroDivisionError',
        'def __dlpack__(self, **asked): raise ZeroDivisionError\n    __dlpack_device__ = None',
      ]) {
        expect(failing(`class Odd:\n    ${body}\nnode_dlpack.offer(Odd())`).type).toBe('TypeError');
      }
    });

    test.each(['None', '(1,)', '(1, 2, 3)', '("cpu", 0)', '(None, 0)', '7'])(
      '__dlpack_device__() answers %s: TypeError',
      (answer) => {
        const error = failing(`
class Odd(Struct):
    def __dlpack_device__(self): return ${answer}
node_dlpack.offer(Odd())`);
        expect(error.type).toBe('TypeError');
        expect(error.message).toMatch(/^__dlpack_device__\(\) is /);
      },
    );

    test.each(['None', '7', '"dltensor"', 'b"x"', 'new_capsule(1, ctypes.addressof(OTHER_NAME), None)', 'object()'])(
      '__dlpack__() answers %s: TypeError',
      (answer) => {
        const error = failing(`
class Odd(Struct):
    def __dlpack__(self, **asked): return ${answer}
node_dlpack.offer(Odd())`);
        expect(error.type).toBe('TypeError');
        expect(error.message).toMatch(/^__dlpack__\(\) of a Odd returned .*; it must return a capsule named/);
      },
    );

    test('a device without an id is let pass: a library says so of the CPU', () => {
      const token = attempt(`
class Odd(Struct):
    def __dlpack_device__(self): return (1, None)
result = node_dlpack.offer(Odd())`) as string;
      Tensor.fromShared(token).dispose();
      nothingLeft();
    });

    test('a used capsule: already consumed', () => {
      const error = failing(`
capsule = Struct().capsule()
node_dlpack.revoke(node_dlpack.offer(capsule))
node_dlpack.offer(capsule)`);
      expect({ type: error.type, code: error.code }).toEqual({ type: 'DLPackStateError', code: 'ERR_DLPACK_CONSUMED' });
      expect(error.message).toMatch(/^Capsule already consumed/);
      nothingLeft();
    });

    test('an error of the producer’s own reaches the caller as it is', () => {
      const same = attempt(`
class Odd(Struct):
    calls = 0
    def __dlpack__(self, **asked):
        Odd.calls += 1
        raise failure
failure = ZeroDivisionError('mine')
try:
    node_dlpack.offer(Odd())
except ZeroDivisionError as error:
    result = [error is failure, Odd.calls]`);
      expect(same).toEqual([true, 1]);
    });

    test('one written before max_version is asked again without words, once', () => {
      const [calls, token] = attempt(`
class Old(Struct):
    calls = 0
    def __dlpack__(self, stream=None):
        Old.calls += 1
        return self.capsule()
result = [0, node_dlpack.offer(Old(versioned=False))]
result[0] = Old.calls`) as [number, string];
      expect(calls).toBe(1); // the first attempt did not get as far as its body
      const tensor = Tensor.fromShared(token);
      expect(tensor.readOnly).toBe(true);
      tensor.dispose();
      const error = failing(
        'class Old(Struct):\n    def __dlpack__(self, stream=None): return self.capsule()\nnode_dlpack.offer(Old(), copy=False)',
      );
      expect(error.bases).toContain('TypeError');
      nothingLeft();
    });
  });

  test('a capsule is taken by one of two threads', () => {
    const outcomes = attempt(`
import collections, threading
outcomes = collections.Counter()
for _ in range(200):
    struct = Struct()
    capsule = struct.capsule()
    barrier = threading.Barrier(2)
    def take():
        barrier.wait()
        try:
            node_dlpack.revoke(node_dlpack.offer(capsule))
            outcomes['taken'] += 1
        except node_dlpack.DLPackStateError as error:
            outcomes[error.code] += 1
    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    outcomes['deleted'] += struct.deleted
result = dict(outcomes)`);
    expect(outcomes).toEqual({ taken: 200, ERR_DLPACK_CONSUMED: 200, deleted: 200 });
    nothingLeft();
  });
}
