/**
 * `node-dlpack check <addon>`: runs every rule of exchange that an addon can break against its `makeTensor()` and
 * `takeTensor(x)`, and prints what fails.
 *
 * Each rule runs in a process of its own: what breaks these rules often ends the process, and that is an answer too.
 */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path = require('node:path');
import { parseArguments, UsageError } from './arguments';
import { printJson } from './output';
import { RULES, type Answer, type Outcome, type Rule } from './check/rules';

interface Result extends Answer {
  readonly rule: Rule;
}

const TIME_LIMIT_MS = 60_000;

/** @returns the exit code */
export async function check(args: readonly string[]): Promise<number> {
  const request = parse(args);
  const rules = RULES.filter(({ id }) => request.only === undefined || request.only.includes(id));
  if (request.list && request.json) {
    printJson(rules.map(({ id, level, title }) => ({ id, level, title })));
    return 0;
  }
  if (request.list) {
    for (const { id, level, title } of rules) console.log(`${id}  ${level.padEnd(6)}  ${title}`);
    return 0;
  }
  const addon = path.resolve(request.addon);
  const loads = existsSync(addon) ? await runRule(addon, LOADS) : broken(`${addon} does not exist`);
  if (loads.outcome !== 'holds') {
    console.error(`node-dlpack check: ${request.addon} cannot be checked: ${loads.found ?? loads.outcome}`);
    return 2;
  }
  const results = await runAll(addon, rules);
  if (request.json) printJson(summary(addon, results));
  else print(request.addon, results);
  return results.some(({ outcome, rule }) => outcome === 'broken' && rule.level === 'must') ? 1 : 0;
}

/** Loads the addon and finds something to check. */
const LOADS = 'loads';

interface Request {
  readonly addon: string;
  readonly json: boolean;
  readonly list: boolean;
  readonly only: readonly string[] | undefined;
}

function parse(args: readonly string[]): Request {
  const { flags, values, words } = parseArguments(args, {
    command: 'check',
    flags: ['json', 'list'],
    values: ['only'],
    words: ['<addon>'],
  });
  const [addon = ''] = words;
  const only = values.get('only')?.split(',');
  const [json, list] = [flags.has('json'), flags.has('list')];
  const unknown = only?.find((id) => !RULES.some((rule) => rule.id === id));
  if (unknown !== undefined) throw new UsageError(`--only names '${unknown}', and there is no such rule; see --list`);
  if (addon === '' && !list) throw new UsageError('an addon is missing');
  return { addon, json, list, only };
}

async function runAll(addon: string, rules: readonly Rule[]): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = rules.map((rule, index) => ({ rule, index }));
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      results[next.index] = { rule: next.rule, ...(await runRule(addon, next.rule.id)) };
    }
  };
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, work));
  return results;
}

function broken(found: string): Answer {
  return { outcome: 'broken', found };
}

/** A rule holds when its process says so, and then ends by itself and well. */
function runRule(addon: string, id: string): Promise<Answer> {
  return new Promise((resolve) => {
    let answer: Answer | undefined;
    let hung = false;
    let output = '';
    const child = fork(path.join(__dirname, 'check', 'run-rule.js'), [addon, id], {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const limit = setTimeout(() => {
      hung = true;
      child.kill('SIGKILL');
    }, TIME_LIMIT_MS);
    const keep = (chunk: Buffer): void => {
      if (output.length < 4000) output += chunk.toString();
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.on('message', (message) => {
      answer = message as Answer; // by run-rule.ts, which is ours
    });
    child.on('error', (error) => {
      output += error.message;
    });
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      if (hung) resolve(broken(`the process did not end within ${TIME_LIMIT_MS / 1000} s`));
      else if (signal !== null) resolve(broken(`the process was ended by ${signal}${lastLine(output)}`));
      else if (answer === undefined) resolve(broken(`the process ended with exit code ${code}${lastLine(output)}`));
      else if (code !== 0 && answer.outcome === 'holds')
        resolve(broken(`the process ended with exit code ${code} afterwards${lastLine(output)}`));
      else resolve(answer);
    });
  });
}

function lastLine(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return lines.length === 0 ? '' : `: ${lines.at(-1)}`;
}

const MARKS: Readonly<Record<Outcome, string>> = { holds: 'ok    ', broken: 'FAIL  ', skipped: 'skip  ' };

function markOf({ outcome, rule }: Result): string {
  return outcome === 'broken' && rule.level === 'should' ? 'warn  ' : MARKS[outcome];
}

function print(addon: string, results: readonly Result[]): void {
  for (const result of results) {
    console.log(`${markOf(result)}${result.rule.id}  ${result.rule.title}`);
    if (result.found !== undefined) console.log(`          ${result.found}`);
  }
  const { holds, failed, warned, skipped } = count(results);
  console.log(`\n${addon}: ${holds} rules hold, ${failed} broken, ${warned} warnings, ${skipped} skipped`);
}

function count(results: readonly Result[]): { holds: number; failed: number; warned: number; skipped: number } {
  const are = (outcome: Outcome, level?: Rule['level']): number =>
    results.filter((result) => result.outcome === outcome && (level === undefined || result.rule.level === level))
      .length;
  return {
    holds: are('holds'),
    failed: are('broken', 'must'),
    warned: are('broken', 'should'),
    skipped: are('skipped'),
  };
}

function summary(addon: string, results: readonly Result[]): object {
  return {
    addon,
    ...count(results),
    rules: results.map(({ rule: { id, level, title, source }, outcome, found }) => ({
      id,
      level,
      title,
      source,
      outcome,
      found,
    })),
  };
}
