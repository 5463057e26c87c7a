// A managed tensor whose every field is the fuzzer's, over shape and strides of exactly as many numbers as it may be
// asked for, and perhaps over real memory.
#ifndef NODE_DLPACK_FUZZ_FOREIGN_STRUCT_H_
#define NODE_DLPACK_FUZZ_FOREIGN_STRUCT_H_

#include <cstdint>

#include "dlpack/dlpack.h"
#include "input.h"
#include "managed_tensor.h"

namespace fuzz {

class ForeignStruct {
 public:
  static constexpr size_t kMemoryBytes = 4096;

  explicit ForeignStruct(Input* input);
  ~ForeignStruct();
  ForeignStruct(const ForeignStruct&) = delete;
  ForeignStruct& operator=(const ForeignStruct&) = delete;

  node_dlpack::ManagedKind kind() const {
    return versioned_ ? node_dlpack::ManagedKind::kVersioned : node_dlpack::ManagedKind::kLegacy;
  }
  void* managed() { return versioned_ ? static_cast<void*>(&versioned) : static_cast<void*>(&legacy); }
  const DLTensor& tensor() const { return versioned_ ? versioned.dl_tensor : legacy.dl_tensor; }
  // Do the bytes from this one on lie in memory that can be read?
  bool Holds(const uint8_t* address, size_t bytes) const {
    const auto first = reinterpret_cast<uintptr_t>(memory_);
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    return wanted >= first && wanted - first <= kMemoryBytes && bytes <= kMemoryBytes - (wanted - first);
  }

  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;
  int deleted = 0;

 private:
  bool versioned_ = false;
  uint8_t* memory_ = nullptr;
  int64_t* shape_ = nullptr;
  int64_t* strides_ = nullptr;
};

}  // namespace fuzz

#endif  // NODE_DLPACK_FUZZ_FOREIGN_STRUCT_H_
