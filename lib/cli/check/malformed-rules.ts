/** What takeTensor must survive: structs that lie. Each must be refused, or taken without harm, and ended exactly once. */
import { expect, thrownBy } from './failure';
import { Probe, type Fields, type Form } from './probe';
import type { Rule } from './rules';
import type { Subject } from './subject';

const HUGE = 2n ** 62n;

async function expectRefused(subject: Subject, probe: Probe, mustThrow: boolean): Promise<void> {
  const error = await thrownBy(() => subject.take(probe.capsule()));
  if (probe.deleterCalls !== 1)
    await subject.expectReleasedOnce(probe, error === undefined ? 'takeTensor' : `takeTensor threw (${error.message})`);
  expect(!mustThrow || error !== undefined, 'it was taken without an error');
  expect(!probe.elementsChanged, 'its elements were written to');
}

/** A sound struct but for these fields. */
function refuses(id: string, title: string, fields: (form: Form) => Fields, mustThrow = true): Rule {
  return {
    id,
    level: 'must',
    title,
    source: 'DLPack 1.3',
    about: 'takeTensor',
    run: async (subject) => {
      const form = await subject.form();
      await expectRefused(subject, new Probe(form, { flags: 1n, ...fields(form) }), mustThrow);
    },
  };
}

const axes = ({ shape }: Form): bigint[] => shape.map(BigInt);

export const MALFORMED_RULES: readonly Rule[] = [
  refuses('M01', 'another major version: the deleter is called, nothing else is read', () => ({
    version: [2, 0],
    poisoned: true,
  })),
  refuses('M02', 'version 0 is refused', () => ({ version: [0, 8] })),
  refuses('M03', 'a negative ndim is refused', () => ({ ndim: -1 })),
  refuses('M04', 'more axes than any tensor has are refused', () => ({ ndim: 1000 })),
  refuses('M05', 'no shape is refused', (form) => ({ shape: null, ndim: Math.max(1, form.shape.length) })),
  refuses('M06', 'a negative extent is refused', (form) => ({ shape: [-3n, ...axes(form).slice(1)] })),
  refuses('M07', 'extents whose product wraps are refused', (form) => ({
    shape: form.shape.length < 2 ? [HUGE] : [HUGE, 4n, ...axes(form).slice(2)],
    ndim: Math.max(1, form.shape.length),
    data: 'wild',
  })),
  refuses('M08', 'strides that leave the address space are refused', (form) => ({
    strides: [
      HUGE,
      ...axes(form)
        .slice(1)
        .map(() => 1n),
    ],
    ...(form.shape.length === 0 ? { ndim: 1, shape: [2n] } : {}),
  })),
  refuses('M09', 'no data with elements is refused', () => ({ data: 'null' })),
  refuses('M10', 'a dtype of no width is refused', ({ dtype: [code] }) => ({ dtype: [code, 0, 1] })),
  refuses('M11', 'vectors (lanes 4) are refused', ({ dtype: [code, bits] }) => ({ dtype: [code, bits, 4] })),
  refuses('M12', 'an unknown type code is refused', ({ dtype: [, bits] }) => ({ dtype: [200, bits, 1] })),
  refuses('M13', 'an unknown device is refused, and not read', () => ({ device: [77, 0], data: 'wild' })),
  refuses(
    'M14',
    'memory of a GPU is refused or passed on, and not read',
    () => ({ device: [2, 0], data: 'wild' }),
    false,
  ),
];
