/** A child of garbage.test.ts: the adapters in a runtime that forbids external ArrayBuffers, as Electron does. */
import assert = require('node:assert/strict');
import { OwnedTensor, Tensor } from '../../dist/index.js';
import { fromBuffer, toBuffer, toOrt, withOrt } from '../../dist/interop/index.js';

class OrtTensor {
  constructor(
    readonly type: string,
    readonly data: Float32Array,
  ) {}
}
const ort = { Tensor: OrtTensor as new (type: string, data: unknown) => OrtTensor };

const tensor = Tensor.from(new Float32Array([1, 2]));
assert.throws(() => toOrt(tensor, ort, { copy: false }), {
  code: 'ERR_DLPACK_BUFFER',
  message: /^toOrt: copy: false cannot be kept: this runtime forbids external ArrayBuffers/,
});
assert.deepEqual([...toOrt(tensor, ort).data], [1, 2]);
assert.equal(toBuffer(tensor).readFloatLE(4), 2);

const output = OwnedTensor.allocate([2], 'float32');
withOrt({ output }, ort, (made) => made.output.data.set([3, 4]));
assert.equal(output.at(1), 4);
using back = fromBuffer(toBuffer(output), { dtype: 'float32' });
assert.deepEqual(back.toArray(), [3, 4]);
console.log('ok');
