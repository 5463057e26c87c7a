// Export: carries out what TypeScript's negotiation planned. A fresh struct and a fresh capsule at every call; flags
// are set explicitly at every call; a failed export changes nothing. Which struct, which flags and whether to copy are
// decided in TypeScript; ownership is guarded here.
#ifndef NODE_DLPACK_BINDING_EXPORT_H_
#define NODE_DLPACK_BINDING_EXPORT_H_

namespace node_dlpack::binding {

class Registration;

void RegisterExport(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_EXPORT_H_
