// What several test files need: dtypes by name, random layouts, every element of a layout, and foreign structs that
// count their deleter's calls.
#ifndef NODE_DLPACK_TEST_CORE_SUPPORT_H_
#define NODE_DLPACK_TEST_CORE_SUPPORT_H_

#include <cstdint>

#include "dlpack/dlpack.h"
#include "dtype.h"
#include "harness.h"
#include "layout.h"

namespace support {

// A dtype that must exist.
node_dlpack::DType TypeOf(uint8_t code, uint8_t bits, bool padded = false);
inline node_dlpack::DType Uint8() {
  return TypeOf(kDLUInt, 8);
}
inline node_dlpack::DType Float32() {
  return TypeOf(kDLFloat, 32);
}

// Every dtype there is, both storages of the sub-byte ones.
constexpr int kDTypeCount = 27;
node_dlpack::DType DTypeAt(int index);

// Puts count numbers into a random order.
void Shuffle(harness::Random* random, int32_t* numbers, int32_t count);

// A layout that must exist; strides nullptr: row-major.
node_dlpack::Layout Make(const int64_t* shape, const int64_t* strides, int32_t ndim, node_dlpack::DType dtype);
template <int N>
node_dlpack::Layout Make(const int64_t (&shape)[N], const int64_t (&strides)[N], node_dlpack::DType dtype) {
  return Make(shape, strides, N, dtype);
}
template <int N>
node_dlpack::Layout Make(const int64_t (&shape)[N], node_dlpack::DType dtype) {
  return Make(shape, nullptr, N, dtype);
}

// 0 to 5 axes of 0 to 4 elements, strides of any sign, zero too.
node_dlpack::Layout RandomLayout(harness::Random* random, node_dlpack::DType dtype);
// As row-major memory is seen after some random permuting, slicing and flipping: no element twice. Same shape as given.
node_dlpack::Layout RandomLayoutOf(harness::Random* random, const int64_t* shape, int32_t ndim,
                                   node_dlpack::DType dtype);
void RandomShape(harness::Random* random, int64_t* shape, int32_t* ndim);

// Calls visit(index, offset) for every element in row-major order; the offset in elements is computed anew for each.
template <typename Visit>
void ForEachElement(const node_dlpack::Layout& layout, Visit visit) {
  if (layout.empty()) return;
  int64_t index[node_dlpack::kMaxNdim + 1] = {};
  for (;;) {
    int64_t offset = 0;
    for (int32_t axis = 0; axis < layout.ndim(); ++axis) offset += index[axis] * layout.strides()[axis];
    visit(static_cast<const int64_t*>(index), offset);
    int32_t left = layout.ndim();
    for (; left > 0; --left) {
      if (++index[left - 1] < layout.shape()[left - 1]) break;
      index[left - 1] = 0;
    }
    if (left <= 0) return;
  }
}

// The offsets of a small layout in row-major order. At most kMost elements.
struct Offsets {
  static constexpr int kMost = 4096;
  int64_t values[kMost];
  int count = 0;
  explicit Offsets(const node_dlpack::Layout& layout);
};

bool SameLayout(const node_dlpack::Layout& a, const node_dlpack::Layout& b);

// Does a shape have strides over the elements at these offsets, taken in row-major order? Worked out from the offsets
// alone. The shape holds as many elements.
bool StridesExist(const Offsets& offsets, const int64_t* shape, int32_t ndim);

// A copy of one element after the other, and each bit of those that are narrower than a byte.
void NaiveCopy(uint8_t* target, const node_dlpack::Layout& target_layout, const uint8_t* source,
               const node_dlpack::Layout& source_layout, node_dlpack::DType dtype);

// A managed tensor from "outside". Its fields may be set to anything; its deleter counts, and frees nothing.
struct Foreign {
  Foreign();
  explicit Foreign(node_dlpack::DType dtype);
  ~Foreign() = default;
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  // Writes the common fields into both structs.
  void Fill();
  void* managed(bool is_versioned) {
    return is_versioned ? static_cast<void*>(&versioned) : static_cast<void*>(&legacy);
  }

  // The common fields: a readable float32 [2, 3] at first.
  DLTensor tensor;
  int64_t shape[node_dlpack::kMaxNdim + 1] = {2, 3};
  int64_t strides[node_dlpack::kMaxNdim + 1] = {3, 1};
  alignas(64) uint8_t memory[512] = {};
  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;
  int deleted = 0;
};

}  // namespace support

#endif  // NODE_DLPACK_TEST_CORE_SUPPORT_H_
