/** Every test file, of today and of tomorrow, ends with the counters of the process at zero. */
import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path = require('node:path');
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

test('every test file asserts the counters', () => {
  const folder = path.join(__dirname, '..', 'test');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.test.ts') && !file.includes('node_modules'),
  );
  expect(files.length).toBeGreaterThan(60);
  const without = files.filter(
    (file) => !/^(expectCountersAtZero|expectNothingLeft)\(\);$/m.test(readFileSync(path.join(folder, file), 'utf8')),
  );
  expect(without).toEqual([]);
});
