/**
 * Blocks of code out of the documentation as the programs that they are: written to files inside the package, so that
 * `node-dlpack` is this very copy by its own name, compiled under strict TypeScript where they are TypeScript, and each
 * run by a Node of its own.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path = require('node:path');
import type { Block } from './markdown.js';

const root = path.resolve(__dirname, '../..');

const COMPILER_OPTIONS = {
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable'],
  module: 'node16',
  moduleResolution: 'node16',
  strict: true,
  types: ['node'],
};

/** The language of a block tells whether it is a program at all, and a program may say why it is not run. */
export function isProgram(block: Block): boolean {
  return block.notRun === undefined && (block.language === 'js' || block.language === 'ts');
}

/** What the compiler said. */
export interface Compilation {
  readonly status: number;
  readonly output: string;
}

/** What a program did, and what it should have printed. */
export interface Run {
  readonly ending: { readonly status: number | null; readonly signal: string | null; readonly stderr: string };
  readonly printed: readonly string[];
}

/** What programs need besides this package. */
export interface Surroundings {
  /** A folder of packages that they may import. */
  readonly packages?: string | undefined;
  readonly compilerOptions?: object | undefined;
  /** Puts files into their folder: what they read, more to compile. */
  readonly furnish?: ((workplace: string) => Promise<void>) | undefined;
}

export class Programs {
  readonly #workplace: string;
  readonly #blocks: readonly Block[];
  readonly #surroundings: Surroundings;

  /** `workplace`: a folder of their own below this package, which is emptied first. */
  constructor(workplace: string, blocks: readonly Block[], surroundings: Surroundings = {}) {
    this.#workplace = path.join(root, workplace);
    this.#blocks = blocks;
    this.#surroundings = surroundings;
  }

  /** Writes and compiles them all; what the compiler said. */
  async prepare(): Promise<Compilation> {
    const { packages, compilerOptions, furnish } = this.#surroundings;
    rmSync(this.#workplace, { recursive: true, force: true });
    mkdirSync(this.#workplace, { recursive: true });
    if (packages !== undefined) symlinkSync(packages, path.join(this.#workplace, 'node_modules'), 'junction');
    for (const block of this.#blocks) writeFileSync(this.#fileOf(block), `${block.code}\n`);
    await furnish?.(this.#workplace);
    if (!this.#blocks.some((block) => block.language === 'ts')) return { status: 0, output: '' };
    const project = { compilerOptions: { ...COMPILER_OPTIONS, ...compilerOptions }, include: ['*.mts'] };
    writeFileSync(path.join(this.#workplace, 'tsconfig.json'), JSON.stringify(project));
    const tsc = spawnSync(
      process.execPath,
      [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', this.#workplace],
      { encoding: 'utf8' },
    );
    return { status: tsc.status ?? 1, output: `${tsc.stdout}${tsc.stderr}` };
  }

  run(block: Block): Run {
    const file = this.#fileOf(block).replace(/\.mts$/, '.mjs');
    const { status, signal, stderr, stdout } = spawnSync(process.execPath, [file], {
      cwd: this.#workplace,
      encoding: 'utf8',
      timeout: 50_000,
    });
    return { ending: { status, signal, stderr }, printed: stdout.trimEnd().split(/\s*\n/) };
  }

  /** Its extension tells Node (and TypeScript) what it is. */
  #fileOf(block: Block): string {
    const name = block.where.replaceAll(/[^A-Za-z0-9]+/g, '-');
    if (block.language === 'ts') return path.join(this.#workplace, `${name}.mts`);
    return path.join(this.#workplace, /^import\s/m.test(block.code) ? `${name}.mjs` : `${name}.cjs`);
  }
}

/** How a program ends that did what it should. */
export const WELL_ENDED: Run['ending'] = { status: 0, signal: null, stderr: '' };
