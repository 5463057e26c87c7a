// Every type tag the binding uses. An External is believed only after its tag matched. Tags are static and the module
// stays mapped: Node 20.12 and 21.6 kept a pointer to the tag rather than the tag.
#ifndef NODE_DLPACK_BINDING_TYPE_TAGS_H_
#define NODE_DLPACK_BINDING_TYPE_TAGS_H_

#include "napi_setup.h"
#include "node_dlpack.h"

namespace node_dlpack::binding {

// Capsules, ours and every other addon's: the tag is part of the public contract.
inline const napi_type_tag* CapsuleTag() {
  return &node_dlpack_capsule_tag;
}
// Exchange tables, likewise.
inline const napi_type_tag* ExchangeTag() {
  return &node_dlpack_exchange_tag;
}

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_TYPE_TAGS_H_
