// Holds include/dlpack/dlpack.h against another DLPack header, name by name: `node scripts/check-dlpack-header.mjs <include folder> [--subset]`.
// The names come from the two headers themselves; for each, small programs that include one header or the other print what the compiler makes
// of it (value, size, offset, type), as C and as C++. Everything must be the same, and neither may have a name that the other lacks.
// --subset: the other header is older, and what it lacks is fine.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from './steps.mjs';

// Names before 1.0 that the standard itself took back, and what stands in their place.
const takenBack = new Map([
  ['macro DLPACK_VERSION', 'DLPACK_MAJOR_VERSION and DLPACK_MINOR_VERSION'],
  ['macro DLPACK_ABI_VERSION', 'DLPACK_MAJOR_VERSION'],
]);

const subset = process.argv.includes('--subset');
const officialFolder = process.argv.slice(2).find((argument) => !argument.startsWith('--'));
if (officialFolder === undefined) {
  console.error('usage: check-dlpack-header <include folder of the other header> [--subset]');
  process.exit(2);
}
const ourFolder = path.join(root, 'include');

/** The name at the end of a declaration. */
function lastWord(text) {
  return /(\w+)\s*(?:\[[^\]]*\])?\s*$/.exec(text)?.[1];
}

/** The names that a header declares. Throws on a declaration it does not understand: nothing may go unchecked. */
function declaredNames(file) {
  const text = readFileSync(file, 'utf8')
    .replaceAll('\\\n', ' ')
    .replaceAll(/\/\*.*?\*\//gs, ' ')
    .replaceAll(/\/\/.*/g, '');
  const names = { guard: undefined, macros: new Map(), enums: [], structs: [], functionTypes: [] };
  names.guard = /^\s*#\s*ifndef\s+(\w+)\s*\n\s*#\s*define\s+\1\s*$/m.exec(text)?.[1];
  for (const [, name, parameters, body] of text.matchAll(/^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?[ \t]*(.*)$/gm)) {
    if (parameters !== undefined)
      throw new Error(`${file}: macro ${name} takes arguments, which this check does not understand`);
    if (name !== names.guard) names.macros.set(name, [...(names.macros.get(name) ?? []), body.trim()]);
  }

  let rest = text.replaceAll(/^[ \t]*#.*$/gm, '');
  const take = (pattern, use) => {
    rest = rest.replaceAll(pattern, (...match) => {
      use(match);
      return ' ';
    });
  };
  // The two beginnings of an enum with a fixed type in C++ alone stand one after the other here.
  rest = rest.replaceAll(/typedef\s+enum\s*:\s*\w+\s*\{(?=\s*typedef\s+enum)/g, ' ');
  take(/typedef\s+enum\s*\w*\s*(?::\s*\w+\s*)?\{([^{}]*)\}\s*(\w+)\s*;/g, ([, body, name]) => {
    const members = body
      .split(',')
      .map((member) => /^\s*(\w+)/.exec(member)?.[1])
      .filter((member) => member !== undefined);
    names.enums.push({ name, members });
  });
  take(/typedef\s+struct\s*(\w*)\s*\{([^{}]*)\}\s*(\w+)\s*;/g, ([, tag, body, name]) => {
    const fields = body
      .split(';')
      .filter((field) => field.trim() !== '')
      .map((field) => /\(\s*\*\s*(\w+)\s*\)\s*\(/.exec(field)?.[1] ?? lastWord(field));
    names.structs.push({ name, tag, fields });
  });
  take(/typedef\s+[\w\s*]+?\(\s*\*\s*(\w+)\s*\)\s*\((?:[^()]|\([^()]*\))*\)\s*;/g, ([, name]) =>
    names.functionTypes.push(name),
  );
  rest = rest.replaceAll(/extern\s+"C"\s*\{/g, ' ').replaceAll('}', ' ');
  if (rest.trim() !== '') throw new Error(`${file}: not understood: ${rest.trim().slice(0, 200)}`);
  return names;
}

/** Does a macro stand for a number? The others are compared by what they expand to. */
function isNumber(bodies) {
  return bodies.every((body) => /^[\w\s()<>|&~+*-]*\d[\w\s()<>|&~+*-]*$/.test(body) && !/extern|__declspec/.test(body));
}

function programInC({ guard, macros, enums, structs, functionTypes }) {
  const lines = [];
  const print = (key, format, value) => lines.push(`printf("%s = ${format}\\n", ${JSON.stringify(key)}, ${value});`);
  print(`include guard ${guard} is defined`, '%d', 'GUARD');
  for (const [name, bodies] of macros) {
    if (isNumber(bodies)) {
      print(`macro ${name}`, '%lld', `(long long)(${name})`);
      print(`macro ${name}: size`, '%d', `(int)sizeof(${name})`);
      print(`macro ${name}: unsigned`, '%d', `(${name}) * 0 - 1 > 0`);
    } else {
      print(`macro ${name}`, '%s', `TEXT(${name})`);
    }
  }
  for (const { name, members } of enums) {
    print(`enum ${name}: size`, '%d', `(int)sizeof(${name})`);
    for (const member of members) print(`enumerator ${member} of ${name}`, '%lld', `(long long)${member}`);
  }
  for (const { name, tag, fields } of structs) {
    print(`struct ${name}: size`, '%d', `(int)sizeof(${name})`);
    print(`struct ${name}: alignment`, '%d', `(int)_Alignof(${name})`);
    print(`struct ${name}: tag`, '%s', JSON.stringify(tag));
    for (const field of fields) {
      print(`field ${name}.${field}: offset`, '%d', `(int)offsetof(${name}, ${field})`);
      print(`field ${name}.${field}: size`, '%d', `(int)sizeof(((${name} *)0)->${field})`);
    }
  }
  for (const name of functionTypes) print(`function type ${name}: size`, '%d', `(int)sizeof(${name})`);
  return `#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdio.h>
#ifdef ${guard}
#define GUARD 1
#else
#define GUARD 0
#endif
#define TEXT_(...) #__VA_ARGS__
#define TEXT(...) TEXT_(__VA_ARGS__)
int main(void) {
${lines.join('\n')}
return 0;
}
`;
}

/** Types as the compiler spells them, which says all: pointers, const, the arguments of function pointers. */
function programInCxx({ macros, enums, structs, functionTypes }) {
  const lines = [];
  const print = (key, value) => lines.push(`std::printf("%s = %s\\n", ${JSON.stringify(key)}, ${value});`);
  for (const [name, bodies] of macros) {
    if (isNumber(bodies)) print(`C++ macro ${name}: type`, `typeid(${name}).name()`);
    else print(`C++ macro ${name}`, `TEXT(${name})`);
  }
  for (const { name, members } of enums) {
    // Before 1.0 no enum had a fixed type.
    if (!subset) print(`C++ enum ${name}: underlying type`, `typeid(std::underlying_type_t<${name}>).name()`);
    for (const member of members) print(`C++ enumerator ${member}: type`, `typeid(${member}).name()`);
  }
  for (const { name, fields } of structs) {
    print(`C++ struct ${name}: standard layout`, `std::is_standard_layout_v<${name}> ? "yes" : "no"`);
    for (const field of fields) print(`C++ field ${name}.${field}: type`, `typeid(decltype(${name}::${field})).name()`);
  }
  for (const name of functionTypes) print(`C++ function type ${name}`, `typeid(${name}).name()`);
  return `#include <dlpack/dlpack.h>
#include <cstdio>
#include <type_traits>
#include <typeinfo>
#define TEXT_(...) #__VA_ARGS__
#define TEXT(...) TEXT_(__VA_ARGS__)
int main() {
${lines.join('\n')}
return 0;
}
`;
}

function runOrThrow(command, args) {
  const result = spawnSync(command, args, { encoding: 'utf8' });
  if (result.error) throw result.error;
  if (result.status !== 0) throw new Error(`${path.basename(command)} failed:\n${result.stderr}`);
  return result.stdout;
}

/** Everything the compilers say about the names that the header of this folder declares. */
function facts(folder) {
  const names = declaredNames(path.join(folder, 'dlpack/dlpack.h'));
  const work = mkdtempSync(path.join(tmpdir(), 'dlpack-header-'));
  try {
    const program = path.join(work, 'program');
    const found = new Map();
    for (const [source, text, compiler, standard] of [
      ['facts.c', programInC(names), process.env.CC ?? 'cc', '-std=c11'],
      ['facts.cc', programInCxx(names), process.env.CXX ?? 'c++', '-std=c++17'],
    ]) {
      writeFileSync(path.join(work, source), text);
      runOrThrow(compiler, [standard, '-w', '-I', folder, path.join(work, source), '-o', program]);
      for (const line of runOrThrow(program, []).trim().split('\n')) {
        const at = line.indexOf(' = ');
        found.set(line.slice(0, at), line.slice(at + 3));
      }
    }
    return found;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function compare() {
  const official = facts(path.resolve(officialFolder));
  const ours = facts(ourFolder);
  const faults = [];
  let same = 0;
  for (const [key, value] of official) {
    const name = key.replace(/:.*/, '').replace(/^C\+\+ /, '');
    if (ours.get(key) === value) same += 1;
    else if (ours.has(key)) faults.push(`${key}: ours ${ours.get(key)}, official ${value}`);
    else if (!(subset && takenBack.has(name))) faults.push(`${key}: ours lacks it (official ${value})`);
  }
  if (!subset) {
    for (const [key, value] of ours) if (!official.has(key)) faults.push(`${key}: only ours has it (${value})`);
  }
  for (const fault of faults) console.error(fault);
  console.log(`dlpack.h: ${same} facts the same, ${faults.length} not`);
  return faults.length === 0 && same > 0;
}

try {
  process.exitCode = compare() ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
