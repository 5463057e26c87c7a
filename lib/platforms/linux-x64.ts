/** `node-dlpack/linux-x64`: the package root, with its binary for linux-x64 as a file that bundlers see. */
import { provideAddon } from '../load';

// Before the addon is asked for: statements of a CommonJS module run in the order in which they stand.
provideAddon(() => require('../../prebuilds/linux-x64/node_dlpack.node') as unknown);

export * from '../index';
