/** One random history, played to the library and to the rules at once. */
import { codeOf, World, type Pair } from './world.js';
import { expect } from '@jest/globals';
import {
  fromDLPack,
  OwnedTensor,
  releaseCapsule,
  revokeToken,
  stats,
  Tensor,
  type SliceSpec,
} from '../../dist/index.js';
import { movedBytes } from './array-buffer-transfer.js';
import { collectUntil } from './counters.js';
import { bytesOf, Holder, makeStruct } from './lab.js';
import { indices, type Positions } from './positions.js';
import { type ExportRequest, type Flags, type TensorRule } from './rules.js';
import { STAGED } from './staged.js';

type Held = Pair<TensorRule, Tensor<'int32'>> | Pair<TensorRule, OwnedTensor<'int32'>>;

const SHAPES = [[4], [2, 3], [], [1], [0], [2, 1, 2]];
const FOREIGN: readonly (readonly [Flags, object])[] = [
  ['copied', { flags: 2 }],
  ['read-only', { flags: 1 }],
  ['none', { flags: 0 }],
  ['legacy', { versioned: false }],
];
const REQUESTS: readonly ExportRequest[] = [true, false].flatMap((versioned) =>
  [null, true, false].map((copy) => ({ versioned, copy })),
);
const LAYOUTS: readonly {
  apply: (tensor: Tensor<'int32'>) => Tensor<'int32'>;
  rule: (positions: Positions) => Positions | undefined;
}[] = [
  ...[[], [null], [[null, null, -1] as const], [[0, 1] as const], [0]].map((specs: SliceSpec[]) => ({
    apply: (tensor: Tensor<'int32'>) => tensor.slice(...specs),
    rule: (positions: Positions) => positions.slice(specs),
  })),
  { apply: (tensor) => tensor.transpose(), rule: (positions) => positions.transpose(undefined) },
  { apply: (tensor) => tensor.expandDims(0), rule: (positions) => positions.expandDims(0) },
  {
    apply: (tensor) => tensor.broadcastTo([2, ...tensor.shape]),
    rule: (positions) => positions.broadcastTo([2, ...positions.shape]),
  },
];

/** What can happen, and how often. */
export const ACTIONS = {
  make: 3,
  allocate: 3,
  foreign: 0.5,
  derive: 4,
  exchange: 2,
  export: 4,
  import: 4,
  importOwned: 2,
  hold: 2,
  release: 2,
  releaseHeld: 2,
  move: 4,
  dispose: 4,
  view: 3,
  releaseViews: 2,
  moveView: STAGED ? 0 : 0.1, // of a copy nothing can be moved away
  openWindow: 2,
  closeWindow: 2,
  copy: 1,
  share: 2,
  transfer: 2,
  claim: 3,
  claimWrongly: 1,
  revoke: 1,
  freeze: 3,
  exportOwned: 3,
  fill: 2,
  data: 2,
  writeThrough: 2,
  disposeOwner: 2,
  lend: 3,
  endLoan: 3,
  forget: 0.05,
  collect: 0.02,
};
export type Action = keyof typeof ACTIONS;
export type Step = readonly [Action, number, number];

/** A promise that somebody settles later. */
function pending(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

export class History extends World {
  async play(steps: readonly Step[]): Promise<void> {
    // After a history that failed, its remains go first.
    if (Object.values(stats()).some((count) => count !== 0)) await collectUntil(() => this.countersAgree());
    try {
      for (const [action, a, b] of steps) {
        // oxlint-disable-next-line no-await-in-loop -- one step after the other
        await this.step(action, a, b);
        this.check();
      }
      await this.end();
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  private step(action: Action, a: number, b: number): Promise<void> | undefined {
    const tensor = this.tensors[a % this.tensors.length];
    const owner = this.owners[a % this.owners.length];
    if (action === 'collect') return this.collect();
    if (action === 'closeWindow') return this.closeWindow(a);
    if (action === 'endLoan') return this.endLoan(a);
    if (tensor !== undefined) this.actOnTensor(action, tensor, b);
    if (owner !== undefined) this.actOnOwner(action, owner, b);
    if (tensor !== undefined || owner !== undefined) this.actOnAny(action, b % 2 === 0 ? tensor : owner, a);
    this.actOnOthers(action, a, b);
    return undefined;
  }

  private actOnTensor(action: string, { rule, it }: Pair<TensorRule, Tensor<'int32'>>, b: number): void {
    const { rules } = this;
    switch (action) {
      case 'derive': {
        const layout = LAYOUTS[b % LAYOUTS.length];
        if (layout === undefined || rule.positions.places.length > 24) return undefined;
        return this.addTensor(
          () => rules.derive(rule, layout.rule),
          () => layout.apply(it),
        );
      }
      case 'exchange':
        return this.addTensor(
          () => rules.exchange(rule),
          () => asInt32(fromDLPack(it)),
        );
      case 'export':
        return this.exportFrom({ rule, it }, b);
      case 'move': {
        this.asked = rule.memory;
        this.addOwner(
          () => rules.move(rule),
          () => it.intoDLPack(),
        );
        this.asked = undefined;
        return undefined;
      }
      case 'view':
        return void this.both(
          () => rules.view(rule),
          () => it.view(),
        );
      case 'releaseViews':
        return void this.both(
          () => rules.releaseViews(rule),
          () => it.releaseViews(),
        );
      case 'writeThrough': {
        const value = this.newValue();
        return void this.both(
          () => rules.writeThrough(rule, value),
          () => it.view({ writable: true }).fill(value),
        );
      }
      case 'copy':
        return this.addOwner(
          () => rules.copy(rule),
          () => it.copy(),
        );
      case 'share':
        return this.addToken(
          () => rules.share(rule),
          () => it.share(),
        );
      case 'dispose':
        return void this.both(
          () => rules.dispose(rule),
          () => it.dispose(),
        );
      default:
        return undefined;
    }
  }

  private actOnOwner(action: string, { rule, it }: Pair<TensorRule, OwnedTensor<'int32'>>, b: number): void {
    const { rules } = this;
    switch (action) {
      case 'freeze':
        return this.addTensor(
          () => rules.freeze(rule),
          () => it.freeze(),
        );
      case 'exportOwned':
        return this.exportFrom({ rule, it }, b);
      case 'transfer':
        return this.addToken(
          () => rules.transfer(rule),
          () => it.transfer(),
        );
      case 'fill': {
        const value = this.newValue();
        return void this.both(
          () => rules.fill(rule, value),
          () => it.fill(value),
        );
      }
      case 'data':
        return void this.both(
          () => rules.view(rule),
          () => it.data,
        );
      case 'disposeOwner':
        return void this.both(
          () => rules.dispose(rule),
          () => it.dispose(),
        );
      case 'lend':
        return this.lend({ rule, it }, b % 2 === 0);
      default:
        return undefined;
    }
  }

  private actOnAny(action: string, held: Held | undefined, a: number): void {
    if (held === undefined) return;
    if (action === 'openWindow') this.openWindow(held);
    if (action === 'moveView') this.moveView(held);
    if (action === 'forget') this.forget(a);
  }

  private actOnOthers(action: string, a: number, b: number): void {
    const { rules } = this;
    const capsule = this.capsules[a % this.capsules.length];
    switch (action) {
      case 'make':
      case 'allocate':
        return this.make(action, SHAPES[b % SHAPES.length] ?? []);
      case 'foreign':
        return this.makeForeign(FOREIGN[a % FOREIGN.length], SHAPES[b % SHAPES.length] ?? []);
      case 'import':
        if (capsule === undefined) return undefined;
        return this.addTensor(
          () => rules.import(capsule.rule, false),
          () => asInt32(fromDLPack(capsule.it)),
        );
      case 'importOwned':
        if (capsule === undefined) return undefined;
        return this.addOwner(
          () => rules.import(capsule.rule, true),
          () => ownedInt32(fromDLPack(capsule.it, { copy: true })),
        );
      case 'hold':
        if (capsule?.rule.where !== 'capsule') return undefined;
        rules.hold(capsule.rule);
        return void this.held.push({ rule: capsule.rule, it: new Holder(capsule.it) });
      case 'release':
        if (capsule === undefined) return undefined;
        if (capsule.rule.where === 'capsule') rules.deleteStruct(capsule.rule);
        return releaseCapsule(capsule.it);
      case 'releaseHeld': {
        const [holder] = this.held.splice(a % Math.max(this.held.length, 1), 1);
        if (holder === undefined) return undefined;
        rules.deleteStruct(holder.rule);
        return b % 2 === 0 ? holder.it.release() : holder.it.releaseOnThread();
      }
      default:
        return this.actOnToken(action, a);
    }
  }

  private actOnToken(action: string, a: number): void {
    const { rules } = this;
    const token = this.tokens[a % this.tokens.length];
    if (token === undefined) return;
    const { rule, it } = token;
    if (action === 'revoke') {
      this.both(
        () => rules.revoke(rule),
        () => revokeToken(it),
      );
    }
    if (action !== 'claim' && action !== 'claimWrongly') return;
    const transfer = rule.transfer === (action === 'claim');
    if (transfer) {
      this.addOwner(
        () => rules.claim(rule, true),
        () => ownedInt32(OwnedTensor.fromTransfer(it)),
      );
    } else {
      this.addTensor(
        () => rules.claim(rule, false),
        () => asInt32(Tensor.fromShared(it)),
      );
    }
  }

  private make(action: 'make' | 'allocate', shape: readonly number[]): void {
    const values = indices(shape).map(() => this.newValue());
    if (action === 'make') {
      this.addTensor(
        () => this.rules.allocate(false, shape, values),
        () => Tensor.from(Int32Array.from(values), { shape }),
      );
    } else {
      const value = this.newValue();
      this.addOwner(
        () => this.rules.allocate(true, shape, Array<number>(values.length).fill(value)),
        () => OwnedTensor.allocate(shape, 'int32').fill(value),
      );
    }
  }

  private makeForeign(foreign: readonly [Flags, object] | undefined, shape: readonly number[]): void {
    if (foreign === undefined || this.structs.length > 2) return;
    const [flags, spec] = foreign;
    const values = indices(shape).map(() => this.newValue());
    const struct = makeStruct({ ...spec, dtype: [0, 32], shape, bytes: bytesOf(Int32Array.from(values)) });
    this.structs.push(struct);
    this.addTensor(
      () => this.rules.importForeign(flags, shape, values),
      () => asInt32(fromDLPack(struct.capsule())),
    );
  }

  private exportFrom({ rule, it }: Held, b: number): void {
    const request = REQUESTS[b % REQUESTS.length];
    if (request === undefined) return;
    this.addCapsule(
      () => this.rules.export(rule, request),
      () => it.__dlpack__({ max_version: request.versioned ? [1, 3] : null, copy: request.copy }),
    );
  }

  /** Windows over nothing are another matter: native knows nothing of them. */
  private openWindow({ rule, it }: Held): void {
    if (rule.positions.places.length === 0) return;
    const { promise, resolve } = pending();
    const opened = this.both(
      () => this.rules.openWindow(rule),
      () => (it instanceof OwnedTensor ? it.withView(() => promise) : it.withView(() => promise)),
    );
    if (opened === undefined) return;
    opened.it.catch(() => undefined);
    this.open.push({ end: () => this.rules.closeWindow(rule), resolve, result: opened.it });
  }

  private async closeWindow(a: number): Promise<void> {
    const [window] = this.open.splice(a % Math.max(this.open.length, 1), 1);
    if (window === undefined) return;
    window.end();
    window.resolve();
    await window.result;
  }

  private lend({ rule, it }: Pair<TensorRule, OwnedTensor<'int32'>>, writable: boolean): void {
    const { promise, resolve } = pending();
    let loan: Tensor<'int32'> | undefined;
    const lent = this.both(
      () => this.rules.lend(rule, writable),
      () =>
        it.lend(
          (given) => {
            loan = given;
            return promise;
          },
          { writable },
        ),
    );
    if (lent === undefined || loan === undefined) return;
    lent.it.catch(() => undefined);
    this.tensors.push({ rule: lent.rule, it: loan });
    this.loans.push({ rule, resolve, result: lent.it });
  }

  private async endLoan(a: number): Promise<void> {
    const [loan] = this.loans.splice(a % Math.max(this.loans.length, 1), 1);
    if (loan === undefined) return;
    let expected = 'done';
    try {
      this.rules.endLoan(loan.rule);
    } catch (error) {
      expected = codeOf(error);
    }
    loan.resolve();
    const actual = await loan.result.then(() => 'done', codeOf);
    if (actual !== expected) throw new Error(`the end of a loan: the rules: ${expected}; the library: ${actual}`);
  }

  private moveView({ rule, it }: Held): void {
    if (!rule.view || rule.state !== 'live' || rule.memory.loan !== undefined) return;
    // The buffer is of another realm under jest.
    const buffer = (it instanceof OwnedTensor ? it.data : it.view()).buffer;
    this.moved.push(movedBytes(buffer));
    this.rules.moveView(rule);
  }

  /** Drops what nothing else holds: no window, no loan. */
  private forget(a: number): void {
    for (const list of [this.tensors, this.owners]) {
      const index = a % Math.max(list.length, 1);
      const rule = list[index]?.rule;
      if (rule === undefined || rule.windows > 0 || rule.loan !== undefined || rule.memory.loan !== undefined) continue;
      rule.dropped = true;
      list.splice(index, 1);
    }
    const [capsule] = this.capsules.splice(a % Math.max(this.capsules.length, 1), 1);
    if (capsule?.rule.where === 'capsule') capsule.rule.dropped = true;
  }

  /** Everything is given back, and nothing is left. */
  private async end(): Promise<void> {
    const { rules } = this;
    while (this.open.length > 0) {
      // oxlint-disable-next-line no-await-in-loop -- as above
      await this.closeWindow(0);
    }
    for (const token of this.tokens) if (token.rule.out) this.actOnToken('revoke', this.tokens.indexOf(token));
    while (this.held.length > 0) this.actOnOthers('releaseHeld', 0, 0);
    while (this.loans.length > 0) {
      // oxlint-disable-next-line no-await-in-loop -- as above
      await this.endLoan(0);
    }
    for (const { rule, it } of this.capsules) {
      if (rule.where === 'capsule') rules.deleteStruct(rule);
      releaseCapsule(it);
    }
    for (const { rule, it } of [...this.tensors, ...this.owners]) {
      if (rule.owner) this.rules.isUnique(rule);
      this.both(
        () => rules.dispose(rule),
        () => it.dispose(),
      );
    }
    this.check();
    if (Object.values(rules.stats()).some((count) => count > 0)) {
      this.tensors.length = 0;
      this.owners.length = 0;
      this.capsules.length = 0;
      await this.collect();
      this.check();
    }
    for (const struct of this.structs) {
      expect(struct.deleterCalls).toBe(1);
      struct.forget();
    }
  }
}

function asInt32(tensor: Tensor): Tensor<'int32'> {
  if (!tensor.is('int32')) throw new Error(`expected int32, got ${tensor.dtype}`);
  return tensor;
}

function ownedInt32(owned: OwnedTensor): OwnedTensor<'int32'> {
  if (!owned.is('int32')) throw new Error(`expected int32, got ${owned.dtype}`);
  return owned;
}
