// float32 to float16, which JavaScript before Float16Array does bit by bit.
import { requireOurs } from '../lib/peers.mjs';
import { timesFaster } from '../lib/row.mjs';
import { floats } from './cases.mjs';

const { OwnedTensor, Tensor } = requireOurs('node-dlpack');

/** Rounded to the nearest, half to even, for every float32: subnormals, infinities and NaN too. */
function halfBits(bits) {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (magnitude < 0x33000000) return sign;
  if (magnitude < 0x38800000) {
    const shift = 126 - (magnitude >>> 23);
    const mantissa = (magnitude & 0x7fffff) | 0x800000;
    const half = 1 << (shift - 1);
    return sign | ((mantissa + half - 1 + ((mantissa >>> shift) & 1)) >>> shift);
  }
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}

function byBits(target, source) {
  for (let i = 0; i < target.length; i++) target[i] = halfBits(source[i]);
}

/** Base and shift by sign and exponent, as many a package has them; what it cuts off it does not round. */
function makeTables() {
  const base = new Uint32Array(512);
  const shift = new Uint32Array(512);
  for (let index = 0; index < 512; index++) {
    const [sign, exponent] = [(index & 0x100) << 7, (index & 0xff) - 127];
    if (exponent < -24) [base[index], shift[index]] = [sign, 24];
    else if (exponent < -14) [base[index], shift[index]] = [sign | (0x400 >> (-exponent - 14)), -exponent - 1];
    else if (exponent <= 15) [base[index], shift[index]] = [sign | ((exponent + 15) << 10), 13];
    else [base[index], shift[index]] = [sign | 0x7c00, exponent < 128 ? 24 : 13];
  }
  return { base, shift };
}

function byTables(target, source, { base, shift }) {
  for (let i = 0; i < target.length; i++) {
    const bits = source[i];
    const index = (bits >>> 23) & 0x1ff;
    target[i] = base[index] + ((bits & 0x7fffff) >> shift[index]);
  }
}

function convert() {
  const count = 2 ** 20;
  const data = floats(count).map(Math.round); // exact in float16: the tables cut off what they should round
  const bits = new Uint32Array(data.buffer);
  const tensor = Tensor.from(data);
  const owned = OwnedTensor.allocate([count], 'float16');
  const [rounded, cut] = [0, 1].map(() => new Uint16Array(count));
  const tables = makeTables();
  const ways = {
    ours: { run: () => owned.set(tensor), result: () => owned.bits },
    'loop over bits': { run: () => byBits(rounded, bits), result: () => rounded },
    'loop by tables, without rounding': {
      run: () => byTables(cut, bits, tables),
      result: () => cut,
    },
  };
  if (typeof Float16Array === 'function') {
    const halves = new Float16Array(count);
    ways['Float16Array.set'] = { run: () => halves.set(data), result: () => new Uint16Array(halves.buffer) };
  }
  return {
    what: '1,048,576 float32 to float16',
    must: timesFaster('best', 10),
    remark: typeof Float16Array === 'function' ? undefined : 'this Node.js has no Float16Array',
    ways,
    end: () => [tensor, owned].forEach((each) => each.dispose()),
  };
}

export const halves = [convert];
