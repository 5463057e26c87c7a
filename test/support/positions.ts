/**
 * A tensor without strides: for each logical element, row-major, the place in memory where it lies. All that a layout
 * is follows from the places, by rules that share nothing with those of the library: NumPy's, for single elements.
 */
import type { SliceSpec } from '../../dist/index.js';

export type Place = number;

export class Positions {
  private constructor(
    readonly shape: readonly number[],
    readonly places: readonly Place[],
  ) {}

  static compact(shape: readonly number[]): Positions {
    return new Positions(
      shape,
      indices(shape).map((_, place) => place),
    );
  }

  /** The place of one element; all of the index within bounds. */
  at(index: readonly number[]): Place {
    const place = this.places[index.reduce((flat, i, axis) => flat * (this.shape[axis] ?? 0) + i, 0)];
    if (place === undefined) throw new Error(`no element ${index.join(', ')}`);
    return place;
  }

  /** Elements of another shape, each taken from the index that `from` names. */
  private taken(shape: readonly number[], from: (index: readonly number[]) => readonly number[]): Positions {
    return new Positions(
      shape,
      indices(shape).map((index) => this.at(from(index))),
    );
  }

  /** undefined where there is no such part, here and below. */
  slice(specs: readonly SliceSpec[]): Positions | undefined {
    if (specs.length > this.shape.length) return undefined;
    const picked: number[][] = [];
    const dropped: boolean[] = [];
    for (const [axis, extent] of this.shape.entries()) {
      const spec = specs[axis] ?? null;
      const all = [...Array(extent).keys()];
      if (typeof spec === 'number') {
        const index = spec < 0 ? spec + extent : spec;
        if (index < 0 || index >= extent) return undefined;
        picked.push([index]);
      } else if (spec === null) {
        picked.push(all);
      } else {
        const [start, stop, step] = spec;
        if (step === 0) return undefined;
        picked.push(range(extent, start, stop, step ?? 1));
      }
      dropped.push(typeof spec === 'number');
    }
    const shape = picked.filter((_, axis) => dropped[axis] === false).map((chosen) => chosen.length);
    return this.taken(shape, (index) => {
      const left = [...index];
      return picked.map((chosen, axis) => chosen[dropped[axis] === true ? 0 : (left.shift() ?? 0)] ?? 0);
    });
  }

  transpose(axes: readonly number[] | undefined): Positions | undefined {
    const order = axes ?? [...this.shape.keys()].reverse();
    const places = order.map((axis) => normal(axis, this.shape.length));
    if (places.length !== this.shape.length || new Set(places).size !== places.length || places.includes(undefined))
      return undefined;
    const shape = places.map((axis) => this.shape[axis ?? 0] ?? 0);
    return this.taken(shape, (index) => this.shape.map((_, axis) => index[places.indexOf(axis)] ?? 0));
  }

  /** The same elements in the same order; whether strides can say it is `stridesOf`'s to tell. */
  reshape(shape: readonly number[]): Positions | undefined {
    const open = shape.indexOf(-1);
    const known = shape.reduce((product, extent) => product * (extent === -1 ? 1 : extent), 1);
    if (shape.filter((extent) => extent === -1).length > 1) return undefined;
    if (open >= 0 && (known === 0 || this.places.length % known !== 0)) return undefined;
    const whole = shape.map((extent, axis) => (axis === open ? this.places.length / known : extent));
    if (countOf(whole) !== this.places.length) return undefined;
    return new Positions(whole, this.places);
  }

  squeeze(axes: readonly number[] | undefined): Positions | undefined {
    const given = axes ?? [...this.shape.keys()].filter((axis) => this.shape[axis] === 1);
    const dropped = given.map((axis) => normal(axis, this.shape.length));
    if (new Set(dropped).size !== dropped.length || dropped.some((axis) => this.shape[axis ?? -1] !== 1))
      return undefined;
    return new Positions(
      this.shape.filter((_, axis) => !dropped.includes(axis)),
      this.places,
    );
  }

  expandDims(axis: number): Positions | undefined {
    const place = normal(axis, this.shape.length + 1);
    if (place === undefined) return undefined;
    return new Positions([...this.shape.slice(0, place), 1, ...this.shape.slice(place)], this.places);
  }

  broadcastTo(shape: readonly number[]): Positions | undefined {
    const added = shape.length - this.shape.length;
    if (added < 0 || this.shape.some((extent, axis) => extent !== 1 && extent !== shape[axis + added]))
      return undefined;
    return this.taken(shape, (index) =>
      this.shape.map((extent, axis) => (extent === 1 ? 0 : (index[axis + added] ?? 0))),
    );
  }

  flip(axis: number): Positions | undefined {
    const place = normal(axis, this.shape.length);
    if (place === undefined) return undefined;
    return this.taken(this.shape, (index) => index.map((i, at) => (at === place ? (this.shape[at] ?? 0) - 1 - i : i)));
  }

  /**
   * The strides that lead to all the places: those of axes that have a second index, undefined for the others. Nothing
   * when there are none.
   */
  stridesOf(): (number | undefined)[] | undefined {
    if (this.places.length === 0) return this.shape.map(() => undefined);
    const origin = this.at(this.shape.map(() => 0));
    const strides = this.shape.map((extent, axis) =>
      extent > 1 ? this.at(this.shape.map((_, at) => (at === axis ? 1 : 0))) - origin : undefined,
    );
    const reached = indices(this.shape).every((index) => {
      const place = index.reduce((sum, i, axis) => sum + i * (strides[axis] ?? 0), origin);
      return place === this.at(index);
    });
    return reached ? strides : undefined;
  }

  /** Do the elements lie one after the other in their order? */
  isCompact(): boolean {
    return this.places.every((place, i) => place === (this.places[0] ?? 0) + i);
  }
}

/** All indices of a shape, row-major. */
export function indices(shape: readonly number[]): number[][] {
  let all: number[][] = [[]];
  for (const extent of shape) all = all.flatMap((index) => [...Array(extent).keys()].map((i) => [...index, i]));
  return all;
}

export function countOf(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

/** Python's `range(*slice(start, stop, step).indices(extent))`, by walking. */
function range(extent: number, start: number | null, stop: number | null, step: number): number[] {
  const bound = (given: number): number => (given < 0 ? given + extent : given);
  let index = start === null ? (step > 0 ? 0 : extent - 1) : bound(start);
  const end = stop === null ? (step > 0 ? extent : -1) : Math.max(bound(stop), -1);
  if (step > 0 && index < 0) index = 0;
  if (step < 0 && index >= extent) index = extent - 1;
  const chosen: number[] = [];
  for (; step > 0 ? index < end : index > end; index += step) {
    if (index < 0 || index >= extent) break;
    chosen.push(index);
  }
  return chosen;
}

/** An axis from the front; undefined when there is none. */
function normal(axis: number, ndim: number): number | undefined {
  const place = axis < 0 ? axis + ndim : axis;
  return place >= 0 && place < ndim ? place : undefined;
}
