// The binaries that the package carries, all made on one Linux machine: `npm run prebuilds`; `npm run prebuilds -- linux-x64 win32-arm64` makes some.
// A target whose sources did not change is not made again. With `--again` each is made a second time, and must come out the same, byte for byte.
import { installPackages, step } from './steps.mjs';
import { addonSources } from './build.mjs';
import { readGyp } from './prebuild/gyp.mjs';
import { binaryOf, chosen } from './prebuild/targets.mjs';
import { compile, installZig, isReproducible } from './prebuild/zig.mjs';

installPackages('.');
const { layoutTests } = readGyp();
const inputs = [
  ...addonSources,
  ...layoutTests,
  ...layoutTests.map((file) => file.replace(/\.cc?$/, '.h')),
  ...['gyp.mjs', 'targets.mjs', 'zig.mjs', 'requirements.txt'].map((file) => `scripts/prebuild/${file}`),
];
const zig = installZig();
const again = process.argv.includes('--again');
for (const target of chosen(process.argv.slice(2).filter((argument) => argument !== '--again'))) {
  await step(`prebuild ${target.name}`, { inputs, output: binaryOf(target) }, () => compile(zig, target));
  if (!again) continue;
  if (await isReproducible(zig, target)) {
    console.log(`PASS ${binaryOf(target)}: a second build has the same bytes`);
    continue;
  }
  console.error(`FAIL ${binaryOf(target)}: a second build has other bytes`);
  process.exitCode = 1;
}
