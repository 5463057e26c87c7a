/** The same by node-calls-python: whatever embeds Python, only texts cross. */
import { expectCountersAtZero } from '../support/counters.js';
import { nodeCallsPython } from './node-calls-python.js';
import { describeBadInput } from './python-bad-input.js';
import { describeCases } from './python-cases.js';
import { describeLibrary } from './python-libraries.js';
import { LIBRARIES } from './python-library-facts.js';
import { describeProtocol } from './python-protocol.js';
import { describeTokens } from './python-tokens.js';
import { Python } from './python.js';

expectCountersAtZero();
const python = new Python(nodeCallsPython());
describeProtocol(() => python);
describeTokens(() => python);
describeBadInput(() => python);
describeCases(() => python);
for (const [name, facts] of Object.entries(LIBRARIES)) describeLibrary(name, facts, () => python);
