import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  CPU,
  DEVICE_TYPES,
  deviceName,
  formatDevice,
  isHostReadable,
  parseDeviceOption,
  parseDevicePair,
  parseProducerDevice,
} from '../dist/device.js';
import { bufferErrorWith, errorOf, rangeErrorWith, typeErrorWith } from './support/error-of.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

describe('the device table', () => {
  test('has every device type of the header, by code', () => {
    const header = readFileSync(path.join(__dirname, '..', 'include', 'dlpack', 'dlpack.h'), 'utf8');
    const enumBody = /kDLCPU = 1[\s\S]*?\} DLDeviceType/.exec(header)?.[0] ?? '';
    const codes = [...enumBody.matchAll(/kDL\w+ = (\d+)/g)].map(([, code]) => Number(code));
    expect(codes.length).toBe(16);
    expect(Object.values(DEVICE_TYPES)).toEqual(codes);
  });

  test('the host reads CPU memory and what CUDA and ROCm pinned, and nothing else', () => {
    expect(Object.values(DEVICE_TYPES).filter(isHostReadable)).toEqual([1, 3, 11]);
    expect(isHostReadable(99)).toBe(false);
  });

  test.each([
    [1, 0, 'cpu'],
    [2, 1, 'cuda:1'],
    [3, 0, 'cuda_host:0'],
    [99, 5, 'device type 99:5'],
  ])('[%i, %i] reads %s', (type, id, text) => {
    expect(formatDevice([type, id])).toBe(text);
  });

  test('codes that DLPack 1.3 does not have are no device', () => {
    for (const code of [0, 5, 6, 19, 20, 21, -1]) expect(deviceName(code)).toBeUndefined();
  });
});

const MALFORMED: readonly (readonly [unknown, string])[] = [
  [undefined, 'undefined'],
  [null, 'null'],
  [1, '1'],
  ['cpu', "'cpu'"],
  [{}, 'an object'],
  [[], '[]'],
  [[1], '[1]'],
  [[1, 0, 0], '[1, 0, 0]'],
  [[null, 0], '[null, 0]'],
  [[1, null], '[1, null]'],
  [['1', 0], "['1', 0]"],
  [[1.5, 0], '[1.5, 0]'],
  [[1, NaN], '[1, NaN]'],
  [[1n, 0n], '[1n, 0n]'],
  [[2 ** 31, 0], '[2147483648, 0]'],
];

describe('dl_device', () => {
  test.each([[[1, 0]], [[2, 0]], [[99, 0]], [[1, 5]], [[-1, -1]]])('%j is a pair', (pair) => {
    expect(parseDevicePair(pair)).toEqual(pair);
  });

  test.each(MALFORMED)('%p is malformed: TypeError', (value, shown) => {
    expect(errorOf(() => parseDevicePair(value))).toMatchObject(
      typeErrorWith(
        `dl_device is ${shown}; it must be [device type, device id], two integers, such as [1, 0] for the CPU`,
      ),
    );
  });
});

describe("fromDLPack's device", () => {
  test.each([null, undefined])('%p leaves it to the producer', (value) => {
    expect(parseDeviceOption(value)).toBeNull();
  });

  test.each([['cpu'], [[1, 0]]])('%j is the CPU', (value) => {
    expect(parseDeviceOption(value)).toEqual(CPU);
  });

  test.each(['gpu', 'cuda', 'CPU', ''])('%p is an unknown name: RangeError', (value) => {
    expect(errorOf(() => parseDeviceOption(value))).toMatchObject(
      rangeErrorWith(`device is '${value}'; it must be 'cpu', [1, 0], or null for the producer's own device`),
    );
  });

  test.each([
    [[2, 0], 'device is [2, 0] (cuda:0)'],
    [[1, 5], 'device is [1, 5] (cpu:5)'],
    [[99, 0], 'device is [99, 0] (device type 99:0)'],
  ])('%j is a pair, but no place to bring tensors to: BufferError', (value, start) => {
    expect(errorOf(() => parseDeviceOption(value))).toMatchObject(
      bufferErrorWith(
        `${start}; tensors can only be brought to the CPU, [1, 0]. Use null for the producer's own device`,
      ),
    );
  });

  test.each(MALFORMED.filter(([value]) => value !== null && value !== undefined && typeof value !== 'string'))(
    '%p is malformed: TypeError',
    (value) => {
      expect(errorOf(() => parseDeviceOption(value))).toMatchObject(
        typeErrorWith(/^device is .*; it must be \[device type, device id\]/),
      );
    },
  );
});

describe("a producer's __dlpack_device__()", () => {
  test('is a pair of integers', () => {
    expect(parseProducerDevice([2, 3])).toEqual([2, 3]);
  });

  test.each([[[]], [[1]], [[1, 0, 0]]])('%j has the wrong length: RangeError', (value) => {
    expect(errorOf(() => parseProducerDevice(value))).toMatchObject(
      rangeErrorWith(/^__dlpack_device__\(\) returned \[.*\], \d numbers; it must return \[device type, device id\]$/),
    );
  });

  test.each([[null], [undefined], [1], ['cpu'], [{}], [[null, 0]], [[1, null]], [['1']]])(
    '%j is no pair: TypeError',
    (value) => {
      expect(errorOf(() => parseProducerDevice(value))).toMatchObject(
        typeErrorWith(/^__dlpack_device__\(\) is .*; it must be \[device type, device id\]/),
      );
    },
  );
});
