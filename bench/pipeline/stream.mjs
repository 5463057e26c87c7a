// Frames of a camera, 640x480 RGB: the middle 448x448 becomes the model's input, normalised; the model answers. A source
// writes each frame into memory that it is given, as a read from a device or a socket does.
import { requireOurs, requirePeer } from '../lib/peers.mjs';
import { bytes } from '../javascript/cases.mjs';
import { poolingModel } from './model.mjs';

const { OwnedTensor } = requireOurs('node-dlpack');
const { toOrt } = requireOurs('node-dlpack/interop');
const ort = requirePeer('onnxruntime-node');

const [HEIGHT, WIDTH, SIDE] = [480, 640, 448];
const [TOP, LEFT] = [(HEIGHT - SIDE) / 2, (WIDTH - SIDE) / 2];
const SCALE = [1 / 58.395, 1 / 57.12, 1 / 57.375];
const OFFSET = [-2.1179, -2.0357, -1.8044];
const INPUT = [1, 3, SIDE, SIDE];
const OUTPUT = [1, 3, 1, 1];
const RING = 4;

/** Writes the next frame. */
function makeSource() {
  const frames = [0, 1, 2].map((frame) => bytes(HEIGHT * WIDTH * 3).map((byte) => byte + frame));
  return (target, index) => target.set(frames[index % frames.length]);
}

/** A ring of tensors, made once: each slot with what the model is given of it. */
function withTensors(session, source) {
  const ring = Array.from({ length: RING }, () => {
    const [frame, input, output] = [
      OwnedTensor.allocate([HEIGHT, WIDTH, 3], 'uint8'),
      OwnedTensor.allocate(INPUT, 'float32'),
      OwnedTensor.allocate(OUTPUT, 'float32'),
    ];
    return { frame, input, output, feeds: { x: toOrt(input, ort) }, fetches: { y: toOrt(output, ort) } };
  });
  const normalise = { at: [0], scale: SCALE, offset: OFFSET, axis: 0 };
  let next = 0;
  let last;
  const prepare = (index) => {
    last = ring[next++ % RING];
    source(last.frame.data, index);
    last.frame.lend((loan) => {
      const middle = loan.slice([TOP, TOP + SIDE], [LEFT, LEFT + SIDE]);
      last.input.set(middle.transpose([2, 0, 1]), normalise);
    });
  };
  return {
    around: prepare,
    frame: async (index) => {
      prepare(index);
      await session.run(last.feeds, last.fetches);
    },
    result: () => last.output.data,
    end: () => ring.forEach((slot) => [slot.frame, slot.input, slot.output].forEach((tensor) => tensor.dispose())),
  };
}

function loop(target, pixels) {
  const plane = SIDE * SIDE;
  for (let y = 0, to = 0; y < SIDE; y++) {
    let from = ((TOP + y) * WIDTH + LEFT) * 3;
    for (let x = 0; x < SIDE; x++, to++, from += 3) {
      target[to] = pixels[from] * SCALE[0] + OFFSET[0];
      target[plane + to] = pixels[from + 1] * SCALE[1] + OFFSET[1];
      target[2 * plane + to] = pixels[from + 2] * SCALE[2] + OFFSET[2];
    }
  }
}

/** As it is usually written. */
function withBuffers(session, source) {
  let last;
  const prepare = (index) => {
    const pixels = Buffer.alloc(HEIGHT * WIDTH * 3);
    source(pixels, index);
    const input = new Float32Array(3 * SIDE * SIDE);
    loop(input, pixels);
    return { x: new ort.Tensor('float32', input, INPUT) };
  };
  return {
    around: prepare,
    frame: async (index) => {
      const { y } = await session.run(prepare(index));
      last = y.data;
    },
    result: () => last,
  };
}

/** With all arrays made once, and the output given. */
function withReusedArrays(session, source) {
  const pixels = Buffer.alloc(HEIGHT * WIDTH * 3);
  const input = new Float32Array(3 * SIDE * SIDE);
  const output = new Float32Array(3);
  const feeds = { x: new ort.Tensor('float32', input, INPUT) };
  const fetches = { y: new ort.Tensor('float32', output, OUTPUT) };
  const prepare = (index) => {
    source(pixels, index);
    loop(input, pixels);
  };
  return {
    around: prepare,
    frame: async (index) => {
      prepare(index);
      await session.run(feeds, fetches);
    },
    result: () => output,
  };
}

export async function streamJob() {
  const session = await ort.InferenceSession.create(poolingModel(), { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const source = makeSource();
  const ours = withTensors(session, source);
  return {
    what: 'a stream of 640x480 frames',
    remark: 'crop, normalise, a model that only pools, with an output that is given; the copy of the output is its own',
    tolerance: 0.0001,
    ways: {
      ours,
      'Buffers and loops': withBuffers(session, source),
      'the same, arrays reused': withReusedArrays(session, source),
    },
    end: async () => {
      ours.end();
      await session.release();
    },
  };
}
