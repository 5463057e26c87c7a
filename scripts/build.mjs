// Makes the library from a bare clone: packages, addon, TypeScript. Steps whose inputs did not change are skipped.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiled, joinModules } from './join-modules.mjs';
import { writeOlderDeclarations } from './older-declarations.mjs';
import { buildAddon, installPackages, root, runTool, step } from './steps.mjs';

export const addonSources = ['binding.gyp', 'src-native', 'include', 'package-lock.json'];

export function build() {
  installPackages('.');
  buildAddon('addon', '.', addonSources);
  step(
    'TypeScript',
    {
      inputs: [
        'lib',
        'tsconfig.json',
        'package-lock.json',
        'scripts/older-declarations.mjs',
        'scripts/join-modules.mjs',
      ],
      output: 'dist',
      fresh: true,
    },
    () => {
      rmSync(path.join(root, compiled), { recursive: true, force: true });
      // Comments are for who hovers over a name; who loads the library should not read them. TypeScript has one switch for both.
      runTool('typescript/bin/tsc', ['-p', '.', '--emitDeclarationOnly']);
      runTool('typescript/bin/tsc', [
        '-p',
        '.',
        '--declaration',
        'false',
        '--declarationDir',
        'null',
        '--removeComments',
      ]);
      joinModules();
      writeOlderDeclarations();
    },
  );
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) build();
