#include "convert_kernels.h"

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "convert.h"
#include "copy_kernels.h"
#include "harness.h"
#include "memory_of.h"
#include "support.h"

using namespace node_dlpack;
using support::Make;
using support::MemoryOf;
using support::TypeOf;

namespace {

constexpr Affine kNone;

// All that have loops of their own.
constexpr int kDTypes = 5;
DType DTypeOf(int index) {
  static const DType dtypes[kDTypes] = {TypeOf(kDLUInt, 8), TypeOf(kDLInt, 8), TypeOf(kDLFloat, 16),
                                        TypeOf(kDLBfloat, 16), TypeOf(kDLFloat, 32)};
  return dtypes[index];
}

// Every bit of both: NaN, infinity, subnormal numbers and all between.
void CheckSame(const Layout& target_layout, DType target_dtype, const Layout& source_layout, DType source_dtype,
               const Affine& affine, const uint8_t* source, int64_t misalignment) {
  const MemoryOf portable(target_layout, target_dtype, misalignment, 1);
  CHECK_OK(ConvertStridedWith(nullptr, kPortableCopyKernels, portable.start(), target_layout, target_dtype, source,
                              source_layout, source_dtype, affine));
  for (const InstructionSet set : {InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    const ConvertKernels* convert = ConvertKernelsFor(set);
    const CopyKernels* copy = CopyKernelsFor(set);
    if (convert == nullptr || copy == nullptr) continue;
    const MemoryOf fast(target_layout, target_dtype, misalignment, 1);
    CHECK_OK(ConvertStridedWith(convert, *copy, fast.start(), target_layout, target_dtype, source, source_layout,
                                source_dtype, affine));
    CHECK(portable.SameAs(fast));
  }
}

// Random bits, and for floats the numbers at which rounding and saturating turn.
void FillSource(uint8_t* source, int64_t count, DType dtype, harness::Random* random) {
  static constexpr float kEdges[] = {0.0F,    -0.0F,  0.5F,   1.5F,   2.5F,     -0.5F,    127.5F, 128.0F,
                                     -128.5F, 254.5F, 255.5F, 256.0F, 65504.0F, 65520.0F, 1e-8F,  6e-8F,
                                     1e-40F,  3e38F,  -1.0F,  1e10F,  -1e10F,   3e-5F,    126.5F, -127.5F};
  const auto itemsize = static_cast<int64_t>(dtype.itemsize());
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = random->Next() >> 20;
    const int64_t kind = random->Between(0, 3);
    float value = kEdges[random->Between(0, 23)];
    if (kind == 1) value = static_cast<float>(random->Between(-2000, 2000)) / 8;
    if (kind == 2 && i % 5 == 0) value = std::numeric_limits<float>::quiet_NaN();
    if (kind == 2 && i % 5 == 1) value = i % 2 == 0 ? HUGE_VALF : -HUGE_VALF;
    if (itemsize == 4 && kind != 3) std::memcpy(&bits, &value, sizeof(value));
    std::memcpy(source + i * itemsize, &bits, static_cast<size_t>(itemsize));
  }
}

}  // namespace

TEST("all values of 8 and 16 bits become the same floats as in the portable conversion, bit for bit") {
  for (int from = 0; from < kDTypes - 1; ++from) {
    const DType dtype = DTypeOf(from);
    const int64_t count = int64_t{1} << dtype.bits();
    const Layout line = Make({count}, dtype);
    const MemoryOf source(line, dtype, 0, 1);
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(source.start() + i * dtype.itemsize(), &i, dtype.itemsize());
    }
    for (int to = 0; to < kDTypes; ++to) {
      if (to == from) continue;
      CheckSame(Make({count}, DTypeOf(to)), DTypeOf(to), line, dtype, kNone, source.start(), 0);
    }
  }
}

TEST("floats of every size become the same as in the portable conversion, bit for bit") {
  // Every upper half with lower halves around a tie.
  constexpr int64_t kCount = int64_t{65536} * 4;
  static constexpr uint32_t kLower[] = {0, 0x7fff, 0x8000, 0x8001};
  const DType dtype = support::Float32();
  const MemoryOf source(Make({kCount}, dtype), dtype, 0, 1);
  for (int64_t i = 0; i < kCount; ++i) {
    const uint32_t bits = static_cast<uint32_t>(i / 4) << 16 | kLower[i % 4];
    std::memcpy(source.start() + i * 4, &bits, 4);
  }
  for (int to = 0; to < kDTypes - 1; ++to) {
    CheckSame(Make({kCount}, DTypeOf(to)), DTypeOf(to), Make({kCount}, dtype), dtype, kNone, source.start(), 0);
  }
  // Ties of float16 lie 13 bits up, further for its subnormal numbers.
  harness::Random random(71);
  for (int64_t i = 0; i < kCount; ++i) {
    const auto near = static_cast<uint32_t>(random.Between(0x32000000, 0x48000000));
    const uint32_t bits = (near >> 12 << 12) + static_cast<uint32_t>(random.Between(-1, 1));
    std::memcpy(source.start() + i * 4, &bits, 4);
  }
  CheckSame(Make({kCount}, DTypeOf(2)), DTypeOf(2), Make({kCount}, dtype), dtype, kNone, source.start(), 0);
}

TEST("pictures are converted with numbers for each channel, in every order of channels, as by the portable loops") {
  harness::Random random(72);
  for (int i = 0; i < 600; ++i) {
    const DType from = DTypeOf(static_cast<int>(random.Between(0, kDTypes - 1)));
    const DType to = DTypeOf(static_cast<int>(random.Between(0, kDTypes - 1)));
    const int64_t pictures = random.Between(1, 2);
    const int64_t channels = random.Between(1, 5);
    const int64_t pixels = i % 10 == 0 ? random.Between(1000, 3000) : random.Between(1, 90);
    const int64_t stored = channels == 3 && i % 2 == 0 ? 4 : channels;
    const int64_t misalignment = random.Between(0, 2) == 0 ? 0 : random.Between(1, 63);
    double scale[5];
    double offset[5];
    for (int channel = 0; channel < 5; ++channel) {
      scale[channel] = static_cast<double>(random.Between(1, 1000)) / 333;
      offset[channel] = static_cast<double>(random.Between(-1000, 1000)) / 77;
    }
    Affine affine;
    const int64_t kind = random.Between(0, 3);
    if (kind != 0) affine.scale = scale;
    if (kind != 1) affine.offset = offset;
    affine.scale_count = random.Between(0, 2) == 0 ? 1 : channels;
    affine.offset_count = random.Between(0, 2) == 0 ? 1 : channels;
    const MemoryOf source(Make({pictures, stored, pixels}, from), from, misalignment, 1);
    FillSource(source.start(), pictures * stored * pixels, from, &random);
    const int64_t rows[3] = {pictures, channels, pixels};
    const int64_t points[3] = {pictures, pixels, channels};
    // Apart, together, and as they are.
    const int64_t apart[3] = {stored * pixels, 1, stored};
    const int64_t together[3] = {channels * pixels, 1, pixels};
    affine.axis = 1;
    CheckSame(Make(rows, nullptr, 3, to), to, Make(rows, apart, 3, from), from, affine, source.start(), misalignment);
    CheckSame(Make(rows, nullptr, 3, to), to, Make(rows, nullptr, 3, from), from, affine, source.start(), misalignment);
    affine.axis = 2;
    CheckSame(Make(points, nullptr, 3, to), to, Make(points, together, 3, from), from, affine, source.start(),
              misalignment);
    CheckSame(Make(points, nullptr, 3, to), to, Make(points, nullptr, 3, from), from, affine, source.start(),
              misalignment);
  }
}

TEST("a conversion of more than the caches hold is that of the portable loops too") {
  harness::Random random(73);
  const DType from = support::Uint8();
  const DType to = support::Float32();
  constexpr int64_t kPixels = 800003;
  const MemoryOf source(Make({3, kPixels}, from), from, 1, 1);
  FillSource(source.start(), 3 * kPixels, from, &random);
  const double scale[3] = {0.017, 0.018, 0.019};
  const double offset[3] = {-2.1, -2.0, -1.8};
  const Affine affine{scale, offset, 3, 3, 0};
  const Layout apart = Make({3, kPixels}, {1, 3}, from);
  CheckSame(Make({3, kPixels}, to), to, apart, from, affine, source.start(), 0);
  CheckSame(Make({3, kPixels}, to), to, apart, from, affine, source.start(), 12);
  CheckSame(Make({3, kPixels}, to), to, apart, from, affine, source.start(), 3);
}
