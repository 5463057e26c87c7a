// The process of one part, kept to one core: node --expose-gc bench/lib/part-process.mjs PART [--quick] [--json FILE]
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { build } from '../../scripts/build.mjs';
import { pinToOneCore } from './machine.mjs';
import { formatPart } from './table.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } },
});

build();
const pinned = pinToOneCore();
const { id, title, run } = await import(`../${positionals[0]}.mjs`);
const { facts, rows, skipped } = await run({ quick: values.quick });
const result = { id, title, facts: { ...facts, core: pinned }, skipped, rows };
console.log(`\n${formatPart(result)}`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(result));
