/**
 * A worker that loads the library, uses it and never ends: to be terminated at any moment, also in the middle of
 * loading.
 */
import { Tensor } from '../../../dist/index.js';

Reflect.set(globalThis, 'kept', Tensor.from([1, 2]).view());
for (;;) Math.random();
