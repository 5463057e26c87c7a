// Runtime: what one runtime does otherwise than all others and cannot be asked in any other way than by its name.
#ifndef NODE_DLPACK_BINDING_RUNTIME_H_
#define NODE_DLPACK_BINDING_RUNTIME_H_

#include "napi_setup.h"

namespace node_dlpack::binding {

// May a cleanup hook look at JavaScript values? On Deno it may not: no scope for handles is open there,
// napi_open_handle_scope opens none, and the first value that is asked for ends the process.
bool HooksMaySeeValues(napi_env env);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_RUNTIME_H_
