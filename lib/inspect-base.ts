/** What `util.inspect` and `console.log` are told of a tensor, whatever became of it. */
import type { InspectOptionsStylized } from 'node:util';
import { CPU, formatDevice, sameDevice } from './device';
import { inspectTensor } from './inspect';
import type { Metadata } from './metadata';
import { TensorFlag } from './native';
import { readElement } from './reading';
import { hasMetadata, metadataOf, type TensorBase } from './tensor-base';

/** The method's name that Node looks for; registered, so it is the same in every realm. */
export const inspectKey: unique symbol = Symbol.for('nodejs.util.inspect.custom');

export function inspectBase(
  tensor: TensorBase,
  className: 'Tensor' | 'OwnedTensor',
  depth: unknown,
  options: unknown,
): string {
  // An object that was only given the prototype: whoever looks at it is mostly looking for just that.
  if (!hasMetadata(tensor)) return `${className} {}`;
  const metadata = metadataOf(tensor);
  const words = className === 'Tensor' ? flagWords(metadata) : [];
  const onDevice = sameDevice(metadata.device, CPU) ? undefined : formatDevice(metadata.device);
  const opaque = metadata.has(TensorFlag.Opaque);
  return inspectTensor(
    {
      className,
      dtype: metadata.dtype.name,
      shape: metadata.shape,
      flags: onDevice === undefined || opaque ? words : [...words, onDevice],
      noValues: whyNoValues(tensor, opaque ? onDevice : undefined),
      read: (index) => readElement(tensor, index),
    },
    depth,
    isStylized(options) ? options : { stylize: (text) => text },
  );
}

function flagWords(metadata: Metadata): string[] {
  const words = [metadata.readOnly ? 'read-only' : 'writable'];
  return metadata.has(TensorFlag.Loan) ? [...words, 'loan'] : words;
}

function whyNoValues(tensor: TensorBase, device: string | undefined): string | undefined {
  if (tensor.consumed) return 'consumed';
  if (tensor.disposed) return 'disposed';
  return device === undefined ? undefined : `on ${device}`;
}

/** Does `util.inspect` call, rather than somebody who passes what he likes? */
function isStylized(options: unknown): options is InspectOptionsStylized {
  return (
    typeof options === 'object' && options !== null && 'stylize' in options && typeof options.stylize === 'function'
  );
}
