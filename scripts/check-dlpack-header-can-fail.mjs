// Shows that check-dlpack-header finds what it is there to find: our own header is taken for the official one, with one change at a time, and each
// must be reported by name.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from './steps.mjs';

const header = readFileSync(path.join(root, 'include/dlpack/dlpack.h'), 'utf8');

// What is changed, into what, and what the report must name; undefined: nothing may be reported.
const changes = [
  ['nothing', (text) => text, undefined],
  ['comments', (text) => text.replaceAll(/\/\*.*?\*\//gs, ''), undefined],
  [
    'a value',
    (text) => text.replace('kDLWebGPU = 15', 'kDLWebGPU = 19'),
    'enumerator kDLWebGPU of DLDeviceType: ours 15, official 19',
  ],
  [
    'a code more',
    (text) => text.replace('kDLFloat4_e2m1fn = 17U', 'kDLFloat4_e2m1fn = 17U, kDLBcomplex = 18U'),
    'enumerator kDLBcomplex of DLDataTypeCode: ours lacks it',
  ],
  ['a code less', (text) => text.replace(/kDLTrn = 18/, ''), 'enumerator kDLTrn of DLDeviceType: only ours has it'],
  [
    'a flag',
    (text) => text.replace('IS_COPIED (1UL << 1UL)', 'IS_COPIED (1UL << 3UL)'),
    'macro DLPACK_FLAG_BITMASK_IS_COPIED: ours 2, official 8',
  ],
  [
    'the width of a flag',
    (text) => text.replace('IS_COPIED (1UL << 1UL)', 'IS_COPIED (1 << 1)'),
    'macro DLPACK_FLAG_BITMASK_IS_COPIED: size',
  ],
  [
    'a macro more',
    (text) => text.replace('#ifdef _WIN32', '#define DLPACK_PATCH_VERSION 4\n#ifdef _WIN32'),
    'macro DLPACK_PATCH_VERSION: ours lacks it',
  ],
  [
    'the version',
    (text) => text.replace('MINOR_VERSION 3', 'MINOR_VERSION 4'),
    'macro DLPACK_MINOR_VERSION: ours 3, official 4',
  ],
  [
    'the name of a field',
    (text) => text.replace('uint64_t byte_offset', 'uint64_t offset_in_bytes'),
    'field DLTensor.byte_offset: offset: only ours has it',
  ],
  [
    'the order of fields',
    (text) => text.replace(/(int64_t\* shape;)(.*?)(int64_t\* strides;)/s, '$3$2$1'),
    'field DLTensor.shape: offset: ours 24, official 32',
  ],
  ['the type of a field', (text) => text.replace('int32_t ndim;', 'uint32_t ndim;'), 'C++ field DLTensor.ndim: type'],
  [
    'the width of a field',
    (text) => text.replace('int32_t ndim;', 'int64_t ndim;'),
    'field DLTensor.ndim: size: ours 4, official 8',
  ],
  [
    'a struct tag',
    (text) => text.replace('typedef struct DLPackExchangeAPI {', 'typedef struct {'),
    'struct DLPackExchangeAPI: tag',
  ],
  [
    'an argument',
    (text) => text.replace('void* py_object, DLTensor* out', 'void* py_object, const DLTensor* out'),
    'C++ function type DLPackDLTensorFromPyObjectNoSync',
  ],
  [
    'the type under an enum',
    (text) => text.replace('enum : int32_t', 'enum : uint32_t'),
    'C++ enum DLDeviceType: underlying type',
  ],
  [
    'the include guard',
    (text) => text.replaceAll('DLPACK_DLPACK_H_', 'ANOTHER_DLPACK_H_'),
    'include guard ANOTHER_DLPACK_H_ is defined: ours lacks it',
  ],
  [
    'a declaration of a kind not met before',
    (text) => text.replace('} DLDevice;', '} DLDevice;\nint DLPackVersionOf(void* tensor);'),
    'not understood: int DLPackVersionOf',
  ],
];

const folder = mkdtempSync(path.join(tmpdir(), 'dlpack-header-'));
let failed = 0;
try {
  mkdirSync(path.join(folder, 'dlpack'));
  for (const [what, change, expected] of changes) {
    const changed = change(header);
    writeFileSync(path.join(folder, 'dlpack/dlpack.h'), changed);
    const check = spawnSync(process.execPath, [path.join(root, 'scripts/check-dlpack-header.mjs'), folder], {
      encoding: 'utf8',
    });
    const printed = check.stdout + check.stderr;
    const ok =
      expected === undefined
        ? check.status === 0
        : check.status === 1 && changed !== header && printed.includes(expected);
    if (ok) continue;
    failed += 1;
    console.error(
      `not found: ${what} (exit ${check.status}; expected ${expected ?? 'nothing to be reported'})\n${printed}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`check-dlpack-header: ${changes.length - failed} of ${changes.length} changes judged rightly`);
process.exit(failed === 0 ? 0 : 1);
