/**
 * The functions of the kit laboratory, typed: a stranger's addon in C and C++ that uses nothing but the public headers.
 * Managed tensors and exchange tables are addresses here.
 */
import path = require('node:path');

/** What a tensor says that was taken or borrowed. */
export interface KitPicture {
  data: bigint;
  byteOffset: number;
  flags: number;
  shape: number[] | null;
  strides: number[] | null;
  dtype: [number, number, number];
  device: [number, number];
  /** It had to be taken for the time being. */
  held: boolean;
}

/** Fields of a DLTensor; what is missing is that of a float32 [2, 3] at address 4096. */
export interface CheckSpec {
  shape?: number[] | null;
  strides?: number[] | null;
  ndim?: number;
  dtype?: [number, number, number];
  device?: [number, number];
  data?: bigint;
  byteOffset?: bigint;
}

/** `what` of measure(). */
export const Cost = {
  propertyRead: 0,
  borrowWithTable: 1,
  borrow: 2,
  takeWithTable: 3,
  take: 4,
  takeByProtocol: 5,
  bareTableCall: 6,
} as const;

interface KitLab {
  /** Address of what was taken; the caller owes a release(). */
  readonly take: (value: unknown, table?: bigint) => bigint;
  /** The code alone. */
  readonly takeCode: (value: unknown) => number;
  readonly release: (managed: bigint) => void;
  readonly look: (managed: bigint) => KitPicture;
  readonly borrow: (values: unknown[], table?: bigint, fill?: number) => KitPicture[];
  /** Since the last time that it was asked. */
  readonly releases: () => number;
  /** Over fresh float32 memory 0, 1, 2, ... */
  readonly wrap: (shape: number[], strides: number[] | null, flags: number) => bigint;
  readonly make: (managed: bigint) => object;
  readonly makeLegacy: (managed: bigint) => object;
  /** Over two numbers. 0: lends them writable; 1: read-only; 2: copies too; 3: makes nothing. */
  readonly makeProducer: (can: number) => {
    __dlpack__: (options?: unknown) => object;
    __dlpack_device__: () => [number, number];
  };
  readonly check: (spec: CheckSpec) => { error: number; size: number; lowest: number; highest: number };
  readonly isContiguous: (managed: bigint) => boolean;
  readonly throwCode: (code: number, what?: string) => never;
  readonly throwOver: (pending: unknown, code: number) => never;

  readonly tableOf: (value: unknown) => bigint;
  readonly tableOfClass: (tensorClass: unknown) => bigint;
  readonly tableHeader: (table: bigint) => [major: number, minor: number, previous: bigint];
  readonly laterTable: (table: bigint) => object;
  readonly tableTake: (table: bigint, value: unknown) => bigint | number;
  readonly tableBorrow: (table: bigint, value: unknown) => KitPicture | number;
  readonly tableToValue: (table: bigint, managed: bigint) => object | number;
  tableAllocate(
    table: bigint,
    device: number[],
    dtype: number[],
    shape: number[] | null,
    ndim: number,
  ): bigint | number;
  readonly tableStream: (table: bigint, deviceType: number) => bigint | number;
  readonly tableEndCodes: (table: bigint) => number[];
  /** Nanoseconds a call. */
  readonly measure: (what: number, value: unknown, table: bigint, count: number) => number;

  readonly cppSum2: (value: unknown) => number;
  readonly cppSpan: (value: unknown) => number;
  readonly cppDouble: (value: unknown) => void;
  readonly cppScalar: (value: unknown) => number;
  readonly cppOwn: (rows: number, columns: number) => object;
  readonly cppLiveContainers: () => number;
  readonly cppMoves: (value: unknown) => number;
  readonly cppDTypes: () => number[];
}

export const kitPath = path.join(__dirname, '../../test/kit/build/Release/kit_lab.node');
// What the addon is, is said once, above.
export const kit = require(kitPath) as KitLab;
