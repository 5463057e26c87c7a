/**
 * Where external ArrayBuffers are forbidden, `data` is a copy: other native code must see what the user wrote there,
 * and the user what it wrote. Run in a process of its own, since the switch is read once.
 */
import assert = require('node:assert/strict');
import { fromDLPack, OwnedTensor, stats } from '../../dist/index.js';
import { kit } from './kit-lab.js';

function owned(...bytes: number[]): OwnedTensor<'uint8'> {
  const tensor = OwnedTensor.allocate([bytes.length], 'uint8');
  tensor.data.set(bytes);
  assert.equal(tensor.zeroCopy, false);
  return tensor;
}

{
  // A borrower reads and writes the user's own array.
  const tensor = owned(1, 2, 3);
  const { data } = tensor;
  assert.equal(kit.cppSpan(tensor), 6);
  kit.borrow([tensor], 0n, 9);
  assert.deepEqual([...data], [9, 9, 9]);
  assert.equal(tensor.data, data);
  assert.equal(tensor.at(1), 9);
  data[0] = 4;
  assert.equal(kit.cppSpan(tensor), 22);
  tensor.dispose();
}
{
  // A taker gets what was written, and the array is of length 0 afterwards.
  const tensor = owned(1, 2, 3);
  const { data } = tensor;
  const taken = fromDLPack(kit.make(kit.take(tensor)));
  assert.deepEqual(taken.toArray(), [1, 2, 3]);
  assert.deepEqual([tensor.consumed, data.length], [true, 0]);
  tensor.dispose();
  taken.dispose();
}
{
  // Bytes that the user moved elsewhere went with what he wrote.
  const tensor = owned(7, 7);
  structuredClone(tensor.data.buffer, { transfer: [tensor.data.buffer] });
  assert.throws(() => kit.take(tensor), { code: 'ERR_DLPACK_BUFFER' });
  assert.equal(kit.cppSpan(tensor), 14); // what the memory got before that
  assert.equal(tensor.consumed, false);
  tensor.dispose();
}
{
  // The way over a Tensor and back leaves no array behind that native code would believe.
  const tensor = owned(5, 5);
  const back = tensor.freeze().intoDLPack();
  assert.equal(kit.cppSpan(back), 10);
  back.data[0] = 1;
  assert.equal(kit.cppSpan(back), 6);
  kit.release(kit.take(back));
}
{
  // An open window is what native code sees, whatever `data` says, and the owner cannot be taken meanwhile.
  const tensor = owned(1, 2, 3);
  tensor.withView((window) => {
    window[0] = 10;
    assert.equal(kit.cppSpan(tensor), 15);
    kit.borrow([tensor], 0n, 9);
    assert.deepEqual([...window], [9, 9, 9]);
    assert.throws(() => kit.take(tensor), { code: 'ERR_DLPACK_BUFFER' });
    assert.throws(() => fromDLPack(tensor), { code: 'ERR_DLPACK_BUFFER' });
    assert.equal(tensor.consumed, false);
    window[1] = 20;
    tensor.withView((inner) => {
      assert.deepEqual([...inner], [9, 20, 9]);
      inner[2] = 30;
      assert.equal(kit.cppSpan(tensor), 59);
    });
  });
  assert.deepEqual([...tensor.data], [9, 20, 30]);
  tensor.data[0] = 1;
  assert.equal(kit.cppSpan(tensor), 51);
  kit.release(kit.take(tensor));
}
{
  // Without `data`, nothing stands in once the window has closed.
  const tensor = OwnedTensor.allocate([2], 'uint8');
  tensor.withView((window) => window.fill(3));
  tensor.fill(4);
  assert.equal(kit.cppSpan(tensor), 8);
  tensor.dispose();
}
{
  // A window over a Tensor is held natively too: Door 2, the end and the collector's count are refused by native.
  const tensor = OwnedTensor.allocate([2], 'uint8').freeze();
  tensor.withView(() => {
    assert.equal(tensor.isUnique, false);
    assert.throws(() => tensor.intoDLPack(), { code: 'ERR_DLPACK_BUFFER' });
    assert.throws(() => tensor.dispose(), { code: 'ERR_DLPACK_BUFFER' });
    kit.release(kit.take(tensor)); // one more export, as ever
  });
  assert.equal(tensor.isUnique, true);
  tensor.dispose();
}
assert.deepEqual(stats(), { tensors: 0, exports: 0, views: 0, tokens: 0, blocks: 0, bytes: 0 });
process.stdout.write('held\n');
