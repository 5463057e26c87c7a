// What ships with the package, and what it brings along: `npm run supply-chain`. The dependencies at run time are exactly the ones that SECURITY.md
// names, with exact licences; the lockfiles are complete and name no other source; no package of the run time has an install script; and no known
// vulnerability, where the registry can be asked.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { installPackages, root } from './steps.mjs';

/** Name and licence of everything that a user gets. */
const SHIPS = { bindings: 'MIT', 'file-uri-to-path': 'MIT' };
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall'];

const read = (file) => JSON.parse(readFileSync(path.join(root, file), 'utf8'));
const faults = [];
const fault = (text) => void faults.push(text);

installPackages('.');
const manifest = read('package.json');
if (manifest.license !== 'Apache-2.0' || !readFileSync(path.join(root, 'LICENSE'), 'utf8').includes('Apache License'))
  fault('LICENSE and package.json must both say Apache-2.0');

// At run time.
const lock = read('package-lock.json');
const runTime = Object.entries(lock.packages).filter(
  ([where, entry]) => where !== '' && entry.dev !== true && entry.optional !== true && entry.devOptional !== true,
);
const found = Object.fromEntries(
  runTime.map(([where]) => {
    const name = where.replace(/^.*node_modules\//, '');
    const installed = read(`${where}/package.json`);
    for (const script of INSTALL_SCRIPTS)
      if (installed.scripts?.[script] !== undefined) fault(`${name} runs ${script} when it is installed`);
    return [name, installed.license];
  }),
);
for (const [name, licence] of Object.entries(SHIPS)) {
  if (found[name] !== licence) fault(`${name} must be here, under ${licence}; it is ${found[name]}`);
}
for (const name of Object.keys(found))
  if (SHIPS[name] === undefined) fault(`${name} would ship, and SECURITY.md does not say so`);
for (const [name, version] of Object.entries(manifest.dependencies))
  if (!/^\d+\.\d+\.\d+$/.test(version)) fault(`${name} is not at an exact version: ${version}`);

// Lockfiles: everything by its hash, nothing from elsewhere.
const listed = spawnSync('git', ['ls-files', '*package-lock.json'], { cwd: root, encoding: 'utf8' }).stdout.trim();
for (const file of listed.split('\n').filter((name) => name !== '' && existsSync(path.join(root, name)))) {
  for (const [where, entry] of Object.entries(read(file).packages)) {
    if (where === '' || entry.link === true || entry.inBundle === true) continue;
    if (typeof entry.integrity !== 'string') fault(`${file}: ${where} has no hash`);
    if (entry.resolved !== undefined) fault(`${file}: ${where} names where it comes from`);
  }
}

// Known vulnerabilities.
const audit = spawnSync('npm', ['audit', '--omit=dev', '--json'], { cwd: root, encoding: 'utf8' });
let report;
try {
  report = JSON.parse(audit.stdout);
} catch {
  report = {};
}
const known = report.metadata?.vulnerabilities?.total;
if (known === undefined) {
  console.log(`skipped: npm audit has no answer here (${report.message ?? report.error?.summary ?? 'no report'})`);
} else if (known > 0) {
  fault(`npm audit knows ${known} vulnerabilities in what ships: ${Object.keys(report.vulnerabilities).join(', ')}`);
} else {
  console.log('npm audit: nothing known in what ships');
}

for (const text of faults) console.error(text);
console.log(
  `ships: ${Object.entries(found)
    .map(([name, licence]) => `${name} (${licence})`)
    .join(', ')}`,
);
process.exit(faults.length > 0 ? 1 : 0);
