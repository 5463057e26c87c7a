/**
 * The words of the exchange protocol, as the array API standard spells them: what a producer offers and what a consumer
 * may ask.
 *
 * A Python tuple is an array here, and None is null or absent. Options whose names this version does not know are
 * ignored, so that tomorrow's consumers need no second attempt with today's producers.
 */
import { parseDevicePair, type DLPackDevice } from './device';
import { rangeError, show, typeError } from './errors';
import { isArray } from './shape';

/** A version of DLPack. */
export type DLPackVersion = readonly [major: number, minor: number];

/** The version this library speaks: what its structs say, and what `fromDLPack` asks for. */
export const DLPACK_VERSION: DLPackVersion = Object.freeze([1, 3] as const);

/**
 * One managed tensor in transit. To JavaScript it is an opaque object, good for one consumer: hand it to `fromDLPack`,
 * or to an addon. If nobody takes it, its deleter runs when it is collected, or at `releaseCapsule`.
 */
export type DLPackCapsule = object;

/** What a consumer may ask of `__dlpack__`. Absent and null mean the same, except where said. */
export interface DLPackExportOptions {
  /** null only: there are no streams on the host. */
  readonly stream?: null | undefined;
  /**
   * The highest version the consumer understands. Absent, null or `[0, n]`: only the legacy struct, which cannot say
   * that it is read-only.
   */
  readonly max_version?: DLPackVersion | null | undefined;
  /**
   * Where the consumer wants it: null (where it is), the tensor's own device, or `[1, 0]` for memory that the host can
   * read.
   */
  readonly dl_device?: DLPackDevice | null | undefined;
  /** true: always over fresh memory. false: never; an error where that cannot be. null: only where it must be. */
  readonly copy?: boolean | null | undefined;
}

/**
 * Anything that takes part in the exchange as a producer. The options are loose here, so that classes written without
 * this library fit; what arrives is `DLPackExportOptions`. A class implements both without native code by delegating to
 * a `Tensor`.
 *
 * ```ts
 * class Picture {
 *   readonly #pixels = Tensor.from(new Uint8Array(12), { shape: [2, 2, 3] });
 *
 *   __dlpack__(options?: DLPackExportOptions): DLPackCapsule {
 *     return this.#pixels.__dlpack__(options);
 *   }
 *
 *   __dlpack_device__(): readonly number[] {
 *     return this.#pixels.__dlpack_device__();
 *   }
 * }
 * console.log(fromDLPack(new Picture()).shape); // -> [ 2, 2, 3 ]
 * ```
 */
export interface DLPackProducer {
  /** A fresh struct in a fresh capsule, at every call. */
  __dlpack__(options?: unknown): DLPackCapsule;
  /** `[device type, device id]`. */
  __dlpack_device__(): readonly number[];
}

/** What was asked of `__dlpack__`, validated. */
export interface ExportRequest {
  /** Does the consumer understand the versioned struct? */
  readonly versioned: boolean;
  readonly copy: boolean | null;
  readonly device: DLPackDevice | null;
}

/** The requests that nearly all consumers make. */
const VERSIONED: ExportRequest = Object.freeze({ versioned: true, copy: null, device: null });
const LEGACY: ExportRequest = Object.freeze({ versioned: false, copy: null, device: null });

/**
 * The options of `__dlpack__`, each read once.
 * @throws TypeError for options that are not a plain options object, a malformed `max_version`, `dl_device` or `copy`;
 *   RangeError (`ERR_OUT_OF_RANGE`) for a stream
 */
export function parseExportOptions(options: unknown): ExportRequest {
  if (options === undefined) return LEGACY;
  if (!isOptions(options)) {
    throw typeError(
      `__dlpack__ was called with ${show(options)}; it takes one object of named options: { stream, ` +
        'max_version, dl_device, copy }',
    );
  }
  const { stream, max_version: maxVersion, dl_device: device, copy } = options;
  parseStream(stream);
  if (isAbsent(device) && isAbsent(copy)) return parseMaxVersion(maxVersion) ? VERSIONED : LEGACY;
  return {
    versioned: parseMaxVersion(maxVersion),
    copy: parseCopy(copy),
    device: device === null || device === undefined ? null : parseDevicePair(device, 'dl_device'),
  };
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

/** An object of named options: no array, no function. */
export function isOptions(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws RangeError for anything but null or undefined */
export function parseStream(stream: unknown): void {
  if (stream !== null && stream !== undefined)
    throw rangeError(`stream is ${show(stream)}; it must be null: host memory has no streams`);
}

/**
 * @returns whether the versioned struct was asked for: major 1 or higher (same major is enough; a consumer that knows 2
 *   knows how to refuse 1)
 * @throws TypeError for anything but null, undefined or two non-negative integers
 */
export function parseMaxVersion(version: unknown): boolean {
  if (version === null || version === undefined) return false;
  if (isArray(version) && version.length === 2) {
    const [major, minor] = version;
    if (isVersionNumber(major) && isVersionNumber(minor)) return major >= 1;
  }
  throw typeError(
    `max_version is ${show(version)}; it must be null or [major, minor], two integers >= 0, such as [1, 3]`,
  );
}

/** @throws TypeError for anything but a boolean, null or undefined */
export function parseCopy(copy: unknown): boolean | null {
  if (copy === null || copy === undefined) return null;
  if (typeof copy === 'boolean') return copy;
  throw typeError(`copy is ${show(copy)}; it must be true, false or null`);
}

function isVersionNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
