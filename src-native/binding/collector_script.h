// CollectorScript: the part of the collector that is a loop over JavaScript objects. Compiled once for each
// environment, in its main context (what a library makes in a realm of its own dies with that realm). A call from
// native into JavaScript costs several times what registering an object does, so the ring is registered by one call and
// not by one for each of its objects.
//
// Everything it uses is taken when it is compiled: a program may replace what it likes later. The ring inherits
// nothing: what is written to a hole of an array goes to a setter of that index, if somebody gave Array.prototype one,
// and a tensor that is not in the ring is taken for one that nobody holds.
#ifndef NODE_DLPACK_BINDING_COLLECTOR_SCRIPT_H_
#define NODE_DLPACK_BINDING_COLLECTOR_SCRIPT_H_

namespace node_dlpack::binding {

// (collected, ring, buffer) -> flush(count, usedCapsules).
// `buffer` holds a number for each position of the ring, which native writes before the call: 0, nothing to do; a
// handle, to be registered; minus a handle, a capsule that was used. Numbers that were dealt with are 0 afterwards;
// those left have no object in the ring. Used capsules are no longer registered one by one: the values of a weak map
// live as long as any of its keys, so the one that all of them share dies with the last of them, and only that one is
// registered, with the handle `usedCapsules`. (Registered objects survive every small collection; keys of a weak map do
// not. A private field that leads to what they share would be cheaper still: V8 from 13 on, in Node 24 and Deno, ends
// the process when a script adds one to an External.)
inline constexpr char kCollectorScript[] = R"js((function (collected, ring, buffer) {
  'use strict';
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const register = uncurry(FinalizationRegistry.prototype.register);
  const set = uncurry(WeakMap.prototype.set);
  const Map = WeakMap;
  const registry = new FinalizationRegistry(collected);
  const numbers = new Float64Array(buffer);
  Object.setPrototypeOf(ring, null);
  return function flush(count, usedCapsules) {
    let used;
    let last;
    for (let i = 0; i < count; i++) {
      const number = numbers[i];
      if (number === 0) continue;
      const object = ring[i];
      if (typeof object !== 'object' || object === null) continue;
      if (number > 0) {
        register(registry, object, number);
      } else {
        if (used === undefined) {
          used = new Map();
          last = {};
          register(registry, last, [usedCapsules, used]);
        }
        set(used, object, last);
      }
      numbers[i] = 0;
    }
    ring.length = 0;
  };
}))js";

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_COLLECTOR_SCRIPT_H_
