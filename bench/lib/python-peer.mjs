// A Python process that times statements when it is asked to, so that its rounds alternate with ours. It runs on the core
// of who starts it, and is idle between questions.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

export class PythonPeer {
  #child;
  #lines;

  constructor(python) {
    const script = path.join(import.meta.dirname, 'python_peer.py');
    this.#child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async #ask(question) {
    this.#child.stdin.write(`${JSON.stringify(question)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the Python peer ended');
    const answer = JSON.parse(value);
    if (answer.error !== undefined) throw new Error(`the Python peer: ${answer.error}`);
    return answer.value;
  }

  /** A contestant for `race`: what `statement` takes after `setup` was run once, by `timeit`. */
  statement(setup, statement) {
    return (iterations) => this.#ask({ setup, statement, iterations });
  }

  /** The value of an expression, after `setup`: a version, or a result to compare. */
  evaluate(setup, expression) {
    return this.#ask({ setup, expression });
  }

  async close() {
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
  }
}
