import { describe, expect, test } from '@jest/globals';
import {
  compactBytes,
  dtypeFromPacked,
  DTYPES,
  isDType,
  isRealDType,
  parseDType,
  type DTypeInfo,
} from '../dist/dtype.js';
import { errorOf, rangeErrorWith, typeErrorWith } from './support/error-of.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

// name, DLPack code, bits, itemsize, element kind
const TABLE = [
  ['bool', 6, 8, 1, 'boolean'],
  ['int8', 0, 8, 1, 'number'],
  ['int16', 0, 16, 2, 'number'],
  ['int32', 0, 32, 4, 'number'],
  ['int64', 0, 64, 8, 'bigint'],
  ['uint8', 1, 8, 1, 'number'],
  ['uint16', 1, 16, 2, 'number'],
  ['uint32', 1, 32, 4, 'number'],
  ['uint64', 1, 64, 8, 'bigint'],
  ['float16', 2, 16, 2, 'number'],
  ['float32', 2, 32, 4, 'number'],
  ['float64', 2, 64, 8, 'number'],
  ['bfloat16', 4, 16, 2, 'number'],
  ['complex64', 5, 64, 8, 'complex'],
  ['complex128', 5, 128, 16, 'complex'],
  ['float8_e3m4', 7, 8, 1, 'number'],
  ['float8_e4m3', 8, 8, 1, 'number'],
  ['float8_e4m3b11fnuz', 9, 8, 1, 'number'],
  ['float8_e4m3fn', 10, 8, 1, 'number'],
  ['float8_e4m3fnuz', 11, 8, 1, 'number'],
  ['float8_e5m2', 12, 8, 1, 'number'],
  ['float8_e5m2fnuz', 13, 8, 1, 'number'],
  ['float8_e8m0fnu', 14, 8, 1, 'number'],
  ['float6_e2m3fn', 15, 6, 0, 'number'],
  ['float6_e3m2fn', 16, 6, 0, 'number'],
  ['float4_e2m1fn', 17, 4, 0, 'number'],
  ['float6_e2m3fn_padded', 15, 6, 1, 'number'],
  ['float6_e3m2fn_padded', 16, 6, 1, 'number'],
  ['float4_e2m1fn_padded', 17, 4, 1, 'number'],
] as const;

describe('the dtype table', () => {
  test('has these names and no others', () => {
    expect(Object.keys(DTYPES)).toEqual(TABLE.map(([name]) => name));
  });

  test.each(TABLE)(
    '%s is type code %i with %i bits, %i bytes an element, read as %s',
    (name, code, bits, itemsize, element) => {
      expect(DTYPES[name]).toMatchObject({ name, code, bits, itemsize, element });
    },
  );

  test('the packed number is code | bits << 8 | padded << 16, and leads back to its row', () => {
    for (const info of Object.values<DTypeInfo>(DTYPES)) {
      expect(info.packed).toBe(info.code | (info.bits << 8) | (Number(info.padded) << 16));
      expect(dtypeFromPacked(info.packed)).toBe(info);
    }
    expect(DTYPES.float32.packed).toBe(0x2002);
    expect(DTYPES.float4_e2m1fn_padded.packed).toBe(0x10411);
  });

  test.each([0, 3 | (64 << 8), 0 | (7 << 8), 5 | (16 << 8), 2 | (32 << 8) | (1 << 16), NaN, -1])(
    '%p is the number of no dtype',
    (packed) => {
      expect(dtypeFromPacked(packed)).toBeUndefined();
    },
  );

  test('only the sub-byte types come padded, and only their other storage is packed by bit', () => {
    const rows = Object.values<DTypeInfo>(DTYPES);
    expect(rows.filter((info) => info.padded).map((info) => info.name)).toEqual(TABLE.slice(-3).map(([name]) => name));
    expect(rows.filter((info) => info.bitPacked).map((info) => info.name)).toEqual(
      TABLE.slice(-6, -3).map(([name]) => name),
    );
  });

  test('complex numbers do not convert; everything else does', () => {
    expect(TABLE.filter(([name]) => !isRealDType(name)).map(([name]) => name)).toEqual(['complex64', 'complex128']);
  });

  test('rows cannot be changed', () => {
    expect(Object.isFrozen(DTYPES)).toBe(true);
    expect(Object.isFrozen(DTYPES.int8)).toBe(true);
  });
});

describe('bytes of compact memory', () => {
  test.each([
    ['float4_e2m1fn', 0, 0],
    ['float4_e2m1fn', 1, 1],
    ['float4_e2m1fn', 2, 1],
    ['float4_e2m1fn', 3, 2],
    ['float4_e2m1fn_padded', 3, 3],
    ['float6_e3m2fn', 4, 3],
    ['float6_e3m2fn', 5, 4],
    ['complex128', 3, 48],
    ['bool', 5, 5],
    ['float64', 2 ** 40, 2 ** 43],
  ] as const)('%s x %i is %i bytes', (name, size, bytes) => {
    expect(compactBytes(DTYPES[name], size)).toBe(bytes);
  });
});

describe('a dtype argument', () => {
  test('is the row of its name', () => {
    expect(parseDType('bfloat16')).toBe(DTYPES.bfloat16);
  });

  test.each([undefined, null, 1, {}, ['float32'], true])('%p is no name: TypeError', (value) => {
    expect(errorOf(() => parseDType(value))).toMatchObject(
      typeErrorWith(/^dtype is .*; it must be the name of a dtype, such as 'float32'$/),
    );
  });

  test.each(['float', 'Float32', '', 'toString', '__proto__', 'float128', 'int4'])(
    '%p names no dtype: RangeError that lists them',
    (value) => {
      expect(isDType(value)).toBe(false);
      expect(errorOf(() => parseDType(value, 'to'))).toMatchObject(
        rangeErrorWith(`to is '${value}'; the dtypes are ${TABLE.map(([name]) => name).join(', ')}`),
      );
    },
  );
});
