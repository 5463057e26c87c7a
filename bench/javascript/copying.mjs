// Copies that keep the layout: of the whole, and of a part.
import { requireOurs, requirePeer } from '../lib/peers.mjs';
import { floats } from './cases.mjs';

const { OwnedTensor, Tensor } = requireOurs('node-dlpack');
const ndarray = requirePeer('ndarray');
const ops = requirePeer('ndarray-ops');
const stdlib = requirePeer('@stdlib/ndarray/ctor');
const stdlibAssign = requirePeer('@stdlib/ndarray/base/assign');

const SHAPE = [1024, 2048]; // 8 MiB

const stdlibOver = (data, shape, strides, offset = 0) =>
  new stdlib('float32', data, shape, strides, offset, 'row-major');

function intoExisting() {
  const data = floats(SHAPE[0] * SHAPE[1]);
  const tensor = Tensor.from(data, { shape: SHAPE });
  const owned = OwnedTensor.allocate(SHAPE, 'float32');
  const [set, assigned, stdlibs] = [0, 1, 2].map(() => new Float32Array(data.length));
  const arrays = [ndarray(assigned, SHAPE), ndarray(data, SHAPE)];
  const pair = [stdlibOver(data, SHAPE, [SHAPE[1], 1]), stdlibOver(stdlibs, SHAPE, [SHAPE[1], 1])];
  return {
    what: '8 MiB into memory that is there (set)',
    ways: {
      ours: { run: () => owned.set(tensor), result: () => owned.data },
      'typed array set()': { run: () => set.set(data), result: () => set },
      'ndarray-ops assign': { run: () => ops.assign(...arrays), result: () => assigned },
      'stdlib assign': { run: () => stdlibAssign(pair), result: () => stdlibs },
    },
    end: () => [tensor, owned].forEach((each) => each.dispose()),
  };
}

function intoFresh() {
  const data = floats(SHAPE[0] * SHAPE[1]);
  const tensor = Tensor.from(data, { shape: SHAPE });
  let sliced;
  let cloned;
  return {
    what: '8 MiB into fresh memory (copy)',
    remark: 'ours is disposed at once, so its memory may be there still; the others wait for the collector',
    ways: {
      ours: { run: () => tensor.copy().dispose(), result: () => tensor.toTypedArray() },
      'ArrayBuffer.slice': {
        run: () => (sliced = data.buffer.slice()),
        result: () => new Float32Array(sliced),
      },
      structuredClone: { run: () => (cloned = structuredClone(data)), result: () => cloned },
    },
    end: () => tensor.dispose(),
  };
}

/** The middle of a picture, rows of 256 of 512 pixels. */
function crop() {
  const [height, width, side, top, left] = [512, 512, 256, 100, 77];
  const data = floats(height * width);
  const tensor = Tensor.from(data, { shape: [height, width] });
  const owned = OwnedTensor.allocate([side, side], 'float32');
  const [rows, loops, assigned, stdlibs] = [0, 1, 2, 3].map(() => new Float32Array(side * side));
  const part = ndarray(data, [height, width])
    .hi(top + side, left + side)
    .lo(top, left);
  const target = ndarray(assigned, [side, side]);
  const pair = [
    stdlibOver(data, [side, side], [width, 1], top * width + left),
    stdlibOver(stdlibs, [side, side], [side, 1]),
  ];
  return {
    what: 'the middle 256x256 of 512x512 float32, contiguous (set of a slice)',
    ways: {
      ours: {
        run: () => {
          const middle = tensor.slice([top, top + side], [left, left + side]);
          owned.set(middle);
          middle.dispose();
        },
        result: () => owned.data,
      },
      'a row at a time: set(subarray)': {
        run: () => {
          for (let y = 0; y < side; y++) {
            const start = (top + y) * width + left;
            rows.set(data.subarray(start, start + side), y * side);
          }
        },
        result: () => rows,
      },
      'loop over elements': {
        run: () => {
          for (let y = 0, to = 0; y < side; y++) {
            let from = (top + y) * width + left;
            for (let x = 0; x < side; x++) loops[to++] = data[from++];
          }
        },
        result: () => loops,
      },
      'ndarray-ops assign': { run: () => ops.assign(target, part), result: () => assigned },
      'stdlib assign': { run: () => stdlibAssign(pair), result: () => stdlibs },
    },
    end: () => [tensor, owned].forEach((each) => each.dispose()),
  };
}

export const copying = [intoExisting, intoFresh, crop];
