// Making a tensor: fresh, over elements that are there, and as another library's object.
import { requireOurs, requirePeer } from '../lib/peers.mjs';
import { floats } from './cases.mjs';

const { OwnedTensor, Tensor } = requireOurs('node-dlpack');
const { toOrt } = requireOurs('node-dlpack/interop');
const { adopt } = requireOurs('node-dlpack/unsafe');
const ort = requirePeer('onnxruntime-node');
const ndarray = requirePeer('ndarray');
const stdlib = requirePeer('@stdlib/ndarray/ctor');
const zeros = requirePeer('@stdlib/ndarray/zeros');

const PICTURE = [1, 3, 224, 224];
const sizeOf = (shape) => shape.reduce((product, extent) => product * extent, 1);

const fresh = (what, shape, remark) => () => ({
  what,
  remark,
  ways: {
    ours: { run: () => OwnedTensor.allocate(shape, 'float32').dispose() },
    'ort.Tensor over a new Float32Array': {
      run: () => new ort.Tensor('float32', new Float32Array(sizeOf(shape)), shape),
    },
    'ndarray over a new Float32Array': { run: () => ndarray(new Float32Array(sizeOf(shape)), shape) },
    'stdlib zeros': { run: () => zeros(shape, { dtype: 'float32' }) },
  },
});

function over() {
  const data = floats(6);
  const strides = [3, 1];
  return {
    what: 'a 2x3 tensor over a typed array, no copy (adopt)',
    remark: 'ours can leave JavaScript; the others are objects around the array',
    ways: {
      ours: { run: () => adopt(data, { shape: [2, 3] }).dispose() },
      'ort.Tensor': { run: () => new ort.Tensor('float32', data, [2, 3]) },
      ndarray: { run: () => ndarray(data, [2, 3]) },
      'stdlib ndarray': { run: () => stdlib('float32', data, [2, 3], strides, 0, 'row-major') },
    },
  };
}

function copied() {
  const data = floats(sizeOf(PICTURE));
  return {
    what: '1x3x224x224 float32 from a typed array (Tensor.from)',
    ways: {
      ours: { run: () => Tensor.from(data, { shape: PICTURE }).dispose() },
      'ort.Tensor over slice()': { run: () => new ort.Tensor('float32', data.slice(), PICTURE) },
      'ndarray over slice()': { run: () => ndarray(data.slice(), PICTURE) },
    },
  };
}

function forInference() {
  const owned = OwnedTensor.allocate(PICTURE, 'float32');
  const { data } = owned;
  return {
    what: 'an ort.Tensor over an owner (toOrt)',
    remark: 'with all checks of an adapter; the array behind it is cached',
    ways: {
      ours: { run: () => toOrt(owned, ort) },
      'ort.Tensor': { run: () => new ort.Tensor('float32', data, PICTURE) },
    },
    end: () => owned.dispose(),
  };
}

export const making = [
  fresh('2x3 zeros, made and dropped', [2, 3], "the others' memory waits for the collector"),
  fresh('1x3x224x224 zeros, made and dropped', PICTURE, "the others' memory waits for the collector"),
  over,
  copied,
  forInference,
];
