/** A child of adopted.test.ts: ends while arrays of JavaScript, of Node's pool and of an addon are adopted. */
import { Tensor } from '../../dist/index.js';
import { fromImageData, fromNdarray } from '../../dist/interop/index.js';
import { adopt } from '../../dist/unsafe.js';

/** Memory behind an external ArrayBuffer, as addons hand it out. */
const external = Tensor.from(new Uint8Array(8)).view() as Uint8Array;

const alive = [new Uint8Array(8), Buffer.from('pooled!!'), external].flatMap((data) => [
  fromImageData({ data, width: 2, height: 1 }, { copy: false }),
  fromNdarray({ data, shape: [2, 2], stride: [-1, 3], offset: 4 }, { copy: false }),
  adopt(data),
]);
process.on('exit', () => console.log(alive.every((tensor) => !tensor.disposed) ? 'ok' : 'disposed'));
