// Programs with the package in them, made by each bundler as its users would, and run where no node_modules is: the binary must have come along.
// And a single executable application, which carries it inside. Needs this platform's binary (`npm run prebuilds -- linux-x64`).
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { installPackages, root } from './steps.mjs';
import { unpack } from './prebuild/package.mjs';

const FOLDER = 'test/package/bundlers';
installPackages(FOLDER);
const { platformName } = createRequire(import.meta.url)('../dist/platform.js');
const name = platformName();
const modules = path.dirname(unpack());
const require = createRequire(path.join(root, FOLDER, 'package.json'));
const load = async (id) => (await import(pathToFileURL(require.resolve(id)).href)).default;

/** Beside node_modules, so that a bundler finds the package. */
const work = path.join(path.dirname(modules), 'app');
mkdirSync(work, { recursive: true });
const program = (entry) => `const { Tensor, fromDLPack } = require('${entry}');
console.log(JSON.stringify(fromDLPack(Tensor.from([1, 2, 3])).toArray()));
const { Worker, isMainThread } = require('node:worker_threads');
if (isMainThread && !process.argv.includes('--alone')) new Worker(__filename).on('error', (error) => { console.log(error); process.exit(4); });
`;
const app = path.join(work, 'app.js');
writeFileSync(app, program(`node-dlpack/${name}`));

const bundlers = {
  async esbuild(out) {
    const options = { entryPoints: [app], outfile: path.join(out, 'app.js'), loader: { '.node': 'copy' } };
    await require('esbuild').build({ ...options, bundle: true, platform: 'node', logLevel: 'error' });
  },
  async webpack(out) {
    const configuration = {
      mode: 'production',
      target: 'node20',
      context: work,
      entry: app,
      output: { path: out, filename: 'app.js' },
      node: { __dirname: false, __filename: false },
      module: { rules: [{ test: /\.node$/, loader: require.resolve('node-loader') }] },
    };
    await new Promise((resolve, reject) => {
      require('webpack')(configuration, (error, stats) => {
        if (error ?? stats.hasErrors()) reject(error ?? new Error(stats.toString('errors-only')));
        else resolve();
      });
    });
  },
  async ncc(out) {
    const { code, assets } = await require('@vercel/ncc')(app, { cache: false, quiet: true });
    writeFileSync(path.join(out, 'app.js'), code);
    for (const [file, { source }] of Object.entries(assets)) {
      mkdirSync(path.dirname(path.join(out, file)), { recursive: true });
      writeFileSync(path.join(out, file), source);
    }
  },
  async rollup(out) {
    const { rollup } = require('rollup');
    const commonjs = await load('@rollup/plugin-commonjs');
    const resolve = await load('@rollup/plugin-node-resolve');
    const bundle = await rollup({
      input: app,
      plugins: [nodeFiles(), (resolve.default ?? resolve)({ preferBuiltins: true }), (commonjs.default ?? commonjs)()],
      onwarn: () => {},
    });
    await bundle.write({ dir: out, format: 'cjs', entryFileNames: 'app.js' });
  },
};

/** A binary goes beside the bundle, and is required from there. */
function nodeFiles() {
  return {
    name: 'node-files',
    load(id) {
      if (!id.endsWith('.node')) return null;
      copyFileSync(id, path.join(work, 'rollup', 'node_dlpack.node'));
      return {
        code: "import { createRequire } from 'node:module'; export default createRequire(__filename)('./node_dlpack.node');",
        syntheticNamedExports: true,
      };
    },
  };
}

/** Everything in one file: the bundle as its main program, the binary as its asset. */
async function singleExecutable(out) {
  const main = path.join(work, 'sea.js');
  const blob = path.join(out, 'sea.blob');
  const settings = path.join(out, 'sea.json');
  writeFileSync(main, program('node-dlpack'));
  const bundle = path.join(out, 'bundle.js');
  await require('esbuild').build({
    entryPoints: [main],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    logLevel: 'error',
  });
  const binary = path.join(modules, 'node-dlpack/prebuilds', name, 'node_dlpack.node');
  writeFileSync(
    settings,
    JSON.stringify({
      main: bundle,
      output: blob,
      disableExperimentalSEAWarning: true,
      assets: { 'node_dlpack.node': binary },
    }),
  );
  const made = spawnSync(process.execPath, ['--experimental-sea-config', settings], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(made.stderr);
  const executable = path.join(out, 'app');
  copyFileSync(process.execPath, executable);
  chmodSync(executable, 0o755);
  const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
  const injected = spawnSync(
    process.execPath,
    [require.resolve('postject/dist/cli.js'), executable, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse],
    { encoding: 'utf8' },
  );
  if (injected.status !== 0) throw new Error(injected.stderr);
  for (const file of [settings, blob, bundle]) rmSync(file);
}

const total = { passed: 0, failed: 0 };
async function check(what, make, command, lines) {
  const out = path.join(work, what.replaceAll(' ', '-'));
  const away = mkdtempSync(path.join(tmpdir(), 'node-dlpack-bundle-'));
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  let said;
  try {
    await make(out);
    cpSync(out, away, { recursive: true });
    const result = spawnSync(...command(away), {
      cwd: away,
      encoding: 'utf8',
      env: { PATH: '/nowhere', TMPDIR: away },
    });
    said = `exit ${result.status}: ${result.stdout}${result.stderr}`;
  } catch (error) {
    said = String(error.stack);
  }
  const ok = said === `exit 0: ${'[1,2,3]\n'.repeat(lines)}`;
  console.log(`${ok ? 'PASS' : 'FAIL'} ${what}${ok ? '' : `\n${said}`}`);
  total[ok ? 'passed' : 'failed'] += 1;
  rmSync(away, { recursive: true, force: true });
}

for (const [what, make] of Object.entries(bundlers)) {
  await check(what, make, () => [process.execPath, ['app.js']], 2);
}
await check('single executable', singleExecutable, (away) => [path.join(away, 'app'), ['--alone']], 1);
// What a bundle of the package root says, which carries no binary.
await check(
  'a bundle without the binary says what to bundle',
  async (out) => {
    const main = path.join(work, 'root.js');
    writeFileSync(
      main,
      `try { require('node-dlpack'); } catch (error) { if (error.message.includes('Bundle \`node-dlpack/${name}\`')) console.log('[1,2,3]'); else throw error; }`,
    );
    await require('esbuild').build({
      entryPoints: [main],
      outfile: path.join(out, 'app.js'),
      bundle: true,
      platform: 'node',
      logLevel: 'error',
    });
  },
  () => [process.execPath, ['app.js']],
  1,
);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed > 0 ? 1 : 0);
