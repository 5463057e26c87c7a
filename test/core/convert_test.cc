#include "convert.h"

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "convert_reference.h"
#include "harness.h"
#include "memory_of.h"
#include "scalar.h"
#include "support.h"

using namespace node_dlpack;
using support::Float32;
using support::ForEachElement;
using support::Make;
using support::MemoryOf;
using support::TypeOf;
using support::Uint8;

namespace {

constexpr Affine kNone;

// Numbers that lie on edges for one dtype or another.
double InterestingNumber(harness::Random* random) {
  static constexpr double kEdges[] = {0,      -0.0,   0.5,     1.5,  2.5,     -0.5,  -1.5,  127.5, 128,   -128.5,
                                      255,    255.5,  256,     -1,   32767.5, 65504, 65520, 1e10,  -1e10, 4294967295.0,
                                      9.3e18, 1.9e19, -9.3e18, 1e39, 1e-40,   6,     448,   464};
  const int64_t kind = random->Between(0, 5);
  if (kind == 0) return kEdges[random->Between(0, static_cast<int64_t>(sizeof(kEdges) / sizeof(kEdges[0])) - 1)];
  if (kind == 1) return std::numeric_limits<double>::quiet_NaN();
  if (kind == 2) return random->Between(0, 1) == 0 ? HUGE_VAL : -HUGE_VAL;
  if (kind == 3)
    return std::ldexp(static_cast<double>(random->Between(-4096, 4096)), static_cast<int>(random->Between(-20, 60)));
  return static_cast<double>(random->Between(-2000, 2000)) / 8;
}

void FillRandomly(const MemoryOf& memory, const Layout& layout, DType dtype, harness::Random* random) {
  ForEachElement(layout, [&](const int64_t*, int64_t offset) {
    Scalar value;
    value.f = InterestingNumber(random);
    if (dtype.is_integer() && random->Between(0, 1) == 0) {
      value.kind = Scalar::Kind::kUInt;
      value.u = random->Next();
    }
    value.imag = static_cast<double>(random->Between(-9, 9));
    StoreScalar(memory.origin(), offset * dtype.stride_bits(), dtype, value);
  });
}

void CheckConversion(const Layout& target_layout, DType target_dtype, const Layout& source_layout, DType source_dtype,
                     const Affine& affine, harness::Random* random) {
  const MemoryOf source(source_layout, source_dtype, 0, 1);
  const MemoryOf target(target_layout, target_dtype, 0, 2);
  FillRandomly(source, source_layout, source_dtype, random);
  CHECK_OK(ConvertStrided(target.origin(), target_layout, target_dtype, source.origin(), source_layout, source_dtype,
                          affine));
  ForEachElement(target_layout, [&](const int64_t* index, int64_t to) {
    int64_t from = 0;
    for (int32_t axis = 0; axis < source_layout.ndim(); ++axis) from += index[axis] * source_layout.strides()[axis];
    const Scalar value = LoadScalar(source.origin(), from * source_dtype.stride_bits(), source_dtype);
    const int64_t channel = target_layout.ndim() == 0 ? 0 : index[affine.axis];
    uint8_t expected[16] = {};
    StoreScalar(expected, 0, target_dtype, support::Apply(value, source_dtype, target_dtype, affine, channel));
    const Scalar got = LoadScalar(target.origin(), to * target_dtype.stride_bits(), target_dtype);
    const Scalar wanted = LoadScalar(expected, 0, target_dtype);
    CHECK(support::SameNumber(got, wanted));
    CHECK_EQUAL(got.imag, wanted.imag);
  });
}

bool IsReal(DType dtype) {
  return !dtype.is_complex();
}

}  // namespace

TEST("every pair of real dtypes converts each element as one store of it would") {
  harness::Random random(51);
  for (int from = 0; from < support::kDTypeCount; ++from) {
    for (int to = 0; to < support::kDTypeCount; ++to) {
      const DType source = support::DTypeAt(from);
      const DType target = support::DTypeAt(to);
      if (!IsReal(source) || !IsReal(target)) continue;
      CheckConversion(Make({700}, target), target, Make({700}, source), source, kNone, &random);
      for (int i = 0; i < 4; ++i) {
        int64_t shape[kMaxNdim];
        int32_t ndim = 0;
        support::RandomShape(&random, shape, &ndim);
        CheckConversion(support::RandomLayoutOf(&random, shape, ndim, target), target,
                        support::RandomLayoutOf(&random, shape, ndim, source), source, kNone, &random);
      }
    }
  }
}

TEST("scale and offset, one for all or one a channel of any axis, are rounded apart and in the width the rule says") {
  harness::Random random(52);
  int checked = 0;
  for (int i = 0; i < 6000; ++i) {
    const DType source = support::DTypeAt(static_cast<int>(random.Between(0, support::kDTypeCount - 1)));
    const DType target = support::DTypeAt(static_cast<int>(random.Between(0, support::kDTypeCount - 1)));
    if (!IsReal(source) || !IsReal(target)) continue;
    int64_t shape[kMaxNdim];
    int32_t ndim = 0;
    support::RandomShape(&random, shape, &ndim);
    if (ndim == 0) continue;
    double numbers[2][4];
    for (auto& row : numbers) {
      for (double& number : row) number = static_cast<double>(random.Between(-1000, 1000)) / 7.0;
    }
    Affine affine;
    affine.axis = static_cast<int32_t>(random.Between(0, ndim - 1));
    const int64_t kind = random.Between(1, 3);
    if ((kind & 1) != 0) {
      affine.scale = numbers[0];
      affine.scale_count = random.Between(0, 1) == 0 ? 1 : shape[affine.axis];
    }
    if ((kind & 2) != 0) {
      affine.offset = numbers[1];
      affine.offset_count = random.Between(0, 1) == 0 ? 1 : shape[affine.axis];
    }
    CheckConversion(support::RandomLayoutOf(&random, shape, ndim, target), target,
                    support::RandomLayoutOf(&random, shape, ndim, source), source, affine, &random);
    ++checked;
  }
  CHECK(checked > 3000);
}

TEST("a product and a sum are rounded one after the other, never at once") {
  // 1 + 2^-12 squared has a bit that float32 drops; fused with the sum it would be seen.
  const float x = 1.0f + std::ldexp(1.0f, -12);
  const double scale = x;
  const double offset = -(1.0 + std::ldexp(1.0, -11));
  const Affine affine{&scale, &offset, 1, 1, 0};
  float result = 0;
  const Layout one;
  CHECK_OK(ConvertStrided(reinterpret_cast<uint8_t*>(&result), one, Float32(), reinterpret_cast<const uint8_t*>(&x),
                          one, Float32(), affine));
  CHECK_EQUAL(result, 0.0f);
  CHECK(std::fma(x, x, static_cast<float>(offset)) != 0.0f);
}

TEST("a picture becomes channels-first normalised floats in one pass") {
  harness::Random random(53);
  const DType float32 = Float32();
  const double scale[] = {1 / 58.4, 1 / 57.1, 1 / 57.4};
  const double offset[] = {-2.1, -2.0, -1.8};
  const Affine affine{scale, offset, 3, 3, 0};
  // [C, H, W] of the picture [H, W, C], into rows of one image of a batch.
  CheckConversion(Make({3, 40, 60}, float32), float32, Make({3, 40, 60}, {1, 180, 3}, Uint8()), Uint8(), affine,
                  &random);
  // And with the channels last on both sides.
  Affine last = affine;
  last.axis = 2;
  CheckConversion(Make({40, 60, 3}, float32), float32, Make({40, 60, 3}, Uint8()), Uint8(), last, &random);
}

TEST("more channels than are converted at a time") {
  harness::Random random(56);
  double numbers[1300];
  for (double& number : numbers) number = static_cast<double>(random.Between(-99, 99)) / 8;
  const Affine affine{numbers, numbers, 1300, 1300, 0};
  CheckConversion(Make({1300}, Float32()), Float32(), Make({1300}, {-2}, Uint8()), Uint8(), affine, &random);
  CheckConversion(Make({1300}, {-1}, Float32()), Float32(), Make({1300}, Uint8()), Uint8(), affine, &random);
}

TEST("a padded element is written as a whole byte") {
  const DType padded = TypeOf(kDLFloat4_e2m1fn, 4, true);
  const float source[] = {1.0f, -6.0f};
  uint8_t target[2] = {0xff, 0xff};
  const Layout layout = Make({2}, padded);
  CHECK_OK(ConvertStrided(target, layout, padded, reinterpret_cast<const uint8_t*>(source), layout, Float32(), kNone));
  CHECK_EQUAL(int{target[0]}, 0x02);
  CHECK_EQUAL(int{target[1]}, 0x0f);
}

TEST("equal dtypes without scale and offset are copied bit by bit, NaN payloads and complex numbers too") {
  const uint32_t signalling = 0x7fa12345;
  uint32_t copied = 0;
  const Layout one;
  CHECK_OK(ConvertStrided(reinterpret_cast<uint8_t*>(&copied), one, Float32(),
                          reinterpret_cast<const uint8_t*>(&signalling), one, Float32(), kNone));
  CHECK_EQUAL(copied, signalling);
  harness::Random random(54);
  const DType complex128 = TypeOf(kDLComplex, 128);
  CheckConversion(Make({5, 7}, complex128), complex128, Make({5, 7}, {1, 5}, complex128), complex128, kNone, &random);
}

TEST("complex numbers are not converted, and not scaled") {
  uint8_t memory[64] = {};
  const Layout one;
  const DType complex64 = TypeOf(kDLComplex, 64);
  const DType complex128 = TypeOf(kDLComplex, 128);
  const auto packed = [](DType dtype) { return static_cast<int32_t>(dtype.packed()); };
  CHECK_FAULT(ConvertStrided(memory, one, Float32(), memory + 32, one, complex64, kNone), kConversion,
              packed(complex64), Float32().packed(), 0);
  CHECK_FAULT(ConvertStrided(memory, one, complex64, memory + 32, one, Float32(), kNone), kConversion,
              packed(Float32()), complex64.packed(), 0);
  CHECK_FAULT(ConvertStrided(memory, one, complex64, memory + 32, one, complex128, kNone), kConversion,
              packed(complex128), complex64.packed(), 0);
  const double two = 2;
  const Affine affine{&two, nullptr, 1, 0, 0};
  CHECK_FAULT(ConvertStrided(memory, one, complex64, memory + 32, one, complex64, affine), kConversion,
              packed(complex64), complex64.packed(), 0);
}

TEST("numbers that do not fit their axis are refused before anything is written") {
  uint8_t source[6] = {1, 2, 3, 4, 5, 6};
  uint8_t target[6] = {};
  const Layout layout = Make({2, 3}, Uint8());
  const double numbers[] = {1, 2, 3, 4};
  const auto convert = [&](const Affine& affine) {
    return ConvertStrided(target, layout, Uint8(), source, layout, Uint8(), affine);
  };
  CHECK_FAULT(convert(Affine{numbers, nullptr, 2, 0, 1}), kIndexCount, 1, 2, 3);
  CHECK_FAULT(convert(Affine{nullptr, numbers, 0, 4, 0}), kIndexCount, 0, 4, 2);
  CHECK_FAULT(convert(Affine{numbers, nullptr, 0, 0, 1}), kIndexCount, 1, 0, 3);
  CHECK_FAULT(convert(Affine{numbers, nullptr, 3, 0, 2}), kAxis, 2, 0, 2);
  CHECK_FAULT(convert(Affine{numbers, nullptr, 3, 0, -1}), kAxis, -1, 0, 2);
  for (uint8_t byte : target) CHECK_EQUAL(int{byte}, 0);
  CHECK_OK(convert(Affine{numbers, numbers, 2, 1, 0}));
  CHECK_EQUAL(int{target[5]}, 13);
  // One number belongs to no axis.
  CHECK_OK(convert(Affine{numbers, nullptr, 1, 0, 99}));
}

TEST("nothing happens between empty tensors") {
  const Layout empty = Make({2, 0, 3}, Uint8());
  const double number = 2;
  CHECK_OK(ConvertStrided(nullptr, empty, Float32(), nullptr, empty, Uint8(), kNone));
  CHECK_OK(ConvertStrided(nullptr, empty, Float32(), nullptr, empty, Uint8(), Affine{&number, nullptr, 0, 0, 1}));
  FillStrided(nullptr, empty, Uint8(), Scalar());
}

TEST("a fill stores one value in every element of any layout, and nothing between them") {
  harness::Random random(55);
  for (int i = 0; i < 6000; ++i) {
    const DType dtype = support::DTypeAt(i % support::kDTypeCount);
    int64_t shape[kMaxNdim];
    int32_t ndim = 0;
    support::RandomShape(&random, shape, &ndim);
    const Layout layout = i % 5 == 0 ? Make({333}, dtype) : support::RandomLayoutOf(&random, shape, ndim, dtype);
    Scalar value;
    value.f = i % 3 == 0 ? 0.0 : 3.0;
    value.imag = -2.0;
    const MemoryOf filled(layout, dtype, 0, 1);
    const MemoryOf expected(layout, dtype, 0, 1);
    const uint8_t background = i % 2 == 0 ? 0xff : 0x11;
    std::memset(filled.start(), background, filled.bytes());
    std::memset(expected.start(), background, expected.bytes());
    FillStrided(filled.origin(), layout, dtype, value);
    ForEachElement(layout, [&](const int64_t*, int64_t offset) {
      StoreScalar(expected.origin(), offset * dtype.stride_bits(), dtype, value);
    });
    CHECK(filled.SameAs(expected));
  }
}
