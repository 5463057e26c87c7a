/**
 * A child in which memory runs out: for each operation of the public API, every request for memory that the addon makes on
 * its way is refused in turn. Prints what each refusal came to, one JSON object for each operation.
 */
import { inspect } from 'node:util';
import {
  capsuleName,
  fromDLPack,
  OwnedTensor,
  releaseCapsule,
  revokeToken,
  scope,
  stats,
  Tensor,
} from '../../dist/index.js';
import { adopt, fromPointer, makeCapsule, takePointer, unsafeView } from '../../dist/unsafe.js';
import { collect } from './collect.js';
import { lab } from './lab-addon.js';
import { makeStruct, ramp } from './lab.js';

export interface MemoryFailure {
  operation: string;
  /** The requests that were refused, each in a try of its own. */
  refusals: number;
  /** What was wrong about one of the tries: nothing, if all is well. */
  wrong: string[];
  /** What came of refusals that were no error, since the operation went on without the memory. */
  survived: number;
}

interface Operation {
  /** What the operation works on; made before memory runs out. */
  prepare?: () => unknown;
  run: (subject: never) => unknown;
  /** May the operation do without the memory it was refused? */
  survives?: boolean;
  /** Is what it was given kept for later? */
  keeps?: boolean;
}

const SIX_AXES = [1, 2, 1, 2, 1, 2] as const;
const LARGE = 2 ** 26;

function ending(value: unknown): void {
  // A token that was claimed is gone.
  if (typeof value === 'string') {
    if (stats().tokens > 0) revokeToken(value);
  } else if (value instanceof Tensor || value instanceof OwnedTensor) value.dispose();
  else if (typeof value === 'object' && value !== null && capsuleName(value) !== undefined) releaseCapsule(value);
}

const tensorOf = (count: number): Tensor<'float32'> => Tensor.from(ramp(count));
const deep = (): Tensor<'float32'> => Tensor.from(ramp(8), { shape: SIX_AXES });
const deepOwned = (): OwnedTensor<'float32'> => OwnedTensor.from(ramp(8), { shape: SIX_AXES });

/** The types of `run` and `prepare` are those of each other; outside only their names are known. */
function operation<Subject>(
  prepare: () => Subject,
  run: (subject: Subject) => unknown,
  how: { survives?: boolean; keeps?: boolean } = {},
): Operation {
  return { prepare, run, ...how };
}

/** More than ever before at one time, and more again at the next call. */
let handles = 1024;

const operations: Readonly<Record<string, Operation>> = {
  'OwnedTensor.allocate': { run: () => OwnedTensor.allocate([3], 'float32') },
  'OwnedTensor.allocate, large': { run: () => OwnedTensor.allocate([LARGE], 'uint8') },
  'OwnedTensor.allocate, many axes': { run: () => OwnedTensor.allocate(SIX_AXES, 'float32') },
  'OwnedTensor.from': { run: () => OwnedTensor.from(ramp(4)) },
  'Tensor.from': { run: () => tensorOf(4) },
  'Tensor.from, many axes': { run: deep },
  'Tensor.from, nested arrays': {
    run: () =>
      Tensor.from([
        [1, 2],
        [3, 4],
      ]),
  },
  slice: operation(deep, (tensor) => tensor.slice(0)),
  transpose: operation(deep, (tensor) => tensor.transpose()),
  reshape: operation(deep, (tensor) => tensor.reshape([2, 1, 2, 1, 2])),
  broadcastTo: operation(deep, (tensor) => tensor.broadcastTo([3, 2, 1, 2, 1, 2])),
  squeeze: operation(deep, (tensor) => tensor.squeeze(0)),
  expandDims: operation(deep, (tensor) => tensor.expandDims(0)),
  flip: operation(deep, (tensor) => tensor.flip(1)),
  contiguous: operation(
    () => deep().transpose(),
    (tensor) => tensor.contiguous(),
  ),
  copy: operation(deep, (tensor) => tensor.copy()),
  to: operation(deep, (tensor) => tensor.to('int8', { scale: 2 })),
  'copy, transposed and large': operation(
    () => Tensor.from(new Uint8Array(2 ** 24), { shape: [2 ** 12, 2 ** 12] }).transpose(),
    (tensor) => tensor.copy(),
    { survives: true },
  ),
  'set, overlapping': operation(
    () => {
      const owned = OwnedTensor.from(ramp(8));
      void owned.data; // made here, so that the call makes no view
      return owned;
    },
    (owned) => owned.set(owned.data.subarray(1), { at: [[0, 7]] }),
  ),
  'set, nested arrays': operation(deepOwned, (owned) => owned.set([1, 2], { at: [0, 0, 0, 0, 0] })),
  view: operation(
    () => tensorOf(4),
    (tensor) => tensor.view(),
  ),
  withView: operation(
    () => tensorOf(4),
    (tensor) => tensor.withView((view) => view.length),
  ),
  data: operation(
    () => OwnedTensor.from(ramp(4)),
    (owned) => owned.data,
  ),
  lend: operation(deepOwned, (owned) => owned.lend((loan) => loan.size)),
  strided: operation(
    () => deep().transpose(),
    (tensor) => tensor.strided(),
  ),
  toTypedArray: operation(
    () => deep().transpose(),
    (tensor) => tensor.toTypedArray(),
  ),
  toArray: operation(
    () => deep().transpose(),
    (tensor) => tensor.toArray(),
  ),
  freeze: operation(deepOwned, (owned) => owned.freeze()),
  intoDLPack: operation(deep, (tensor) => tensor.intoDLPack()),
  '__dlpack__, versioned': operation(deep, (tensor) => tensor.__dlpack__({ max_version: [1, 3] })),
  '__dlpack__, legacy': operation(deep, (tensor) => tensor.__dlpack__()),
  '__dlpack__, copy': operation(deep, (tensor) => tensor.__dlpack__({ max_version: [1, 3], copy: true })),
  'OwnedTensor.__dlpack__': operation(deepOwned, (owned) => owned.__dlpack__({ max_version: [1, 3] })),
  'fromDLPack, our tensor': operation(deep, (tensor) => fromDLPack(tensor)),
  'fromDLPack, our tensor as a copy': operation(deep, (tensor) => fromDLPack(tensor, { copy: true })),
  'fromDLPack, our capsule': operation(
    () => deep().__dlpack__({ max_version: [1, 3] }),
    (capsule) => fromDLPack(capsule),
  ),
  'fromDLPack, a struct from outside': operation(
    () => makeStruct({ shape: [...SIX_AXES] }).capsule(),
    (capsule) => fromDLPack(capsule),
  ),
  'fromDLPack, a misaligned struct': operation(
    () => makeStruct({ misalign: 1 }).capsule(),
    (capsule) => fromDLPack(capsule),
  ),
  share: operation(deep, (tensor) => tensor.share()),
  fromShared: operation(
    () => deep().share(),
    (token) => Tensor.fromShared(token),
  ),
  transfer: operation(deepOwned, (owned) => owned.transfer()),
  fromTransfer: operation(
    () => deepOwned().transfer(),
    (token) => OwnedTensor.fromTransfer(token),
  ),
  // Few axes need no memory of their own, so what is asked for is room for handles.
  'more handles than there is room for': operation(
    () => tensorOf(4),
    (tensor) => scope(() => void Array.from({ length: (handles += 1024) }, () => tensor.slice(0))),
    { keeps: true },
  ),
  scope: { run: () => scope(() => deep().transpose()) },
  makeCapsule: operation(
    () => takePointer(deep().__dlpack__({ max_version: [1, 3] })),
    (pointer) => makeCapsule(pointer),
  ),
  fromPointer: operation(
    () => lab.mapMemory(4096),
    (address) =>
      fromPointer({ address, shape: SIX_AXES, dtype: 'float32', release: () => lab.unmapMemory(address, 4096) }),
  ),
  unsafeView: operation(
    () => tensorOf(4),
    (tensor) => unsafeView(tensor),
  ),
  adopt: { run: () => adopt(ramp(4)) },
};

interface Holdings {
  counters: string;
  live: number;
}

/** What is alive after collections: as many as it takes to come back to `before`, within reason. */
async function settled(before?: Holdings): Promise<Holdings> {
  for (let turn = 0; ; turn += 1) {
    await collect(2);
    const now = { counters: JSON.stringify(stats()), live: lab.memoryRefused().live };
    if (turn === 5 || before === undefined || (now.counters === before.counters && now.live === before.live))
      return now;
  }
}

/** One try; the answer is what was wrong about it. */
function attempt(
  { run }: Operation,
  subject: unknown,
  after: number,
): { refused: boolean; error: unknown; value: unknown } {
  let value: unknown;
  let error: unknown;
  lab.refuseMemory(after);
  try {
    value = run(subject as never);
  } catch (thrown) {
    error = thrown;
  }
  const { refused } = lab.memoryRefused();
  lab.refuseMemory(-1);
  return { refused, error, value };
}

function judge(what: string, survives: boolean, error: unknown): string | undefined {
  if (error === undefined) return survives ? undefined : `${what} was no error`;
  if (!(error instanceof RangeError)) return `${what} was ${inspect(error)}`;
  const code: unknown = Reflect.get(error, 'code');
  return code === 'ERR_DLPACK_MEMORY' && error.message.length > 20
    ? undefined
    : `${what} was ${String(code)}: ${error.message}`;
}

/** One try, whole. Answers false when nothing was refused: then all requests have had their turn. */
function refuseOnce(result: MemoryFailure, one: Operation, after: number): boolean {
  const { operation: name, wrong } = result;
  const { prepare = () => undefined, survives = false } = one;
  const subject = prepare();
  const counters = JSON.stringify(stats());
  const { refused, error, value } = attempt(one, subject, after);
  if (refused) {
    result.refusals += 1;
    const complaint = judge(`refusal ${after}`, survives, error);
    if (complaint !== undefined) wrong.push(complaint);
    if (error === undefined) result.survived += 1;
    else if (!consumes(name)) {
      const now = JSON.stringify(stats());
      if (now !== counters) wrong.push(`refusal ${after} moved the counters from ${counters} to ${now}`);
      // The subject is as it was: the same call works now.
      const again = attempt(one, subject, -1);
      if (again.error !== undefined) wrong.push(`after refusal ${after}: ${inspect(again.error)}`);
      ending(again.value);
    }
  } else if (error !== undefined) {
    wrong.push(`without a refusal: ${inspect(error)}`);
  }
  ending(value);
  ending(subject);
  return refused;
}

async function examine(name: string, one: Operation): Promise<MemoryFailure> {
  const result: MemoryFailure = { operation: name, refusals: 0, wrong: [], survived: 0 };
  refuseOnce({ ...result }, one, -1); // once in peace: what is made at the first call and kept is there
  const before = await settled();
  for (let after = 0; refuseOnce(result, one, after); after += 1);
  const after = await settled(before);
  if (after.counters !== before.counters) result.wrong.push(`left ${after.counters}, had ${before.counters}`);
  if (after.live !== before.live && one.keeps !== true)
    result.wrong.push(`left ${after.live} pieces of memory, had ${before.live}`);
  return result;
}

/** An import takes first: its capsule is used, whatever comes of it. */
const consumes = (name: string): boolean => name.startsWith('fromDLPack, ') && !name.includes('tensor');

async function main(): Promise<void> {
  if (!lab.refuseMemory(-1)) throw new Error('failing_allocator is not loaded');
  for (const [name, one] of Object.entries(operations)) console.log(JSON.stringify(await examine(name, one)));
}

void main();
