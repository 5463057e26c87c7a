/**
 * The rules of ownership, once more and with nothing underneath: who holds which memory, who may write, what refuses.
 * Random histories are played to the library and to these rules, and must come out alike. Nothing here is taken from
 * the library, and nothing is clever: every count is counted anew.
 */
import { Positions } from './positions.js';
import { STAGED } from './staged.js';

export class Refusal extends Error {
  constructor(readonly code: string) {
    super(code);
  }
}

const BUFFER = 'ERR_DLPACK_BUFFER';
const CONSUMED = 'ERR_DLPACK_CONSUMED';
const DISPOSED = 'ERR_DLPACK_DISPOSED';
const TOKEN = 'ERR_DLPACK_TOKEN';

function refuseIf(condition: boolean, code = BUFFER): void {
  if (condition) throw new Refusal(code);
}

/** One piece of memory. Its elements are numbered by the places of `Positions`. */
export interface MemoryRule {
  readonly values: number[];
  /** Foreign memory is somebody's, but for what was copied for us. */
  readonly mayBeUnique: boolean;
  /** Foreign pages that may refuse writes: no view without being asked to. */
  readonly guarded: boolean;
  loan: LoanRule | undefined;
}

export interface TensorRule {
  readonly owner: boolean;
  readonly memory: MemoryRule;
  readonly positions: Positions;
  readonly readOnly: boolean;
  state: 'live' | 'consumed' | 'disposed';
  /** Its one ArrayBuffer is attached. */
  view: boolean;
  windows: number;
  /** Member of this loan. */
  loan: LoanRule | undefined;
  /** Nobody can reach it any more; it lives until it is collected. */
  dropped: boolean;
}

export interface LoanRule {
  readonly owner: TensorRule;
  readonly writable: boolean;
  returned: boolean;
}

export type Flags = 'legacy' | 'none' | 'read-only' | 'copied';

/** A struct that was exported: in a capsule, or in a consumer's hands. */
export interface StructRule {
  readonly memory: MemoryRule;
  readonly positions: Positions;
  readonly flags: Flags;
  where: 'capsule' | 'held' | 'gone';
  loan: LoanRule | undefined;
  dropped: boolean;
}

export interface TokenRule {
  readonly memory: MemoryRule;
  readonly positions: Positions;
  readonly transfer: boolean;
  out: boolean;
}

export interface ExportRequest {
  readonly versioned: boolean;
  readonly copy: boolean | null;
}

function newMemory(values: number[], mayBeUnique = true, guarded = false): MemoryRule {
  return { values, mayBeUnique, guarded, loan: undefined };
}

/** Do two of its elements lie in one place? Then it cannot be written, and never moves. */
function overlaps(positions: Positions): boolean {
  return new Set(positions.places).size !== positions.places.length;
}

export class Rules {
  readonly tensors = new Set<TensorRule>();
  readonly structs = new Set<StructRule>();
  readonly tokens = new Set<TokenRule>();
  /** Bytes that the user moved into buffers that the library does not know: as many holders of the memory. */
  readonly moved: MemoryRule[] = [];

  valuesOf({ memory, positions }: { memory: MemoryRule; positions: Positions }): number[] {
    return positions.places.map((place) => memory.values[place] ?? NaN);
  }

  aliases(memory: MemoryRule): { tensors: number; exports: number; views: number; tokens: number } {
    const tensors = [...this.tensors].filter((each) => each.memory === memory);
    return {
      tensors: tensors.length,
      exports: [...this.structs].filter((each) => each.memory === memory).length,
      views: tensors.reduce((sum, each) => sum + buffersOf(each), 0) + this.moved.filter((of) => of === memory).length,
      tokens: [...this.tokens].filter((each) => each.memory === memory).length,
    };
  }

  private isAlone(memory: MemoryRule): boolean {
    const { tensors, exports, views, tokens } = this.aliases(memory);
    return tensors === 1 && exports + views + tokens === 0;
  }

  stats(): Record<string, number> {
    const memories = new Set([...this.tensors, ...this.structs, ...this.tokens].map(({ memory }) => memory));
    for (const memory of this.moved) memories.add(memory);
    return {
      tensors: this.tensors.size,
      exports: this.structs.size,
      views: [...this.tensors].reduce((sum, each) => sum + buffersOf(each), 0) + this.moved.length,
      tokens: this.tokens.size,
      blocks: memories.size,
      bytes: [...memories].reduce((sum, { values }) => sum + 4 * values.length, 0),
    };
  }

  // --- making ---

  private make(
    owner: boolean,
    memory: MemoryRule,
    positions: Positions,
    readOnly: boolean,
    loan = memory.loan,
  ): TensorRule {
    const made: TensorRule = {
      owner,
      memory,
      positions,
      readOnly: !owner && (readOnly || overlaps(positions)),
      state: 'live',
      view: false,
      windows: 0,
      loan,
      dropped: false,
    };
    this.tensors.add(made);
    return made;
  }

  allocate(owner: boolean, shape: readonly number[], values: number[]): TensorRule {
    return this.make(owner, newMemory(values), Positions.compact(shape), true);
  }

  importForeign(flags: Flags, shape: readonly number[], values: number[]): TensorRule {
    const memory = newMemory(values, flags === 'copied', flags === 'legacy' || flags === 'read-only');
    return this.make(false, memory, Positions.compact(shape), flags !== 'none');
  }

  private copyOf({ memory, positions }: { memory: MemoryRule; positions: Positions }): [MemoryRule, Positions] {
    return [newMemory(this.valuesOf({ memory, positions })), Positions.compact(positions.shape)];
  }

  copy(of: TensorRule): TensorRule {
    live(of);
    return this.make(true, ...this.copyOf(of), false);
  }

  derive(from: TensorRule, layout: (positions: Positions) => Positions | undefined): TensorRule {
    live(from);
    const positions = layout(from.positions);
    if (positions === undefined) throw new Refusal('ERR_OUT_OF_RANGE');
    return this.make(false, from.memory, positions, from.readOnly);
  }

  /** fromDLPack of a tensor. */
  exchange(from: TensorRule): TensorRule {
    live(from);
    const readOnly = from.readOnly || from.memory.loan?.writable !== true;
    return this.make(false, from.memory, from.positions, readOnly);
  }

  // --- looking ---

  private mayShow(of: TensorRule): void {
    if (of.owner) this.free(of);
    else live(of);
    refuseIf(!of.positions.isCompact());
    refuseIf(of.memory.guarded && of.positions.places.length > 0);
  }

  view(of: TensorRule): void {
    this.mayShow(of);
    if (of.positions.places.length > 0) of.view = true;
  }

  releaseViews(of: TensorRule): void {
    live(of);
    of.view = false;
  }

  openWindow(of: TensorRule): void {
    this.mayShow(of);
    of.windows += 1;
  }

  closeWindow(of: TensorRule): void {
    of.windows -= 1;
  }

  /** `buffer.transfer()`, `postMessage`: the bytes are somebody else's view. */
  moveView(of: TensorRule): void {
    of.view = false;
    this.moved.push(of.memory);
  }

  // --- the doors ---

  export(from: TensorRule, { versioned, copy }: ExportRequest): StructRule {
    if (from.owner) return this.exportOwned(from, { versioned, copy });
    live(from);
    const fresh = copy === true || (!versioned && from.readOnly);
    refuseIf(fresh && copy === false);
    if (fresh) return this.struct(...this.copyOf(from), versioned ? 'copied' : 'legacy', undefined);
    const flags = !versioned ? 'legacy' : from.readOnly ? 'read-only' : 'none';
    return this.struct(from.memory, from.positions, flags, from.memory.loan);
  }

  private exportOwned(owner: TensorRule, { versioned, copy }: ExportRequest): StructRule {
    this.leave(owner, 'consumed');
    return this.struct(
      owner.memory,
      owner.positions,
      !versioned ? 'legacy' : copy === false ? 'none' : 'copied',
      undefined,
    );
  }

  private struct(memory: MemoryRule, positions: Positions, flags: Flags, loan: LoanRule | undefined): StructRule {
    const made: StructRule = { memory, positions, flags, where: 'capsule', loan, dropped: false };
    this.structs.add(made);
    return made;
  }

  /** fromDLPack of a capsule; `owned`: with copy true. */
  import(struct: StructRule, owned: boolean): TensorRule {
    refuseIf(struct.where !== 'capsule', CONSUMED);
    const { memory, positions, flags } = struct;
    this.deleteStruct(struct);
    if (!owned) return this.make(false, memory, positions, memory.loan?.writable !== true || flags !== 'none');
    const alone = Object.values(this.aliases(memory)).every((count) => count === 0);
    const sole = flags === 'copied' && memory.mayBeUnique && alone && !overlaps(positions);
    return sole ? this.make(true, memory, positions, false) : this.make(true, ...this.copyOf(struct), false);
  }

  /** A consumer in C takes the struct. */
  hold(struct: StructRule): void {
    struct.where = 'held';
    struct.loan = undefined;
  }

  deleteStruct(struct: StructRule): void {
    struct.where = 'gone';
    struct.loan = undefined;
    this.structs.delete(struct);
  }

  isUnique(of: TensorRule): boolean {
    if (of.state !== 'live') return false;
    if (of.owner) {
      if (of.memory.loan?.returned === true) this.tryFree(of);
      return of.memory.loan === undefined;
    }
    return of.windows === 0 && of.memory.mayBeUnique && !overlaps(of.positions) && this.isAlone(of.memory);
  }

  move(from: TensorRule): TensorRule {
    live(from);
    refuseIf(!this.isUnique(from));
    this.end(from, 'consumed');
    return this.make(true, from.memory, from.positions, false);
  }

  freeze(owner: TensorRule): TensorRule {
    this.leave(owner, 'consumed');
    return this.make(false, owner.memory, owner.positions, true);
  }

  fill(owner: TensorRule, value: number): void {
    this.free(owner);
    for (const place of owner.positions.places) owner.memory.values[place] = value;
  }

  /** Through a view of a writable loan. */
  writeThrough(of: TensorRule, value: number): void {
    this.mayShow(of);
    refuseIf(of.readOnly);
    refuseIf(STAGED && of.positions.places.length > 0); // others must see it at once
    this.view(of);
    for (const place of of.positions.places) of.memory.values[place] = value;
  }

  // --- tokens ---

  share(of: TensorRule): TokenRule {
    live(of);
    return this.token(of, false);
  }

  transfer(owner: TensorRule): TokenRule {
    this.leave(owner, 'consumed');
    return this.token(owner, true);
  }

  private token({ memory, positions }: TensorRule, transfer: boolean): TokenRule {
    const made = { memory, positions, transfer, out: true };
    this.tokens.add(made);
    return made;
  }

  claim(token: TokenRule, transfer: boolean): TensorRule {
    refuseIf(!token.out || token.transfer !== transfer, TOKEN);
    this.revoke(token);
    return this.make(transfer, token.memory, token.positions, true);
  }

  revoke(token: TokenRule): void {
    refuseIf(!token.out, TOKEN);
    token.out = false;
    this.tokens.delete(token);
  }

  // --- the end ---

  dispose(of: TensorRule): void {
    if (of.state !== 'live') return;
    refuseIf(of.windows > 0);
    if (of.owner) this.free(of);
    this.end(of, 'disposed');
  }

  private end(of: TensorRule, state: 'consumed' | 'disposed'): void {
    of.state = state;
    of.view = false;
    of.loan = undefined;
    this.tensors.delete(of);
  }

  /** An owner whose memory is about to go. */
  private leave(owner: TensorRule, state: 'consumed'): void {
    this.free(owner);
    refuseIf(owner.windows > 0);
    refuseIf(this.moved.includes(owner.memory));
    this.end(owner, state);
  }

  /** What was dropped and found by the collector. */
  collect(): void {
    for (const tensor of this.tensors) if (tensor.dropped) this.end(tensor, 'disposed');
    for (const struct of this.structs) if (struct.dropped) this.deleteStruct(struct);
    this.moved.length = 0;
  }

  // --- loans ---

  lend(owner: TensorRule, writable: boolean): TensorRule {
    this.free(owner);
    refuseIf(this.moved.includes(owner.memory));
    refuseIf(STAGED && writable && owner.windows > 0); // what others write would be lost when the window closes
    const loan = { owner, writable, returned: false };
    owner.memory.loan = loan;
    return this.make(false, owner.memory, owner.positions, !writable);
  }

  endLoan(owner: TensorRule): void {
    const { loan } = owner.memory;
    if (loan !== undefined) loan.returned = true;
    this.free(owner);
  }

  private tryFree(owner: TensorRule): void {
    try {
      this.free(owner);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  /** May the owner be used? A loan whose function has ended ends now, if it can. */
  free(owner: TensorRule): void {
    live(owner);
    const { loan } = owner.memory;
    if (loan === undefined) return;
    refuseIf(!loan.returned);
    let windows = 0;
    for (const member of this.tensors) {
      if (member.loan !== loan) continue;
      windows += member.windows;
      if (member.windows === 0) this.end(member, 'disposed');
    }
    for (const struct of this.structs) if (struct.loan === loan) this.deleteStruct(struct);
    const { tensors, exports, views, tokens } = this.aliases(owner.memory);
    refuseIf(windows > 0 || tensors > 1 || exports + tokens > 0 || views > buffersOf(owner));
    owner.memory.loan = undefined;
  }
}

function buffersOf(tensor: TensorRule): number {
  if (STAGED) return 0; // copies hold nothing
  return (tensor.view ? 1 : 0) + (tensor.positions.places.length > 0 ? tensor.windows : 0);
}

function live(tensor: TensorRule): void {
  refuseIf(tensor.state === 'consumed', CONSUMED);
  refuseIf(tensor.state === 'disposed', DISPOSED);
}
