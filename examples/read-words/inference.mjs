// A run of a model on memory that is ours on both ends: it reads one tensor of ours and writes another one.
import ort from 'onnxruntime-node';
import { addon, dataAddress } from './dlpack.mjs';
import { HandOverError } from './errors.mjs';

const RESULT_OBJECT =
  'the model writes straight into our memory; onnxruntime-node then copies every output once more, into a result ' +
  'object of its own, which is dropped unread';

/**
 * `from` and `into` are { name, owner, view, dims }: the hand-over's name, a function that gives the OwnedTensor, a
 * float32 view of it from `withView`, and the dims that the model shall see. Both views must stay open until the
 * promise settles, which is what `withView` is for: the run goes on reading and writing whatever becomes of the arrays.
 */
export async function runInPlace({ session, input, output }, from, into, handOvers) {
  // Wherever the model does not write, a NaN stays.
  into.view.fill(NaN);
  const running = session.run({ [input]: tensorOver(from) }, { [output]: tensorOver(into) });
  for (const { name, owner } of [from, into]) mustRefuse(name, () => owner().dispose());
  // The result object that the promise brings is not looked at: see RESULT_OBJECT.
  await running;
  if (into.view.includes(NaN)) throw new HandOverError(`${into.name}: the model wrote elsewhere`);
  record(from, handOvers);
  record(into, handOvers, RESULT_OBJECT);
}

const tensorOver = ({ view, dims }) => new ort.Tensor('float32', view, dims);

function mustRefuse(name, release) {
  try {
    release();
  } catch (error) {
    if (error.code === 'ERR_DLPACK_BUFFER') return;
    throw error;
  }
  throw new HandOverError(`${name}: the memory could be released while the model used it`);
}

function record({ name, owner, view, dims }, handOvers, note) {
  const { length, byteLength } = view;
  handOvers.record(name, {
    what: `float32[${dims}]`,
    given: dataAddress(owner()),
    // Node-API's answer for the very array that onnxruntime-node's native side is given.
    received: addon.addressOf(tensorOver({ view, dims }).data),
    flags: 'view, held until the run ends',
    bytes: byteLength,
    again: () => owner().withView((once) => void tensorOver({ view: once.subarray(0, length), dims })),
    sample: () => owner().data.slice(0, length),
    note,
  });
}
