/**
 * Every public function with every kind of wrong value in every place: receiver, each argument, each option, and
 * fields whose getters throw or dispose in the middle. Each call ends in a named error or a right answer; the counters
 * are then where they were, and what was not disposed is as it was. A crash ends the test run.
 */
import { afterAll, describe, expect, test } from '@jest/globals';
import { types } from 'node:util';
import type { Safetensors } from '../dist/files/index.js';
import { capsuleName, copyThreads, OwnedTensor, releaseCapsule, revokeToken, stats, Tensor } from '../dist/index.js';
import { makeCapsule } from '../dist/unsafe.js';
import { expectCountersAtZero } from './support/counters.js';
import { discardHostile, HOSTILE, HostileError, type Hostile } from './support/hostile-values.js';
import { PUBLIC_FUNCTIONS, type PublicFunction } from './support/public-functions.js';
import { FIXED, GROUND, RIGHT_CALLS, type RightCall } from './support/right-calls.js';

const threads = copyThreads();
afterAll(() => {
  copyThreads(threads);
  for (const alive of [...Object.values(FIXED), ...GROUND]) alive.dispose();
});
expectCountersAtZero();

const NAMES: Readonly<Record<string, string>> = {
  ERR_INVALID_ARG_TYPE: 'TypeError',
  ERR_OUT_OF_RANGE: 'RangeError',
  ERR_DLPACK_MEMORY: 'RangeError',
  ERR_DLPACK_BUFFER: 'BufferError',
  ERR_DLPACK_CONSUMED: 'DLPackStateError',
  ERR_DLPACK_DISPOSED: 'DLPackStateError',
  ERR_DLPACK_TOKEN: 'DLPackStateError',
};

/** What the call works on, if it is a method. */
interface Subject {
  readonly receiver: Tensor | OwnedTensor | undefined;
  readonly disturb: () => void;
}

function subjectOf({ name }: PublicFunction): Subject {
  const elements = Float32Array.of(1, 2, 3, 4, 5, 6);
  const receiver = /^(get )?Tensor#/.test(name)
    ? Tensor.from(elements, { shape: [2, 3] })
    : /^(get )?OwnedTensor#/.test(name)
      ? OwnedTensor.from(elements, { shape: [2, 3] })
      : undefined;
  return { receiver, disturb: () => receiver?.dispose() };
}

interface Outcome {
  readonly result?: unknown;
  readonly error?: unknown;
}

async function outcomeOf(call: () => unknown): Promise<Outcome> {
  try {
    return { result: await call() };
  } catch (error) {
    return { error };
  }
}

/** What lives through all calls. */
const LIVING = new Set<unknown>([...Object.values(FIXED), ...GROUND]);

/** Gives back what a call made, or was given. What cannot be given back shows in the counters. */
function discard(value: unknown, name = ''): void {
  if (types.isProxy(value) || LIVING.has(value)) return;
  try {
    if (value instanceof Tensor || value instanceof OwnedTensor) value.dispose();
    else if (name === 'readSafetensors')
      Object.values((value as Safetensors).tensors).forEach((tensor) => tensor.dispose());
    else if (typeof value === 'string' && /#(share|transfer)$/.test(name)) revokeToken(value);
    else if (name === 'takePointer') releaseCapsule(makeCapsule(value as Parameters<typeof makeCapsule>[0]));
    else if (typeof value === 'object' && value !== null && capsuleName(value) !== undefined) releaseCapsule(value);
  } catch {
    // Only looked like one.
  }
}

/** undefined, or what is wrong with the error. */
function faultOf(called: string, error: unknown, hostile: Hostile | undefined): string | undefined {
  if (error instanceof HostileError) return undefined;
  const [name, code] = [Reflect.get(Object(error), 'name'), Reflect.get(Object(error), 'code')].map(String);
  if (code !== undefined && NAMES[code] === name) return undefined;
  // A text may be the name of a file; what is wrong with that, the file system says.
  const bySystem = /^E[A-Z]+$/.test(String(code)) || code === 'ERR_INVALID_ARG_VALUE';
  if (bySystem && /^(read|write)/.test(called)) return undefined;
  // Where it is the caller's own value, or the engine's own class, that refuses.
  if (
    (hostile?.engineRefuses === true || called.startsWith('new DLPack')) &&
    /^(TypeError|RangeError)$/.test(name ?? '')
  )
    return undefined;
  return `${name} without a code of ours: ${String(Reflect.get(Object(error), 'stack') ?? error)}`;
}

/** One call; answers what was wrong with it. */
async function attempt(
  called: PublicFunction,
  where: string,
  hostile: Hostile | undefined,
  change: (args: readonly unknown[], subject: Subject) => readonly unknown[],
): Promise<string[]> {
  const before = stats();
  const subject = subjectOf(called);
  const own = subject.receiver;
  const right = rightCallOf(called).args();
  const args = change(right, subject);
  const faults: string[] = [];
  const { result, error } = await outcomeOf(() => Reflect.apply(called.call, own, args));
  if (error === undefined) discard(result, called.name);
  else {
    const fault = faultOf(called.name, error, hostile);
    if (fault !== undefined) faults.push(fault);
    if (own !== undefined && !own.disposed) {
      const same = !own.consumed && own.isUnique && own.at(0, 0) === 1 && own.at(1, 2) === 6;
      if (!same) faults.push('a refused call changed what it was called on');
    }
  }
  own?.dispose();
  for (const value of new Set([...right, ...args])) discard(value);
  discardHostile();
  const after = stats();
  if (JSON.stringify(after) !== JSON.stringify(before)) {
    faults.push(`left ${JSON.stringify(after)} of ${JSON.stringify(before)}`);
  }
  return faults.map((fault) => `${called.name}, ${where} is ${hostile?.name ?? 'right'}: ${fault}`);
}

function replaced(args: readonly unknown[], place: number, value: unknown): unknown[] {
  return Object.assign([...args], { [place]: value });
}

/** Of `object`, a copy in which one field is a getter. */
function withField(object: unknown, field: string, descriptor: PropertyDescriptor): object {
  const copy: object = { ...(object as object) };
  return Object.defineProperty(copy, field, { enumerable: true, configurable: true, ...descriptor });
}

const BY_NAME = new Map(PUBLIC_FUNCTIONS.map((called) => [called.name, called]));
const ARGUED = PUBLIC_FUNCTIONS.filter(({ kind }) => kind !== 'getter');
/** Those of the table; the first test says which are missing there. */
const KNOWN = ARGUED.filter(({ name }) => Object.hasOwn(RIGHT_CALLS, name));
const RECEIVED = PUBLIC_FUNCTIONS.filter(({ kind }) => kind === 'getter' || kind === 'method');

function rightCallOf({ name }: PublicFunction): RightCall {
  return RIGHT_CALLS[name] ?? { args: () => [] };
}

/** The places in a call where an object has named fields: the first argument, and the last. */
function fieldsOf(right: RightCall): { place: number; field: string }[] {
  const last = right.args().length - 1;
  return [
    ...(right.fields ?? []).map((field) => ({ place: 0, field })),
    ...(right.options ?? []).map((field) => ({ place: last, field })),
  ];
}

test('every public function is known, with a call that is right, and nothing else is', () => {
  const names = ARGUED.map(({ name }) => name);
  expect(new Set(Object.keys(RIGHT_CALLS))).toEqual(new Set(names));
  expect(names.length).toBeGreaterThan(80);
  expect(HOSTILE.length).toBeGreaterThan(200);
});

test.each(KNOWN.map(({ name }) => name))('%s is right as the table calls it', async (name) => {
  const called = BY_NAME.get(name) as PublicFunction;
  const refusing = /^new (Tensor|OwnedTensor)$|fromShared|fromTransfer|^(makeCapsule|revokeToken)$/.test(name);
  const { receiver } = subjectOf(called);
  const args = rightCallOf(called).args();
  const outcome = await outcomeOf(() => Reflect.apply(called.call, receiver, args));
  receiver?.dispose();
  args.forEach((value) => discard(value));
  if (outcome.error === undefined) discard(outcome.result, name);
  expect([refusing, outcome.error]).toEqual([refusing, refusing ? expect.anything() : undefined]);
});

describe.each(KNOWN.map(({ name }) => name))('%s', (name) => {
  const called = BY_NAME.get(name) as PublicFunction;
  const right = rightCallOf(called);
  // One place more than it takes: what is too much must not matter.
  const places = right.args().length + 1;

  test('with a wrong value in each place', async () => {
    const faults: string[] = [];
    for (const hostile of HOSTILE) {
      // A text is the name of a file there, and would be written.
      if (name === 'writeNpy' && typeof hostile.make(() => undefined) === 'string') continue;
      discardHostile();
      for (let place = 0; place < places; place += 1) {
        // oxlint-disable-next-line no-await-in-loop -- one call at a time: the counters are those of all
        const found = await attempt(called, `argument ${place}`, hostile, (args, { disturb }) =>
          replaced(args, place, hostile.make(disturb)),
        );
        faults.push(...found);
      }
    }
    expect(faults).toEqual([]);
  });

  test('with a wrong value in each field, or a getter that throws or disposes', async () => {
    const faults: string[] = [];
    for (const { place, field } of fieldsOf(right)) {
      const where = `${field} of argument ${place}`;
      const put =
        (descriptor: (subject: Subject, value: unknown) => PropertyDescriptor) =>
        (args: readonly unknown[], subject: Subject): unknown[] => {
          const value: unknown = Reflect.get(Object(args[place]), field);
          return replaced(args, place, withField(args[place], field, descriptor(subject, value)));
        };
      const getters: ((subject: Subject, value: unknown) => PropertyDescriptor)[] = [
        () => ({
          get: () => {
            throw new HostileError('a getter');
          },
        }),
        ({ disturb }, value) => ({ get: () => (disturb(), value) }),
      ];
      for (const getter of getters) {
        // oxlint-disable-next-line no-await-in-loop -- as above
        faults.push(...(await attempt(called, where, undefined, put(getter))));
      }
      for (const hostile of HOSTILE) {
        // A function is right there; what one throws later is an uncaught exception, as of a timer.
        if (field === 'release' && typeof hostile.make(() => undefined) === 'function') continue;
        discardHostile();
        // oxlint-disable-next-line no-await-in-loop -- as above
        const found = await attempt(
          called,
          where,
          hostile,
          put(({ disturb }) => ({ value: hostile.make(disturb) })),
        );
        faults.push(...found);
      }
    }
    expect(faults).toEqual([]);
  });
});

test.each(RECEIVED.map(({ name }) => name))('%s on a wrong receiver', async (name) => {
  const called = BY_NAME.get(name) as PublicFunction;
  const right = rightCallOf(called);
  const faults: string[] = [];
  for (const hostile of HOSTILE) {
    const before = stats();
    const receiver = hostile.make(() => undefined);
    const args = right.args();
    // oxlint-disable-next-line no-await-in-loop -- as above
    const { error, result } = await outcomeOf(() => Reflect.apply(called.call, receiver, args));
    if (error === undefined) discard(result, name);
    else {
      // The language itself refuses to read a property of nothing.
      const engineRefuses = hostile.engineRefuses === true || receiver === undefined || receiver === null;
      const fault = faultOf(name, error, { ...hostile, engineRefuses });
      if (fault !== undefined) faults.push(`${name} on ${hostile.name}: ${fault}`);
    }
    args.forEach((value) => discard(value));
    discardHostile();
    if (JSON.stringify(stats()) !== JSON.stringify(before)) faults.push(`${name} on ${hostile.name} left something`);
  }
  expect(faults).toEqual([]);
});
