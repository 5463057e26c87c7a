// The core's layout copies and conversions as a library of C functions, for the bench to time without JavaScript. Each
// does its work `repeats` times and answers the nanoseconds that all of it took, so that the price of a call from
// Python is not in it.
#include <chrono>
#include <cstdint>

#include "block.h"
#include "convert.h"
#include "copy_kernels.h"
#include "layout.h"
#include "strided_copy.h"

using namespace node_dlpack;

namespace {

class Stopwatch {
 public:
  double Nanoseconds() const {
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start_;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

constexpr double kRefused = -1;

bool MakeLayouts(const int64_t* shape, const int64_t* strides, int32_t ndim, DType target_dtype, DType source_dtype,
                 Layout* target, Layout* source) {
  return Layout::RowMajor(shape, ndim, target_dtype, target).ok() &&
         Layout::Strided(shape, strides, ndim, source_dtype, source).ok();
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

// Whether the processor has the kernels of an InstructionSet.
EXPORTED int32_t BenchHasKernels(int32_t set) {
  return CopyKernelsFor(static_cast<InstructionSet>(set)) != nullptr ? 1 : 0;
}

// set: an InstructionSet, or -1 for the best. strides: the source's, in elements. target nullptr: into fresh memory,
// which is given back each time.
EXPORTED double BenchCopy(int32_t set, uint8_t* target, const uint8_t* source, const int64_t* shape,
                          const int64_t* strides, int32_t ndim, uint32_t packed_dtype, int64_t repeats) {
  DType dtype;
  Layout to;
  Layout from;
  if (!DType::FromPacked(packed_dtype, &dtype).ok()) return kRefused;
  if (!MakeLayouts(shape, strides, ndim, dtype, dtype, &to, &from)) return kRefused;
  const CopyKernels* kernels = set < 0 ? &BestCopyKernels() : CopyKernelsFor(static_cast<InstructionSet>(set));
  if (kernels == nullptr) return kRefused;
  const Stopwatch watch;
  for (int64_t i = 0; i < repeats; ++i) {
    BlockRef block;
    uint8_t* memory = target;
    if (memory == nullptr) {
      const auto bytes = static_cast<size_t>(to.compact_bytes(dtype));
      if (!Block::AllocateUninitialized(bytes, nullptr, AliasKind::kTensor, &block).ok()) return kRefused;
      memory = block->data();
    }
    StridedCopyWith(*kernels, StreamWrites::kBySize, memory, to, source, from, dtype);
  }
  return watch.Nanoseconds();
}

// scale, offset: one number a channel, or nullptr.
EXPORTED double BenchConvert(uint8_t* target, uint32_t packed_target, const uint8_t* source, uint32_t packed_source,
                             const int64_t* shape, const int64_t* strides, int32_t ndim, const double* scale,
                             const double* offset, int64_t channels, int32_t axis, int64_t repeats) {
  DType target_dtype;
  DType source_dtype;
  Layout to;
  Layout from;
  if (!DType::FromPacked(packed_target, &target_dtype).ok()) return kRefused;
  if (!DType::FromPacked(packed_source, &source_dtype).ok()) return kRefused;
  if (!MakeLayouts(shape, strides, ndim, target_dtype, source_dtype, &to, &from)) return kRefused;
  const Affine affine{scale, offset, channels, channels, axis};
  const Stopwatch watch;
  for (int64_t i = 0; i < repeats; ++i) {
    if (!ConvertStrided(target, to, target_dtype, source, from, source_dtype, affine).ok()) return kRefused;
  }
  return watch.Nanoseconds();
}
