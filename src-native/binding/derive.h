// Tensors made from a tensor without a copy: slice, permute, reshape, squeeze, expandDims, broadcastTo, flip.
//
// Each is a new alias of the same memory that passes on what it came from: readOnly, device, loan. Only tensors can be
// derived from: an owner has no second handle to its memory, or it would not be alone with it.
#ifndef NODE_DLPACK_BINDING_DERIVE_H_
#define NODE_DLPACK_BINDING_DERIVE_H_

#include <cstdint>

#include "../core/fault.h"
#include "../core/layout.h"
#include "call.h"

namespace node_dlpack::binding {

// The specs of slice and assign, four numbers an axis in Input: isIndex, start, extent, step. specs: room for kMaxNdim.
// kIndexCount, kArgument.
Fault ReadSlices(const Call& call, int32_t count, int32_t ndim, AxisSlice* specs);

void RegisterDerive(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_DERIVE_H_
