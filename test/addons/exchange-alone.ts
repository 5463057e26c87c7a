/**
 * Run by itself, with the files of two addons: a tensor of the first is taken by the second. The struct laboratory, a
 * third addon that knows the headers alone, says where the tensor lies before it is taken. Prints what it saw.
 */
import { lab } from '../support/lab-addon.js';
import { load } from './example-addons.js';

export interface Exchange {
  libraryLoaded: boolean;
  sums: number[];
  sameAddress: boolean;
  /** How many matrices of the first addon somebody holds. */
  held: { before: number; made: number; taken: number; abandoned: number };
  /** The code of the error that a second taking gets. */
  usedTwice: unknown;
}

interface Producer {
  __dlpack__(options: object): object;
}

function isProducer(value: object): value is Producer {
  return '__dlpack__' in value;
}

/** Where the elements of an unused capsule lie: of a versioned struct, whose DLTensor begins at 32. */
function dataOf(capsule: object): bigint {
  const seen = lab.lookIntoCapsule(capsule);
  if (seen === undefined || !seen.versioned || seen.used) throw new Error('no unused capsule of a versioned struct');
  const bytes = lab.peek(seen.address + 32n, 8);
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
}

async function settle(done: () => boolean): Promise<void> {
  for (let turn = 0; turn < 40 && !done(); turn += 1) {
    globalThis.gc?.();
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

function codeOf(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return Reflect.get(Object(error), 'code');
  }
}

/** Objects are made in a function of their own, so that nothing of them is left on the stack. */
function exchange(fromFile: string, toFile: string): Omit<Exchange, 'held' | 'libraryLoaded'> & { made: number } {
  const from = load(fromFile);
  const to = load(toFile);
  const tensor = from.makeTensor();
  const capsule = isProducer(tensor) ? tensor.__dlpack__({ max_version: [1, 3] }) : tensor;
  const made = from.held();
  const address = dataOf(capsule);
  const first = to.takeTensor(capsule);
  const second = to.takeTensor(isProducer(tensor) ? tensor : from.makeTensor());
  return {
    sums: [first.sum, second.sum],
    sameAddress: first.address === address,
    made,
    usedTwice: codeOf(() => to.takeTensor(capsule)),
  };
}

async function main([fromFile = '', toFile = '']: string[]): Promise<void> {
  const from = load(fromFile);
  const before = from.held();
  const { made, ...seen } = exchange(fromFile, toFile);
  await settle(() => from.held() === 0);
  const taken = from.held();
  from.makeTensor();
  await settle(() => from.held() === 0);
  const libraryLoaded = Object.keys(require.cache).some((file) => file.endsWith('node_dlpack.node'));
  const result: Exchange = { libraryLoaded, ...seen, held: { before, made, taken, abandoned: from.held() } };
  process.stdout.write(JSON.stringify(result));
}

if (require.main === module) void main(process.argv.slice(2));
