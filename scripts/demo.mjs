// The main job on real input, from a bare clone: `npm run demo`, or `npm run demo -- my.jpg`.
import path from 'node:path';
import { addonSources, build } from './build.mjs';
import { buildAddon, installPackages, root, tryRun } from './steps.mjs';

build();
installPackages('examples/read-words');
buildAddon('C addon that finds the boxes', 'examples/boxes-addon', ['examples/boxes-addon', ...addonSources]);
// The user's paths are relative to where the command was typed.
const cwd = process.env.INIT_CWD ?? root;
process.exit(
  tryRun(process.execPath, [path.join(root, 'examples/read-words/main.mjs'), ...process.argv.slice(2)], { cwd }),
);
