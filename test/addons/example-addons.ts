/** The example addons, by name, as scripts/addons.mjs built them. */

export interface ExampleAddon {
  makeTensor(): object;
  takeTensor(x: unknown): { sum: number; address: bigint; flags: number };
  /** Matrices of its own that somebody still holds. */
  held(): number;
  scale?: (x: unknown, factor: number) => void;
}

interface Built {
  readonly file?: string;
  readonly missing?: string;
}

// By scripts/addons.mjs, which is ours.
const built = JSON.parse(process.env['NODE_DLPACK_EXAMPLE_ADDONS'] ?? '{}') as Record<string, Built>;

/** The files of those that could be built. */
export const FILES: readonly (readonly [name: string, file: string])[] = Object.entries(built).flatMap(
  ([name, { file }]) => (file === undefined ? [] : [[name, file] as const]),
);

export function load(file: string): ExampleAddon {
  return require(file) as ExampleAddon; // it is one of FILES
}

/** The sum of the elements that each makes: 0 to 5. */
export const SUM = 15;
export const READ_ONLY = 1;
export const IS_COPIED = 2;

/** What each is written in, for the table of docs/interop.md. */
export const BUILT_WITH: Readonly<Record<string, string>> = {
  c: 'C11',
  cpp: 'C++17, node-addon-api, gyp',
  'cpp (CMake)': 'C++17, node-addon-api, CMake',
  rust: 'Rust, napi-rs 3, dlpark 0.10',
};
