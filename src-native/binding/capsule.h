// Capsules: managed tensors on their way through JavaScript, as type-tagged Externals over the public C record of
// node_dlpack.h.
//
// Rules, and what breaks without them:
// - Taking is one atomic exchange of the record's pointer: two consumers, whatever their threads, cannot both win.
// - The name (dltensor, used_dltensor_versioned ...) follows from kind and pointer. A second word that says "used"
//   could disagree.
// - An External is believed only after its type tag matched: any other addon's External is someone else's pointer.
// - Ours have no finalizer: an External with one costs three times as much. They are found by the collector like
//   tensors, through a slot of their own kind, and the record lives exactly as long as its External.
#ifndef NODE_DLPACK_BINDING_CAPSULE_H_
#define NODE_DLPACK_BINDING_CAPSULE_H_

#include "../core/managed_tensor.h"
#include "capsule_records.h"
#include "environment.h"
#include "node_dlpack.h"

namespace node_dlpack::binding {

class Call;
class Registration;

// A fresh capsule. On success its slot stands in *slot, to be published, and the struct belongs to the capsule; on a
// fault the struct is still the guard's.
Fault MakeCapsule(Environment& environment, ManagedGuard* managed, napi_value* external, Slot** slot);
// The record behind a value: kNotACapsule, kCapsuleAbi.
Fault FindCapsule(napi_env env, napi_value value, node_dlpack_capsule** out);
// Puts the capsule's ring position into the scratch memory, last thing before it is returned. new_bytes: memory made
// for it.
void PublishCapsule(Call& call, const Slot& slot, size_t new_bytes);
// Takes the managed tensor out, whoever made the capsule: as FindCapsule, kCapsuleUsed.
Fault TakeCapsule(napi_env env, napi_value value, ManagedGuard* out);
// Runs the deleter of what the capsule still holds; the record and its slot stay until the External is collected.
void EmptyCapsule(Slot& slot);
bool IsUsedCapsule(const Slot& slot);
// The record of a used capsule joins those of a slot of kind kUsedCapsules, and leaves its own.
void MoveUsedCapsule(Slot* from, Slot* used_capsules);
// The Externals are gone, the capsule's own or all used ones of a slot: empties, then frees the records. How many.
int64_t FreeCapsules(Environment& environment, Slot* slot);

void RegisterCapsule(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_CAPSULE_H_
