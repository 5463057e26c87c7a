/**
 * `node-dlpack info`: what a report of a problem should say. It works where the binary does not load, and then says
 * why.
 */
import { constants } from 'node:buffer';
import { statSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { parseArguments } from './arguments';
import { formatBytes, printJson, printTable } from './output';
import { findPeers } from './peers';
import { packageVersion } from './version';

interface Loaded {
  readonly path: string;
  readonly byteLength: number;
  readonly dlpack: string;
  /** May ArrayBuffers lie over native memory? Where not (Electron), looking at a tensor copies it. */
  readonly externalArrayBuffers: boolean;
}

/** @returns the exit code */
export function info(args: readonly string[]): number {
  const { flags } = parseArguments(args, { command: 'info', flags: ['json'] });
  const binary = load();
  const report: Report = {
    version: packageVersion(),
    platform: process.platform,
    arch: process.arch,
    runtime: runtime(),
    nodeApi: process.versions['napi'] ?? null,
    binary,
    largestTypedArray: constants.MAX_LENGTH,
    heapLimit: getHeapStatistics().heap_size_limit,
    float16Array: Reflect.has(globalThis, 'Float16Array'),
    debug: process.env['NODE_DLPACK_DEBUG'] ?? null,
    libraries: findPeers(process.cwd()),
  };
  if (flags.has('json')) printJson(report);
  else print(report);
  return 'error' in binary ? 1 : 0;
}

function load(): Loaded | { readonly error: string } {
  try {
    const { DLPACK_VERSION } = require('../index') as typeof import('../index');
    const { native } = require('../native') as typeof import('../native');
    const { mustStage } = require('../staging') as typeof import('../staging');
    return {
      path: native.addonPath,
      byteLength: statSync(native.addonPath).size,
      dlpack: DLPACK_VERSION.join('.'),
      externalArrayBuffers: !mustStage(),
    };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Node, or a runtime that also claims to be some version of it. */
function runtime(): string {
  const { bun, deno, electron, node } = process.versions as Readonly<Record<string, string | undefined>>;
  const host = [
    ['Bun', bun],
    ['Deno', deno],
    ['Electron', electron],
  ].find(([, version]) => version !== undefined);
  return host === undefined ? `Node.js ${node}` : `${host.join(' ')} (as Node.js ${node})`;
}

interface Report {
  readonly version: string;
  readonly platform: string;
  readonly arch: string;
  readonly runtime: string;
  readonly nodeApi: string | null;
  readonly binary: Loaded | { readonly error: string };
  readonly largestTypedArray: number;
  readonly heapLimit: number;
  readonly float16Array: boolean;
  readonly debug: string | null;
  readonly libraries: Readonly<Record<string, string>>;
}

function print(report: Report): void {
  const { binary, libraries } = report;
  printTable([
    ['node-dlpack', report.version],
    ['platform', `${report.platform} ${report.arch}`],
    ['runtime', `${report.runtime}, Node-API ${report.nodeApi ?? 'none'}`],
    ...binaryRows(binary),
    ['largest typed array', formatBytes(report.largestTypedArray)],
    ['heap limit', formatBytes(report.heapLimit)],
    ['Float16Array', report.float16Array ? 'yes' : 'no: float16 is shown by its bits'],
    ['NODE_DLPACK_DEBUG', report.debug ?? 'not set'],
  ]);
  console.log('\nlibraries found here');
  const found = Object.entries(libraries);
  if (found.length === 0) console.log('  none that tensors are exchanged with');
  else printTable(found, '  ');
}

function binaryRows(binary: Report['binary']): [string, string][] {
  if ('error' in binary) return [['binary', binary.error]];
  return [
    ['binary', `${binary.path}, ${formatBytes(binary.byteLength)}`],
    ['DLPack', binary.dlpack],
    ['external ArrayBuffers', binary.externalArrayBuffers ? 'allowed' : 'forbidden: looking at a tensor copies it'],
  ];
}
