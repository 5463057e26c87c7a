import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, test } from '@jest/globals';
import { COPY_CHANNEL, publishCopy, type CopyMessage } from '../dist/diagnostics.js';
import { expectCountersAtZero } from './support/counters.js';

expectCountersAtZero();

const message: CopyMessage = {
  reason: 'legacy',
  operation: '__dlpack__',
  dtype: 'float32',
  shape: [2, 3],
  byteLength: 24,
};

test('a subscriber of node-dlpack:copy gets the message', () => {
  const heard: unknown[] = [];
  const listen = (told: unknown, name: string | symbol): number => heard.push([name, told]);
  subscribe('node-dlpack:copy', listen);
  publishCopy(() => message);
  unsubscribe('node-dlpack:copy', listen);
  publishCopy(() => message);
  expect(heard).toEqual([[COPY_CHANNEL, message]]);
});

test('while nobody listens the message is not even made', () => {
  let made = 0;
  publishCopy(() => {
    made++;
    return message;
  });
  expect(made).toBe(0);
});
