/** What an object with __dlpack__ must make of what a consumer asks. */
import { capsuleName, releaseCapsule } from '../../capsule';
import { DLPACK_VERSION } from '../../protocol';
import { takePointer } from '../../unsafe';
import { Broken, expect, Skip, thrownBy } from './failure';
import type { Rule } from './rules';
import { Struct } from './struct';
import { capsuleOf, describe, type Producer, type Subject } from './subject';

const IS_COPIED = 2n;
const VERSION = { max_version: DLPACK_VERSION } as const;

function rule(
  id: string,
  level: Rule['level'],
  title: string,
  run: (producer: Producer, subject: Subject) => unknown,
): Rule {
  return {
    id,
    level,
    title,
    source: 'array API standard',
    about: 'makeTensor',
    run: async (subject) => {
      await run(await subject.producer(), subject);
    },
  };
}

function structOf(producer: Producer, options: unknown): Struct {
  return new Struct(takePointer(capsuleOf(producer, options)));
}

/** Asks, and releases what comes; answers the capsule's name, or the error. */
async function asked(producer: Producer, options?: unknown): Promise<string | Error> {
  let name = '';
  const error = await thrownBy(() => {
    const capsule = capsuleOf(producer, options);
    name = capsuleName(capsule) ?? '';
    releaseCapsule(capsule);
  });
  if (error instanceof Broken) throw error;
  return error ?? name;
}

async function expectRefusal(
  producer: Producer,
  options: unknown,
  names: readonly string[],
  what: string,
): Promise<void> {
  const answer = await asked(producer, options);
  expect(typeof answer !== 'string', `${what} gives a ${String(answer)}`);
  const { name } = answer;
  expect(names.includes(name), `${what} throws a ${name}; it must be a ${names.join(' or ')}`);
}

export const PROTOCOL_RULES: readonly Rule[] = [
  rule('D01', 'must', '__dlpack_device__() is the device of the struct, as two integers', (producer) => {
    const device = producer.__dlpack_device__();
    expect(
      Array.isArray(device) && device.length === 2 && device.every(Number.isInteger),
      `it returned ${Array.isArray(device) ? `[${device.join(', ')}]` : describe(device)}`,
    );
    const struct = structOf(producer, VERSION);
    const { device: own } = struct;
    struct.release();
    expect(
      own[0] === device[0] && own[1] === device[1],
      `it returned [${device.join(', ')}], the struct says [${own.join(', ')}]`,
    );
  }),
  rule('D02', 'must', 'max_version [1, 0] and anything higher gives the versioned struct', async (producer) => {
    for (const version of [
      [1, 0],
      [1, 3],
      [2, 0],
      [100, 3],
    ]) {
      const answer = await asked(producer, { max_version: version });
      expect(answer === 'dltensor_versioned', `max_version [${version.join(', ')}] gives ${String(answer)}`);
    }
  }),
  rule(
    'D03',
    'must',
    'no max_version, or [0, n], gives the legacy struct, or a BufferError where that cannot be',
    async (producer) => {
      for (const options of [undefined, {}, { max_version: null }, { max_version: [0, 8] }]) {
        const answer = await asked(producer, options);
        expect(
          typeof answer === 'string' ? answer === 'dltensor' : answer.name === 'BufferError',
          `${JSON.stringify(options) ?? 'no options'} gives ${String(answer)}`,
        );
      }
    },
  ),
  rule('D04', 'must', 'two exports are two structs, and the end of one leaves the other', (producer) => {
    const [first, second] = [structOf(producer, VERSION), structOf(producer, VERSION)];
    const { form } = second;
    expect(first.address !== second.address, 'both capsules hold one and the same struct');
    first.release();
    expect(JSON.stringify(second.form) === JSON.stringify(form), 'its shape changed when the other one ended');
    second.release();
  }),
  rule('D05', 'must', 'copy: true is fresh memory with IS_COPIED, or a BufferError', async (producer) => {
    const plain = structOf(producer, VERSION);
    const error = await thrownBy(() => {
      const copied = structOf(producer, { ...VERSION, copy: true });
      const { flags, data } = copied;
      copied.release();
      expect((flags & IS_COPIED) !== 0n, 'IS_COPIED is not set');
      expect(plain.size === 0 || data !== plain.data, 'the memory is the same as without copy');
    });
    plain.release();
    if (error instanceof Broken) throw error;
    expect(error === undefined || error.name === 'BufferError', `it throws a ${error?.name}`);
  }),
  rule('D06', 'must', 'copy: false is no copy', async (producer) => {
    const error = await thrownBy(() => {
      const shared = structOf(producer, { ...VERSION, copy: false });
      const { flags } = shared;
      shared.release();
      expect((flags & IS_COPIED) === 0n, 'IS_COPIED is set');
    });
    if (error instanceof Broken) throw error;
    expect(error === undefined || error.name === 'BufferError', `it throws a ${error?.name}`);
  }),
  rule('D07', 'must', 'dl_device null, and its own, is where it is', async (producer) => {
    const own = producer.__dlpack_device__();
    for (const device of [null, own]) {
      const answer = await asked(producer, { ...VERSION, dl_device: device });
      expect(typeof answer === 'string', `dl_device ${String(device)} throws ${String(answer)}`);
    }
  }),
  rule('D08', 'must', 'a dl_device where it cannot be is a BufferError', async (producer) => {
    for (const device of [
      [99, 0],
      [8, 3],
    ]) {
      await expectRefusal(
        producer,
        { ...VERSION, dl_device: device },
        ['BufferError'],
        `dl_device [${device.join(', ')}]`,
      );
    }
  }),
  rule('D09', 'must', 'host memory has no streams: anything but null is an error', async (producer) => {
    const [type] = producer.__dlpack_device__() as readonly number[];
    if (type !== 1) throw new Skip('it is not on the CPU');
    const answer = await asked(producer, { ...VERSION, stream: null });
    expect(typeof answer === 'string', `stream null throws ${String(answer)}`);
    await expectRefusal(producer, { ...VERSION, stream: 1 }, ['RangeError', 'TypeError', 'Error'], 'stream 1');
  }),
  rule('D10', 'must', 'malformed options are a TypeError', async (producer) => {
    const malformed = [
      { max_version: 1 },
      { max_version: [1] },
      { max_version: [1, 2, 3] },
      { max_version: [1.5, 0] },
      { ...VERSION, copy: 1 },
      { ...VERSION, dl_device: [1] },
    ];
    for (const options of malformed) await expectRefusal(producer, options, ['TypeError'], JSON.stringify(options));
  }),
  rule('D11', 'should', 'options whose names it does not know are ignored', async (producer) => {
    const answer = await asked(producer, { ...VERSION, of_tomorrow: 1 });
    expect(typeof answer === 'string', `it throws ${String(answer)}`);
  }),
];
