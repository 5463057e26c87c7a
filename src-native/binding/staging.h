// Staging buffers: where a runtime forbids external ArrayBuffers (Electron), `data` of an owner is a JavaScript copy of
// its bytes, and every method of the owner writes it back first. Native code that reaches an owner through the exchange
// table asks no method, so native knows the buffer too. Without this, an addon would read what the memory held before
// the user wrote to `data`.
#ifndef NODE_DLPACK_BINDING_STAGING_H_
#define NODE_DLPACK_BINDING_STAGING_H_

#include "../core/fault.h"
#include "handles.h"
#include "napi_setup.h"

namespace node_dlpack::binding {

class Registration;

// The first logical element as the user sees it: in the staging buffer, where there is one. Not for empty layouts.
uint8_t* OriginOrStaged(napi_env env, const Slot& slot);
// Copies what the user wrote into the owner's memory. kMovedAway when the user moved the buffer elsewhere.
Fault WriteStagedBack(napi_env env, const Slot& owner);
// Makes what the user still holds of the buffer unusable, as the end of a real view would.
void DetachStaging(napi_env env, const Slot& owner);
// Forgets the buffer: the owner ends, or becomes something else.
void DropStaging(napi_env env, Slot& slot);

void RegisterStaging(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_STAGING_H_
