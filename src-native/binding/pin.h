// The module stays mapped once it is loaded. Deleters, capsule tags and view finalizers of this module are used by
// other addons and by native threads after the last environment that loaded it is gone; a runtime that unloaded it then
// (Node does, with the last worker) would leave them pointing at nothing.
#ifndef NODE_DLPACK_BINDING_PIN_H_
#define NODE_DLPACK_BINDING_PIN_H_

#include "napi_setup.h"

namespace node_dlpack::binding {

// Any thread, any number of times. False when the system refuses.
bool PinModule();
// Where the binary lies, for languages that open it by its path to call what it exports. Empty when the system does not
// say.
napi_value ModulePath(napi_env env);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_PIN_H_
