/**
 * What changes of a tensor: its state, its cached view, whether it is lent. It stands on the tensor itself, and beside
 * it once somebody froze the object (`Object.freeze`, a state library that freezes all it is given).
 *
 * Memory moves on natively before JavaScript notes it. Where the note cannot be made on the object, it must be made
 * elsewhere: a throw at that moment would lose an owner that was just born, or leave a disposed tensor that says it is
 * alive. As long as no frozen tensor has changed, reading costs one comparison for it.
 */
import type { loanKey, stateKey, TensorBase, viewKey } from './tensor-base';

type Field = typeof loanKey | typeof stateKey | typeof viewKey;

/** Objects that inherit from the frozen tensor and have the fields that changed since. */
const besides = new WeakMap<TensorBase, TensorBase>();
let anyBesides = false;

/** Where to read the fields of a tensor. */
export function fieldsOf(tensor: TensorBase): TensorBase {
  return anyBesides ? (besides.get(tensor) ?? tensor) : tensor;
}

/** Writes a field; never fails. */
export function setField<K extends Field>(tensor: TensorBase, key: K, value: TensorBase[K]): void {
  const fields = fieldsOf(tensor);
  try {
    fields[key] = value;
  } catch {
    setBeside(tensor, key, value);
  }
}

function setBeside(tensor: TensorBase, key: Field, value: unknown): void {
  const known = besides.get(tensor);
  const beside = known ?? (Object.create(tensor) as TensorBase);
  if (known === undefined) besides.set(tensor, beside);
  anyBesides = true;
  // Defined, not assigned: the frozen property that it inherits would refuse an assignment.
  Object.defineProperty(beside, key, { value, writable: true, configurable: true });
}
