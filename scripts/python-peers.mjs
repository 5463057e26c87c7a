// Python's libraries for the interop tests, in virtual environments under .cache/, and the two packages that embed Python in Node. Needs a Python 3
// with a shared library, and its headers; everything else is installed here.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { buildAddon, installPackages, installPython as installRequirements, root } from './steps.mjs';

const ENVIRONMENT = '.cache/interop-python';
/** Too heavy to be installed every time: gigabytes, for one library each. By the name of the distribution. */
export const HEAVY = { torch: 'PyTorch', 'tensorflow-cpu': 'TensorFlow', paddlepaddle: 'Paddle' };

const heavyEnvironment = (id) => `.cache/interop-${id}`;
const bin = (environment) => path.join(root, environment, 'bin');

/** What a run with Python needs of its environment. */
function variables(environment) {
  return {
    NODE_DLPACK_INTEROP_PYTHON: path.join(root, environment),
    // node-calls-python asks the first python3 for its library.
    PATH: `${bin(environment)}${path.delimiter}${process.env.PATH}`,
    // The module's folder is what is published.
    PYTHONDONTWRITEBYTECODE: '1',
  };
}

function installEmbedders(environment) {
  installPackages('interop/python');
  const { PATH } = process.env;
  process.env.PATH = variables(environment).PATH;
  buildAddon('node-calls-python', 'interop/python/node_modules/node-calls-python', [
    'interop/python/package-lock.json',
  ]);
  process.env.PATH = PATH;
}

/** The libraries of interop/python/requirements.txt; answers the variables to run with. */
export function installPython() {
  installRequirements(ENVIRONMENT, 'interop/python/requirements.txt');
  installEmbedders(ENVIRONMENT);
  return variables(ENVIRONMENT);
}

/** The variables to run with one of HEAVY; undefined, and why, where it is not installed. */
export function findHeavy(id) {
  const environment = heavyEnvironment(id);
  if (existsSync(bin(environment))) {
    installEmbedders(environment);
    return { ...variables(environment), NODE_DLPACK_INTEROP_LIBRARY: id };
  }
  console.log(
    `skipped: ${id} is not installed. It is heavy; to have it: python3 -m venv ${environment} && ` +
      `${environment}/bin/pip install -r interop/python/heavy/${id}.txt`,
  );
  return undefined;
}
