/**
 * The one doorway to the addon: everything native is declared here, and only this file loads it.
 *
 * The boundary is crossed once for each operation. Numbers that do not fit into the call travel in the scratch memory,
 * which belongs to the native instance and is only meaningful from the end of a call to the next one: read what you
 * need before anything else runs.
 *
 * **Result of a call**: 0 or a handle (> 0), or minus a fault code (`FAULTS`), whose values then stand in the scratch
 * memory. Calls that make an object return it, or the negative number. Native never words an error: `errors.ts` does.
 *
 * **Ring**: after every call that made a handle or a capsule, the object that owns it must be placed, before anything
 * else runs, with `ring[scratch[Slot.Ring]] = object`. Native registers it for collection later, if it is still needed
 * then; a handle whose object was not placed is released.
 */
import path = require('node:path');
import { loadAddon } from './load';

declare const handleBrand: unique symbol;
/** Index + generation of a slot in the environment's native table. Forged or stale ones are a fault, never a crash. */
export type Handle = number & { readonly [handleBrand]: true };
/** Minus a fault code, or 0. */
export type Status = number;

/** Indices into `scratch` (float64) and `scratchBits` (the same memory as int64). */
export const enum Slot {
  // Metadata, after a call that made a tensor and after describe()
  Ndim = 0,
  Flags = 1,
  DType = 2, // code | bits << 8 | padded << 16
  DeviceType = 3,
  DeviceId = 4,
  Size = 5, // elements
  /** @public Filled for every tensor, asked for by nobody yet. */
  ByteLength = 6, // bytes of the elements stored compactly
  SpanOffset = 7, // elements from the start of the span (where a view begins) to the first logical element
  SpanBytes = 8, // bytes of the span, which a view covers
  Ring = 9, // where to place the new object
  // Values of a fault
  FaultIndex = 10, // float64
  FaultValue = 11, // int64: read with scratchBits
  FaultLimit = 12, // int64: read with scratchBits
  Aliases = 13, // tensors, exports, views, tokens of *others*: four float64
  Argument = 17, // of the hot calls: what they are about
  Answer = 18, // ... what they answer
  Plan = 19, // ... how an export is made: kind << 16 | flags; what is assigned
  Dims = 20, // shape, then strides (2 * ndim numbers)
  // Arguments
  Input = 160,
  // One element, an address, or the numbers of stats()
  Element = 480, // float64, or int64/uint64 in scratchBits; the imaginary part in the next one
  /** @public How long it is, which native code decides. */
  Length = 512,
}

/** Bits of Slot.Flags. */
export const enum TensorFlag {
  ReadOnly = 1,
  Contiguous = 2,
  MadeByCopy = 4,
  Owned = 8,
  Opaque = 16, // a device that the host cannot read
  Protected = 32, // foreign memory that was not lent writable: view() is refused
  Overlapping = 64,
  Loan = 128, // a loan of one of our owners, or derived from one on this thread
  Foreign = 256,
  Legacy = 512, // foreign, and it came in a legacy struct: on an opaque device it may leave as one
}

/**
 * A bit of the `flags` argument of exportTensor and exportOwned that is not DLPack's: native strips it from what the
 * struct says.
 */
export const enum ExportBit {
  /**
   * Host memory of another device type (CUDAHost, ROCMHost) that was asked for as `[1, 0]`: the struct names the CPU.
   */
  AsCpu = 256,
}

export const enum StructKind {
  Legacy = 1,
  Versioned = 2,
}

/** Options of importCapsule and importTensor. */
export const enum ImportMode {
  /** `copy` null: copies only what cannot be read in place (misaligned data). */
  Any = 0,
  /** `copy: true`: makes an owned handle, copying unless the answer is a sole copy already. */
  Owned = 1,
  /** `copy: false`: kCopyRefused where a copy would be needed. */
  NoCopy = 2,
}

/** Which pointers of a probe's image lead to its own memory, and whether it has a deleter. */
export const enum ProbeBit {
  Data = 1, // added to what the image says
  Shape = 2,
  Strides = 4,
  Deleter = 8,
}

export const enum ViewMode {
  Read = 0,
  Writable = 1, // of a writable loan, or an owner's data
  Unsafe = 2,
}

/** Names of capsuleState()'s answers, by index; 0: not a capsule. */
export const CAPSULE_NAMES = [
  undefined,
  'dltensor',
  'dltensor_versioned',
  'used_dltensor',
  'used_dltensor_versioned',
] as const;

export const enum ScalarKind {
  Float = 0, // Element: float64
  Int = 1, // Element: int64
  UInt = 2, // Element: uint64
  Complex = 3, // Element, Element + 1: float64
}

export const enum Config {
  /** Native blocks get pages of their own; they are read-only while shared as Tensor and writable while owned. */
  ProtectPages = 1,
  /** Behave as a runtime that forbids external ArrayBuffers. */
  NoExternalBuffers = 2,
}

export interface NativeAddon {
  /** Where the binary lies, for other languages in the process: it exports the functions of node_dlpack_tokens.h. */
  readonly addonPath: string;
  /** `Slot.Length` float64 numbers. */
  readonly scratch: ArrayBuffer;
  /** See the head of this file. */
  readonly ring: (object | undefined)[];
  /** The key under which a tensor object holds its handle. */
  readonly handleSymbol: unique symbol;
  /** The key under which a tensor object holds its state: native writes it when other native code consumes an owner. */
  readonly stateSymbol: unique symbol;
  /** The exchange table of this instance, for other native code: a tagged External. */
  readonly exchangeApi: object;
  /** Name -> code of every fault, from the native list. */
  readonly faults: Readonly<Record<string, number>>;
  /** The constants of this file as native knows them: a test holds the two sides against each other. */
  readonly layout: {
    readonly slots: Readonly<Record<string, number>>;
    readonly tensorFlags: Readonly<Record<string, number>>;
    readonly config: Readonly<Record<string, number>>;
  };
  /** `config`: bits of Config. */
  configure(config: number): Status;
  /** How many threads a large copy may take. */
  copyThreads(): number;
  /** `count`: 1 to 64, checked. `byDefault`: only if nobody has set it in this process. */
  setCopyThreads(count: number, byDefault: boolean): Status;

  // --- making --------------------------------------------------------------------------------------------------------
  /** Zeroed, row-major, owned. Input: shape. */
  allocate(ndim: number, dtype: number): Handle | Status;
  /**
   * Copies from JavaScript memory into a fresh row-major block. Input: shape, strides (elements), offset (elements from
   * the start of `source`). The elements of `source` have the size of `dtype`; its own type does not matter. Faults:
   * kDetachedInput, kOutsideBlock, layout.
   */
  fromBytes(source: ArrayBufferView, ndim: number, dtype: number, hasStrides: boolean, owned: boolean): Handle | Status;

  // --- state ---------------------------------------------------------------------------------------------------------
  describe(handle: Handle): Status;
  isLive(handle: Handle): boolean;
  isUnique(handle: Handle): boolean;
  /**
   * Numbers of the process into Element...: tensors, exports, views, tokens, blocks, bytes. Runs what is due first
   * (ring excluded).
   */
  stats(): Status;
  /** Registers everything in the ring for collection now, and drains the release queue. For tests and for scope. */
  settle(): Status;

  // --- layout: new aliases, no copy ----------------------------------------------------------------------------------
  alias(handle: Handle): Handle | Status;
  /** Input: four numbers an axis: isIndex (0 or 1), start, extent, step; already normalised. */
  slice(handle: Handle, specs: number): Handle | Status;
  /** Input: axes. */
  permute(handle: Handle, count: number): Handle | Status;
  /** Input: shape. */
  reshape(handle: Handle, ndim: number): Handle | Status;
  /** Input: axes, ascending. */
  squeeze(handle: Handle, count: number): Handle | Status;
  expandDims(handle: Handle, axis: number): Handle | Status;
  /** Input: shape. */
  broadcastTo(handle: Handle, ndim: number): Handle | Status;
  flip(handle: Handle, axis: number): Handle | Status;

  // --- elements ------------------------------------------------------------------------------------------------------
  /**
   * Input: index. Element: the value, as float64, or int64/uint64 bits for 64-bit integers; complex in two. Tensors and
   * owners.
   */
  readElement(handle: Handle, count: number): Status;
  /** Row-major copy into `target`, whose byte length must be the tensor's. */
  copyOut(handle: Handle, target: ArrayBufferView): Status;
  /**
   * The raw span into or out of JavaScript memory: what view() and data are where external ArrayBuffers are forbidden.
   */
  readSpan(handle: Handle, target: ArrayBufferView): Status;
  writeSpan(owned: Handle, source: ArrayBufferView): Status;
  /** A fresh row-major block with the same elements. */
  copy(handle: Handle, owned: boolean): Handle | Status;
  /** Element: the value. */
  fill(owned: Handle, kind: ScalarKind): Status;
  /**
   * One pass from any layout and any real dtype into the whole or a sliced part of `owned`; broadcasts; safe where they
   * overlap. Input: specs as for slice(). `axis`: of the sliced part. `scale`, `offset`: 1 number or one for each index
   * of `axis`.
   */
  assign(
    owned: Handle,
    source: Handle,
    specs: number,
    axis: number,
    scale: Float64Array | undefined,
    offset: Float64Array | undefined,
  ): Status;
  /** As assign, into a fresh row-major block of `dtype`. */
  convert(
    source: Handle,
    dtype: number,
    axis: number,
    scale: Float64Array | undefined,
    offset: Float64Array | undefined,
  ): Handle | Status;

  // --- ownership -----------------------------------------------------------------------------------------------------
  /**
   * Door 2: the tensor's handle dies, an owned one is born over the same memory. kNotUnique, kNeverUnique, kInUse; then
   * nothing has changed.
   */
  move(handle: Handle): Handle | Status;
  /** The owned handle dies, its data is detached, a read-only tensor is born. kMovedAway, kLent, kInUse. */
  freeze(owned: Handle): Handle | Status;
  /** Disposes: detaches the views, drops the alias. 0 also when it was gone already. kInUse, kLent. */
  release(handle: Handle): Status;
  /** A tensor over the owner's memory; the owner is locked until lendEnd succeeds. */
  lendBegin(owned: Handle, writable: boolean): Handle | Status;
  /**
   * Releases everything made from the loan on this thread; kLent (and aliases) while others still hold the memory. May
   * be called again.
   */
  lendEnd(owned: Handle): Status;

  /**
   * Where external ArrayBuffers are forbidden: `buffer` is what the user sees as the owner's data, and other native
   * code must see it too. undefined: there is none any more.
   */
  setStaging(owned: Handle, buffer: ArrayBuffer | undefined): Status;

  // --- views ---------------------------------------------------------------------------------------------------------
  /**
   * The one ArrayBuffer over the tensor's span. kProtectedMemory, kOpaqueDevice, kTooLarge, kReadOnly, kLent,
   * kNoExternalBuffers. Not for empty tensors.
   */
  view(handle: Handle, mode: ViewMode): ArrayBuffer | Status;
  /** Detaches it. 0 also when there is none. */
  releaseViews(handle: Handle): Status;
  /** An ArrayBuffer of its own over the span; release() and moves answer kInUse until closeWindow. */
  openWindow(handle: Handle, mode: ViewMode): ArrayBuffer | Status;
  closeWindow(handle: Handle, buffer: ArrayBuffer): Status;
  /** The same for a window that is no ArrayBuffer of native's: over a copy, or over no bytes. */
  holdWindow(handle: Handle): Status;
  dropWindow(handle: Handle): Status;

  // --- exchange ------------------------------------------------------------------------------------------------------
  /**
   * Door 1, as planned by negotiation.ts: a fresh struct in a fresh capsule. `flags`: of the struct. `copy`: over fresh
   * memory.
   */
  exportTensor(handle: Handle, kind: StructKind, copy: boolean, flags: number): object | Status;
  /** An owner's one shot: its handle dies. kMovedAway, kLent, kInUse leave it as it was. */
  exportOwned(owned: Handle, kind: StructKind, flags: number): object | Status;
  /**
   * Takes first, then validates; on every path the deleter runs exactly once. After a success FaultIndex says why it
   * copied: a CopyReason, 0 when it did not.
   */
  importCapsule(capsule: unknown, mode: ImportMode): Handle | Status;
  /** What exportTensor + importCapsule would make of our own tensor, without a capsule. */
  importTensor(handle: Handle, mode: ImportMode): Handle | Status;

  // --- the calls of a hand-off, through the scratch memory: use hot-calls.ts -----------------------------------------
  /** importTensor(Argument, Any). Of the metadata only the flags are written, unless they differ from the tensor's. */
  readonly shareHot: () => void;
  /** exportTensor(Argument, Plan) without a copy. undefined: a status in Answer. */
  readonly exportHot: () => object | undefined;
  /** importCapsule(capsule, Argument). */
  readonly importHot: (capsule: unknown) => void;
  /** allocate(Argument, Plan). */
  readonly allocateHot: () => void;
  /** move(Argument) and freeze(Argument). Of the metadata only the flags are written: the rest is the tensor's. */
  readonly moveHot: () => void;
  readonly freezeHot: () => void;
  /** exportOwned(Argument, Plan). undefined: a status in Answer. */
  readonly exportOwnedHot: () => object | undefined;
  /** isLive(Argument): 1 or 0. */
  readonly isLiveHot: () => void;
  /** release(Argument). */
  readonly releaseHot: () => void;
  /** assign(Argument, Plan) of the whole to the whole, nothing to scale by. */
  readonly assignHot: () => void;
  /** Index into CAPSULE_NAMES. */
  capsuleState(value: unknown): number;
  /** Runs the deleter of an unconsumed capsule; 0 also when it was used. kNotACapsule. */
  releaseCapsule(value: unknown): Status;

  // --- tokens --------------------------------------------------------------------------------------------------------
  /** A reference in transit to the tensor's memory. `ttl`: whole milliseconds. kBoundToEnvironment. */
  shareToken(handle: Handle, ttl: number): string | Status;
  /** The owned handle dies, its data is detached. kMovedAway, kLent, kInUse leave it as it was. */
  transferToken(owned: Handle, ttl: number): string | Status;
  /** kToken: nobody can claim under this name, or (value: which) it is a token of the other kind, which stays. */
  claimShared(token: string): Handle | Status;
  claimTransfer(token: string): Handle | Status;
  revokeToken(token: string): Status;

  // --- unsafe --------------------------------------------------------------------------------------------------------
  /** Element: the address (uint64), Element + 1: the kind (float64). The capsule is used afterwards. */
  takePointer(capsule: unknown): Status;
  /** Element: the address (uint64). */
  makeCapsule(kind: StructKind): object | Status;
  /** Element: the address (uint64). Input: shape, strides. `release` is called at most once, on this thread. */
  fromPointer(
    ndim: number,
    dtype: number,
    hasStrides: boolean,
    readOnly: boolean,
    release: () => void,
  ): Handle | Status;
  /** Element: the address of the first logical element (uint64; 0 when empty). */
  dataAddress(handle: Handle): Status;
  /** Input: shape. Pins the typed array's memory. kResizableInput, kDetachedInput, kOutsideBlock. */
  adopt(source: ArrayBufferView, ndim: number, dtype: number, writable: boolean): Handle | Status;

  // --- probes: for `node-dlpack check` -------------------------------------------------------------------------------
  /**
   * A managed tensor that counts what is done to it. `image`: the struct, 64 or 80 bytes; `dims`: shape, then strides
   * (int64); `elements`; `bits`: ProbeBit. The answer is a number > 0 that names it.
   */
  makeProbe(kind: StructKind, image: Uint8Array, dims: Uint8Array, elements: Uint8Array, bits: number): number;
  /**
   * Element: deleter calls; 1 when the struct was written to; 1 when the elements were; the address of the struct
   * (uint64).
   */
  probeState(probe: number): Status;
  /** An External that is no capsule, over an address that cannot be read. */
  makeStrangeExternal(): object | Status;
  /** Element: the address of a managed tensor (uint64), whose deleter is called on a plain native thread. */
  deleteOnThread(kind: StructKind): Status;
}

export const native = loadAddon(path.resolve(__dirname, '..')) as NativeAddon;
export const scratch = new Float64Array(native.scratch);
/** The same memory as signed 64-bit integers, exact where float64 is not. */
export const scratchBits = new BigInt64Array(native.scratch);
