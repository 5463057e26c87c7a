// The loop that everyone writes by hand: a picture of bytes, row by row and pixel by pixel, becomes planes of float32 with a
// scale and an offset for each channel.
import { requireOurs, requirePeer } from '../lib/peers.mjs';
import { timesFaster } from '../lib/row.mjs';
import { bytes } from './cases.mjs';

const { OwnedTensor, Tensor } = requireOurs('node-dlpack');
const ndarray = requirePeer('ndarray');
const ops = requirePeer('ndarray-ops');

const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];
const SCALE = DEVIATION.map((deviation) => 1 / (255 * deviation));
const OFFSET = MEAN.map((mean, channel) => -mean / DEVIATION[channel]);

/** As it reads in many a program: index arithmetic at every element. */
function byIndex(target, source, height, width) {
  for (let c = 0; c < 3; c++) {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        target[c * height * width + y * width + x] = (source[(y * width + x) * 3 + c] / 255 - MEAN[c]) / DEVIATION[c];
      }
    }
  }
}

/** One pass over the pixels, three planes written at once, nothing computed twice. */
function byPixel(target, source, pixels) {
  const [red, green, blue] = SCALE;
  const [redOffset, greenOffset, blueOffset] = OFFSET;
  for (let i = 0, from = 0, g = pixels, b = 2 * pixels; i < pixels; i++, from += 3) {
    target[i] = source[from] * red + redOffset;
    target[g++] = source[from + 1] * green + greenOffset;
    target[b++] = source[from + 2] * blue + blueOffset;
  }
}

/** The same through tables of the 256 values that there are. */
function byTable(target, source, pixels, tables) {
  const [red, green, blue] = tables;
  for (let i = 0, from = 0, g = pixels, b = 2 * pixels; i < pixels; i++, from += 3) {
    target[i] = red[source[from]];
    target[g++] = green[source[from + 1]];
    target[b++] = blue[source[from + 2]];
  }
}

const tablesOf = () =>
  SCALE.map((scale, c) => Float32Array.from({ length: 256 }, (_, byte) => byte * scale + OFFSET[c]));

function withOps(target, planes) {
  ops.assign(target, planes);
  for (let c = 0; c < 3; c++) {
    const plane = target.pick(c);
    ops.mulseq(plane, SCALE[c]);
    ops.addseq(plane, OFFSET[c]);
  }
}

const normalise = (height, width) => () => {
  const pixels = height * width;
  const data = bytes(3 * pixels);
  const picture = Tensor.from(data, { shape: [height, width, 3] });
  const owned = OwnedTensor.allocate([3, height, width], 'float32');
  const options = { scale: SCALE, offset: OFFSET, axis: 0 };
  const [indexed, once, looked, assigned] = [0, 1, 2, 3].map(() => new Float32Array(3 * pixels));
  const tables = tablesOf();
  const target = ndarray(assigned, [3, height, width]);
  const planes = ndarray(data, [height, width, 3]).transpose(2, 0, 1);
  return {
    what: `a ${width}x${height} picture, uint8 HWC to float32 CHW, normalised`,
    must: timesFaster('best', 10),
    ways: {
      ours: {
        run: () => {
          const turned = picture.transpose([2, 0, 1]);
          owned.set(turned, options);
          turned.dispose();
        },
        result: () => owned.data,
      },
      'loop, index by index': { run: () => byIndex(indexed, data, height, width), result: () => indexed },
      'loop, pixel by pixel': { run: () => byPixel(once, data, pixels), result: () => once },
      'loop, by tables': { run: () => byTable(looked, data, pixels, tables), result: () => looked },
      'ndarray-ops': { run: () => withOps(target, planes), result: () => assigned },
    },
    end: () => [picture, owned].forEach((each) => each.dispose()),
  };
};

export const pictures = [normalise(224, 224), normalise(1080, 1920)];
