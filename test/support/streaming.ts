/**
 * A child process of streaming.test.ts: frames so large that a single copy of one would show in the peak of the resident
 * set. Everything is made and touched before the first reading of the peak; prints by how many bytes it grew then.
 */
import { makeSlot, nextFrame, release } from './stream.js';

const [HEIGHT, WIDTH] = [4096, 2730];
const FRAMES = 4;

/** In bytes. */
const peak = (): number => process.resourceUsage().maxRSS * 1024;

const slot = makeSlot(HEIGHT, WIDTH);
for (const tensor of [slot.frame, slot.input]) tensor.fill(1);
const source = new Uint8Array(slot.frame.byteLength).fill(7);

const before = peak();
for (let frame = 0; frame < FRAMES; frame += 1) nextFrame(slot, source);
process.stdout.write(String(peak() - before));
release(slot);
