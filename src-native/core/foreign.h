// Foreign until checked: turns a managed tensor from anywhere into a view that may be read. Every field is read once,
// into locals, and only the copies are checked and used, so a producer that changes its struct meanwhile cannot slip
// past the check. Nothing is written to the struct.
#ifndef NODE_DLPACK_CORE_FOREIGN_H_
#define NODE_DLPACK_CORE_FOREIGN_H_

#include <cstdint>

#include "block.h"
#include "dlpack/dlpack.h"
#include "dtype.h"
#include "fault.h"
#include "layout.h"

namespace node_dlpack {

// A field of foreign memory, read exactly once: volatile keeps the compiler from reading it again after the check.
template <typename T>
T ReadOnce(const T& field) {
  return *static_cast<const volatile T*>(&field);
}

class CheckedTensor {
 public:
  // Order of checks: NULL, version.major (nothing else is read on a mismatch), device, dtype, ndim, shape, strides,
  // products, spans, byte offset, data, addresses. An empty tensor's data, strides and byte offset mean nothing and are
  // not looked at. Misalignment is not a fault: misaligned() says it. On opaque devices there is no alignment, and no
  // address arithmetic beyond the test for overflow.
  // Faults, which leave *out as it was: kManagedNull to kByteOffset, kDeviceType to kDTypeLanes, kOutOfMemory.
  // kSpanOverflow also when the span leaves the address space.
  static Fault Check(const void* managed, ManagedKind kind, CheckedTensor* out);

  CheckedTensor() = default;
  CheckedTensor(CheckedTensor&&) = default;
  CheckedTensor& operator=(CheckedTensor&&) = default;

  // Host memory: the first logical element, data + byte_offset. Otherwise data as it came, which may be a handle.
  // nullptr when empty.
  uint8_t* origin() const { return origin_; }
  uint64_t byte_offset() const { return byte_offset_; }  // 0 for host memory and when empty: origin has it in
  uint8_t* lowest() const {
    return lowest_;
  }  // least address of the span; origin() on opaque devices; nullptr when empty
  size_t span_bytes() const { return span_bytes_; }
  const Layout& layout() const { return layout_; }
  Layout&& TakeLayout() { return static_cast<Layout&&>(layout_); }
  DType dtype() const { return dtype_; }
  DLDevice device() const { return device_; }  // device_id 0 for host memory, whatever the struct says
  uint64_t flags() const { return flags_; }    // only the bits this library knows; 0 for legacy
  bool versioned() const { return versioned_; }
  bool host_readable() const { return host_readable_; }
  bool misaligned() const { return misaligned_; }
  uint32_t misalignment() const { return misalignment_; }

 private:
  Fault Place(void* data, uint64_t byte_offset);

  uint8_t* origin_ = nullptr;
  uint64_t byte_offset_ = 0;
  uint8_t* lowest_ = nullptr;
  size_t span_bytes_ = 0;
  Layout layout_;
  DType dtype_;
  DLDevice device_{kDLCPU, 0};
  uint64_t flags_ = 0;
  bool versioned_ = false;
  bool host_readable_ = true;
  bool misaligned_ = false;
  uint32_t misalignment_ = 0;
};

bool IsKnownDevice(int32_t type);
bool IsHostReadable(int32_t type);  // CPU, CUDAHost, ROCMHost

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_FOREIGN_H_
