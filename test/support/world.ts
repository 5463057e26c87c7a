/**
 * A world in which random histories happen: what the library made, each thing beside what the rules make of it; how both
 * are asked the same; and what both must agree on at any time.
 */
import { expect } from '@jest/globals';
import { revokeToken, stats, type OwnedTensor, type Tensor } from '../../dist/index.js';
import { collectUntil } from './counters.js';
import type { Holder, LabStruct } from './lab.js';
import {
  Refusal,
  Rules,
  type Flags,
  type MemoryRule,
  type StructRule,
  type TensorRule,
  type TokenRule,
} from './rules.js';

/** A thing of the library, and what the rules make of it. */
export interface Pair<R, T> {
  readonly rule: R;
  readonly it: T;
}
const STRUCTS: Record<Flags, readonly [versioned: boolean, flags: bigint]> = {
  legacy: [false, 0n],
  none: [true, 0n],
  'read-only': [true, 1n],
  copied: [true, 2n],
};
export function codeOf(error: unknown): string {
  if (error instanceof Refusal) return error.code;
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  if (typeof code !== 'string') throw error;
  return code;
}

export class World {
  protected readonly rules = new Rules();
  protected readonly tensors: Pair<TensorRule, Tensor<'int32'>>[] = [];
  protected readonly owners: Pair<TensorRule, OwnedTensor<'int32'>>[] = [];
  protected readonly capsules: Pair<StructRule, object>[] = [];
  protected readonly held: Pair<StructRule, Holder>[] = [];
  protected readonly tokens: Pair<TokenRule, string>[] = [];
  protected readonly open: { end: () => void; resolve: () => void; result: Promise<unknown> }[] = [];
  protected readonly loans: { rule: TensorRule; resolve: () => void; result: Promise<unknown> }[] = [];
  protected moved: ArrayBuffer[] = [];
  protected readonly structs: LabStruct[] = [];
  protected value = 0;

  protected newValue(): number {
    this.value += 1;
    return this.value;
  }

  /** Both sides do it. Both must refuse, by the same code, or neither. */
  protected both<R, T>(rule: () => R, library: () => T): Pair<R, T> | undefined {
    let expected: { rule: R } | string;
    let actual: { it: T } | string;
    try {
      expected = { rule: rule() };
    } catch (error) {
      expected = codeOf(error);
    }
    try {
      actual = { it: library() };
    } catch (error) {
      actual = codeOf(error);
      this.checkAliases(error);
    }
    const outcome = (side: object | string): string => (typeof side === 'string' ? side : 'done');
    if (outcome(expected) !== outcome(actual))
      throw new Error(`the rules: ${outcome(expected)}; the library: ${outcome(actual)}`);
    return typeof expected === 'string' || typeof actual === 'string' ? undefined : { ...expected, ...actual };
  }

  protected asked: MemoryRule | undefined;

  /** Who else holds the memory, as the refusal of a move counts them. */
  protected checkAliases(error: unknown): void {
    const aliases: unknown = Reflect.get(Object(error), 'aliases');
    if (aliases === undefined || this.asked === undefined) return;
    const expected = this.rules.aliases(this.asked);
    expect(aliases).toEqual({ ...expected, tensors: expected.tensors - 1 });
  }

  protected addTensor(rule: () => TensorRule, library: () => Tensor<'int32'>): void {
    const made = this.both(rule, library);
    if (made !== undefined) this.tensors.push(made);
  }

  protected addOwner(rule: () => TensorRule, library: () => OwnedTensor<'int32'>): void {
    const made = this.both(rule, library);
    if (made !== undefined) this.owners.push(made);
  }

  protected addCapsule(rule: () => StructRule, library: () => object): void {
    const made = this.both(rule, library);
    if (made !== undefined) this.capsules.push(made);
  }

  protected addToken(rule: () => TokenRule, library: () => string): void {
    const made = this.both(rule, library);
    if (made !== undefined) this.tokens.push(made);
  }

  protected async collect(): Promise<void> {
    this.moved = [];
    this.rules.collect();
    await collectUntil(() => this.countersAgree());
  }

  protected countersAgree(): boolean {
    const expected = this.rules.stats();
    return Object.entries(stats()).every(([name, count]) => expected[name] === count);
  }

  protected check(): void {
    for (const { rule, it } of [...this.tensors, ...this.owners]) {
      const isUnique = this.rules.isUnique(rule);
      const actual = [it.isUnique, it.consumed, it.disposed, it.readOnly];
      const expected = [isUnique, rule.state === 'consumed', rule.state === 'disposed', rule.readOnly];
      if (actual.some((value, i) => value !== expected[i])) expect(actual).toEqual(expected);
      if (rule.state !== 'live' || it.size === 0) continue;
      const values = this.rules.valuesOf(rule);
      const first = it.at(...it.shape.map(() => 0));
      const last = it.at(...it.shape.map(() => -1));
      if (first !== values[0] || last !== values[values.length - 1])
        expect([first, last]).toEqual([values[0], values[values.length - 1]]);
    }
    for (const { rule, it } of this.held) {
      const { versioned, flags } = it.picture();
      expect([versioned, flags]).toEqual(STRUCTS[rule.flags]);
      if (it.elements().some((value, i) => value !== this.rules.valuesOf(rule)[i]))
        expect(it.elements()).toEqual(this.rules.valuesOf(rule));
    }
    if (!this.countersAgree()) expect(stats()).toEqual(this.rules.stats());
  }

  /** Leaves all to the collector, so that the shrunk histories that follow start from nothing. */
  protected abandon(): void {
    for (const { resolve } of [...this.open, ...this.loans]) resolve();
    for (const { it } of this.held) it.release();
    for (const { rule, it } of this.tokens) if (rule.out) revokeToken(it);
    for (const list of [this.tensors, this.owners, this.capsules, this.held, this.tokens, this.open, this.loans])
      list.length = 0;
    this.moved = [];
  }
}
