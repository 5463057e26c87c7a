/**
 * Python in this process, by whichever embedder. All that crosses is text: requests and answers as JSON, through the one
 * function of interop/python/driver.py, and tokens.
 */
import path = require('node:path');
import { bootstrap } from '../../dist/python.js';
import { pythonFolder, sitePackages } from './python-peers.js';

/** What an embedder must be able to do: run statements, and call `driver.call` with a text. */
export interface Embedder {
  readonly name: string;
  run(source: string): void;
  call(request: string): string;
}

/** Source that readies an interpreter: the environment's packages, the module, the driver. */
export const preparation = [
  'import site, sys',
  'sys.dont_write_bytecode = True',
  `site.addsitedir(${JSON.stringify(sitePackages)})`,
  `sys.path.insert(0, ${JSON.stringify(pythonFolder)})`,
  bootstrap,
  'import driver',
].join('\n');

/** An exception of Python's, with the names of its class and of those above it. */
export class PythonError extends Error {
  readonly type: string;
  readonly bases: readonly string[];
  readonly code: unknown;

  constructor(error: { type: string; bases: string[]; code: unknown; message: string; traceback: string }) {
    super(error.message);
    this.type = error.type;
    this.bases = error.bases;
    this.code = error.code;
    this.stack = `${this.stack ?? ''}\n${error.traceback}`;
  }
}

/** What was asked of a producer, and what it answered. */
export interface ProtocolCall {
  readonly asked: Readonly<Record<string, unknown>>;
  /** Name of the capsule. */
  readonly struct: string;
  /** Of a versioned struct; null of a legacy one. */
  readonly flags: number | null;
  /** Of the first element. */
  readonly address: string;
  /** The exception, where it refused. */
  readonly refused?: string;
}

/** An array of a library's, as the library itself describes it. */
export interface ArrayReport {
  readonly address: string;
  readonly shape: number[];
  /** In elements; null where the library has none to tell. */
  readonly strides: number[] | null;
  readonly dtype: string;
  /** Row-major, hexadecimal. */
  readonly bytes: string;
  readonly writable: boolean;
}

export interface Kept {
  readonly id: number;
}

export interface Claimed extends Kept {
  readonly kind: 'Tensor' | 'OwnedTensor';
  readonly shape: number[];
  readonly strides: number[];
  readonly dtype: string;
  readonly device: number[];
  readonly readOnly: boolean;
  readonly text: string;
}

export interface Taken extends Kept, ArrayReport {
  readonly calls: ProtocolCall[];
}

export type Layout = 'plain' | 'columns' | 'offset' | 'reversed' | 'readonly';

export interface ArraySpec {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly layout?: Layout;
}

/** Kept: what was between the array and the offer, and counts the deleter. */
export interface Offered extends Kept {
  readonly token: string;
  readonly calls: ProtocolCall[];
}

/** The functions of interop/python/driver.py. */
export class Python {
  constructor(private readonly embedder: Embedder) {
    embedder.run(preparation);
  }

  versions(): Record<string, string> {
    return this.call('versions') as Record<string, string>;
  }

  claim(token: unknown): Claimed {
    return this.call('claim', token) as Claimed;
  }

  /** One `__dlpack__` call of an object; what its capsule holds, which goes unconsumed. */
  export(id: number, options: object): Omit<ProtocolCall, 'asked'> {
    return this.call('export', id, options) as Omit<ProtocolCall, 'asked'>;
  }

  take(library: string, id: number, copy: boolean | null = null): Taken {
    return this.call('take', library, id, copy) as Taken;
  }

  make(library: string, spec: ArraySpec): Kept & ArrayReport {
    return this.call('make', library, spec) as Kept & ArrayReport;
  }

  offer(id: number, options: object = {}): Offered {
    return this.call('offer', id, options) as Offered;
  }

  look(library: string, id: number): ArrayReport {
    return this.call('look_again', library, id) as ArrayReport;
  }

  /** Adds one to the first element, in place. */
  write(library: string, id: number): void {
    this.call('write', library, id);
  }

  drop(...kept: readonly Kept[]): void {
    for (const { id } of kept) this.call('drop', id);
  }

  /** null for objects that cannot be watched. */
  isAlive({ id }: Kept): boolean | null {
    return this.call('is_alive', id) as boolean | null;
  }

  deleterCalls({ id }: Offered): number {
    return this.call('deleted', id) as number;
  }

  /** Statements; the value that they leave in `result`. */
  run(source: string): unknown {
    return this.call('run', source);
  }

  /** The exception of a call that must fail. */
  errorOf(call: () => unknown): PythonError {
    try {
      call();
    } catch (error) {
      if (error instanceof PythonError) return error;
      throw error;
    }
    throw new Error('Python raised nothing');
  }

  private call(name: string, ...args: readonly unknown[]): unknown {
    const answer = JSON.parse(this.embedder.call(JSON.stringify({ function: name, arguments: args }))) as {
      result?: unknown;
      error?: ConstructorParameters<typeof PythonError>[0];
    };
    if (answer.error !== undefined) throw new PythonError(answer.error);
    return answer.result;
  }
}

/** Where a file of interop/python lies. */
export function pythonFile(name: string): string {
  return path.join(pythonFolder, name);
}
