// The scratch memory: 512 numbers that native and TypeScript both see, so that a call's numbers cross the boundary
// without an object being made. Meaningful from the end of a call to the beginning of the next. The constants mirror
// Slot, TensorFlag, ImportMode, ViewMode, ScalarKind and Config of lib/native.ts; the addon publishes them as
// `native.layout`, and a test holds the two sides against each other.
#ifndef NODE_DLPACK_BINDING_SCRATCH_H_
#define NODE_DLPACK_BINDING_SCRATCH_H_

#include <cstdint>
#include <cstring>

namespace node_dlpack::binding {

#define NODE_DLPACK_SCRATCH_SLOTS(X)                                                      \
  X(Ndim, 0)                                                                              \
  X(Flags, 1)                                                                             \
  X(DType, 2) /* code | bits << 8 | padded << 16 */                                       \
  X(DeviceType, 3)                                                                        \
  X(DeviceId, 4)                                                                          \
  X(Size, 5)       /* elements */                                                         \
  X(ByteLength, 6) /* bytes of the elements stored compactly */                           \
  X(SpanOffset, 7) /* elements from the start of the span to the first logical element */ \
  X(SpanBytes, 8)                                                                         \
  X(Ring, 9)                                                                              \
  X(FaultIndex, 10) /* float64 */                                                         \
  X(FaultValue, 11) /* int64 */                                                           \
  X(FaultLimit, 12) /* int64 */                                                           \
  X(Aliases, 13)    /* four float64: tensors, exports, views, tokens of others */         \
  X(Argument, 17)   /* of hot calls (call.h): what they are about */                      \
  X(Answer, 18)     /* ... what they answer */                                            \
  X(Plan, 19)       /* ... how an export is made: kind << 16 | flags; what is assigned */ \
  X(Dims, 20)       /* shape, then strides */                                             \
  X(Input, 160)                                                                           \
  X(Element, 480)                                                                         \
  X(Length, 512)

#define NODE_DLPACK_TENSOR_FLAGS(X) \
  X(ReadOnly, 1)                    \
  X(Contiguous, 2)                  \
  X(MadeByCopy, 4)                  \
  X(Owned, 8)                       \
  X(Opaque, 16)                     \
  X(Protected, 32)                  \
  X(Overlapping, 64)                \
  X(Loan, 128)                      \
  X(Foreign, 256)                   \
  X(Legacy, 512)

namespace slot {
#define NODE_DLPACK_CONSTANT(name, value) constexpr int k##name = value;
NODE_DLPACK_SCRATCH_SLOTS(NODE_DLPACK_CONSTANT)
}  // namespace slot

namespace tensor_flag {
NODE_DLPACK_TENSOR_FLAGS(NODE_DLPACK_CONSTANT)
}  // namespace tensor_flag

enum class ImportMode : int32_t { kAny = 0, kOwned = 1, kNoCopy = 2 };
enum class ViewMode : int32_t { kRead = 0, kWritable = 1, kUnsafe = 2 };
enum class ScalarKind : int32_t { kFloat = 0, kInt = 1, kUInt = 2, kComplex = 3 };

// Bits of configure's argument.
#define NODE_DLPACK_CONFIG(X) \
  X(ProtectPages, 1)          \
  X(NoExternalBuffers, 2)

namespace config {
NODE_DLPACK_CONFIG(NODE_DLPACK_CONSTANT)
#undef NODE_DLPACK_CONSTANT
}  // namespace config

// A bit of the flags argument of exportTensor and exportOwned that is not DLPack's: the struct names the CPU as its
// device.
constexpr int32_t kExportAsCpu = 256;

class Scratch {
 public:
  static constexpr size_t kBytes = slot::kLength * sizeof(double);
  // How many numbers Input holds: up to the one where Element begins.
  static constexpr int kInputLength = slot::kElement - slot::kInput;

  void Attach(void* memory) { words_ = static_cast<double*>(memory); }
  void* memory() const { return words_; }

  double number(int index) const { return words_[index]; }
  void set_number(int index, double value) { words_[index] = value; }
  int64_t bits(int index) const {
    int64_t value;
    std::memcpy(&value, &words_[index], sizeof value);
    return value;
  }
  void set_bits(int index, int64_t value) { std::memcpy(&words_[index], &value, sizeof value); }

  // The number in Input[index] as an integer; false when it is not one that int64 holds.
  bool Input(int index, int64_t* out) const {
    const double value = words_[slot::kInput + index];
    if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) return false;
    *out = static_cast<int64_t>(value);
    return static_cast<double>(*out) == value;
  }

 private:
  double* words_ = nullptr;
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_SCRATCH_H_
