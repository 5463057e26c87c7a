// May the host read a tensor's bytes? Memory of other devices is opaque here: passed on, never touched. Every function
// that reads or writes elements asks this first; a missing question would dereference an address of another machine
// part.
#ifndef NODE_DLPACK_BINDING_HOST_ACCESS_H_
#define NODE_DLPACK_BINDING_HOST_ACCESS_H_

#include "../core/fault.h"
#include "handles.h"
#include "scratch.h"

namespace node_dlpack::binding {

inline Fault CheckReadable(const Slot& slot) {
  if (!slot.has(tensor_flag::kOpaque)) return Fault();
  const DLDevice device = slot.alias->device();
  return Fault(FaultCode::kOpaqueDevice, device.device_id, device.device_type);
}

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_HOST_ACCESS_H_
