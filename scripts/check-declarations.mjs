// The published declarations, read by every TypeScript from 5.4 to 7, under each way of finding modules; what publint and attw say of the package; and
// what knip finds that nothing uses.
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { installPackages, jobs, root } from './steps.mjs';
import { pack, unpack } from './prebuild/package.mjs';

const FOLDER = 'test/package/types';
installPackages(FOLDER);
const tools = path.join(root, FOLDER, 'node_modules');
const project = path.join(path.dirname(path.dirname(unpack())), 'typescript');
rmSync(project, { recursive: true, force: true });
mkdirSync(path.join(project, 'node_modules'), { recursive: true });
symlinkSync(path.join(tools, '@types'), path.join(project, 'node_modules/@types'));
symlinkSync(
  path.join(path.dirname(project), 'node_modules/node-dlpack'),
  path.join(project, 'node_modules/node-dlpack'),
);

// Each line that must not compile says so, so that declarations read as `any` would be noticed.
writeFileSync(
  path.join(project, 'consumer.ts'),
  `import { OwnedTensor, Tensor, fromDLPack } from 'node-dlpack';
import { dataAddress } from 'node-dlpack/unsafe';
import * as interop from 'node-dlpack/interop';
import * as files from 'node-dlpack/files';
import { includeDir } from 'node-dlpack/include-dir';
import { DLPACK_VERSION } from 'node-dlpack/linux-x64';

const owned = OwnedTensor.allocate([2, 3], 'float32');
const data: Float32Array = owned.data;
const address: bigint = dataAddress(owned);
const folder: string = includeDir;
const tensor = Tensor.from(new Int16Array(3));
const values: Int16Array = tensor.toTypedArray();
// @ts-expect-error
const wrong: Uint8Array = tensor.toTypedArray();
// @ts-expect-error
OwnedTensor.allocate([2], 'float33');
console.log(data, address, folder, values, wrong, fromDLPack(tensor).shape, interop, files, DLPACK_VERSION);
`,
);

let failed = 0;
let passed = 0;
const waiting = [];
function check(what, file, args, cwd = project) {
  waiting.push({ what, args: [path.join(tools, file), ...args], cwd });
}

for (const version of ['5.4', '5.6', '5.7', '5.9', '6.0', '7.0']) {
  for (const resolution of ['node16', 'nodenext', 'bundler']) {
    const settings = {
      compilerOptions: {
        noEmit: true,
        strict: true,
        skipLibCheck: false,
        target: 'es2022',
        lib: ['es2022'],
        types: ['node'],
        module: resolution === 'bundler' ? 'esnext' : resolution,
        moduleResolution: resolution,
      },
      files: ['consumer.ts'],
    };
    const file = `${version}-${resolution}.json`;
    writeFileSync(path.join(project, file), JSON.stringify(settings));
    const compiler = version === '7.0' ? 'bin/tsc' : 'lib/tsc.js';
    check(`TypeScript ${version}, ${resolution}`, `typescript-${version}/${compiler}`, ['-p', file]);
  }
}
check('publint', 'publint/src/cli.js', ['--strict', path.join(path.dirname(project), 'node_modules/node-dlpack')]);
check('attw', '@arethetypeswrong/cli/dist/index.js', ['--profile', 'node16', '--no-emoji', pack()]);
check('knip', 'knip/bin/knip.js', ['--no-progress'], root);

async function checkNext() {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { what, args, cwd } = next;
    const said = await promisify(execFile)(process.execPath, args, { cwd }).then(
      () => undefined,
      ({ message, stdout, stderr }) => `${message}\n${stdout}${stderr}`,
    );
    console.log(said === undefined ? `PASS ${what}` : `FAIL ${what}\n${said}`);
    if (said === undefined) passed += 1;
    else failed += 1;
  }
}
await Promise.all(Array.from({ length: jobs }, checkNext));
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
