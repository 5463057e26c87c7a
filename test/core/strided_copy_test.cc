#include "strided_copy.h"

#include <initializer_list>

#include "bits.h"
#include "harness.h"
#include "memory_of.h"
#include "support.h"

using namespace node_dlpack;
using support::ForEachElement;
using support::Make;
using support::MemoryOf;

namespace {

void CheckCopy(const Layout& target_layout, const Layout& source_layout, DType dtype, harness::Random* random) {
  const uint64_t seed = random->Next();
  const MemoryOf target(target_layout, dtype, random->Between(0, 3), seed);
  const MemoryOf expected(target_layout, dtype, 0, seed);
  const MemoryOf source(source_layout, dtype, random->Between(0, 3), seed + 1);
  const MemoryOf before(source_layout, dtype, 0, seed + 1);
  StridedCopy(target.origin(), target_layout, source.origin(), source_layout, dtype);
  CHECK(source.SameAs(before));
  support::NaiveCopy(expected.origin(), target_layout, source.origin(), source_layout, dtype);
  // The elements, and every byte and bit between them.
  CHECK(target.SameAs(expected));
}

}  // namespace

TEST("a copy is that of a naive loop, between any two layouts, for every dtype, on thousands of random ones") {
  harness::Random random(41);
  for (int i = 0; i < 20000; ++i) {
    const DType dtype = support::DTypeAt(i % support::kDTypeCount);
    int64_t shape[kMaxNdim];
    int32_t ndim = 0;
    support::RandomShape(&random, shape, &ndim);
    const Layout target = support::RandomLayoutOf(&random, shape, ndim, dtype);
    const Layout source = support::RandomLayoutOf(&random, shape, ndim, dtype);
    CheckCopy(target, source, dtype, &random);
  }
}

TEST("a source may overlap itself: broadcast axes and sliding windows") {
  harness::Random random(42);
  for (int i = 0; i < 5000; ++i) {
    const DType dtype = support::DTypeAt(i % support::kDTypeCount);
    const Layout source = support::RandomLayout(&random, dtype);
    const Layout target = support::RandomLayoutOf(&random, source.shape(), source.ndim(), dtype);
    CheckCopy(target, source, dtype, &random);
  }
}

TEST("longer runs: contiguous, reversed, stepped, transposed and interleaved ones") {
  harness::Random random(43);
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType dtype = support::DTypeAt(i);
    const Layout line = Make({1000}, dtype);
    CheckCopy(line, line, dtype, &random);
    CheckCopy(line, Make({1000}, {-1}, dtype), dtype, &random);
    CheckCopy(Make({1000}, {-1}, dtype), Make({1000}, {-1}, dtype), dtype, &random);
    CheckCopy(line, Make({1000}, {3}, dtype), dtype, &random);
    CheckCopy(Make({1000}, {-2}, dtype), line, dtype, &random);
    CheckCopy(line, Make({1000}, {0}, dtype), dtype, &random);
    CheckCopy(Make({37, 41}, dtype), Make({37, 41}, {1, 37}, dtype), dtype, &random);
    // A picture's channels last to channels first, and back.
    CheckCopy(Make({3, 11, 13}, dtype), Make({3, 11, 13}, {1, 39, 3}, dtype), dtype, &random);
    CheckCopy(Make({11, 13, 3}, dtype), Make({11, 13, 3}, {13, 1, 143}, dtype), dtype, &random);
    CheckCopy(Make({100, 2}, dtype), Make({100, 2}, {5, 1}, dtype), dtype, &random);
  }
}

TEST("64 axes, and an index that runs through many of them") {
  harness::Random random(44);
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
  for (int axis = 0; axis < kMaxNdim; ++axis) {
    shape[axis] = axis % 8 == 0 ? 2 : 1;
    strides[axis] = axis % 8 == 0 ? int64_t{1} << (axis / 8) : 12345;
  }
  const DType dtype = support::Float32();
  CheckCopy(Make(shape, nullptr, kMaxNdim, dtype), Make(shape, strides, kMaxNdim, dtype), dtype, &random);
}

TEST("nothing is copied between empty tensors, and a scalar is one element") {
  harness::Random random(45);
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType dtype = support::DTypeAt(i);
    const Layout empty = Make({3, 0, 2}, dtype);
    StridedCopy(nullptr, empty, nullptr, empty, dtype);
    const Layout scalar;
    CheckCopy(scalar, scalar, dtype, &random);
  }
}

TEST("bits of a shared last byte that are not the tensor's stay as they are") {
  const DType fp4 = support::TypeOf(kDLFloat4_e2m1fn, 4);
  const uint8_t source[2] = {0x21, 0x43};
  uint8_t target[2] = {0xff, 0xff};
  const Layout three = Make({3}, fp4);
  StridedCopy(target, three, source, three, fp4);
  CHECK_EQUAL(int{target[0]}, 0x21);
  CHECK_EQUAL(int{target[1]}, 0xf3);
}

TEST("two spans overlap exactly when they share a byte") {
  harness::Random random(46);
  alignas(8) uint8_t memory[4096];
  int overlapping = 0;
  for (int i = 0; i < 6000; ++i) {
    const DType a_dtype = support::DTypeAt(i % support::kDTypeCount);
    const DType b_dtype = support::DTypeAt(static_cast<int>(random.Between(0, support::kDTypeCount - 1)));
    const Layout a_layout = support::RandomLayout(&random, a_dtype);
    const Layout b_layout = support::RandomLayout(&random, b_dtype);
    const uint8_t* a = memory + random.Between(1800, 2200);
    const uint8_t* b = memory + random.Between(1800, 2200);
    const ByteSpan a_span = a_layout.byte_span(a_dtype);
    const ByteSpan b_span = b_layout.byte_span(b_dtype);
    bool shared = false;
    for (int64_t byte = a_span.lowest; byte < a_span.highest; ++byte) {
      shared = shared || (a + byte >= b + b_span.lowest && a + byte < b + b_span.highest);
    }
    CHECK_EQUAL(SpansOverlap(a, a_layout, a_dtype, b, b_layout, b_dtype), shared);
    CHECK_EQUAL(SpansOverlap(b, b_layout, b_dtype, a, a_layout, a_dtype), shared);
    overlapping += shared ? 1 : 0;
  }
  CHECK(overlapping > 500 && overlapping < 5500);
}
