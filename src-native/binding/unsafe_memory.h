// Memory that the caller vouches for: fromPointer, adopt, dataAddress.
//
// Such memory is JavaScript-backed: giving it back means calling a function, or letting a typed array go, and both need
// its environment. So its block is bound to the environment and released through the release queue, whoever drops the
// last alias; once the environment has begun to end nothing is called or let go any more. It is never unique: native
// cannot know who else holds the address.
#ifndef NODE_DLPACK_BINDING_UNSAFE_MEMORY_H_
#define NODE_DLPACK_BINDING_UNSAFE_MEMORY_H_

namespace node_dlpack::binding {

class Registration;

void RegisterUnsafeMemory(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_UNSAFE_MEMORY_H_
