// The smoke suite: does this binary do on this platform what the library promises? Plain JavaScript over the package as it is installed, without a
// test runner, so that it runs wherever any JavaScript with Node-API runs, under an emulator too.
//
//   node smoke.cjs <folder of the package, or its name> [file for the result]
//
// The result, JSON with the counts and what failed, goes into the file where one is named: not every console can be read from outside.
'use strict';
const fs = require('node:fs');
const path = require('node:path');

const [, , where = '..', resultFile] = process.argv;
const from = where.startsWith('.') || path.isAbsolute(where) ? path.resolve(where) : where;
const result = {
  passed: 0,
  failed: 0,
  faults: [],
  platform: process.platform,
  arch: process.arch,
  runtime: runtime(),
  binary: '',
};

function runtime() {
  if (typeof process.versions.bun === 'string') return `Bun ${process.versions.bun}`;
  if (typeof process.versions.deno === 'string') return `Deno ${process.versions.deno}`;
  return `Node ${process.versions.node}`;
}

function show(value) {
  return JSON.stringify(value, (_, item) =>
    typeof item === 'bigint' ? `${item}n` : Object.is(item, -0) ? '-0' : item,
  );
}

function same(what, actual, expected) {
  if (show(actual) === show(expected)) result.passed += 1;
  else {
    result.failed += 1;
    result.faults.push(`${what}: ${show(actual)}, expected ${show(expected)}`);
  }
}

function codeOf(action) {
  try {
    action();
  } catch (error) {
    return error.code;
  }
  return 'no error';
}

/** A case that throws is one failure, and the others still run. */
function check(what, action) {
  try {
    action();
  } catch (error) {
    result.failed += 1;
    result.faults.push(`${what}: ${error.stack}`);
  }
}

async function main() {
  const library = require(from);
  const unsafe = require(path.isAbsolute(from) ? path.join(from, 'dist/unsafe.js') : `${from}/unsafe`);
  const { OwnedTensor, Tensor, fromDLPack, scope, stats, capsuleName, releaseCapsule } = library;
  result.binary = require(path.isAbsolute(from) ? path.join(from, 'dist/python.js') : `${from}/python`).addonPath;

  check('the version', () => same('DLPACK_VERSION', library.DLPACK_VERSION, [1, 3]));
  check('memory', () => {
    const owned = OwnedTensor.allocate([2, 3], 'float32');
    same('zeroed', Array.from(owned.data), [0, 0, 0, 0, 0, 0]);
    owned.data.set([1, 2, 3, 4, 5, 6]);
    same('at', owned.at(1, 2), 6);
    same('aligned', unsafe.dataAddress(owned) % 64n, 0n);
    const view = owned.data;
    const tensor = owned.freeze();
    same('frozen: the view is detached', view.length, 0);
    same(
      'frozen: the owner is a tombstone',
      [owned.consumed, codeOf(() => owned.at(0, 0))],
      [true, 'ERR_DLPACK_CONSUMED'],
    );
    same('view', Array.from(tensor.view()), [1, 2, 3, 4, 5, 6]);
    same('transposed', tensor.transpose().toArray(), [
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
    same('sliced', tensor.slice(null, [null, null, -2]).toArray(), [
      [3, 1],
      [6, 4],
    ]);
    same(
      'not unique',
      codeOf(() => tensor.intoDLPack()),
      'ERR_DLPACK_BUFFER',
    );
    tensor.dispose();
    same(
      'disposed',
      codeOf(() => tensor.at(0, 0)),
      'ERR_DLPACK_DISPOSED',
    );
  });
  check('Door 1', () => {
    const tensor = Tensor.from(new Int16Array([1, -2, 3]));
    const capsule = tensor.__dlpack__({ max_version: [1, 3] });
    same('its name', capsuleName(capsule), 'dltensor_versioned');
    const back = fromDLPack(capsule);
    same('through a capsule', [back.toArray(), back.readOnly, back.dtype], [[1, -2, 3], true, 'int16']);
    same(
      'used',
      [capsuleName(capsule), codeOf(() => fromDLPack(capsule))],
      ['used_dltensor_versioned', 'ERR_DLPACK_CONSUMED'],
    );
    same('the same memory', unsafe.dataAddress(back), unsafe.dataAddress(tensor));
    const legacy = tensor.__dlpack__();
    same('legacy', capsuleName(legacy), 'dltensor');
    releaseCapsule(legacy);
    same('released', capsuleName(legacy), 'used_dltensor');
    same(
      'a stream',
      codeOf(() => tensor.__dlpack__({ stream: 1 })),
      'ERR_OUT_OF_RANGE',
    );
    same(
      'not a capsule',
      codeOf(() => fromDLPack({})),
      'ERR_INVALID_ARG_TYPE',
    );
    back.dispose();
    tensor.dispose();
  });
  check('Door 2', () => {
    const tensor = Tensor.from([
      [1, 2],
      [3, 4],
    ]);
    const address = unsafe.dataAddress(tensor);
    const owned = tensor.intoDLPack();
    same('the same memory', unsafe.dataAddress(owned), address);
    owned.set(Tensor.from([9, 8]), { at: [1, null] });
    same(
      'written',
      owned.toArray === undefined ? Array.from(owned.data) : owned.toArray(),
      owned.toArray === undefined
        ? [1, 2, 9, 8]
        : [
            [1, 2],
            [9, 8],
          ],
    );
    same(
      'once',
      [capsuleName(owned.__dlpack__()), codeOf(() => owned.__dlpack__())],
      ['dltensor', 'ERR_DLPACK_CONSUMED'],
    );
  });
  check('a struct by its address', () => {
    const { address, versioned } = unsafe.takePointer(
      Tensor.from(new Float64Array([0.5, 1.5])).__dlpack__({ max_version: [1, 0] }),
    );
    same('versioned', versioned, true);
    same('and back', fromDLPack(unsafe.makeCapsule({ address, versioned })).toArray(), [0.5, 1.5]);
  });
  check('JavaScript memory', () => {
    const bytes = new Uint8Array([7, 8, 9]);
    const adopted = unsafe.adopt(bytes);
    bytes[0] = 1;
    same('adopted', adopted.toArray(), [1, 8, 9]);
    adopted.dispose();
  });
  check('a loan', () => {
    const frame = OwnedTensor.allocate([4], 'uint8');
    frame.fill(3);
    frame.lend((loan) =>
      same('lent', [fromDLPack(loan).toArray(), codeOf(() => frame.fill(1))], [[3, 3, 3, 3], 'ERR_DLPACK_BUFFER']),
    );
    same('returned', Array.from(frame.data), [3, 3, 3, 3]);
    frame.dispose();
  });
  check('conversions', () => {
    const values = [-1.5, 0, 0.5, 2.5, 300, Number.NaN, Number.POSITIVE_INFINITY, 1e-7, 65504, -129, 3.5, 7];
    const source = Tensor.from(new Float64Array(values));
    const rounded = (dtype) => Array.from({ length: values.length }, (_, i) => String(source.to(dtype).at(i)));
    same('int8', rounded('int8'), ['-2', '0', '0', '2', '127', '0', '127', '0', '127', '-128', '4', '7']);
    same('uint8', rounded('uint8'), ['0', '0', '0', '2', '255', '0', '255', '0', '255', '0', '4', '7']);
    same('int64', source.to('int64').at(8), 65504n);
    same('float16', rounded('float16'), [
      '-1.5',
      '0',
      '0.5',
      '2.5',
      '300',
      'NaN',
      'Infinity',
      '1.1920928955078125e-7',
      '65504',
      '-129',
      '3.5',
      '7',
    ]);
    same('bfloat16', source.to('bfloat16').at(4), 300);
    same('float8_e4m3fn', source.to('float8_e4m3fn').at(3), 2.5);
    same(
      'scaled',
      Array.from(Tensor.from(new Uint8Array([0, 51, 255])).to('float32', { scale: 1 / 255, offset: -0.5 }).data, (x) =>
        x.toFixed(3),
      ),
      ['-0.500', '-0.300', '0.500'],
    );
  });
  check('kernels: whatever this processor has, one answer', () => kernels(library));
  check('large memory', () => {
    const large = OwnedTensor.allocate([24 << 20], 'uint8');
    large.data[(24 << 20) - 1] = 5;
    same('its last byte', large.at((24 << 20) - 1), 5);
    large.dispose();
  });
  check('scope', () => {
    const before = stats().tensors;
    const kept = scope(() => {
      Tensor.from([1]);
      return Tensor.from([2]);
    });
    same('kept', [kept.toArray(), stats().tensors - before], [[2], 1]);
    kept.dispose();
  });
  check('tokens', () => {
    const token = Tensor.from([1, 2]).share();
    same('claimed', Tensor.fromShared(token).toArray(), [1, 2]);
    same(
      'once',
      codeOf(() => Tensor.fromShared(token)),
      'ERR_DLPACK_TOKEN',
    );
    same('random', new Set(Array.from({ length: 8 }, () => Tensor.from([1]).share())).size, 8);
  });
  await worker();
  check('the exchange table', () => same('is there', typeof Tensor.__dlpack_c_exchange_api__, 'object'));
  check('nested and big integers', () => same('int64', Tensor.from([[1n, -2n]]).toArray(), [[1n, -2n]]));
  check('collection does not crash', () => {
    for (let i = 0; i < 20000; i += 1) Tensor.from([i]).__dlpack__({ max_version: [1, 0] });
    same('after 20000 dropped exports', Tensor.from([1]).toArray(), [1]);
  });
}

/** A picture's way into a model, and layouts on whose seams kernels begin and end; against plain JavaScript. */
function kernels({ OwnedTensor, Tensor }) {
  for (const [height, width] of [
    [7, 5],
    [33, 67],
    [64, 128],
  ]) {
    const bytes = Uint8Array.from({ length: height * width * 3 }, (_, i) => (i * 37 + (i >> 5)) & 255);
    const picture = Tensor.from(bytes, { shape: [height, width, 3] });
    const input = OwnedTensor.allocate([3, height, width], 'float32');
    input.set(picture.transpose([2, 0, 1]), { scale: 1 / 255 });
    const scale = Math.fround(1 / 255);
    const wrong = input.data.findIndex((value, i) => {
      const plane = height * width;
      return value !== Math.fround(bytes[(i % plane) * 3 + Math.floor(i / plane)] * scale);
    });
    same(`${height}x${width} to planes`, wrong, -1);
    for (const dtype of ['uint8', 'uint16', 'float32', 'float64', 'float16']) {
      const matrix = picture
        .reshape([height, width * 3])
        .to(dtype)
        .freeze();
      const turned = matrix.transpose().contiguous();
      let ok = true;
      for (let i = 0; i < height; i += 1) {
        for (let j = 0; j < width * 3; j += 1) ok &&= turned.at(j, i) === bytes[i * width * 3 + j];
      }
      same(`${height}x${width} transposed, ${dtype}`, ok, true);
    }
    same(`${height}x${width} reversed`, picture.flip(1).contiguous().at(0, 0, 0), bytes[(width - 1) * 3]);
  }
}

/** A token made here and claimed in another thread: process-wide state is one, however the module was found. */
async function worker() {
  const { Worker } = require('node:worker_threads');
  const token = require(from)
    .OwnedTensor.from(new Int32Array([4, 5, 6]))
    .transfer();
  const code = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { OwnedTensor } = require(workerData.from);
    parentPort.postMessage(Array.from(OwnedTensor.fromTransfer(workerData.token).data));`;
  const answer = await new Promise((resolve) => {
    const thread = new Worker(code, { eval: true, workerData: { from, token }, stdout: true, stderr: true });
    thread.once('message', (message) => {
      resolve(message);
      void thread.terminate();
    });
    thread.once('error', (error) => resolve(String(error)));
  });
  same('transferred to a worker', answer, [4, 5, 6]);
}

main()
  .catch((error) => {
    result.failed += 1;
    result.faults.push(String(error.stack ?? error));
  })
  .finally(() => {
    process.exitCode = result.failed > 0 || result.passed === 0 ? 1 : 0;
    if (resultFile !== undefined) {
      fs.writeFileSync(resultFile, JSON.stringify(result));
      return;
    }
    for (const fault of result.faults) console.error(`FAIL ${fault}`);
    const { passed, failed, platform, arch, binary } = result;
    console.log(`${result.runtime} on ${platform} ${arch}: ${passed} passed, ${failed} failed (${binary})`);
  });
