/**
 * `NODE_DLPACK_DEBUG=leaks`: at the end of the process, or of a worker, what is still alive and which line made it,
 * written to stderr. For programs that mean to dispose everything: what is left to the collector is in the list too.
 */
import { writeSync } from 'node:fs';
import { CAPSULE_NAMES, native } from './native';
import { formatShape } from './shape';
import { stats } from './stats';
import { keepTraces, type CapsuleTrace, type Kept, type Trace } from './tracing';

/** Must run before the first tensor is made. */
export function reportLeaks(): void {
  const kept = keepTraces();
  process.on('exit', () => {
    try {
      writeSync(2, leakReport(kept));
    } catch {
      // Nobody reads stderr any more; the end of a process is no place for an error about that.
    }
  });
}

function leakReport({ traces, capsules }: Kept): string {
  const tensors = [...traces].filter(({ isLive }) => isLive);
  const lines = [...tensors.map(describeTensor), ...[...capsules].flatMap(describeCapsule)];
  if (lines.length === 0) return 'node-dlpack: nothing is alive at exit\n';
  const bytes = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const { exports, views, tokens, blocks } = stats();
  return [
    `node-dlpack: alive at exit: ${tensors.length} tensors over ${bytes} bytes, ${lines.length - tensors.length} unused capsules`,
    ...grouped(lines),
    `  in the whole process: exports ${exports}, views ${views}, tokens ${tokens}, pieces of memory ${blocks}`,
    '',
  ].join('\n');
}

function describeTensor({ className, dtype, shape, byteLength, madeAt }: Trace): string {
  return `${className}<${dtype}> ${formatShape(shape)}, ${byteLength} bytes, made at ${madeAt}`;
}

/** Used capsules hold nothing. */
function describeCapsule({ capsule, madeAt }: CapsuleTrace): string[] {
  const object = capsule.deref();
  const name = object === undefined ? undefined : CAPSULE_NAMES[native.capsuleState(object)];
  return name === undefined || name.startsWith('used') ? [] : [`capsule '${name}', made at ${madeAt}`];
}

/** One line for what is the same, the most frequent first. */
function grouped(lines: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const entries = [...counts];
  entries.sort(([, a], [, b]) => b - a);
  return entries.map(([line, count]) => `  ${count === 1 ? '' : `${count} x `}${line}`);
}
