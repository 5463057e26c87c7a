/** One of the libraries that are too heavy to be installed every time, in an environment of its own, by koffi. */
import { expectCountersAtZero } from '../support/counters.js';
import { koffiPython } from './koffi-python.js';
import { describeLibrary } from './python-libraries.js';
import { HEAVY_LIBRARIES } from './python-library-facts.js';
import { Python } from './python.js';

expectCountersAtZero();
const name = process.env['NODE_DLPACK_INTEROP_LIBRARY'] ?? '';
const facts = HEAVY_LIBRARIES[name];
if (facts === undefined) throw new Error(`NODE_DLPACK_INTEROP_LIBRARY is '${name}', which is none of them`);
const python = new Python(koffiPython());
// The table must say how old such a row is.
describeLibrary(name, facts, () => python, `; last run ${new Date().toISOString().slice(0, 10)}`);
