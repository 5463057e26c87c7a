// The text map: written by the model, moved out through Door 2, worked on by C in place, and back again for the next
// picture. One block of memory all the way.
import { OwnedTensor, VERSIONED, addon, dataAddress, fromDLPack } from './dlpack.mjs';
import { HandOverError } from './errors.mjs';
import { IS_COPIED, WRITABLE } from './hand-overs.mjs';

// Text is what the model gives more than 0.3; a line is one when its mean is at least 0.6 and it is 3 pixels high. The
// model draws a line's core only: its edges move outwards by 1.8 * area / perimeter.
const THRESHOLD = 0.3;
const LEAST_SCORE = 0.6;
const LEAST_SIZE = 3;
const EXPAND = 1.8;

export class TextMap {
  #owner;

  constructor(height, width) {
    this.#owner = OwnedTensor.allocate([height, width], 'float32');
  }

  /** The OwnedTensor; another object after each journey, over the same memory. */
  get owner() {
    return this.#owner;
  }

  /** Lines as { left, right, top, height, slope, score }, in pixels of the map (see ../boxes-addon/lines.h). */
  findLines(handOvers) {
    // What is frozen may be looked at and shared; this one was not, so that it may be moved out for good.
    const moved = this.#owner.freeze().intoDLPack();
    const what = `float32[${moved.shape}]`;
    const given = dataAddress(moved);
    const found = addon.findLines(moved.__dlpack__(VERSIONED), THRESHOLD, LEAST_SCORE, LEAST_SIZE, EXPAND);
    const back = fromDLPack(found.map);
    const lines = fromDLPack(found.lines);
    const rows = lines.toArray();
    this.#recordJourney(what, given, found, back, handOvers);
    recordLines(lines, found, handOvers);
    checkLabels(back, rows);
    lines.dispose();
    // Nobody else holds the memory, so it may be written again: by the model, for the next picture.
    this.#owner = back.intoDLPack();
    return rows.map(([left, right, top, height, slope, score]) => ({ left, right, top, height, slope, score }));
  }

  #recordJourney(what, given, found, back, handOvers) {
    const bytes = back.byteLength;
    handOvers.record('text map -> C addon', {
      what,
      given,
      received: found.address,
      flags: `${handOvers.expectFlags('text map -> C addon', found.flags, IS_COPIED)} (Door 2)`,
      bytes,
      again: () => this.#thereAndBack().there,
      sample: () => this.#owner.data.slice(),
    });
    handOvers.record('text map <- C addon', {
      what,
      given: found.address,
      received: dataAddress(back),
      flags: 'the same struct, in a new capsule',
      bytes,
      again: () => this.#thereAndBack().back,
      sample: () => this.#owner.data.slice(),
    });
  }

  /** The same two hand-overs with nothing done in between, each with its milliseconds. */
  #thereAndBack() {
    const start = performance.now();
    const { capsule } = addon.handBack(this.#owner.freeze().intoDLPack().__dlpack__(VERSIONED));
    const turned = performance.now();
    this.#owner = fromDLPack(capsule).intoDLPack();
    return { there: turned - start, back: performance.now() - turned };
  }

  dispose() {
    this.#owner.dispose();
  }
}

function recordLines(lines, found, handOvers) {
  const name = 'lines found <- C addon';
  handOvers.record(name, {
    what: `float32[${lines.shape}]`,
    given: found.linesAddress,
    received: dataAddress(lines),
    flags: `${handOvers.expectFlags(name, found.linesFlags, WRITABLE)} (memory of C)`,
    bytes: lines.byteLength,
  });
}

/** C wrote into the map itself: the pixels of line n are -n in what came back. */
function checkLabels(map, rows) {
  const written = map.withView((pixels) => rows.every(([, , , , , , label]) => pixels.includes(-label)));
  if (!written) throw new HandOverError('text map <- C addon: what C wrote is not in the map that came back');
}
