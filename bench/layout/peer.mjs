// The Python processes that follow the recipes of rows.mjs, one recipe at a time, and what they need.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { root, run, step } from '../../scripts/steps.mjs';
import { PythonPeer } from '../lib/python-peer.mjs';

const OBJECTS = 'build/Release/obj.target/node_dlpack/src-native/core';
const LIBRARY = '.cache/bench-layout.so';

/** The addon's own objects of the core as a library for Python; undefined where they are not to be found. */
export function buildLibrary() {
  const objects = path.join(root, OBJECTS);
  if (!existsSync(objects)) return undefined;
  step(
    'core as a library',
    { inputs: ['bench/layout/library.cc', 'src-native/core', 'include'], output: LIBRARY },
    () => {
      const linked = process.platform === 'linux' ? ['-ldl'] : [];
      const files = readdirSync(objects).filter((name) => name.endsWith('.o'));
      const flags = '-std=c++17 -O3 -fno-exceptions -fno-rtti -shared -fPIC -fvisibility=hidden -pthread'.split(' ');
      const sources = ['bench/layout/library.cc', ...files.map((name) => path.join(objects, name))];
      run(process.env.CXX ?? 'c++', [...flags, '-Iinclude', '-Isrc-native/core', ...sources, '-o', LIBRARY, ...linked]);
    },
  );
  return path.join(root, LIBRARY);
}

const SETUP = `
import sys
folder = ${JSON.stringify(import.meta.dirname)}
if folder not in sys.path: sys.path.insert(0, folder)
from numpy import copyto
from peers import has_avx2, np, row
`;

export class LayoutPeer extends PythonPeer {
  #open;

  /** open: the method of Python's `row` that begins a recipe for this peer. */
  constructor(python, open) {
    super(python);
    this.#open = open;
  }

  /** Begins a recipe; what was made for the one before is gone. */
  open(recipe, library) {
    // A JSON text of a JSON text is a literal in Python too.
    const given = [recipe, ...(library === undefined ? [] : [library])];
    const literals = given.map((value) => JSON.stringify(typeof value === 'string' ? value : JSON.stringify(value)));
    return this.ask(`row.${this.#open}(${literals.join(', ')})`);
  }

  ask(expression) {
    return this.evaluate(SETUP, expression);
  }

  /** A contestant: what a statement about the recipe takes. */
  time(statement) {
    return this.statement(SETUP, statement);
  }
}
