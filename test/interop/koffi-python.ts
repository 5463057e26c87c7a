/**
 * Python by koffi on libpython: a foreign function interface and the C API, nothing else. The interpreter's lock is
 * given up between calls; an embedder that keeps it would let every other thread that drops a Python tensor wait.
 */
import { libpython, pythonPeer } from './python-peers.js';
import type { Embedder } from './python.js';

type Native = (...args: unknown[]) => unknown;

interface Koffi {
  load(file: string, options: { global: boolean; lazy: boolean }): { func(definition: string): Native };
}

interface KoffiPython extends Embedder {
  /** Ends the interpreter. */
  finalize(): void;
}

/** One interpreter for the process. */
export function koffiPython(): KoffiPython {
  const koffi = pythonPeer<Koffi>('koffi');
  // Global: extension modules take Python's functions from the process. Lazy: not all of them are there in each build.
  const python = koffi.load(libpython, { global: true, lazy: true });
  const initialize = python.func('void Py_InitializeEx(int)');
  const finalize = python.func('int Py_FinalizeEx()');
  const saveThread = python.func('void* PyEval_SaveThread()');
  const ensureLock = python.func('int PyGILState_Ensure()');
  const releaseLock = python.func('void PyGILState_Release(int)');
  const runText = python.func('int PyRun_SimpleString(const char*)');
  const importModule = python.func('void* PyImport_ImportModule(const char*)');
  const getAttribute = python.func('void* PyObject_GetAttrString(void*, const char*)');
  const makeTuple = python.func('void* PyTuple_New(intptr_t)');
  const setItem = python.func('int PyTuple_SetItem(void*, intptr_t, void*)');
  const callObject = python.func('void* PyObject_CallObject(void*, void*)');
  const makeText = python.func('void* PyUnicode_FromString(const char*)');
  const readText = python.func('const char* PyUnicode_AsUTF8(void*)');
  const decref = python.func('void Py_DecRef(void*)');
  const printError = python.func('void PyErr_Print()');

  const locked = <R>(run: () => R): R => {
    const state = ensureLock();
    try {
      return run();
    } finally {
      releaseLock(state);
    }
  };
  const present = (object: unknown): unknown => {
    if (object !== null) return object;
    printError();
    throw new Error('Python raised an exception, printed above');
  };

  initialize(0);
  saveThread();
  let driver: unknown;
  return {
    name: 'koffi',
    run: (source) =>
      locked(() => {
        if (runText(source) !== 0) throw new Error('Python raised an exception, printed above');
      }),
    call: (request) =>
      locked(() => {
        driver ??= present(getAttribute(present(importModule('driver')), 'call'));
        const args = present(makeTuple(1));
        setItem(args, 0, present(makeText(request))); // the tuple's from here on
        const answer = callObject(driver, args);
        decref(args);
        const text = String(readText(present(answer)));
        decref(answer);
        return text;
      }),
    finalize: () => {
      ensureLock();
      if (finalize() !== 0) throw new Error('Py_FinalizeEx failed');
    },
  };
}
