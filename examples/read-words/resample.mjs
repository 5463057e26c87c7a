// A picture, or a slice of one, at another size: C reads and writes in place.
import { VERSIONED, addon, dataAddress } from './dlpack.mjs';
import { READ_ONLY, WRITABLE } from './hand-overs.mjs';

/**
 * Writes a source ([height, width, 3] uint8, any strides) into the first `height` rows and `width` columns of `target`
 * (an OwnedTensor). The source leaves through Door 1: read-only, and free to be shared. The target is lent: writable,
 * but only for as long as C works on it.
 *
 * `open` makes the source; it is disposed here. `name` names it in the ledger.
 */
export function resample(name, open, target, { width, height }, { left, top, stepX, stepY, slope }, handOvers) {
  const source = open();
  const partOf = (loan) => loan.slice([0, height], [0, width]);
  const lendPart = (use) => target.lend((loan) => use(partOf(loan)), { writable: true });
  lendPart((part) => {
    const seen = addon.resample(
      source.__dlpack__(VERSIONED),
      part.__dlpack__(VERSIONED),
      left,
      top,
      stepX,
      stepY,
      slope,
    );
    handOvers.record(`${name} -> C addon`, {
      what: describe(source),
      given: dataAddress(source),
      received: seen.source.address,
      flags: `${handOvers.expectFlags(`${name} -> C addon`, seen.source.flags, READ_ONLY)} (Door 1)`,
      bytes: source.size,
      again: () => {
        const once = open();
        addon.inspect(once.__dlpack__(VERSIONED));
        once.dispose();
      },
      sample: () => bytesOf(open()),
    });
    handOvers.record(`resized ${name} <- C addon`, {
      what: describe(part),
      given: dataAddress(part),
      received: seen.target.address,
      flags: `${handOvers.expectFlags(`resized ${name} <- C addon`, seen.target.flags, WRITABLE)} (lent writable)`,
      bytes: part.size,
      again: () => lendPart((once) => void addon.inspect(once.__dlpack__(VERSIONED))),
      sample: () => target.lend((loan) => bytesOf(partOf(loan))),
    });
  });
  source.dispose();
}

const describe = ({ dtype, shape, strides }) => `${dtype}[${shape}] strides [${strides}]`;

function bytesOf(tensor) {
  const bytes = tensor.toTypedArray();
  tensor.dispose();
  return bytes;
}
