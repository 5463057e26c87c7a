// Follows docs/addon-authors.md literally in an empty folder, as a stranger would: the files that it shows are written, the commands that it
// shows are run, and what its program promises to print must be printed. Only the path of the clone is filled in.
import { spawnSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from './steps.mjs';

const page = readFileSync(path.join(root, 'docs/addon-authors.md'), 'utf8');
const start = page.indexOf('## Ten minutes, in C');
const chapter = page.slice(start, page.indexOf('\n## ', start + 1));
// npm takes a folder behind a link for its own and empties it.
if (lstatSync(path.join(root, 'node_modules')).isSymbolicLink())
  throw new Error('node_modules is a link; npm would empty what it leads to');
const empty = mkdtempSync(path.join(tmpdir(), 'my addon '));
let folder = empty;

function fail(what) {
  console.error(`docs/addon-authors.md: ${what}`);
  process.exitCode = 1;
}

function run(command) {
  const result = spawnSync(command, { cwd: folder, shell: true, encoding: 'utf8' });
  if (result.status !== 0) fail(`\`${command}\` failed (exit ${result.status}):\n${result.stdout}${result.stderr}`);
  return result.stdout;
}

let commands = 0;
let files = 0;
// A block is a file when the line before it is the file's name alone.
for (const [, file, language, code] of chapter.matchAll(/(?:^`([^`\n]+)`\n\n)?^```(\w+)\n([\s\S]*?)^```/gm)) {
  if (process.exitCode) break;
  if (file !== undefined) {
    writeFileSync(path.join(folder, file), code);
    files += 1;
  } else if (language === 'sh') {
    for (const line of code.trim().split('\n')) {
      const command = line.replace('/path/to/node-dlpack', JSON.stringify(root));
      const directory = /^mkdir (\S+) && cd \1$/.exec(command)?.[1];
      const printed = run(directory === undefined ? command : `mkdir ${directory}`);
      if (directory !== undefined) folder = path.join(folder, directory);
      commands += 1;
      const program = /^node (\S+)$/.exec(command)?.[1];
      if (program !== undefined) {
        const promised = [...readFileSync(path.join(folder, program), 'utf8').matchAll(/\/\/ -> (.*)$/gm)].map(
          ([, text]) => text,
        );
        if (printed.trimEnd() !== promised.join('\n'))
          fail(`${program} printed\n${printed}\nand promised\n${promised.join('\n')}`);
      }
    }
  }
}
rmSync(empty, { recursive: true, force: true });
if (files < 3 || commands < 7)
  fail(`only ${files} files and ${commands} commands were found: has the page changed its form?`);
if (!process.exitCode)
  console.log(`docs/addon-authors.md: ${files} files written, ${commands} commands run, as it says`);
