// Our own DLManagedTensor and DLManagedTensorVersioned: one allocation that holds the struct, its shape and strides,
// and what the deleter needs. The deleter believes only what lies outside the struct (a consumer may have overwritten
// every field of it, manager_ctx included), touches atomics and free alone, and is right on any thread at any time,
// after any environment's death.
#ifndef NODE_DLPACK_CORE_MANAGED_TENSOR_H_
#define NODE_DLPACK_CORE_MANAGED_TENSOR_H_

#include <cstdint>

#include "block.h"
#include "dlpack/dlpack.h"
#include "dtype.h"
#include "fault.h"
#include "layout.h"

namespace node_dlpack {

// What a managed tensor says about memory it shares.
struct TensorView {
  uint8_t* origin =
      nullptr;  // address of the first logical element; ignored (NULL is written) when the layout is empty
  const Layout* layout = nullptr;
  DType dtype;
  // 0 for memory that the host can read: origin has it in. On other devices data may be a handle that cannot be added
  // to, so an imported offset (CheckedTensor::byte_offset) is handed on as it came.
  uint64_t byte_offset = 0;
  // Host memory of another device type (CUDAHost, ROCMHost) that is handed over as the CPU's: the struct says [1, 0].
  bool as_cpu = false;
  // Of the maker's, for BlockOfOwn to hand back; nothing is done with it here.
  uint64_t note = 0;
};

// Calls the struct's deleter if it has one. Reads only the deleter field.
void DeleteManaged(void* managed, ManagedKind kind);

// Owns one managed tensor, ours or foreign, from the moment it is taken: exactly one deleter call on every path.
class ManagedGuard {
 public:
  ManagedGuard() = default;
  ManagedGuard(void* managed, ManagedKind kind) : managed_(managed), kind_(kind) {}
  ManagedGuard(ManagedGuard&& other) noexcept : managed_(other.managed_), kind_(other.kind_) {
    other.managed_ = nullptr;
  }
  ManagedGuard& operator=(ManagedGuard&& other) noexcept;
  ManagedGuard(const ManagedGuard&) = delete;
  ManagedGuard& operator=(const ManagedGuard&) = delete;
  ~ManagedGuard() { Reset(); }

  void* get() const { return managed_; }
  ManagedKind kind() const { return kind_; }
  // Ownership leaves; returns the pointer.
  void* Detach() {
    void* managed = managed_;
    managed_ = nullptr;
    return managed;
  }
  // Deleter (when not NULL).
  void Reset() {
    if (managed_ != nullptr) DeleteManaged(Detach(), kind_);
  }

 private:
  void* managed_ = nullptr;
  ManagedKind kind_ = ManagedKind::kVersioned;
};

// A fresh struct over the export alias (consumed; on a fault it is dropped). flags: for kVersioned,
// DLPACK_FLAG_BITMASK_*; the padded flag is added here from the dtype. A legacy struct has no flags and so cannot say
// "padded": kDTypeBits. Device is the block's (see as_cpu), version the header's. Strides are never NULL for ndim >= 1;
// shape and strides are NULL for 0-d; data is NULL when empty; byte_offset is 0 for host memory. Other faults:
// kOutOfMemory.
Fault MakeManaged(BlockRef export_alias, const TensorView& view, ManagedKind kind, uint64_t flags, ManagedGuard* out);

// The block behind a struct whose deleter is this module's own, or nullptr: also for a copy of one, made elsewhere by
// its value. Reads only the deleter field of an unknown struct. made_with_flags (may be nullptr): those it was made
// with, whatever the struct says now; 0 for legacy. note: TensorView's.
Block* BlockOfOwn(const void* managed, ManagedKind kind, uint64_t* made_with_flags, uint64_t* note = nullptr);
// Takes over the alias of a struct that BlockOfOwn has found to be ours: the struct is freed without dropping its
// alias, which is returned (kind kExport). The deleter field is not asked again: with a second reading, a producer that
// changes it in between would be told apart from the one that was checked.
BlockRef UnwrapOwn(ManagedGuard managed);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_MANAGED_TENSOR_H_
