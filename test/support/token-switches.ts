/** Tokens under the switches of NODE_DLPACK_DEBUG, run by a process of its own. */
import { OwnedTensor, Tensor } from '../../dist/index.js';
import { unsafeView } from '../../dist/unsafe.js';

const ways: Readonly<Record<string, () => void>> = {
  transfer: () => {
    const owned = OwnedTensor.from(Float32Array.of(1, 2, 3));
    owned.data[2] = 4;
    const got = OwnedTensor.fromTransfer(owned.transfer());
    if (!got.is('float32')) throw new Error(`got ${got.dtype}`);
    got.data[0] = 5;
    console.log([...got.freeze().toTypedArray()].join(' '));
  },
  write: () => {
    const tensor = OwnedTensor.from(Float32Array.of(1, 2, 3)).freeze();
    const token = tensor.share();
    tensor.dispose();
    const view = unsafeView(Tensor.fromShared(token));
    console.log(`read ${view[2]}`);
    view[2] = 4;
    console.log('written');
  },
};

const way = ways[process.argv[2] ?? ''];
if (way === undefined) throw new Error('name a way');
way();
