// The library by its public names, and the separately compiled C addon. The one place that knows where they are.
import { createRequire } from 'node:module';

// A package may require itself by name from its own root: a program of yours would write the same lines without the two
// dots.
const require = createRequire(new URL('../../package.json', import.meta.url));

export const { DLPACK_VERSION, OwnedTensor, fromDLPack, scope, stats } = require('node-dlpack');
export const { adopt, dataAddress } = require('node-dlpack/unsafe');

/**
 * `addressOf`, `inspect`, `handBack`, `findLines`, `resample`: see ../boxes-addon/README.md. It shares nothing with us
 * but two headers.
 */
export const addon = require('./examples/boxes-addon/build/Release/boxes_addon.node');

/**
 * What a consumer that knows flags asks for. Without it a producer must assume one that does not, and a read-only
 * tensor has to be copied.
 */
export const VERSIONED = Object.freeze({ max_version: DLPACK_VERSION });
