/**
 * The functions of the struct laboratory, typed. `lab.ts` and `struct-picture.ts` are what tests use; the rest is
 * called here.
 */
import path = require('node:path');

/** A value of a 64-bit field; bigints where a number would not be exact. */
export type Bits = number | bigint;

export interface StructSpec {
  /** Default true. */
  versioned?: boolean;
  major?: number;
  minor?: number;
  flags?: Bits;
  managerCtx?: bigint;
  /** false: the deleter is NULL. */
  deleter?: boolean;
  device?: readonly [number, number];
  /** code, bits, lanes (default 1). Default float32. */
  dtype?: readonly number[];
  /** Default: the length of shape. */
  ndim?: number;
  /** null: NULL. */
  shape?: readonly Bits[] | null;
  /** null: NULL. Default: row-major over shape. */
  strides?: readonly Bits[] | null;
  byteOffset?: Bits;
  /** The elements; the struct gets memory of its own with these bytes. Without, data is NULL unless given. */
  bytes?: Uint8Array;
  /** null: NULL; a bigint: this address. Default: where `bytes` lie, plus `dataShift`. */
  data?: null | bigint;
  dataShift?: number;
  /** The elements lie this many bytes past a multiple of 64. */
  misalign?: number;
  /** The elements lie in pages that refuse writes. */
  readOnlyPages?: boolean;
  /** Struct, shape and strides lie in pages that refuse writes. */
  readOnlyStruct?: boolean;
  /** Only version, manager_ctx and deleter can be touched; reading further faults. */
  onlyLeadReadable?: boolean;
}

interface StructState {
  deleterCalls: number;
  deletedOnThisThread: boolean;
  unchanged: boolean;
}

interface Location {
  address: bigint;
  versioned: boolean;
}

interface LabAddon {
  makeStruct(spec: StructSpec): { id: number; address: bigint; data: bigint };
  structState(id: number): StructState;
  forgetStruct(id: number): void;
  strayDeleterCalls(): number;
  headerLayout(): Record<string, number>;

  peek(address: bigint, length: number): Uint8Array;
  poke(address: bigint, bytes: Uint8Array): void;
  mapMemory(bytes: number, untouchable?: boolean): bigint;
  unmapMemory(address: bigint, bytes: number): void;
  addressOf(view: NodeJS.TypedArray): bigint;

  /**
   * A capsule over the float32 elements 0, 1, 2, from so many bytes into their memory, whose deleter calls `f` on the
   * spot.
   */
  makeCallingStruct(byteOffset: number, flags: number, f: () => void): object;
  makeCapsule(id: number): object;
  makeNullCapsule(versioned: boolean): object;
  makeForeignRecord(abi: number, kind: number): object;
  /** A capsule that owns the struct, with four words more at the end of its record, as a later version may have them. */
  makeGrownCapsule(id: number, abi: number, more: bigint): object;
  grownRecord(capsule: object): { used: boolean; more: bigint[] };
  lookIntoCapsule(capsule: unknown): (Location & { used: boolean; name: string }) | undefined;
  makeUntaggedExternal(): object;
  makeWronglyTaggedExternal(): object;
  makeTaggedObject(): object;

  takeCapsule(capsule: object): number;
  takeVersioned(capsule: object): number;
  holdAddress(address: bigint, versioned: boolean): number;
  lookAtHeld(id: number): Location;
  capsuleOfHeld(id: number): object;
  scrambleHeld(id: number): void;
  releaseHeld(id: number): void;
  releaseHeldOnThread(id: number): void;
  releaseHeldLater(id: number, milliseconds: number): void;
  releaseHeldAfterEnvironment(id: number, milliseconds: number): void;
  releaseHeldAtExit(id: number): void;
  releaseHeldWithPendingException(id: number, error: unknown): void;
  pendingReleases(): number;

  raceThreads(capsules: readonly object[], threads: number): number[];
  startRacer(capsule: object): number;
  finishRacer(id: number): number;

  /**
   * From now on the field says `later` as soon as it was read once. One field at a time. false: this platform cannot
   * watch.
   */
  watchReads(address: bigint, bytes: 1 | 2 | 4 | 8, later: Bits): boolean;
  /** How often the field was read. */
  stopWatching(): number;

  openTokens(addonPath: string): number;
  /** The address of a struct, or a code. */
  claimToken(token: string, legacy?: boolean): bigint | number;
  claimTokenOnThread(token: string): bigint | number;
  raceForToken(token: string, threads: number): bigint[];
  /** The token, or a code. `dtype`: the elements' other name. */
  offerToken(
    address: bigint,
    versioned: boolean,
    tokenKind: number,
    ttl: number,
    dtype?: readonly [code: number, bits: number, lanes: number],
  ): string | number;
  revokeNatively(token: string): number;
  /** The address of a fresh struct, or a code. `kind`: 1 legacy, 2 versioned; `copy`: -1 null, 0 false, 1 true. */
  exportHeld(address: bigint, kind: number, copy: number): bigint | number;
  tokenError(code: number): string;
  lastTokenError(): string;

  /**
   * Where failing_allocator is preloaded: the library's request for memory number `after`, counted from 0, is refused,
   * once; -1: none is. Answers false where it is not.
   */
  refuseMemory(after: number): boolean;
  /** From now on no thread that the library starts comes into being. Answers false where nothing sees to it. */
  refuseThreads(): boolean;
  threadsRefused(): number;
  /** Was it refused? And how many pieces of memory has the library that it did not give back? */
  memoryRefused(): { refused: boolean; live: number };
}

export const labPath = path.join(__dirname, '../../test/native/build/Release/struct_lab.node');
// What the addon is, is said once, above.
export const lab = require(labPath) as LabAddon;
