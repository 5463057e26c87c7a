/** `node-dlpack/darwin-arm64`: the package root, with its binary for darwin-arm64 as a file that bundlers see. */
import { provideAddon } from '../load';

// Before the addon is asked for: statements of a CommonJS module run in the order in which they stand.
provideAddon(() => require('../../prebuilds/darwin-arm64/node_dlpack.node') as unknown);

export * from '../index';
