// New tensors: the one place where a handle over memory is made, so that flags, loans, page protection and metadata
// follow the same rules whether a tensor was allocated, sliced, copied or imported.
#ifndef NODE_DLPACK_BINDING_NEW_TENSOR_H_
#define NODE_DLPACK_BINDING_NEW_TENSOR_H_

#include <cstddef>
#include <cstdint>

#include "../core/block.h"
#include "../core/dtype.h"
#include "../core/layout.h"
#include "call.h"
#include "environment.h"
#include "handles.h"

namespace node_dlpack::binding {

// What a new tensor or owner is made of. The alias (kind kTensor) is consumed on every path.
struct NewTensor {
  NewTensor() = default;
  // Another tensor over the memory of `from`, which passes on what it is: dtype, readOnly, origin. Its layout is the
  // caller's to set.
  static NewTensor AliasOf(const Slot& from);
  // Moves the first element by so many elements. kSubByteOffset where that is no whole byte; kByteOffset where an
  // opaque handle would have to move below the producer's data.
  Fault MoveOrigin(int64_t elements);

  BlockRef alias;
  uint8_t* origin = nullptr;  // first logical element; ignored when the layout is empty
  uint64_t byte_offset = 0;   // opaque memory only
  Layout layout;
  DType dtype;
  SlotKind kind = SlotKind::kTensor;
  bool read_only = true;    // an owner never is; an overlapping layout always is
  bool as_cpu = false;      // see Slot
  bool new_memory = false;  // the block came into being with this handle: its bytes count towards the next flush
};

// Makes the handle, joins it to its block's loan, puts its metadata and ring position into the scratch memory, and
// answers with the handle.
napi_value ReturnNewTensor(Call& call, NewTensor&& tensor);
// The same, the answer as a number.
double PublishNewTensor(Call& call, NewTensor&& tensor);
// The same for a slot that is made already: metadata, ring position, handle.
napi_value ReturnSlot(Call& call, const Slot& slot, size_t new_bytes);
// The same, the handle as a number.
double PublishSlot(Call& call, const Slot& slot, size_t new_bytes);
// The ring position alone.
inline double PublishHandle(Call& call, const Slot& slot, size_t new_bytes) {
  const double handle = Handles::HandleOf(slot);
  call.scratch().set_number(slot::kRing, call.environment.collector.Add(handle, new_bytes));
  return handle;
}
// The slot alone, flags computed: for callers that answer with something else.
Fault MakeTensorSlot(Environment& environment, NewTensor&& tensor, Slot** out);
// Fresh row-major memory with the same elements: alias, origin, layout, dtype and new_memory of *out. The source must
// be readable here.
Fault CopyFresh(Environment& environment, const uint8_t* origin, const Layout& layout, DType dtype, NewTensor* out);
// Slot.Ndim to SpanBytes, and Dims.
void WriteMetadata(Scratch& scratch, const Slot& slot);
// Slot.Aliases: the aliases of others, that is all but one tensor.
void WriteAliasesOfOthers(Scratch& scratch, const Block& block);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_NEW_TENSOR_H_
