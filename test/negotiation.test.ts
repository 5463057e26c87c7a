import { describe, expect, test } from '@jest/globals';
import {
  ExportFlag,
  planOwnedExport,
  planTensorExport,
  type ExportPlan,
  type ExportState,
} from '../dist/negotiation.js';
import { StructKind } from '../dist/native.js';
import { parseExportOptions, type ExportRequest } from '../dist/protocol.js';
import { bufferErrorWith, errorOf } from './support/error-of.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const LEGACY = StructKind.Legacy;
const VERSIONED = StructKind.Versioned;
const NONE = 0;
const READ_ONLY = ExportFlag.ReadOnly;
const IS_COPIED = ExportFlag.IsCopied;
const PADDED = ExportFlag.SubbytePadded;

const readOnly: ExportState = { readOnly: true, padded: false, device: [1, 0], legacy: false };
const loan: ExportState = { ...readOnly, readOnly: false };

function request(options: object): ExportRequest {
  return parseExportOptions(options);
}

function plan(kind: StructKind, flags: number, more: Partial<ExportPlan> = {}): ExportPlan {
  return { kind, flags, copy: false, asCpu: false, diagnostic: false, ...more };
}

const versioned = { max_version: [1, 3] };
const legacy = { max_version: [0, 8] };

test('the flag bits are those of DLPack 1.3', () => {
  expect([READ_ONLY, IS_COPIED, PADDED]).toEqual([1, 2, 4]);
});

describe("Door 1's table, host memory", () => {
  test.each([
    [
      'versioned, copy null, read-only: zero-copy, exactly READ_ONLY',
      { ...versioned, copy: null },
      readOnly,
      plan(VERSIONED, READ_ONLY),
    ],
    [
      'versioned, copy false, read-only: zero-copy, exactly READ_ONLY',
      { ...versioned, copy: false },
      readOnly,
      plan(VERSIONED, READ_ONLY),
    ],
    [
      'versioned, copy true, read-only: fresh memory, exactly IS_COPIED',
      { ...versioned, copy: true },
      readOnly,
      plan(VERSIONED, IS_COPIED, { copy: true }),
    ],
    ['versioned, copy null, loan: zero-copy, exactly 0', { ...versioned, copy: null }, loan, plan(VERSIONED, NONE)],
    ['versioned, copy false, loan: zero-copy, exactly 0', { ...versioned, copy: false }, loan, plan(VERSIONED, NONE)],
    [
      'versioned, copy true, loan: fresh memory, exactly IS_COPIED',
      { ...versioned, copy: true },
      loan,
      plan(VERSIONED, IS_COPIED, { copy: true }),
    ],
    [
      'legacy, copy true, read-only: legacy struct over fresh memory',
      { ...legacy, copy: true },
      readOnly,
      plan(LEGACY, NONE, { copy: true }),
    ],
    [
      'legacy, copy true, loan: legacy struct over fresh memory',
      { ...legacy, copy: true },
      loan,
      plan(LEGACY, NONE, { copy: true }),
    ],
    [
      'legacy, copy null, read-only: the honest copy, and a diagnostic',
      { ...legacy, copy: null },
      readOnly,
      plan(LEGACY, NONE, { copy: true, diagnostic: true }),
    ],
    ['legacy, copy null, loan: zero-copy', { ...legacy, copy: null }, loan, plan(LEGACY, NONE)],
    ['legacy, copy false, loan: zero-copy', { ...legacy, copy: false }, loan, plan(LEGACY, NONE)],
    [
      'no options at all, read-only: the honest copy',
      {},
      readOnly,
      plan(LEGACY, NONE, { copy: true, diagnostic: true }),
    ],
    ['max_version null, loan: legacy zero-copy', { max_version: null }, loan, plan(LEGACY, NONE)],
    ['a higher major: versioned', { max_version: [2, 0] }, readOnly, plan(VERSIONED, READ_ONLY)],
    ['a higher minor: versioned', { max_version: [1, 99] }, readOnly, plan(VERSIONED, READ_ONLY)],
  ])('%s', (_, options, state, expected) => {
    expect(planTensorExport(request(options), state)).toEqual(expected);
  });

  test('legacy, copy false, read-only: BufferError that names Door 2', () => {
    expect(errorOf(() => planTensorExport(request({ ...legacy, copy: false }), readOnly))).toMatchObject(
      bufferErrorWith(
        'a legacy struct (max_version null or [0, n]) cannot say that its memory is read-only, and copy: ' +
          'false forbids a copy. ' +
          'Ask for max_version [1, 0] or later, allow the copy (copy null or true), or give the memory away ' +
          'with intoDLPack()',
      ),
    );
  });
});

describe('padded sub-byte elements', () => {
  test.each([
    [{ ...versioned }, readOnly, READ_ONLY | PADDED],
    [{ ...versioned, copy: true }, readOnly, IS_COPIED | PADDED],
    [{ ...versioned }, loan, PADDED],
  ])('%j adds the flag', (options, state, flags) => {
    expect(planTensorExport(request(options), { ...state, padded: true })).toMatchObject({ kind: VERSIONED, flags });
  });

  test.each([null, true, false])('a legacy struct cannot say so, copy %p: BufferError at both doors', (copy) => {
    const message =
      'a legacy struct (max_version null or [0, n]) cannot say that each sub-byte element has a byte of its ' +
      'own. Ask for max_version [1, 0] or later';
    for (const state of [readOnly, loan]) {
      expect(errorOf(() => planTensorExport(request({ ...legacy, copy }), { ...state, padded: true }))).toMatchObject(
        bufferErrorWith(message),
      );
    }
    expect(errorOf(() => planOwnedExport(request({ ...legacy, copy }), { ...loan, padded: true }))).toMatchObject(
      bufferErrorWith(message),
    );
  });
});

describe("an OwnedTensor's one shot never copies", () => {
  test.each([
    ['versioned, copy null: IS_COPIED', { ...versioned, copy: null }, plan(VERSIONED, IS_COPIED)],
    ['versioned, copy true: IS_COPIED', { ...versioned, copy: true }, plan(VERSIONED, IS_COPIED)],
    ['versioned, copy false: no flags', { ...versioned, copy: false }, plan(VERSIONED, NONE)],
    ['legacy, copy null: the legacy struct', { ...legacy, copy: null }, plan(LEGACY, NONE)],
    ['legacy, copy true: the legacy struct', { ...legacy, copy: true }, plan(LEGACY, NONE)],
    ['legacy, copy false: the legacy struct', { ...legacy, copy: false }, plan(LEGACY, NONE)],
    ['no options: the legacy struct', {}, plan(LEGACY, NONE)],
  ])('%s', (_, options, expected) => {
    expect(planOwnedExport(request(options), loan)).toEqual(expected);
  });

  test('padded: the flag is added', () => {
    expect(planOwnedExport(request(versioned), { ...loan, padded: true }).flags).toBe(IS_COPIED | PADDED);
    expect(planOwnedExport(request({ ...versioned, copy: false }), { ...loan, padded: true }).flags).toBe(PADDED);
  });

  test('another device: BufferError', () => {
    expect(errorOf(() => planOwnedExport(request({ ...versioned, dl_device: [2, 0] }), loan))).toMatchObject(
      bufferErrorWith(/^dl_device is \[2, 0\]/),
    );
  });
});

describe('dl_device', () => {
  test.each([
    ['null', null, readOnly, false],
    ['its own', [1, 0], readOnly, false],
    ['the own of pinned memory', [3, 0], { ...readOnly, device: [3, 0] as const }, false],
    [
      'the CPU, for memory pinned by CUDA: the struct names the CPU',
      [1, 0],
      { ...readOnly, device: [3, 0] as const },
      true,
    ],
    [
      'the CPU, for memory pinned by ROCm: the struct names the CPU',
      [1, 0],
      { ...readOnly, device: [11, 0] as const },
      true,
    ],
    ['the own of a device that the host cannot read', [2, 1], { ...readOnly, device: [2, 1] as const }, false],
  ])('%s is fine, without a copy', (_, dl_device, state, asCpu) => {
    expect(planTensorExport(request({ ...versioned, dl_device }), state)).toEqual(
      plan(VERSIONED, READ_ONLY, { asCpu }),
    );
  });

  test('a copy of pinned memory is on the CPU anyway', () => {
    expect(
      planTensorExport(request({ ...versioned, copy: true, dl_device: [1, 0] }), { ...readOnly, device: [3, 0] }),
    ).toEqual(plan(VERSIONED, IS_COPIED, { copy: true }));
  });

  test.each([
    [
      [2, 0],
      [1, 0],
      'dl_device is [2, 0] (cuda:0); the tensor is on cpu and cannot be brought elsewhere. Use null or [1, 0]',
    ],
    [[99, 0], [1, 0], /^dl_device is \[99, 0\] \(device type 99:0\); the tensor is on cpu/],
    [[1, 5], [1, 0], /^dl_device is \[1, 5\] \(cpu:5\); the tensor is on cpu/],
    [
      [11, 0],
      [3, 0],
      'dl_device is [11, 0] (rocm_host:0); the tensor is on cuda_host:0 and cannot be brought elsewhere. ' +
        'Use null, [3, 0] or [1, 0]',
    ],
    [
      [1, 0],
      [2, 0],
      'dl_device is [1, 0] (cpu); the tensor is on cuda:0 and cannot be brought elsewhere. Use null or [2, 0]',
    ],
    [
      [2, 1],
      [2, 0],
      'dl_device is [2, 1] (cuda:1); the tensor is on cuda:0 and cannot be brought elsewhere. Use null or [2, 0]',
    ],
  ] as const)('%j of a tensor on %j: BufferError, before anything else', (dl_device, device, message) => {
    for (const options of [versioned, legacy, { ...versioned, copy: true }, { ...legacy, copy: false }]) {
      expect(
        errorOf(() => planTensorExport(request({ ...options, dl_device }), { ...readOnly, device })),
      ).toMatchObject(bufferErrorWith(message));
    }
  });
});

describe('a tensor on a device that the host cannot read', () => {
  const cuda: ExportState = { ...readOnly, device: [2, 0] };

  test.each([
    ['versioned, read-only: READ_ONLY', versioned, cuda, plan(VERSIONED, READ_ONLY)],
    ['versioned, copy false, read-only: READ_ONLY', { ...versioned, copy: false }, cuda, plan(VERSIONED, READ_ONLY)],
    ['versioned, writable loan: no flags', versioned, { ...cuda, readOnly: false }, plan(VERSIONED, NONE)],
    ['legacy, copy null, writable loan: the legacy struct', legacy, { ...cuda, readOnly: false }, plan(LEGACY, NONE)],
    [
      'legacy, copy false, writable loan: the legacy struct',
      { ...legacy, copy: false },
      { ...cuda, readOnly: false },
      plan(LEGACY, NONE),
    ],
    ['legacy, copy null, came as legacy: leaves as legacy', legacy, { ...cuda, legacy: true }, plan(LEGACY, NONE)],
    [
      'legacy, copy false, came as legacy: leaves as legacy',
      { ...legacy, copy: false },
      { ...cuda, legacy: true },
      plan(LEGACY, NONE),
    ],
    [
      'versioned, came as legacy: READ_ONLY, since it could not say',
      versioned,
      { ...cuda, legacy: true },
      plan(VERSIONED, READ_ONLY),
    ],
  ])('%s', (_, options, state, expected) => {
    expect(planTensorExport(request(options), state)).toEqual(expected);
  });

  test.each([
    ['versioned', versioned],
    ['legacy', legacy],
  ])('%s, copy true would need fresh memory: BufferError', (_, options) => {
    for (const state of [cuda, { ...cuda, readOnly: false }, { ...cuda, legacy: true }]) {
      expect(errorOf(() => planTensorExport(request({ ...options, copy: true }), state))).toMatchObject(
        bufferErrorWith(
          'copy: true needs the bytes, and the host cannot read cuda:0; export it without a copy (copy null or ' +
            'false)',
        ),
      );
    }
  });

  test.each([null, false])('legacy, copy %p, came as versioned and read-only: BufferError', (copy) => {
    expect(errorOf(() => planTensorExport(request({ ...legacy, copy }), cuda))).toMatchObject(
      bufferErrorWith(
        'a legacy struct cannot say that its memory is read-only, and memory on cuda:0 cannot be copied for ' +
          'one here. Ask for max_version [1, 0] or later',
      ),
    );
  });

  test('host memory that came as legacy still gets the honest copy', () => {
    expect(planTensorExport(request(legacy), { ...readOnly, legacy: true })).toEqual(
      plan(LEGACY, NONE, { copy: true, diagnostic: true }),
    );
  });
});
