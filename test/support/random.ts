/** Random cases that are the same at every run, so that one that fails can be found again by its number. */

/** Mulberry32: small, of full period, and good enough to choose test cases with. */
export class Random {
  constructor(private state: number) {}

  /** From 0 up to 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** An integer from `lowest` to `highest`. */
  integer(lowest: number, highest: number): number {
    return lowest + Math.floor(this.next() * (highest - lowest + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.integer(0, items.length - 1)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const rest = [...items];
    const mixed: T[] = [];
    while (rest.length > 0) mixed.push(...rest.splice(this.integer(0, rest.length - 1), 1));
    return mixed;
  }
}
