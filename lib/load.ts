/**
 * Finds and loads the addon, or says what was looked for, what came of it, and what helps.
 *
 * The order: what an entry for bundlers provided; a build of this copy of the package; the one binary that the package
 * carries for this platform; the asset of a single executable application. What is there and does not load is an error,
 * not a reason to go on: whoever put it there must hear of it.
 */
import bindings = require('bindings');
import { existsSync, readdirSync } from 'node:fs';
import path = require('node:path');
import { notBuiltError } from './errors';
import { platformName } from './platform';

const FILE = 'node_dlpack.node';

/** Only where the permission model is on. */
const { permission } = process as { readonly permission?: NodeJS.ProcessPermission };

let provided: (() => unknown) | undefined;

/** For the entries `node-dlpack/linux-x64` and so on: `load` is a `require` that bundlers can follow. */
export function provideAddon(load: () => unknown): void {
  provided ??= load;
}

/**
 * @param root the folder of the package
 * @param platform the name of the binary to look for; given by tests alone
 * @returns what the addon exports
 * @throws Error (`ERR_DLPACK_NOT_BUILT`) when there is no addon for this platform, or it does not load
 */
export function loadAddon(root: string, platform?: string): unknown {
  let found = 'the file that this bundle brings';
  try {
    if (provided !== undefined) return provided();
    const name = platform ?? platformName();
    const places = [path.join('build', 'Release'), path.join('prebuilds', name)];
    for (const place of places) {
      found = path.join(root, place, FILE);
      if (exists(found))
        return bindings({ bindings: FILE, module_root: root, try: [['module_root', place, 'bindings']] });
    }
    found = `the asset ${FILE} of this program`;
    // Here and not above: it needs node:crypto, whose load would be a seventh of every start of ours.
    const { loadAsset } = require('./single-executable') as typeof import('./single-executable');
    const addon = loadAsset(FILE);
    if (addon !== undefined) return addon;
    throw notBuiltError(`${preamble()}: ${missing(root, places, name)}`);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_DLPACK_NOT_BUILT') throw error;
    throw notBuiltError(`${preamble()}: ${broken(root, found, error)}`, error);
  }
}

function preamble(): string {
  return (
    `The native addon of node-dlpack cannot be loaded on ${process.platform} ${process.arch} with Node.js ` +
    `${process.version} (Node-API ${process.versions['napi'] ?? 'none'})`
  );
}

/** How to come to a binary of one's own. A package has no binding.gyp at its root, the repository does. */
function buildCommand(root: string): string {
  const command = exists(path.join(root, 'binding.gyp')) ? 'npm run build' : 'npx node-dlpack build';
  return `\`${command}\` in ${root} (it needs Python 3 and a C++ compiler)`;
}

function missing(root: string, places: readonly string[], name: string): string {
  const files = places.map((place) => path.join(root, place, FILE));
  const hidden = files.find(isHidden);
  if (hidden !== undefined) {
    const grant = `--allow-fs-read=${path.join(root, '*')}`;
    return `the permission model does not let this process read ${hidden}. Start it with \`${grant}\` as well.`;
  }
  const looked = files.join(' nor ');
  if (!exists(path.join(root, 'package.json'))) {
    return (
      `neither ${looked} exists, and ${root} is not the folder of a package: this is a bundle. ` +
      `Bundle \`node-dlpack/${name}\` in place of \`node-dlpack\`, or leave node-dlpack out of the bundle.`
    );
  }
  const carried = carriedBy(root);
  if (carried.length === 0) return `neither ${looked} exists. Build it with ${buildCommand(root)}.`;
  return (
    `neither ${looked} exists. This copy of the package has binaries for ${carried.join(', ')}. ` +
    `Build one for ${name} with ${buildCommand(root)}.`
  );
}

/** The permission model forbids to look: Node 20 throws there, later versions answer that there is nothing. */
function isHidden(file: string): boolean {
  return permission !== undefined && !permission.has('fs.read', file);
}

function exists(file: string): boolean {
  return !isHidden(file) && existsSync(file);
}

function carriedBy(root: string): string[] {
  const folder = path.join(root, 'prebuilds');
  return exists(folder) ? readdirSync(folder) : [];
}

function broken(root: string, found: string, error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_DLOPEN_DISABLED') {
    const help =
      permission === undefined
        ? 'was started with `--no-addons`. Start it without.'
        : 'runs under the permission model without `--allow-addons`. Start it with that as well.';
    return `${found} is there, and this process may load no addon: it ${help}`;
  }
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  const build = path.join(root, 'build');
  const help =
    found.startsWith(build + path.sep) && carriedBy(root).length > 0
      ? `Remove ${build}, so that the binary that the package carries is used, or build it again with ${buildCommand(root)}.`
      : `Build it with ${buildCommand(root)}.`;
  return `${found} is there and does not load: ${reason.replace(/\.$/, '')}. ${help}`;
}
