/** What takeTensor must do with a sound tensor, and with what is none. */
import { capsuleName, releaseCapsule } from '../../capsule';
import { OwnedTensor } from '../../owned-tensor';
import { stats } from '../../stats';
import { DTYPES } from '../../dtype';
import { fromDLPack } from '../../from-dlpack';
import { native } from '../../native';
import { Broken, expect, Skip, thrownBy } from './failure';
import { columnMajor, Probe, ramp, rampSum, rowMajor, sizeOf, type Fields } from './probe';
import type { Rule } from './rules';
import { collect, collectUntil, describe, type Subject } from './subject';

function rule(id: string, level: Rule['level'], title: string, source: Rule['source'], run: Rule['run']): Rule {
  return { id, level, title, source, about: 'takeTensor', run };
}

/** takeTensor accepts it, ends it once and changes nothing of the struct. */
async function expectTaken(subject: Subject, probe: Probe, x: unknown): Promise<number | undefined> {
  const { sum } = await subject.take(x);
  await subject.expectReleasedOnce(probe);
  expect(!probe.structChanged, 'it wrote to the struct, its shape or its strides, which are the producer’s');
  return sum;
}

/** takeTensor accepts a probe with these fields. */
function accepts(id: string, level: Rule['level'], title: string, fields: Fields): Rule {
  return rule(id, level, title, 'DLPack 1.3', async (subject) => {
    const probe = await subject.probe(fields);
    await expectTaken(subject, probe, probe.capsule());
  });
}

/** It may refuse, but not take twice or keep. */
async function expectTakenOrRefused(subject: Subject, probe: Probe): Promise<Error | undefined> {
  const error = await thrownBy(() => subject.take(probe.capsule()));
  await subject.expectReleasedOnce(probe, error === undefined ? 'takeTensor' : `takeTensor threw (${error.message})`);
  return error;
}

/** The sum is that of the elements, wherever they lie. @throws Skip when takeTensor gives no sum of plain numbers */
async function expectSum(subject: Subject, fields: Fields): Promise<void> {
  const form = await subject.form();
  const expected = rampSum(form);
  const plain = await subject.probe();
  const { sum } = await subject.take(plain.capsule());
  if (sum === undefined || expected === undefined || sum !== expected)
    throw new Skip('what takeTensor returns is not the sum of the elements');
  const probe = new Probe(form, fields);
  let found: number | undefined;
  const error = await thrownBy(async () => {
    ({ sum: found } = await subject.take(probe.capsule()));
  });
  await subject.expectReleasedOnce(probe);
  if (error !== undefined) throw new Skip(`it refuses them: ${error.message}`);
  expect(found === expected, `the sum is ${found}; that of the elements is ${expected}`);
}

const ITEM = (bits: number): number => Math.max(1, bits >> 3);

export const CONSUMER_RULES: readonly Rule[] = [
  rule('C01', 'must', 'a capsule is used afterwards, and the deleter called once', 'node_dlpack.h', async (subject) => {
    const probe = await subject.probe();
    const capsule = probe.capsule();
    await subject.take(capsule);
    expect(
      capsuleName(capsule)?.startsWith('used') === true,
      'the capsule is still unused: the pointer was read, not taken',
    );
    await subject.expectReleasedOnce(probe);
  }),
  rule(
    'C02',
    'must',
    'an object with __dlpack__ is asked once, for DLPack 1, and the deleter called once',
    'array API standard',
    async (subject) => {
      const probe = await subject.probe();
      const producer = probe.producer();
      const error = await thrownBy(() => expectTaken(subject, probe, producer));
      if (error !== undefined && producer.exports.length === 0) throw error;
      expect(producer.exports.length === 1, `__dlpack__ was called ${producer.exports.length} times`);
      expect(producer.devices.length <= 1, `__dlpack_device__ was called ${producer.devices.length} times`);
      const [[options] = []] = producer.exports;
      const version: unknown =
        typeof options === 'object' && options !== null ? Reflect.get(options, 'max_version') : undefined;
      expect(
        Array.isArray(version) && version[0] >= 1,
        'it did not ask for max_version [1, n], so it gets legacy structs and copies',
      );
      if (error !== undefined) throw error;
    },
  ),
  rule(
    'C03',
    'must',
    'a legacy struct is accepted, and ended by its own deleter',
    'array API standard',
    async (subject) => {
      const probe = await subject.probe({ versioned: false });
      await expectTaken(subject, probe, probe.capsule());
    },
  ),
  rule('C04', 'must', 'a used capsule is refused', 'node_dlpack.h', async (subject) => {
    const probe = await subject.probe();
    const capsule = probe.capsule();
    releaseCapsule(capsule);
    expect((await thrownBy(() => subject.take(capsule))) !== undefined, 'it was taken all the same');
    await subject.expectReleasedOnce(probe);
  }),
  rule(
    'C05',
    'must',
    'what is no tensor is refused, and a stranger’s External is not read',
    'node_dlpack.h',
    async (subject) => {
      const values: [string, unknown][] = [
        ['undefined', undefined],
        ['null', null],
        ['0', 0],
        ['a string', 'dltensor'],
        ['a bigint', 1n],
        ['an empty object', {}],
        ['an array', []],
        ['a function', () => 0],
        ['a stranger’s External', native.makeStrangeExternal()],
        ['an object without __dlpack_device__', { __dlpack__: 1 }],
      ];
      for (const [what, value] of values) {
        expect((await thrownBy(() => subject.take(value))) !== undefined, `${what} was taken without an error`);
      }
    },
  ),
  rule(
    'C06',
    'must',
    'what a producer throws reaches the caller, the same error, after one call',
    'array API standard',
    async (subject) => {
      await subject.form();
      const thrown = new Error('the producer’s own');
      let calls = 0;
      const error = await thrownBy(() =>
        subject.take({
          __dlpack__: () => {
            calls++;
            throw thrown;
          },
          __dlpack_device__: () => [1, 0],
        }),
      );
      expect(error === thrown, `it threw ${error === undefined ? 'nothing' : `another error: ${error.message}`}`);
      expect(calls === 1, `__dlpack__ was called ${calls} times`);
    },
  ),
  rule('C07', 'must', 'a producer whose answer is no capsule is refused', 'array API standard', async (subject) => {
    await subject.form();
    for (const answer of [undefined, null, {}, 'dltensor']) {
      const producer = { __dlpack__: () => answer, __dlpack_device__: () => [1, 0] };
      expect(
        (await thrownBy(() => subject.take(producer))) !== undefined,
        `${describe(answer)} was taken for a capsule`,
      );
    }
  }),
  accepts('C08', 'must', 'a higher minor version and unknown flags are accepted', {
    version: [1, 10],
    flags: 1n << 33n,
  }),
  rule(
    'C09',
    'must',
    'a struct without a deleter is accepted, and ended by calling nothing',
    'DLPack 1.3',
    async (subject) => {
      const probe = await subject.probe({ deleter: false });
      await subject.take(probe.capsule());
      await collect(2);
    },
  ),
  accepts('C10', 'must', 'strides that are missing mean row-major (structs from before 1.2)', {
    strides: null,
    version: [1, 0],
  }),
  rule('C11', 'must', 'read-only memory is not written to', 'DLPack 1.3', async (subject) => {
    for (const fields of [{ flags: 1n }, { versioned: false }]) {
      const probe = await subject.probe(fields);
      await expectTakenOrRefused(subject, probe);
      expect(
        !probe.elementsChanged,
        `its elements changed, and it is ${fields.flags === undefined ? 'a legacy struct, which cannot say that it may be written' : 'READ_ONLY'}`,
      );
    }
  }),
  rule('C12', 'must', 'elements begin at data + byte_offset', 'DLPack 1.3', async (subject) => {
    const form = await subject.form();
    const lead = 2 * ITEM(form.dtype[1]);
    const elements = new Uint8Array([...new Uint8Array(lead).fill(0x7e), ...ramp(form)]);
    await expectSum(subject, { elements, byteOffset: BigInt(lead) });
  }),
  rule('C13', 'must', 'negative strides lead to the right elements, or are refused', 'DLPack 1.3', async (subject) => {
    const form = await subject.form();
    if (form.shape.length === 0) throw new Skip('it takes tensors without axes');
    const last = (sizeOf(form.shape) - 1) * ITEM(form.dtype[1]);
    await expectSum(subject, { strides: rowMajor(form.shape).map((stride) => -stride), data: last });
  }),
  rule(
    'C14',
    'must',
    'a transposed layout leads to the right elements, or is refused',
    'DLPack 1.3',
    async (subject) => {
      const form = await subject.form();
      if (form.shape.length < 2) throw new Skip('it takes tensors with one axis');
      // The first axis is the one that moves by single elements; the elements are the same ones, in another order.
      await expectSum(subject, { strides: columnMajor(form.shape) });
    },
  ),
  rule(
    'C15',
    'must',
    'an empty tensor without data is taken or refused, and not read',
    'DLPack 1.3',
    async (subject) => {
      const form = await subject.form();
      const axes = Math.max(1, form.shape.length);
      await expectTakenOrRefused(subject, new Probe({ ...form, shape: Array<number>(axes).fill(0) }, { data: 'null' }));
    },
  ),
  rule(
    'C16',
    'must',
    'an OwnedTensor of node-dlpack is consumed, and its memory freed',
    'node_dlpack.h',
    async (subject) => {
      const form = await subject.form();
      const name = Object.values(DTYPES).find(
        ({ code, bits }) => code === form.dtype[0] && bits === form.dtype[1],
      )?.name;
      if (name === undefined) throw new Skip('no dtype of node-dlpack');
      const owned = OwnedTensor.allocate(form.shape, name);
      await subject.take(owned);
      expect(owned.consumed, 'it is not consumed: its memory was used without being taken');
      const freed = await collectUntil(() => stats().exports === 0);
      expect(freed, `${stats().exports} exports are still held`);
    },
  ),
  rule(
    'C17',
    'must',
    'a Tensor of node-dlpack stays what it is, and its memory is let go',
    'node_dlpack.h',
    async (subject) => {
      const probe = await subject.probe({ flags: 0n });
      const tensor = fromDLPack(probe.capsule());
      await subject.take(tensor);
      expect(!tensor.consumed && !tensor.disposed, 'it was ended');
      const freed = await collectUntil(() => stats().exports === 0);
      expect(freed, `${stats().exports} exports are still held`);
      tensor.dispose();
      await subject.expectReleasedOnce(probe);
    },
  ),
  rule('C18', 'must', 'what makeTensor() makes, takeTensor takes', 'node_dlpack.h', async (subject) => {
    if (!subject.has('makeTensor')) throw new Skip('the addon has no makeTensor');
    await subject.form();
    const made = await subject.make();
    const error = await thrownBy(() => subject.take(made));
    if (error !== undefined) throw new Broken(error.message);
  }),
];
