/** Python by node-calls-python, an addon that embeds it and converts plain values. Texts are all it has to carry here. */
import { pythonPeer } from './python-peers.js';
import { pythonFile, type Embedder } from './python.js';

interface NodeCallsPython {
  readonly interpreter: {
    importSync(file: string, allowReimport: boolean): object;
    callSync(module: object, name: string, ...args: unknown[]): unknown;
    execSync(module: object, source: string): unknown;
  };
}

export function nodeCallsPython(): Embedder {
  const { interpreter } = pythonPeer<NodeCallsPython>('node-calls-python');
  let driver: object | undefined;
  return {
    name: 'node-calls-python',
    run: (source) => {
      interpreter.execSync(interpreter.importSync('json', false), source);
    },
    call: (request) => {
      driver ??= interpreter.importSync(pythonFile('driver.py'), false);
      const answer = interpreter.callSync(driver, 'call', request);
      if (typeof answer !== 'string') throw new Error(`the driver answered ${String(answer)}`);
      return answer;
    },
  };
}
