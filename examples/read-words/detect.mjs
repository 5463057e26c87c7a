// Where the lines of text are: picture -> normalised frame -> model -> text map -> C addon -> lines.
import { OwnedTensor, scope } from './dlpack.mjs';
import { runInPlace } from './inference.mjs';
import { resample } from './resample.mjs';
import { TextMap } from './text-map.mjs';

// The model halves its input five times.
const STEP = 32;
// Letters a few pixels high are not found, and on a large scan time would go into detail that finding lines does not
// need.
const SMALLEST_SIDE = 640;
const MOST_PIXELS = 1280 * 1024;
const LONGEST_SIDE = 4096;
const LARGEST_SCALE = 4;

// The model was trained on blue, green, red with these means and deviations, in this order.
const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];
const NORMALISE = {
  scale: DEVIATION.map((deviation) => 1 / (255 * deviation)),
  offset: MEAN.map((mean, channel) => -mean / DEVIATION[channel]),
};

/** How much larger or smaller a picture is shown to the model. */
function scaleFor(width, height) {
  const longest = Math.max(width, height);
  if (longest < SMALLEST_SIDE) return Math.min(LARGEST_SCALE, SMALLEST_SIDE / longest);
  return Math.min(1, Math.sqrt(MOST_PIXELS / (width * height)), LONGEST_SIDE / longest);
}

function sizeInFrame({ width, height }) {
  const scale = scaleFor(width, height);
  return { scale, width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

const roundUp = (size) => Math.ceil(size / STEP) * STEP;

export class Detector {
  #model;
  #frame; // [1, 3, height, width] float32: the model's input
  #map; // the model's output
  #resized = null; // [height, width, 3] uint8: only for pictures that are not shown in their own size

  /** One frame that holds each of the pictures, allocated once and filled anew for every one of them. */
  constructor(model, pictures) {
    const sizes = pictures.map(sizeInFrame);
    const height = roundUp(Math.max(...sizes.map((size) => size.height)));
    const width = roundUp(Math.max(...sizes.map((size) => size.width)));
    this.#model = model;
    this.#frame = OwnedTensor.allocate([1, 3, height, width], 'float32');
    this.#map = new TextMap(height, width);
  }

  /**
   * Lines in the picture's own pixels: { left, right, top, height, slope, score }. `picture` is [height, width, 3]
   * uint8, in any layout.
   */
  async detect(picture, handOvers) {
    const [height, width] = picture.shape;
    const size = sizeInFrame({ width, height });
    this.#fill(picture, size, handOvers);
    await this.#run(handOvers);
    const lines = this.#map.findLines(handOvers);
    return lines.map((line) => toPicture(line, size.scale)).filter((line) => isIn(line, width, height));
  }

  #fill(picture, size, handOvers) {
    const [, , frameHeight, frameWidth] = this.#frame.shape;
    // What the picture does not cover is 0, the mean colour. (A frame that is wholly covered is not cleared first.)
    if (size.height < frameHeight || size.width < frameWidth) this.#frame.fill(0);
    if (size.scale === 1) return this.#normalise(picture, size);
    this.#resized ??= OwnedTensor.allocate([frameHeight, frameWidth, 3], 'uint8');
    const placement = { left: 0, top: 0, stepX: 1 / size.scale, stepY: 1 / size.scale, slope: 0 };
    resample('picture', () => picture.slice(), this.#resized, size, placement, handOvers);
    this.#resized.lend((loan) => this.#normalise(loan.slice([0, size.height], [0, size.width]), size));
  }

  /**
   * Bytes in rows of red, green, blue become planes of blue, green, red in float32, normalised, in one native pass: the
   * turning round of the channels and their coming first are strides (a negative one, and another order), and cost
   * nothing.
   */
  #normalise(picture, { width, height }) {
    scope(() => {
      const planes = picture.flip(2).transpose([2, 0, 1]);
      this.#frame.set(planes, { at: [0, null, [0, height], [0, width]], ...NORMALISE, axis: 0 });
    });
  }

  async #run(handOvers) {
    const map = this.#map;
    const [height, width] = map.owner.shape;
    await this.#frame.withView((source) =>
      map.owner.withView(async (target) => {
        const from = { name: 'frame -> onnxruntime', owner: () => this.#frame, view: source };
        const into = { name: 'text map <- onnxruntime', owner: () => map.owner, view: target };
        from.dims = [1, 3, height, width];
        into.dims = [1, 1, height, width];
        await runInPlace(this.#model, from, into, handOvers);
      }),
    );
  }

  dispose() {
    this.#frame.dispose();
    this.#map.dispose();
    this.#resized?.dispose();
  }
}

function toPicture({ left, right, top, height, slope, score }, scale) {
  return { left: left / scale, right: right / scale, top: top / scale, height: height / scale, slope, score };
}

/** Not a line in the part of the frame that this picture does not cover. */
function isIn({ left, right, top, height, slope }, width, limit) {
  const level = top + height / 2 + slope * left;
  return right > 0 && left < width && level > 0 && level < limit;
}
