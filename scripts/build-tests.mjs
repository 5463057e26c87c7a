// What the tests need besides the library: the two laboratory addons, and their own TypeScript. For every script that runs compiled tests, so that
// each can be the first one on a bare clone.
import { addonSources, build } from './build.mjs';
import { buildAddon, runTool, step } from './steps.mjs';

export function buildTests() {
  build();
  buildAddon('struct laboratory', 'test/native', ['test/native', ...addonSources]);
  buildAddon('kit laboratory', 'test/kit', ['test/kit', ...addonSources]);
  step(
    'TypeScript of the tests',
    { inputs: ['test', 'lib', 'tsconfig.json', 'package-lock.json'], output: 'dist-test', fresh: true },
    () => {
      runTool('typescript/bin/tsc', ['-p', 'test']);
    },
  );
}
