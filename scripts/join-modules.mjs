// The modules that every program loads, in one file: dist/joined.js. Node needs as long to find, read and wrap fifty small files as to start, and almost none
// of that for one. What TypeScript wrote stands in it unchanged, each module in a function of its own that runs when it is first asked for, as `require` would
// have it. That is why no bundler does this: one for ECMAScript modules would take the modules apart, one for CommonJS would give each entry a copy of its own.
//
// Joined is what the root imports, however deep; what a module asks for while it works (`require('./x')` in a function) stays a file, and is read when it is
// needed. The file of a joined module stays too, as one line, since tests and the other entries name it; its instance is the one in dist/joined.js. dist/index.js
// remains a module of its own: only there does Node see the names that ECMAScript modules can import.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './steps.mjs';

/** Where TypeScript writes JavaScript; its declarations go to dist at once. */
export const compiled = '.cache/lib';
const dist = path.join(root, 'dist');
const JOINED = 'joined';

/** What TypeScript makes of an import of a file beside the importing one, or above it. One written as a call of require has other quotes. */
const IMPORT = /require\("(\.\.?\/[\w./-]+)"\)/g;

const textOf = (name) => readFileSync(path.join(root, compiled, `${name}.js`), 'utf8');

/** Above each module, and where it ends. */
const head = (name) => `  // ${name}.js\n  '${name}': (function (exports) {\n`;
const END = '\n  }),\n';

/** The module `name` itself and all that it imports, in the order in which they are first asked for. */
function reached(name, found = new Map()) {
  if (found.has(name)) return found;
  const text = textOf(name);
  found.set(name, text);
  for (const [, file] of text.matchAll(IMPORT)) reached(path.posix.normalize(file), found);
  return found;
}

/** Imports of joined modules lead to the one file. */
function redirect(text, folder, joined) {
  return text.replaceAll(IMPORT, (whole, file) => {
    const name = path.posix.join(folder, file);
    return joined.has(name)
      ? `require("${path.posix.relative(folder, '').padEnd(1, '.')}/${JOINED}")("${name}")`
      : whole;
  });
}

export function joinModules() {
  const modules = reached('index');
  modules.delete('index');
  const sources = [...modules].map(
    ([name, text]) =>
      head(name) + text.replaceAll(IMPORT, (_, file) => `load("${path.posix.normalize(file)}")`).trimEnd() + END,
  );
  for (const entry of readdirSync(path.join(root, compiled), { recursive: true })) {
    const file = entry.replaceAll('\\', '/');
    if (!file.endsWith('.js')) continue;
    const name = file.slice(0, -'.js'.length);
    const text = modules.has(name)
      ? `"use strict";\nmodule.exports = require("./${JOINED}")("${name}");\n`
      : redirect(textOf(name), path.posix.dirname(file), modules);
    mkdirSync(path.dirname(path.join(dist, file)), { recursive: true });
    // The command is started as a file.
    writeFileSync(path.join(dist, file), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
  }
  writeFileSync(
    path.join(dist, `${JOINED}.js`),
    `"use strict";
// Made by scripts/join-modules.mjs of what TypeScript wrote.
const loaded = { __proto__: null };
const sources = { __proto__: null,
${sources.join('')}};
/** A module that throws is loaded anew when it is asked for again, as by require. */
function load(name) {
    if (loaded[name] !== undefined)
        return loaded[name];
    const exports = (loaded[name] = {});
    try {
        sources[name](exports);
    }
    catch (error) {
        delete loaded[name];
        throw error;
    }
    return exports;
}
module.exports = load;
`,
  );
}

/** Where a joined module stands in dist/joined.js: the file's text, and the module's from `begin` to `end`. */
export function joinedModule(name) {
  const file = path.join(dist, `${JOINED}.js`);
  const text = readFileSync(file, 'utf8');
  const begin = text.indexOf(head(name));
  return { file, text, begin, end: text.indexOf(END, begin) };
}
