/** A child that ends, as it is told, with tokens of every kind out that nobody will claim. */
import { fromDLPack, OwnedTensor, Tensor } from '../../dist/index.js';
import { native } from '../../dist/native.js';
import { lab, makeStruct, ramp } from './lab.js';

lab.openTokens(native.addonPath);
const tensor = Tensor.from(ramp(100_000));
const foreign = fromDLPack(makeStruct({ flags: 2 }).producer());
const offered = makeStruct({ versioned: false });
const tokens = [tensor.share(), foreign.share(), OwnedTensor.allocate([100_000], 'float64').transfer()];
tokens.push(String(lab.offerToken(offered.address, false, 1, 0)));
lab.claimToken(tensor.share()); // held by a native consumer that never lets go
foreign.dispose();

const how = process.argv[2];
if (how === 'exit') process.exit(7);
if (how === 'throw') throw new Error('on purpose');
console.log(tokens.length);
