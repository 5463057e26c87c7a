/** What TypeScript knows of `node-dlpack/unsafe`; see tensor.ts. */
import type { DLPackCapsule, OwnedTensor, Tensor } from '../../dist/index.js';
import { adopt, dataAddress, fromPointer, makeCapsule, takePointer, unsafeView } from '../../dist/unsafe.js';

declare const capsule: DLPackCapsule;
declare const tensor: Tensor<'float32'>;
declare const owned: OwnedTensor<'uint8'>;

const address: bigint = takePointer(capsule).address;
const made: DLPackCapsule = makeCapsule({ address, versioned: true });
const pointed: Tensor<'int16'> = fromPointer({ address, shape: [2], dtype: 'int16', release: () => undefined });
const adopted: Tensor<'uint16'> = adopt(new Uint16Array(4), { shape: [2, 2], writable: true });
const of: bigint = dataAddress(tensor) + dataAddress(owned);
unsafeView(tensor)[0] = 1;
unsafeView(tensor, { bits: true })[0] = 1;
declare const perhaps: boolean;
unsafeView(tensor, { bits: perhaps })[0] = 1;

// @ts-expect-error: an address is a bigint
makeCapsule({ address: 1, versioned: true });
// @ts-expect-error: which struct it is cannot be guessed
makeCapsule({ address });
// @ts-expect-error: memory must be given back somehow
fromPointer({ address, shape: [2], dtype: 'int16' });
// @ts-expect-error: an owner is written through data
unsafeView(owned);
// @ts-expect-error: arrays of numbers have no memory to adopt
adopt([1, 2]);

export { adopted, made, of, pointed };
