#!/usr/bin/env node
/**
 * The command `node-dlpack`. Each command is a file of its own, loaded when it is asked for, so that one works where
 * another cannot: `info` and `build` without a binary.
 */
import { asksForHelp, UsageError } from './arguments';
import { HELP } from './help';
import { packageVersion } from './version';

/** What a command answers: the exit code. 0: as asked; 1: the answer is no; 2: it could not be asked. */
export type Command = (args: readonly string[]) => Promise<number> | number;

const COMMANDS: Readonly<Record<keyof typeof HELP, { readonly summary: string; readonly load: () => Command }>> = {
  info: {
    summary: 'info               this machine, the binary in use, the limits of the engine, the libraries found here',
    load: () => (require('./info') as typeof import('./info')).info,
  },
  inspect: {
    summary: 'inspect <file>     what is in an .npy or .safetensors file, or (with sharp installed here) a picture',
    load: () => (require('./inspect') as typeof import('./inspect')).inspect,
  },
  explain: {
    summary: 'explain <code>     what an error means, by its code, and what to do about it',
    load: () => (require('./explain') as typeof import('./explain')).explain,
  },
  build: {
    summary: 'build              compile the addon, where the package has no binary that loads',
    load: () => (require('./build') as typeof import('./build')).build,
  },
  check: {
    summary: 'check <addon>      hold an addon that exchanges tensors against the rules',
    load: () => (require('./check') as typeof import('./check')).check,
  },
};

function usage(): string {
  const lines = Object.values(COMMANDS).map(({ summary }) => `  node-dlpack ${summary}`);
  return [
    'Usage:',
    ...lines,
    '  node-dlpack --version',
    '',
    'node-dlpack <command> --help says more. With --json every command prints JSON.',
    'Exit codes: 0, as asked; 1, the answer is no; 2, it could not be asked.',
  ].join('\n');
}

function isCommand(name: string): name is keyof typeof HELP {
  return Object.hasOwn(COMMANDS, name);
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined) {
    console.error(usage());
    return 2;
  }
  if (name === '--help' || name === '-h') {
    console.log(usage());
    return 0;
  }
  if (name === '--version' || name === '-v') {
    console.log(packageVersion());
    return 0;
  }
  if (!isCommand(name)) {
    const what = name.startsWith('-') ? 'option' : 'command';
    console.error(`node-dlpack: there is no ${what} '${name}'\n${usage()}`);
    return 2;
  }
  try {
    if (!asksForHelp(args)) return await COMMANDS[name].load()(args);
    console.log(HELP[name]);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`node-dlpack ${name}: ${error.message}. \`node-dlpack ${name} --help\` says more`);
    return 2;
  }
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(`node-dlpack: ${error instanceof Error ? error.message : String(error)}`);
    if (error instanceof Error && 'help' in error) console.error(`\`${String(error.help)}\` says more`);
    process.exitCode = 2;
  },
);
