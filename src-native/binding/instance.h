// The native instance as JavaScript sees it: the shared memory, the ring, the lists of faults and constants, and the
// calls that concern all of it rather than one tensor (stats, settle, configure).
#ifndef NODE_DLPACK_BINDING_INSTANCE_H_
#define NODE_DLPACK_BINDING_INSTANCE_H_

#include "napi_setup.h"

namespace node_dlpack::binding {

class Environment;
class Registration;

void RegisterInstance(Registration& registration, Environment& environment);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_INSTANCE_H_
