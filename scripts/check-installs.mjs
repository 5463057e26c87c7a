// The package as a stranger gets it: packed, installed into an empty folder by every package manager, required and imported, without a compiler, a
// script or a warning. Needs this platform's binary (`npm run prebuilds -- linux-x64`).
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installPackages, root } from './steps.mjs';
import { DENO_ENDS, DENO_SAYS, DENO_TRIES } from './prebuild/deno.mjs';
import { pack } from './prebuild/package.mjs';
import { FOLDER, managers } from './package/managers.mjs';
import { startRegistry } from './package/registry.mjs';

const only = process.argv.slice(2);
installPackages(FOLDER);
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const registry = await startRegistry(pack(), manifest);
const smoke = path.join(root, 'scripts/prebuild/smoke.cjs');

const CONSUMERS = {
  'required.cjs': `const { Tensor, fromDLPack } = require('node-dlpack');
    require('node-dlpack/unsafe'); require('node-dlpack/interop'); require('node-dlpack/files'); require('node-dlpack/include-dir');
    if (fromDLPack(Tensor.from([1, 2])).at(1) !== 2) process.exit(3);`,
  'imported.mjs': `import { Tensor, fromDLPack } from 'node-dlpack';
    import { dataAddress } from 'node-dlpack/unsafe';
    import { pythonPath } from 'node-dlpack/python';
    if (fromDLPack(Tensor.from([1, 2])).at(1) !== 2 || typeof dataAddress !== 'function' || pythonPath === '') process.exit(3);`,
};

/** No compiler, no node-gyp: whoever looked for one would fail. */
const PATH = mkdtempSync(path.join(tmpdir(), 'node-dlpack-path-'));
const node = path.join(PATH, 'node');
cpSync(process.execPath, node);
for (const name of ['sh', 'uname', 'tar', 'gzip', 'env']) {
  const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
  if (found !== '')
    writeFileSync(path.join(PATH, name), `#!${found === '/bin/sh' ? found : '/bin/sh'}\nexec ${found} "$@"\n`, {
      mode: 0o755,
    });
}

function start(command, args, cwd, env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => resolve({ status: 1, output: String(error) }));
    child.on('exit', (status) => resolve({ status, output }));
  });
}

const total = { passed: 0, failed: 0 };
for (const { name, expected, prepare } of managers) {
  if (only.length > 0 && !only.includes(name)) continue;
  const home = mkdtempSync(path.join(tmpdir(), 'node-dlpack-install-'));
  const folder = path.join(home, 'project');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
  const env = {
    PATH,
    HOME: home,
    NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS ?? '',
    npm_config_registry: registry.url,
    npm_config_cache: path.join(home, 'cache'),
    npm_config_update_notifier: 'false',
    CI: 'true',
  };
  env.NPM_CONFIG_REGISTRY = registry.url;
  const faults = [];
  const { command, args, runtime = [node] } = prepare(folder, registry.url);
  const { status, output } = await start(command, args, folder, env);
  if (status !== 0) faults.push(`exit ${status}`);
  const warnings = output.split('\n').filter((line) => /warn|deprecat|node-gyp|postinstall|install script/i.test(line));
  const surprising = warnings.filter((line) => expected === undefined || !expected.test(line));
  if (surprising.length > 0) faults.push(`says: ${surprising.join(' / ')}`);
  const installed = path.join(folder, 'node_modules/node-dlpack');
  if (existsSync(path.join(installed, 'build'))) faults.push('has built something');
  for (const [file, text] of Object.entries(CONSUMERS)) {
    writeFileSync(path.join(folder, file), text);
    const consumer = await start(runtime[0], [...runtime.slice(1), file], folder, env);
    if (consumer.status !== 0) faults.push(`${file}: exit ${consumer.status}\n${consumer.output}`);
  }
  // The whole suite once more, from where it was installed.
  cpSync(smoke, path.join(folder, 'smoke.cjs'));
  const smokeSuite = () => start(runtime[0], [...runtime.slice(1), 'smoke.cjs', 'node-dlpack'], folder, env);
  let suite = await smokeSuite();
  for (let left = name === 'Deno' ? DENO_TRIES - 1 : 0; left > 0 && DENO_SAYS.test(suite.output); left -= 1) {
    console.log(`once more: ${name} aborted, ${DENO_ENDS}`);
    suite = await smokeSuite();
  }
  if (suite.status !== 0) faults.push(`smoke suite: exit ${suite.status}\n${suite.output}`);
  const ok = faults.length === 0;
  console.log(`${ok ? 'PASS' : 'FAIL'} ${name}${ok ? '' : `\n  ${faults.join('\n  ')}\n${output}`}`);
  total[ok ? 'passed' : 'failed'] += 1;
  rmSync(home, { recursive: true, force: true });
}
registry.close();
rmSync(PATH, { recursive: true, force: true });
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 || total.passed === 0 ? 1 : 0);
