// What binding.gyp and the file that it includes say about the addon, for a compiler that node-gyp cannot drive: one list of sources and flags.
// Both are Python literals but for the commands in them, which gyp would run too.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../steps.mjs';

function literal(file) {
  const script = 'import ast, json, sys; print(json.dumps(ast.literal_eval(open(sys.argv[1]).read())))';
  return JSON.parse(execFileSync('python3', ['-c', script, path.join(root, file)], { encoding: 'utf8' }));
}

/** `<!(command)` one value, `<!@(command)` a list of them; what begins otherwise is a path from the file's folder, or a flag. */
function expand(values, folder) {
  return values.flatMap((value) => {
    const command = /^<!@?\((.*)\)$/s.exec(value)?.[1];
    if (command === undefined) return value.startsWith('<') ? [] : [path.posix.join(folder, value)];
    const printed = execFileSync('sh', ['-c', command], { cwd: root, encoding: 'utf8' }).trim();
    return value.startsWith('<!@') ? printed.split(/\s+/) : [printed];
  });
}

/** Paths from the root. `layoutTests` are sources that must compile, and are no part of the addon. */
export function readGyp() {
  const repository = literal('binding.gyp');
  const target = literal('src-native/addon.gypi').targets[0];
  return {
    sources: expand(target.sources, 'src-native'),
    layoutTests: repository.variables.more_sources,
    includeDirs: expand(target.include_dirs, 'src-native').map((folder) =>
      path.relative(root, path.resolve(root, folder)),
    ),
    flags: target.cflags,
    flagsC: target.cflags_c,
    flagsCxx: target.cflags_cc,
  };
}
