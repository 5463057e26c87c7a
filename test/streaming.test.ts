/**
 * Frames for ever: once a ring of tensors has been made, a frame takes no memory of tensors. Without this, the one thing
 * that preallocation is for would be lost by a hidden copy, and nobody would see it but by the time it takes.
 */
import { expect, test } from '@jest/globals';
import { stats, type OwnedTensor } from '../dist/index.js';
import { dataAddress } from '../dist/unsafe.js';
import { runChild } from './support/children.js';
import { expectCountersAtZero } from './support/counters.js';
import { SANITIZED } from './support/sanitized.js';
import { makeSlot, nextFrame, release } from './support/stream.js';

expectCountersAtZero();

const FRAMES = 1000;

test('a ring of tensors is all that a thousand frames need: no counter moves, no address changes', () => {
  const ring = [makeSlot(12, 20), makeSlot(12, 20), makeSlot(12, 20)];
  const views = ring.map(({ input }) => input.data);
  const source = new Uint8Array(12 * 20 * 3);
  for (const slot of ring) nextFrame(slot, source);
  const owners: readonly OwnedTensor[] = ring.flatMap(({ frame, input }) => [frame, input]);
  const addresses = owners.map(dataAddress);
  const before = stats();

  const wrong: unknown[] = [];
  for (let frame = 0; frame < FRAMES; frame += 1) {
    const index = frame % ring.length;
    const slot = ring[index];
    if (slot === undefined) throw new Error('no slot');
    source.fill(frame % 256);
    let during = before;
    nextFrame(slot, source, () => (during = stats()));
    // The loan, its slice and the slice's transpose: objects, no memory.
    const { blocks, bytes, views: open, tensors } = during;
    if (blocks !== before.blocks || bytes !== before.bytes || open !== before.views || tensors !== before.tensors + 3)
      wrong.push({ frame, during });
    const expected = (frame % 256) * 2 + 3;
    if (slot.input.at(0, 2, 11, 17) !== expected || views[index]?.at(-1) !== expected) wrong.push({ frame, expected });
    if (JSON.stringify(stats()) !== JSON.stringify(before)) wrong.push({ frame, after: stats() });
  }

  expect(wrong).toEqual([]);
  expect(owners.map(dataAddress)).toEqual(addresses);
  ring.forEach(release);
});

test('an asynchronous writer and reader leave nothing either', async () => {
  const slot = makeSlot(4, 6);
  const before = stats();
  for (let frame = 0; frame < 100; frame += 1) {
    await slot.frame.withView(async (bytes) => {
      await Promise.resolve();
      bytes.fill(frame);
    });
    const last = await slot.frame.lend(async (loan) => {
      await Promise.resolve();
      return loan.slice(-1, -1).at(2);
    });
    expect(last).toBe(frame);
    // Each view was an ArrayBuffer of its own; it is gone with its call.
    expect(stats()).toEqual(before);
  }
  release(slot);
});

// Sanitizers keep what was freed for a while, and shadow everything.
(SANITIZED ? test.skip : test)(
  'no frame is copied on the way: the peak of the process stays where it was',
  async () => {
    const { code, signal, output } = await runChild('streaming', []);
    expect({ code, signal, output }).toEqual({ code: 0, signal: null, output: expect.stringMatching(/^\d+$/) });
    // A copy of the frame alone would be 32 MiB.
    expect(Number(output)).toBeLessThan(16 * 2 ** 20);
  },
);
