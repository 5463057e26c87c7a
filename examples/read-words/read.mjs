// What the lines say: strips -> batches in our memory -> model -> letters in our memory -> words.
import { OwnedTensor, scope } from './dlpack.mjs';
import { runInPlace } from './inference.mjs';
import { HEIGHT, LONGEST_PIECE, Strip, inReadingOrder } from './lines.mjs';
import { COLUMNS_PER_STEP, readCharacters, textOf } from './words.mjs';

const BATCH = 8;
// Pieces are padded to one of these widths, since a batch has one: the narrower ones would otherwise cost as much as
// the widest.
const WIDTHS = [96, 192, 288, LONGEST_PIECE];
// From bytes to -1 .. 1.
const NORMALISE = { scale: 1 / 127.5, offset: -1 };
// What the model is less sure of on the whole is a drawing taken for text.
const LEAST_CONFIDENCE = 0.5;

/** The recogniser for pieces up to one width, with the memory that it reads and writes, used for ever. */
class Batch {
  #recognition;
  #alphabet;
  #width;
  #steps;
  #input;
  #output;
  #pieces = [];

  constructor({ recognition, alphabet }, width) {
    this.#recognition = recognition;
    this.#alphabet = alphabet;
    this.#width = width;
    this.#steps = width / COLUMNS_PER_STEP;
    this.#input = OwnedTensor.allocate([BATCH, 3, HEIGHT, width], 'float32');
    this.#output = OwnedTensor.allocate([BATCH, this.#steps, alphabet.length], 'float32');
  }

  get full() {
    return this.#pieces.length === BATCH;
  }

  /**
   * Columns `from` to `to` of the strip, channels first, blue first, normalised, into the next place of the batch: one
   * native pass.
   */
  add(strip, piece, from, to) {
    const place = this.#pieces.push(piece) - 1;
    scope(() => {
      const planes = strip.slice(null, [from, to]).flip(2).transpose([2, 0, 1]);
      this.#input.set(planes, { at: [place, null, null, [0, to - from]], ...NORMALISE });
    });
  }

  async run(handOvers) {
    const count = this.#pieces.length;
    if (count === 0) return;
    const classes = this.#alphabet.length;
    await this.#input.withView((source) =>
      this.#output.withView(async (target) => {
        const from = { name: 'lines -> onnxruntime', owner: () => this.#input };
        const into = { name: 'letters <- onnxruntime', owner: () => this.#output };
        from.dims = [count, 3, HEIGHT, this.#width];
        from.view = source.subarray(0, count * 3 * HEIGHT * this.#width);
        into.dims = [count, this.#steps, classes];
        into.view = target.subarray(0, count * this.#steps * classes);
        await runInPlace(this.#recognition, from, into, handOvers);
        this.#pieces.forEach((piece, place) => {
          const start = place * this.#steps * classes;
          piece.characters = readCharacters(
            target.subarray(start, start + this.#steps * classes),
            this.#steps,
            this.#alphabet,
          );
        });
      }),
    );
    this.#pieces = [];
    // A narrower piece in the same place would otherwise be followed by the remains of this one.
    this.#input.fill(0);
  }

  dispose() {
    this.#input.dispose();
    this.#output.dispose();
  }
}

export class Reader {
  #models;
  #strip = new Strip();
  #batches = new Map();

  constructor(models) {
    this.#models = models;
  }

  #batchFor(columns) {
    const width = WIDTHS.find((candidate) => candidate >= columns);
    if (!this.#batches.has(width)) this.#batches.set(width, new Batch(this.#models, width));
    return this.#batches.get(width);
  }

  /** The lines that say something, in the order of reading, each with its text, words and confidence. */
  async read(picture, found, handOvers) {
    const lines = [];
    for (const box of inReadingOrder(found)) {
      const pieces = await this.#addLine(picture, box, handOvers);
      lines.push({ box, pieces });
    }
    for (const batch of this.#batches.values()) await batch.run(handOvers);
    return lines
      .map(({ box, pieces }) => Object.assign(textOf(pieces), { box }))
      .filter(({ confidence }) => confidence >= LEAST_CONFIDENCE);
  }

  async #addLine(picture, box, handOvers) {
    const width = this.#strip.fill(picture, box, handOvers);
    const pieces = this.#strip.pieces(width);
    for (const piece of pieces) {
      const batch = this.#batchFor(piece.to - piece.from);
      this.#strip.lend(width, (strip) => batch.add(strip, piece, piece.from, piece.to));
      if (batch.full) await batch.run(handOvers);
    }
    return pieces;
  }

  dispose() {
    this.#strip.dispose();
    for (const batch of this.#batches.values()) batch.dispose();
  }
}
