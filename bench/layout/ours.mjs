// The recipes of rows.mjs, followed with the public API: what a user's program does, and what it costs there.
import { createHash } from 'node:crypto';
import { loop } from '../lib/measure.mjs';
import { requireOurs } from '../lib/peers.mjs';

const { OwnedTensor } = requireOurs('node-dlpack');

/** A period that is no power of two: what lands elsewhere is seen. Each value fits every dtype but signed bytes. */
const PERIOD = 250;
const STEP = 7919;

function sourceOf(shape, dtype) {
  const bytes = OwnedTensor.allocate(shape, 'uint8');
  const { data } = bytes;
  for (let i = 0; i < PERIOD && i < data.length; i++) data[i] = (i * STEP) % PERIOD;
  for (let done = PERIOD; done < data.length; done *= 2) data.copyWithin(done, 0, done);
  const source = bytes.freeze();
  const converted = source.to(dtype).freeze();
  source.dispose();
  return converted;
}

const STEPS = {
  transpose: (tensor, ...axes) => tensor.transpose(axes),
  slice: (tensor, ...specs) => tensor.slice(...specs),
  repeat: (tensor, axis, extent) => tensor.broadcastTo(tensor.shape.with(axis, extent)),
  flip: (tensor, axis) => tensor.flip(axis),
};

/** Source, view and target of a recipe, and the ways to get from one to the other. */
export class Ours {
  #made = [];

  constructor({ shape, dtype, view, to = dtype, scaling, into }) {
    this.view = this.#keep(sourceOf(shape, dtype));
    for (const [step, ...given] of view) this.view = this.#keep(STEPS[step](this.view, ...given));
    this.to = to;
    this.options = scaling ?? {};
    const targetShape = into ? [this.view.shape[0], into.width] : this.view.shape;
    this.target = this.#keep(OwnedTensor.allocate(targetShape, to));
    if (into) this.options = { at: [null, [into.column, into.column + this.view.shape[1]]] };
  }

  #keep(tensor) {
    this.#made.push(tensor);
    return tensor;
  }

  /** Bytes that one copy writes. */
  get bytes() {
    return (this.view.size * this.target.byteLength) / this.target.size;
  }

  existing() {
    const { target, view, options } = this;
    return loop(() => target.set(view, options));
  }

  fresh() {
    const { view } = this;
    return view.isContiguous ? loop(() => view.copy().dispose()) : loop(() => view.contiguous().dispose());
  }

  digest() {
    this.target.set(this.view, this.options);
    const bits = this.target.bits;
    return createHash('sha1')
      .update(new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength))
      .digest('hex');
  }

  dispose() {
    for (const tensor of this.#made.toReversed()) tensor.dispose();
  }
}
