// Other layouts: a matrix transposed.
import { requireOurs, requirePeer } from '../lib/peers.mjs';
import { timesFaster } from '../lib/row.mjs';
import { floats } from './cases.mjs';

const { OwnedTensor, Tensor } = requireOurs('node-dlpack');
const ndarray = requirePeer('ndarray');
const ops = requirePeer('ndarray-ops');
const stdlib = requirePeer('@stdlib/ndarray/ctor');
const stdlibAssign = requirePeer('@stdlib/ndarray/base/assign');

/** What one writes first. */
function plainLoop(target, source, side) {
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) target[x * side + y] = source[y * side + x];
  }
}

/** What one writes after having read about caches. */
function tiledLoop(target, source, side) {
  const tile = 16;
  for (let top = 0; top < side; top += tile) {
    for (let left = 0; left < side; left += tile) {
      for (let x = left; x < left + tile; x++) {
        for (let y = top; y < top + tile; y++) target[x * side + y] = source[y * side + x];
      }
    }
  }
}

const transpose = (side) => () => {
  const shape = [side, side];
  const data = floats(side * side);
  const tensor = Tensor.from(data, { shape });
  const owned = OwnedTensor.allocate(shape, 'float32');
  const [plain, tiled, assigned, stdlibs] = [0, 1, 2, 3].map(() => new Float32Array(data.length));
  const arrays = [ndarray(assigned, shape), ndarray(data, shape).transpose(1, 0)];
  const pair = [
    new stdlib('float32', data, shape, [1, side], 0, 'row-major'),
    new stdlib('float32', stdlibs, shape, [side, 1], 0, 'row-major'),
  ];
  return {
    what: `${side}x${side} float32 transposed`,
    must: timesFaster('best', 2),
    ways: {
      ours: {
        run: () => {
          const turned = tensor.transpose();
          owned.set(turned);
          turned.dispose();
        },
        result: () => owned.data,
      },
      loop: { run: () => plainLoop(plain, data, side), result: () => plain },
      'loop in tiles': { run: () => tiledLoop(tiled, data, side), result: () => tiled },
      'ndarray-ops assign': { run: () => ops.assign(...arrays), result: () => assigned },
      'stdlib assign': { run: () => stdlibAssign(pair), result: () => stdlibs },
    },
    end: () => [tensor, owned].forEach((each) => each.dispose()),
  };
};

export const transposing = [transpose(256), transpose(2048)];
