// What JavaScript may ask and do about the life of a tensor: make one, ask whether it lives and who else holds it, move
// it between Tensor and OwnedTensor, release it.
#ifndef NODE_DLPACK_BINDING_LIFETIME_H_
#define NODE_DLPACK_BINDING_LIFETIME_H_

namespace node_dlpack::binding {

class Registration;

void RegisterLifetime(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_LIFETIME_H_
