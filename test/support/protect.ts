/**
 * What NODE_DLPACK_DEBUG=protect makes of memory, run by a process of its own: `write` writes through a read-only view,
 * which must end it at that line; `owner` and `moved` write where writing is right.
 */
import { fromDLPack, OwnedTensor, scope } from '../../dist/index.js';
import { unsafeView } from '../../dist/unsafe.js';

const ways: Readonly<Record<string, () => void>> = {
  write: () => {
    const tensor = OwnedTensor.from(Float32Array.of(1, 2, 3)).freeze();
    const view = unsafeView(tensor);
    console.log(`read ${view[2]}`);
    view[2] = 4;
    console.log('written');
  },
  owner: () => {
    const owned = OwnedTensor.from(Float32Array.of(1, 2, 3));
    owned.data[2] = 4;
    const tensor = owned.freeze();
    const moved = tensor.intoDLPack();
    moved.data[0] = 5;
    moved.lend((loan) => (loan.view({ writable: true })[1] = 6), { writable: true });
    console.log(scope(() => [...fromDLPack(moved).toTypedArray()].join(' ')));
  },
};

const way = ways[process.argv[2] ?? ''];
if (way === undefined) throw new Error('name a way');
way();
