// `npm run release` tags the version that package.json names, which is what makes .github/workflows/prebuilds.yml try and publish it.
// It refuses when anything is missing that a release must have. `--dry-run` does all but the tag, and names everything that is missing, not the first.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root, run, tryRun } from './steps.mjs';
import { binaryOf, targets } from './prebuild/targets.mjs';

const dryRun = process.argv.includes('--dry-run');
const read = (file) => (existsSync(path.join(root, file)) ? readFileSync(path.join(root, file), 'utf8') : '');
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const { version } = JSON.parse(read('package.json'));
const missing = [];
const need = (fact, text) => {
  if (!fact) missing.push(text);
};

need(git('status', '--porcelain') === '', 'the working tree has changes that no commit holds');
need(git('tag', '--list', `v${version}`) === '', `there is a v${version} already: package.json needs another version`);
need(read('CHANGELOG.md').includes(`\n## ${version}\n`), `CHANGELOG.md has no section ${version}`);
const line = version.split('.').slice(0, 2).join('.');
need(read('UPGRADING.md').includes(`\n## To ${line}\n`), `UPGRADING.md has no section To ${line}`);

const script = (file) => tryRun(process.execPath, [`scripts/${file}`]) === 0;
// Makes what the package holds, and of the binaries those whose sources have changed.
need(script('build.mjs'), 'the library cannot be built');
need(script('prebuilds.mjs'), 'not every binary could be made');
for (const target of targets) {
  need(existsSync(path.join(root, binaryOf(target))), `${binaryOf(target)} is not there`);
  need(read('docs/targets.md').includes(`| \`${target.name}\` |`), `docs/targets.md has no row for ${target.name}`);
}

const checks = [
  ['the binaries are not what docs/targets.md says', 'prebuilds-tests.mjs'],
  ['the loader does not say what it should', 'check-loader.mjs'],
  ['the package does not hold what it should', 'check-package.mjs'],
  ['it brings along what SECURITY.md does not name', 'supply-chain.mjs'],
  ['a package manager does not install it', 'check-installs.mjs'],
  ['a bundler makes a program of it that does not run', 'check-bundles.mjs'],
  ['its declarations cannot be read by every TypeScript', 'check-declarations.mjs'],
];
for (const [text, file] of checks) need(script(file), text);

if (missing.length > 0) {
  console.error(`\nnode-dlpack ${version} cannot be released:\n${missing.map((text) => `- ${text}`).join('\n')}`);
  process.exit(1);
}
if (dryRun) console.log(`\nnode-dlpack ${version} can be released; nothing was tagged`);
else run('git', ['tag', '-a', `v${version}`, '-m', `node-dlpack ${version}`]);
