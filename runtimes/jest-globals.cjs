// describe, test and hooks as jest has them, as far as the tests here use them, for runtimes on which jest itself does not run. The matchers are
// jest's own: `expect` is a package that needs nothing of jest. What a test file asks of '@jest/globals' is answered from here (suite.cjs).
'use strict';

const { createRequire } = require('node:module');
const { inspect } = require('node:util');

// The one that @jest/globals itself would bring.
const { expect } = createRequire(require.resolve('@jest/expect', { paths: [require.resolve('@jest/globals')] }))(
  'expect',
);

const TIME_LIMIT_MS = 60_000;

/** One `describe`, or the file itself: its hooks and what stands in it, in order. */
class Group {
  constructor(name, parent) {
    this.name = name;
    this.parent = parent;
    this.entries = [];
    this.hooks = { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] };
  }

  /** The name of something in it, as jest writes it. */
  fullName(name) {
    const names = [name];
    for (let group = this; group.parent !== undefined; group = group.parent) names.unshift(group.name);
    return names.join(' ');
  }
}

const file = new Group('', undefined);
let current = file;

/** The table of `each`: where every row is an array its items are the arguments, else each row is the one argument. */
function each(define) {
  return (table) => (name, body, timeout) => {
    const spread = table.every((row) => Array.isArray(row));
    table.forEach((row, index) => {
      const values = spread ? row : [row];
      define(title(name, values, index), () => body(...values), timeout);
    });
  };
}

/** Placeholders of printf, jest's `%p` and `%#`. */
function title(name, values, index) {
  let next = 0;
  return name.replaceAll(/%[sdifjoOp#%]/g, (placeholder) => {
    if (placeholder === '%%') return '%';
    if (placeholder === '%#') return String(index);
    if (next === values.length) return placeholder;
    const value = values[next++];
    return typeof value === 'string' && placeholder !== '%p' ? value : inspect(value, { depth: 3 });
  });
}

function describe(name, body) {
  const group = new Group(String(name), current);
  current.entries.push(group);
  current = group;
  try {
    body();
  } finally {
    current = group.parent;
  }
}
describe.each = each(describe);

function test(name, body, timeout = TIME_LIMIT_MS) {
  current.entries.push({ name, body, timeout, skipped: false });
}
test.each = each(test);
test.skip = (name) => void current.entries.push({ name, skipped: true });
test.skip.each = each(test.skip);

function hook(kind) {
  return (body) => void current.hooks[kind].push(body);
}

/** Runs a body within its time; answers what it threw. */
async function attempt(body, timeout = TIME_LIMIT_MS) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`did not end within ${timeout} ms`)), timeout);
  });
  try {
    await Promise.race([body(), late]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    clearTimeout(timer);
  }
}

/** Hooks of the groups around a test, from outside in, or from inside out. */
function around(group, kind) {
  const outer = group.parent === undefined ? [] : around(group.parent, kind);
  return kind === 'beforeEach' ? [...outer, ...group.hooks[kind]] : [...group.hooks[kind], ...outer];
}

async function runTest(group, entry) {
  let error;
  for (const before of around(group, 'beforeEach')) error ??= await attempt(before);
  error ??= await attempt(async () => entry.body(), entry.timeout);
  for (const after of around(group, 'afterEach')) error = (await attempt(after)) ?? error;
  return error;
}

async function runGroup(group, report) {
  let error;
  for (const before of group.hooks.beforeAll) error ??= await attempt(before);
  for (const entry of group.entries) {
    if (entry instanceof Group) {
      await runGroup(entry, report);
      continue;
    }
    const fullName = group.fullName(entry.name);
    if (entry.skipped) report({ name: fullName, status: 'skipped' });
    else {
      const failure = error ?? (await runTest(group, entry));
      report({ name: fullName, status: failure === undefined ? 'passed' : 'failed', message: failure?.stack ?? '' });
    }
  }
  for (const after of group.hooks.afterAll) {
    const failure = await attempt(after);
    // As in jest, what fails after the last test is a failure of its own.
    if (failure !== undefined) {
      report({ name: group.fullName('(after all)'), status: 'failed', message: failure.stack ?? failure.message });
    }
  }
}

exports.globals = {
  describe,
  test,
  it: test,
  expect,
  beforeAll: hook('beforeAll'),
  afterAll: hook('afterAll'),
  beforeEach: hook('beforeEach'),
  afterEach: hook('afterEach'),
};
/** Runs what the file has defined; `report` gets each result. */
exports.run = (report) => runGroup(file, report);
