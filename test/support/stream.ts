/** One slot of a ring, and what each frame goes through: written from outside, cropped, normalised, read. */
import { OwnedTensor } from '../../dist/index.js';

export interface Slot {
  /** [height, width, 3]: as the camera writes it. */
  readonly frame: OwnedTensor<'uint8'>;
  /** [1, 3, height, width - 2]: as the model reads it. */
  readonly input: OwnedTensor<'float32'>;
}

export function makeSlot(height: number, width: number): Slot {
  return {
    frame: OwnedTensor.allocate([height, width, 3], 'uint8'),
    input: OwnedTensor.allocate([1, 3, height, width - 2], 'float32'),
  };
}

const NORMALISE = { at: [0], scale: [0.5, 1, 2], offset: [1, 2, 3], axis: 0 } as const;

/** `seen` is called in the midst of it, while the frame is lent. */
export function nextFrame({ frame, input }: Slot, source: Uint8Array, seen: () => void = () => undefined): void {
  frame.data.set(source);
  frame.lend((loan) => {
    const middle = loan.slice(null, [1, -1]);
    input.set(middle.transpose([2, 0, 1]), NORMALISE);
    seen();
  });
}

export function release({ frame, input }: Slot): void {
  frame.dispose();
  input.dispose();
}
