/**
 * Where the headers for native addons are. This file loads no addon, so that `node-dlpack/include-dir` answers where
 * none is built: a build of somebody's addon asks for headers alone.
 */
import path = require('node:path');

/**
 * The folder to compile native addons with: `node_dlpack.h`, `node_dlpack.hpp`, `dlpack/dlpack.h`, and
 * `node_dlpack.gyp`. Absolute. Also an export of `node-dlpack/include-dir`, which needs no built addon.
 */
export const includeDir: string = path.resolve(__dirname, '..', 'include');

/**
 * What a target of a `binding.gyp` names among its `dependencies` to find the headers. Relative to the working
 * directory, where gyp asks for it: make cannot build below a path with a space, and so a project with one in its own
 * path still can.
 */
export const gypTarget: string = `${path.relative('.', includeDir).replaceAll('\\', '/')}/node_dlpack.gyp:node_dlpack`;
