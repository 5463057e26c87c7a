// The bytes behind an ArrayBufferView argument: any typed array (Buffers, slices of Node's pool and views over
// SharedArrayBuffers too) or DataView.
//
// The pointer is taken from the view, never from its buffer: a pooled Buffer begins somewhere inside, and a
// SharedArrayBuffer is not an ArrayBuffer to Node-API. It is good until JavaScript runs again. The length is the view's
// at this moment: a view that tracks a resizable buffer, or that its buffer shrank away from, says what is really
// there.
#ifndef NODE_DLPACK_BINDING_BYTES_ARGUMENT_H_
#define NODE_DLPACK_BINDING_BYTES_ARGUMENT_H_

#include <cstddef>
#include <cstdint>

#include "../core/fault.h"
#include "call.h"

namespace node_dlpack::binding {

struct BytesArgument {
  uint8_t* data = nullptr;
  size_t bytes = 0;
  napi_value buffer = nullptr;  // ArrayBuffer or SharedArrayBuffer

  // kArgument (index) when the value is no such view; kDetachedInput.
  static Fault Read(const Call& call, int index, BytesArgument* out);
};

// A Float64Array, or undefined (data nullptr, count 0). kArgument (index), kDetachedInput.
struct NumbersArgument {
  const double* data = nullptr;
  int64_t count = 0;

  static Fault Read(const Call& call, int index, NumbersArgument* out);
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_BYTES_ARGUMENT_H_
