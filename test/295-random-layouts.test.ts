/**
 * Layouts and `set` against a reference that knows no strides (support/positions.ts), over chains of operations that
 * nobody would think of. A chain that fails is named by its number.
 */
import { expect, test } from '@jest/globals';
import { OwnedTensor, Tensor, type SliceSpec } from '../dist/index.js';
import { expectCountersAtZero } from './support/counters.js';
import { Positions, countOf, indices } from './support/positions.js';
import { Random } from './support/random.js';
import { flat } from './support/values.js';

expectCountersAtZero();

/** One operation on both sides. */
interface Operation {
  readonly name: string;
  apply(tensor: Tensor<'int32'>): Tensor<'int32'>;
  expected(of: Positions): Positions | undefined;
}

function randomSpecs(random: Random, shape: readonly number[]): SliceSpec[] {
  const bound = (extent: number): number | null =>
    random.chance(0.3) ? null : random.integer(-extent - 2, extent + 2);
  const spec = (extent: number): SliceSpec => {
    if (random.chance(0.25)) return null;
    if (random.chance(0.3)) return random.integer(-extent - (random.chance(0.1) ? 1 : 0), Math.max(extent - 1, 0));
    if (random.chance(0.5)) return [bound(extent), bound(extent)];
    return [
      bound(extent),
      bound(extent),
      random.pick([null, 1, 2, 3, -1, -2, -3, 100, -100, random.chance(0.1) ? 0 : 1]),
    ];
  };
  const count = random.integer(0, shape.length + (random.chance(0.05) ? 1 : 0));
  return Array.from({ length: count }, (_, axis) => spec(shape[axis] ?? 1));
}

/** A shape for as many elements, mostly. */
function randomShape(random: Random, size: number): number[] {
  const shape: number[] = [];
  let left = size;
  while (left > 1 && shape.length < 5) {
    const divisors = [...Array(left).keys()].map((i) => i + 1).filter((divisor) => left % divisor === 0);
    const extent = random.pick(divisors);
    shape.push(extent);
    left /= extent;
  }
  if (left > 1) shape.push(left);
  if (size === 0) shape.push(...Array.from({ length: random.integer(1, 3) }, () => random.pick([0, 1, 2])));
  while (random.chance(0.2)) shape.splice(random.integer(0, shape.length), 0, 1);
  if (random.chance(0.3) && shape.length > 0) shape[random.integer(0, shape.length - 1)] = -1;
  if (random.chance(0.05)) shape.push(2);
  return shape;
}

function randomOperation(random: Random, shape: readonly number[]): Operation {
  const ndim = shape.length;
  const axes = [...shape.keys()];
  const wrong = random.chance(0.05) ? 1 : 0;
  switch (random.integer(0, 8)) {
    case 0:
    case 1: {
      const specs = randomSpecs(random, shape);
      const name = `slice(${JSON.stringify(specs)})`;
      return { name, apply: (tensor) => tensor.slice(...specs), expected: (of) => of.slice(specs) };
    }
    case 2: {
      if (random.chance(0.3))
        return {
          name: 'transpose()',
          apply: (tensor) => tensor.transpose(),
          expected: (of) => of.transpose(undefined),
        };
      const order = random.shuffled(axes).map((axis) => (random.chance(0.3) ? axis - ndim : axis));
      if (wrong > 0) order.push(order[0] ?? 0);
      const name = `transpose(${JSON.stringify(order)})`;
      return { name, apply: (tensor) => tensor.transpose(order), expected: (of) => of.transpose(order) };
    }
    case 3:
    case 4: {
      const wanted = randomShape(random, countOf(shape));
      const name = `reshape(${JSON.stringify(wanted)})`;
      return { name, apply: (tensor) => tensor.reshape(wanted), expected: (of) => of.reshape(wanted) };
    }
    case 5: {
      const ones = axes
        .filter((axis) => shape[axis] === 1 && random.chance(0.7))
        .map((axis) => axis - random.pick([0, ndim]));
      if (wrong > 0) ones.push(random.integer(0, ndim));
      const given = random.chance(0.3) ? undefined : ones;
      const name = `squeeze(${JSON.stringify(given)})`;
      return { name, apply: (tensor) => tensor.squeeze(given), expected: (of) => of.squeeze(given) };
    }
    case 6: {
      const axis = random.integer(-ndim - 1 - wrong, ndim + wrong);
      return {
        name: `expandDims(${axis})`,
        apply: (tensor) => tensor.expandDims(axis),
        expected: (of) => of.expandDims(axis),
      };
    }
    case 7: {
      const wider = shape.map((extent) => (extent === 1 && random.chance(0.5) ? random.pick([0, 2, 3]) : extent));
      while (random.chance(0.3)) wider.unshift(random.pick([0, 1, 2, 3]));
      if (wrong > 0) wider.push(2);
      const wanted = countOf(wider) > 500 ? [...shape] : wider;
      const name = `broadcastTo(${JSON.stringify(wanted)})`;
      return { name, apply: (tensor) => tensor.broadcastTo(wanted), expected: (of) => of.broadcastTo(wanted) };
    }
    default: {
      const axis = random.integer(-ndim - wrong, ndim - 1 + wrong);
      return { name: `flip(${axis})`, apply: (tensor) => tensor.flip(axis), expected: (of) => of.flip(axis) };
    }
  }
}

/** Everything that a tensor over memory 0, 1, 2, ... says of itself, which follows from the places of its elements. */
function describe(tensor: Tensor<'int32'>): Record<string, unknown> {
  const { data, offset, strides } = tensor.strided();
  using copy = tensor.copy();
  using compact = tensor.contiguous();
  const all = indices(tensor.shape);
  return {
    shape: tensor.shape,
    // A stride that is never used may be anything.
    strides:
      tensor.size === 0
        ? tensor.shape.map(() => undefined)
        : strides.map((stride, axis) => (tensor.shape[axis] === 1 ? undefined : stride)),
    isContiguous: tensor.isContiguous,
    toTypedArray: [...tensor.toTypedArray()],
    toArray: flat(tensor.toArray()),
    at: all.map((index) => tensor.at(...index)),
    fromTheEnd: all.map((index) => tensor.at(...index.map((i, axis) => i - (tensor.shape[axis] ?? 0)))),
    strided: all.map((index) => data[index.reduce((sum, i, axis) => sum + i * (strides[axis] ?? 0), offset)]),
    copy: [...copy.data],
    contiguous: [...compact.view()],
    view: tensor.isContiguous ? [...tensor.view()] : undefined,
  };
}

function expectedOf(positions: Positions): Record<string, unknown> {
  const { places } = positions;
  const isContiguous = positions.isCompact();
  return {
    shape: positions.shape,
    strides: positions.stridesOf(),
    isContiguous,
    toTypedArray: places,
    toArray: places,
    at: places,
    fromTheEnd: places,
    strided: places,
    copy: places,
    contiguous: places,
    view: isContiguous ? places : undefined,
  };
}

/** @returns the tensor that the operation made, or the one it was given where it must refuse */
function step(tensor: Tensor<'int32'>, positions: Positions, operation: Operation): [Tensor<'int32'>, Positions] {
  const expected = operation.expected(positions);
  const code =
    expected === undefined ? 'ERR_OUT_OF_RANGE' : expected.stridesOf() === undefined ? 'ERR_DLPACK_BUFFER' : undefined;
  let made: Tensor<'int32'> | undefined;
  let thrown: unknown;
  try {
    made = operation.apply(tensor);
  } catch (error) {
    thrown = error instanceof Error ? Reflect.get(error, 'code') : error;
  }
  expect(thrown).toBe(code);
  if (made === undefined || expected === undefined) return [tensor, positions];
  expect(describe(made)).toEqual(expectedOf(expected));
  return [made, expected];
}

const CHAINS = 1500;

test(`${CHAINS} random chains of layout operations show each element where it lies`, () => {
  const random = new Random(20261130);
  for (let chain = 0; chain < CHAINS; chain += 1) {
    const shape = Array.from({ length: random.integer(0, 4) }, () => random.pick([0, 1, 1, 2, 3, 4, 5]));
    let positions = Positions.compact(shape);
    let tensor = Tensor.from(Int32Array.from(positions.places), { shape });
    const made = new Set([tensor]);
    const names = [`chain ${chain}: ${JSON.stringify(shape)}`];
    try {
      for (let count = random.integer(1, 6); count > 0; count -= 1) {
        const operation = randomOperation(random, positions.shape);
        names.push(operation.name);
        [tensor, positions] = step(tensor, positions, operation);
        made.add(tensor);
      }
    } catch (error) {
      throw new Error(names.join(' '), { cause: error });
    } finally {
      for (const each of made) each.dispose();
    }
  }
});

/** A part of a target, and the places of its elements there. */
function randomPart(random: Random): { shape: number[]; at: SliceSpec[]; part: Positions } {
  for (;;) {
    const shape = Array.from({ length: random.integer(0, 4) }, () => random.pick([1, 2, 3, 4, 7]));
    const at = randomSpecs(random, shape);
    const part = Positions.compact(shape).slice(at);
    if (part !== undefined) return { shape, at, part };
  }
}

/** A tensor that can be broadcast to the shape, in some layout, and its elements after that. */
function randomSource(
  random: Random,
  shape: readonly number[],
): { source: Tensor<'int32'>; values: readonly number[]; made: Tensor[] } {
  const leading = random.integer(0, random.chance(0.3) ? shape.length : 0);
  const own = shape.slice(leading).map((extent) => (random.chance(0.2) ? 1 : extent));
  const order = random.shuffled([...own.keys()]);
  const inMemory = Tensor.from(
    Int32Array.from({ length: countOf(own) }, () => random.integer(-500, 500)),
    {
      shape: order.map((axis) => own[axis] ?? 1),
    },
  );
  const source = inMemory.transpose(own.map((_, axis) => order.indexOf(axis)));
  const elements = source.toTypedArray();
  const values = indices(shape).map((index) => {
    const within = index.slice(leading).map((i, axis) => (own[axis] === 1 ? 0 : i));
    return elements[within.reduce((sum, i, axis) => sum * (own[axis] ?? 1) + i, 0)] ?? NaN;
  });
  return { source, values, made: [inMemory, source] };
}

const ASSIGNMENTS = 1500;

test(`${ASSIGNMENTS} random assignments write the part they name, broadcast, scaled along any axis, and nothing else`, () => {
  const random = new Random(7);
  for (let round = 0; round < ASSIGNMENTS; round += 1) {
    const { shape, at, part } = randomPart(random);
    const { source, values, made } = randomSource(random, part.shape);
    using target = OwnedTensor.from(
      Float64Array.from({ length: countOf(shape) }, (_, i) => i + 0.5),
      { shape },
    );
    const expected = [...target.data];
    const axis = part.shape.length > 0 && random.chance(0.5) ? random.integer(0, part.shape.length - 1) : undefined;
    const factors = Array.from({ length: axis === undefined ? 1 : (part.shape[axis] ?? 0) }, () =>
      random.integer(-3, 3),
    );
    const scaled = random.chance(0.5);
    for (const [position, index] of indices(part.shape).entries()) {
      const factor = scaled ? (factors[axis === undefined || factors.length === 1 ? 0 : (index[axis] ?? 0)] ?? NaN) : 1;
      expected[part.places[position] ?? -1] = (values[position] ?? NaN) * factor + (scaled ? factor : 0);
    }
    target.set(source, {
      at,
      ...(scaled
        ? { scale: factors, offset: factors, axis: axis === undefined ? undefined : axis - part.shape.length }
        : {}),
    });
    // -0 is what -3 x 0 gives.
    expect([round, at, [...target.data].map((value) => value + 0)]).toEqual([
      round,
      at,
      expected.map((value) => value + 0),
    ]);
    for (const tensor of made) tensor.dispose();
  }
});
