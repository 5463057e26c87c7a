/** What a release is refused for: the script itself, in a repository of a few files whose checks pass or fail as each test says. */
import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import { temporaryFolder } from './files/vectors.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const scripts = path.join(__dirname, '..', 'scripts');
const parent = temporaryFolder();

const LINUX = ['linux-x64', 'linux-arm64', 'linux-x64-musl', 'linux-arm64-musl'];
const TARGETS = LINUX.concat(['darwin-x64', 'darwin-arm64', 'win32-x64', 'win32-arm64']);
const rows = (targets: readonly string[]): string => targets.map((target) => `| \`${target}\` | yes |\n`).join('');
/** What the release asks, each a script of its own. */
const MAKERS = ['build', 'prebuilds'];
const CHECKS = ['prebuilds-tests', 'check-loader', 'check-package', 'supply-chain', 'check-installs', 'check-bundles'];
const STEPS = MAKERS.concat(CHECKS, 'check-declarations');

function write(root: string, file: string, text: string): void {
  mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
}

function git(root: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.org'];
  const { status, stdout, stderr } = spawnSync('git', [...identity, ...args], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** A repository that can be released; `change` makes it one that cannot, before (`commit`) or after everything is committed. */
function repository(name: string, change: (root: string) => void, commit: boolean): string {
  const root = path.join(parent, name);
  for (const file of ['release.mjs', 'steps.mjs', 'prebuild/targets.mjs'])
    cpSync(path.join(scripts, file), path.join(root, 'scripts', file));
  for (const step of STEPS) write(root, `scripts/${step}.mjs`, '');
  write(root, 'package.json', '{ "version": "1.2.0" }');
  write(root, 'CHANGELOG.md', '# Changes\n\n## 1.2.0\n');
  write(root, 'UPGRADING.md', '# Upgrading\n\n## To 1.2\n');
  write(root, 'docs/targets.md', rows(TARGETS));
  for (const target of TARGETS) write(root, `prebuilds/${target}/node_dlpack.node`, target);
  write(root, '.gitignore', 'prebuilds/\n');
  if (commit) change(root);
  git(root, 'init', '-q');
  git(root, 'add', '.');
  git(root, 'commit', '-q', '-m', 'First');
  if (!commit) change(root);
  return root;
}

function release(root: string, ...args: string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.mjs', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, said: stdout + stderr };
}

const fails = (step: string) => (root: string) => write(root, `scripts/${step}.mjs`, 'process.exit(1);\n');

test('where nothing is missing, a dry run tags nothing, and a release tags the version', () => {
  const root = repository('whole', () => undefined, true);
  expect(release(root, '--dry-run')).toEqual({
    status: 0,
    said: '\nnode-dlpack 1.2.0 can be released; nothing was tagged\n',
  });
  expect(git(root, 'tag')).toBe('');
  git(root, 'config', 'user.name', 'Somebody');
  git(root, 'config', 'user.email', 'somebody@example.org');
  expect(release(root)).toMatchObject({ status: 0 });
  expect(git(root, 'tag')).toBe('v1.2.0\n');
});

/** What it says, in its order, and what makes it say so. */
const REFUSALS: readonly (readonly [string, (root: string) => void])[] = [
  ['CHANGELOG.md has no section 1.2.0', (root) => write(root, 'CHANGELOG.md', '## 1.1.0\n')],
  ['UPGRADING.md has no section To 1.2', (root) => write(root, 'UPGRADING.md', '')],
  ['the library cannot be built', fails('build')],
  ['not every binary could be made', fails('prebuilds')],
  [
    'docs/targets.md has no row for darwin-arm64',
    (root) => write(root, 'docs/targets.md', rows(TARGETS.filter((target) => target !== 'darwin-arm64'))),
  ],
  [
    'prebuilds/win32-arm64/node_dlpack.node is not there',
    (root) => rmSync(path.join(root, 'prebuilds/win32-arm64'), { recursive: true }),
  ],
  ['the binaries are not what docs/targets.md says', fails('prebuilds-tests')],
  ['the loader does not say what it should', fails('check-loader')],
  ['the package does not hold what it should', fails('check-package')],
  ['it brings along what SECURITY.md does not name', fails('supply-chain')],
  // A check that was deleted is one that did not pass.
  ['a package manager does not install it', (root) => rmSync(path.join(root, 'scripts/check-installs.mjs'))],
  ['a bundler makes a program of it that does not run', fails('check-bundles')],
  ['its declarations cannot be read by every TypeScript', fails('check-declarations')],
];

// Every other one, so that each is seen to have a cause of its own: all that is missing is named, and nothing else.
test.each([0, 1])('refused for every second thing that can be missing, from the one at %i on', (first) => {
  const chosen = REFUSALS.filter((_, i) => i % 2 === first);
  const root = repository(`refused-${first}`, (changed) => chosen.forEach(([, change]) => change(changed)), true);
  const { status, said } = release(root);
  expect(status).toBe(1);
  const named = said.slice(said.indexOf('node-dlpack 1.2.0 cannot be released:')).trimEnd().split('\n').slice(1);
  expect(named).toEqual(chosen.map(([text]) => `- ${text}`));
  expect(git(root, 'tag')).toBe('');
});

test('refused: a change that no commit holds, and a version that was released', () => {
  const root = repository('again', (changed) => write(changed, 'README.md', 'new'), false);
  git(root, 'tag', 'v1.2.0');
  const { status, said } = release(root);
  expect(status).toBe(1);
  expect(said).toContain('- the working tree has changes that no commit holds\n- there is a v1.2.0 already');
});
