/** The addon under check, and what every rule needs to do with it. */
import path = require('node:path');
import { pathToFileURL } from 'node:url';
import { DTYPES, isDType } from '../../dtype';
import { native } from '../../native';
import { DLPACK_VERSION } from '../../protocol';
import { takePointer } from '../../unsafe';
import { Broken, expect, isError, Skip } from './failure';
import { Probe, type Fields, type Form } from './probe';
import { Struct } from './struct';

export type Producer = { __dlpack__: (options?: unknown) => unknown; __dlpack_device__: () => unknown };

/** Turns that a collection is given; what it finds comes one turn later. */
const TURNS = 30;

/** What takeTensor is tried on where nothing says what it takes. */
const CANDIDATES: readonly Form[] = [
  { dtype: [2, 32, 1], shape: [2, 3] },
  { dtype: [2, 32, 1], shape: [6] },
  { dtype: [2, 64, 1], shape: [2, 3] },
  { dtype: [2, 64, 1], shape: [6] },
  { dtype: [1, 8, 1], shape: [6] },
  { dtype: [1, 8, 1], shape: [4, 6] },
  { dtype: [1, 8, 1], shape: [4, 6, 3] },
  { dtype: [0, 32, 1], shape: [6] },
  { dtype: [0, 64, 1], shape: [6] },
];

export class Subject {
  readonly file: string;
  readonly #make: (() => unknown) | undefined;
  readonly #take: ((x: unknown) => unknown) | undefined;
  readonly #held: (() => unknown) | undefined;
  readonly #takes: unknown;
  #form: Form | undefined;

  private constructor(file: string, exports: Readonly<Record<string, unknown>>) {
    this.file = file;
    const { makeTensor, takeTensor, held, takes } = exports;
    this.#make = typeof makeTensor === 'function' ? () => Reflect.apply(makeTensor, exports, []) as unknown : undefined;
    this.#take =
      typeof takeTensor === 'function' ? (x) => Reflect.apply(takeTensor, exports, [x]) as unknown : undefined;
    this.#held = typeof held === 'function' ? () => Reflect.apply(held, exports, []) as unknown : undefined;
    this.#takes = takes;
  }

  /** @throws what loading throws, or an Error when there is nothing to check */
  static async load(file: string): Promise<Subject> {
    const exports = await importAny(file);
    const subject = new Subject(file, exports);
    if (!subject.has('makeTensor') && !subject.has('takeTensor'))
      throw new Error('it exports neither makeTensor nor takeTensor');
    return subject;
  }

  has(name: 'makeTensor' | 'takeTensor'): boolean {
    return (name === 'makeTensor' ? this.#make : this.#take) !== undefined;
  }

  // --- makeTensor ----------------------------------------------------------------------------------------------------

  /** @throws Broken when it is neither a capsule nor a producer */
  async make(): Promise<object> {
    if (this.#make === undefined) throw new Skip('the addon has no makeTensor');
    const made: unknown = await this.#make();
    expect(
      isCapsule(made) || isProducer(made),
      `makeTensor() returned ${describe(made)}; it must return a DLPack capsule or an object with __dlpack__ and __dlpack_device__`,
    );
    return made;
  }

  /** The producer that makeTensor gives. @throws Skip when it gives capsules */
  async producer(): Promise<Producer> {
    const made = await this.make();
    if (!isProducer(made)) throw new Skip('makeTensor() returns capsules, which take no options');
    return made;
  }

  /** An unused capsule: as makeTensor gave it, or as its object answers a consumer that knows DLPack 1.3. */
  async capsule(): Promise<object> {
    const made = await this.make();
    return isProducer(made) ? capsuleOf(made, { max_version: DLPACK_VERSION }) : made;
  }

  /** The struct of a fresh one; the caller owes its release. */
  async struct(): Promise<Struct> {
    return new Struct(takePointer(await this.capsule()));
  }

  // --- takeTensor ----------------------------------------------------------------------------------------------------

  /** What held() says. @throws Skip when there is no such function */
  held(): number {
    const count: unknown = this.#held?.();
    if (typeof count !== 'number') throw new Skip('the addon has no held() that counts its tensors');
    return count;
  }

  /** Calls takeTensor; what it returns is forgotten unless it is a number, or an object with a number `sum`. */
  async take(x: unknown): Promise<{ sum: number | undefined }> {
    if (this.#take === undefined) throw new Skip('the addon has no takeTensor');
    const result: unknown = await this.#take(x);
    if (typeof result === 'number') return { sum: result };
    const sum: unknown = typeof result === 'object' && result !== null ? Reflect.get(result, 'sum') : undefined;
    return { sum: typeof sum === 'number' ? sum : undefined };
  }

  /** The form that takeTensor takes. */
  async form(): Promise<Form> {
    return (this.#form ??= await this.#findForm());
  }

  async #findForm(): Promise<Form> {
    if (this.#take === undefined) throw new Skip('the addon has no takeTensor');
    if (this.#takes !== undefined) return parseForm(this.#takes);
    const forms = [...CANDIDATES];
    if (this.#make !== undefined) {
      const struct = await this.struct();
      forms.unshift({ dtype: [...struct.dtype], shape: [...(struct.shape ?? [])] });
      struct.release();
    }
    let last = '';
    for (const form of forms) {
      try {
        await this.#take(new Probe(form).capsule());
        return form;
      } catch (error) {
        last = isError(error) ? error.message : String(error);
      }
    }
    throw new Broken(
      `takeTensor took none of the usual tensors (${last}); export takes = { dtype, shape } to say what it works on`,
    );
  }

  /** A probe of that form, with these fields. */
  async probe(fields: Fields = {}): Promise<Probe> {
    return new Probe(await this.form(), fields);
  }

  /** @throws Broken unless the probe's deleter was called once, by the end of some collections */
  async expectReleasedOnce(probe: Probe, after = 'takeTensor'): Promise<void> {
    await collectUntil(() => probe.deleterCalls > 0);
    await collect(2);
    const { deleterCalls } = probe;
    expect(
      deleterCalls === 1,
      `after ${after} the deleter was called ${deleterCalls} times; it must be called exactly once`,
    );
  }
}

async function importAny(file: string): Promise<Readonly<Record<string, unknown>>> {
  const loaded: unknown =
    path.extname(file) === '.mjs' ? await import(pathToFileURL(file).href) : (require(file) as unknown);
  if ((typeof loaded !== 'object' && typeof loaded !== 'function') || loaded === null)
    throw new Error('it exports nothing');
  return loaded as Readonly<Record<string, unknown>>;
}

function parseForm(takes: unknown): Form {
  const dtype: unknown = typeof takes === 'object' && takes !== null ? Reflect.get(takes, 'dtype') : undefined;
  const shape: unknown = typeof takes === 'object' && takes !== null ? Reflect.get(takes, 'shape') : undefined;
  const isShape = Array.isArray(shape) && shape.every((extent) => Number.isSafeInteger(extent) && extent > 0);
  if (!isDType(dtype) || DTYPES[dtype].bits < 8 || !isShape)
    throw new Broken(
      "takes must be { dtype: 'float32', shape: [2, 3] }, with a dtype of node-dlpack and extents above 0",
    );
  return { dtype: [DTYPES[dtype].code, DTYPES[dtype].bits, 1], shape: shape as number[] };
}

export function isCapsule(value: unknown): value is object {
  return native.capsuleState(value) !== 0;
}

export function isProducer(value: unknown): value is Producer {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || isCapsule(value)) return false;
  return (
    typeof Reflect.get(value, '__dlpack__') === 'function' &&
    typeof Reflect.get(value, '__dlpack_device__') === 'function'
  );
}

/** @throws Broken when the answer is no capsule */
export function capsuleOf(producer: Producer, options?: unknown): object {
  const capsule = options === undefined ? producer.__dlpack__() : producer.__dlpack__(options);
  expect(isCapsule(capsule), `__dlpack__() returned ${describe(capsule)}; it must return a DLPack capsule`);
  return capsule;
}

/** In a few words. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

export async function collect(turns = 1): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    globalThis.gc?.();
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

export async function collectUntil(done: () => boolean): Promise<boolean> {
  for (let turn = 0; turn < TURNS && !done(); turn++) await collect();
  return done();
}
