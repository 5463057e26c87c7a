// Import: from a capsule to a tensor.
//
// Rules, and what breaks without them:
// - Take first, then validate: the managed pointer leaves the capsule by one atomic exchange into a guard that owns the
//   deleter, so on every path the deleter runs exactly once, whatever else looks at the capsule meanwhile.
// - Foreign until checked: only CheckedTensor is read.
// - A struct whose deleter is ours is unwrapped to its block, so that counts, views and uniqueness are the block's own
//   and a tensor that went out and came back is not kept alive by a chain of structs. Its fields are checked against
//   the block: a consumer may have overwritten them.
// - importTensor is the same exchange without the capsule; whatever can be observed of it is the same.
#ifndef NODE_DLPACK_BINDING_IMPORT_H_
#define NODE_DLPACK_BINDING_IMPORT_H_

namespace node_dlpack::binding {

class Registration;

void RegisterImport(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_IMPORT_H_
