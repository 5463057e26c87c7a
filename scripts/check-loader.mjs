// What the package says where its binary is missing, foreign, damaged or forbidden: what it looked for, what it found, why that does not load, and the
// command that helps, which is then run as it is printed. Over the package as it is published; needs the binaries of Linux (`npm run prebuilds`).
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { root } from './steps.mjs';
import { unpack } from './prebuild/package.mjs';
import { binaryOf, targets } from './prebuild/targets.mjs';

const { platformName } = createRequire(import.meta.url)('../dist/platform.js');
const name = platformName();
const folder = unpack();
const carried = path.join(folder, binaryOf({ name }));
const built = path.join(folder, 'build/Release/node_dlpack.node');
const start = `The native addon of node-dlpack cannot be loaded on ${process.platform} ${process.arch} with Node.js ${process.version}`;
const build = `\`npx node-dlpack build\` in ${folder}`;
const permission = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

/** The code and the message of the error of a process that loads the package; undefined when it loads. */
function errorOf(flags = []) {
  const script = `try { require(${JSON.stringify(folder)}); } catch (error) { console.log(JSON.stringify([error.code, error.message])); }`;
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, '-e', script], { encoding: 'utf8' });
  if (status !== 0) return ['crash', stderr];
  return stdout === '' ? undefined : JSON.parse(stdout);
}

const total = { passed: 0, failed: 0, skipped: 0 };
function check(what, error, parts) {
  const [code, message] = error ?? ['none', 'it loads'];
  const absent = parts.filter((part) => (typeof part === 'string' ? !message.includes(part) : !part.test(message)));
  const ok = code === 'ERR_DLPACK_NOT_BUILT' && message.startsWith(start) && absent.length === 0;
  console.log(`${ok ? 'PASS' : 'FAIL'} ${what}`);
  if (!ok) console.log(`  ${code}: ${message}\n  without: ${absent.join(' | ')}`);
  total[ok ? 'passed' : 'failed'] += 1;
}

function fill(file, bytes) {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, bytes);
}

// Forbidden.
const forbidden = `${carried} is there, and this process may load no addon: it`;
check('--no-addons', errorOf(['--no-addons']), [`${forbidden} was started with \`--no-addons\`. Start it without.`]);
check('the permission model', errorOf([permission, '--allow-fs-read=*']), [
  `${forbidden} runs under the permission model without \`--allow-addons\`. Start it with that as well.`,
]);
const readable = ['dist/*', 'package.json', '../bindings/*', '../file-uri-to-path/*'].map((place) =>
  path.join(folder, place),
);
const reading = readable.map((place) => `--allow-fs-read=${place}`);
check('the permission model hides the binary', errorOf([permission, '--allow-addons', ...reading]), [
  `does not let this process read ${built}. Start it with \`--allow-fs-read=${path.join(folder, '*')}\` as well.`,
]);

// Foreign.
const library = name.endsWith('-musl') ? name.slice(0, -'-musl'.length) : `${name}-musl`;
const processor = name.replace(process.arch, process.arch === 'x64' ? 'arm64' : 'x64');
for (const [what, other, why] of [
  ['made for another C library', library, /does not load: .*(libc|ELF)/],
  [
    'made for another processor',
    processor,
    /does not load: .*node_dlpack\.node: .*(ELF|machine|architecture|cannot open)/,
  ],
]) {
  const file = path.join(root, binaryOf({ name: other }));
  if (targets.some((target) => target.name === other) && existsSync(file)) {
    copyFileSync(file, carried);
    check(what, errorOf(), [`${carried} is there and does not load: `, why, `Build it with ${build}`]);
  } else {
    console.log(`skipped: ${what}: there is no ${binaryOf({ name: other })}`);
    total.skipped += 1;
  }
}

// Damaged.
for (const [what, bytes] of [
  ['empty', ''],
  ['no addon at all', '<html>404</html>'],
]) {
  fill(carried, bytes);
  check(`damaged: ${what}`, errorOf(), [`${carried} is there and does not load: `, `Build it with ${build}`]);
}
fill(built, 'not an addon');
check('a damaged build beside the binary of the package', errorOf(), [
  `${built} is there and does not load: `,
  `Remove ${path.join(folder, 'build')}, so that the binary that the package carries is used, or build it again with ${build}`,
]);

// Missing; and the way out, as the message has it.
rmSync(path.join(folder, 'build'), { recursive: true });
rmSync(path.dirname(carried), { recursive: true });
const missing = errorOf();
check('missing', missing, [
  `neither ${built} nor ${carried} exists. This copy of the package has binaries for `,
  `Build one for ${name} with ${build} (it needs Python 3 and a C++ compiler).`,
]);
const [, command, where] = /with `([^`]+)` in (\S+) \(/.exec(missing?.[1] ?? '') ?? [];
const made = command && spawnSync(command, { cwd: where, shell: true, encoding: 'utf8' });
const smoke = spawnSync(process.execPath, [path.join(root, 'scripts/prebuild/smoke.cjs'), folder], {
  encoding: 'utf8',
});
const works = made?.status === 0 && smoke.status === 0 && smoke.stdout.includes(`(${built})`);
console.log(`${works ? 'PASS' : 'FAIL'} the command that the message names builds one that passes the smoke suite`);
if (!works) console.log(`${made?.stdout}${made?.stderr}${smoke.stdout}${smoke.stderr}`);
total[works ? 'passed' : 'failed'] += 1;

console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 ? 1 : 0);
