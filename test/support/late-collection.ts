/** Subscribes to node-dlpack:collected and drops tensors in ways, run by a process of its own with --expose-gc. */
import { subscribe } from 'node:diagnostics_channel';
import { fromDLPack, OwnedTensor, scope, stats, Tensor, type CollectionMessage } from '../../dist/index.js';
import { collect, collectUntil } from './collect.js';

const messages: CollectionMessage[] = [];

function make(): void {
  Tensor.from(new Float32Array(6), { shape: [2, 3] });
  OwnedTensor.allocate([4], 'int16');
}

function makeAndEnd(): void {
  Tensor.from([1]).dispose();
  scope(() => void Tensor.from([1]));
  const owned = OwnedTensor.allocate([4], 'int16');
  owned.lend((loan) => void loan.slice([0, 2]));
  fromDLPack(owned.freeze().intoDLPack()).dispose();
}

async function main(): Promise<void> {
  make(); // nobody listens yet
  await collectUntil(() => stats().tensors === 0);
  subscribe('node-dlpack:collected', (message) => void messages.push(message as CollectionMessage));
  makeAndEnd();
  for (let i = 0; i < 3; i++) await collect();
  console.log(JSON.stringify(messages));
  make();
  const view = Tensor.from(Float64Array.of(7)).view(); // the typed array alone keeps its bytes alive
  await collectUntil(() => messages.length === 3 && stats().tensors === 0);
  console.log(JSON.stringify([view[0], stats()]));
  const lines = messages.map((message) => JSON.stringify(message));
  lines.sort();
  console.log(lines.join('\n'));
}

void main();
