/** `node-dlpack/linux-x64-musl`: the package root, with its binary for linux-x64-musl as a file that bundlers see. */
import { provideAddon } from '../load';

// Before the addon is asked for: statements of a CommonJS module run in the order in which they stand.
provideAddon(() => require('../../prebuilds/linux-x64-musl/node_dlpack.node') as unknown);

export * from '../index';
