#include "layout.h"

#include <initializer_list>
#include <limits>
#include <utility>

#include "harness.h"
#include "support.h"

using namespace node_dlpack;
using support::Float32;
using support::ForEachElement;
using support::Make;
using support::Uint8;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Fault Try(std::initializer_list<int64_t> shape, std::initializer_list<int64_t> strides, DType dtype) {
  Layout layout;
  return Layout::Strided(shape.begin(), strides.begin(), static_cast<int32_t>(shape.size()), dtype, &layout);
}

Fault TryRowMajor(std::initializer_list<int64_t> shape, DType dtype) {
  Layout layout;
  return Layout::RowMajor(shape.begin(), static_cast<int32_t>(shape.size()), dtype, &layout);
}

}  // namespace

TEST("a layout made without arguments is 0-d and holds one element") {
  const Layout layout;
  CHECK_EQUAL(layout.ndim(), 0);
  CHECK_EQUAL(layout.size(), 1);
  CHECK(!layout.empty());
  CHECK(layout.IsContiguous());
  CHECK(!layout.MayOverlap());
  CHECK_EQUAL(layout.byte_span(Float32()).size(), 4);
  CHECK_EQUAL(layout.compact_bytes(Float32()), 4);
}

TEST("row-major strides, size-1 axes and empty tensors too") {
  const struct {
    int64_t shape[3], strides[3];
  } rows[] = {{{2, 3, 4}, {12, 4, 1}}, {{1, 77, 1}, {77, 1, 1}}, {{2, 0, 3}, {3, 3, 1}}, {{0, 5, 7}, {35, 7, 1}}};
  for (const auto& row : rows) {
    const Layout layout = Make(row.shape, Uint8());
    for (int axis = 0; axis < 3; ++axis) CHECK_EQUAL(layout.strides()[axis], row.strides[axis]);
    CHECK(layout.IsContiguous());
  }
}

TEST("size and span are those of the elements, on thousands of random layouts and every dtype") {
  harness::Random random(2);
  for (int i = 0; i < 6000; ++i) {
    const DType dtype = support::DTypeAt(i % support::kDTypeCount);
    const Layout layout = support::RandomLayout(&random, dtype);
    int64_t count = 0;
    int64_t lowest = 0;
    int64_t highest = 0;
    const int64_t bits = dtype.stride_bits();
    ForEachElement(layout, [&](const int64_t*, int64_t offset) {
      ++count;
      lowest = offset * bits < lowest ? offset * bits : lowest;
      highest = (offset + 1) * bits > highest ? (offset + 1) * bits : highest;
    });
    CHECK_EQUAL(layout.size(), count);
    CHECK_EQUAL(layout.empty(), count == 0);
    CHECK_EQUAL(layout.bit_span(dtype).lowest, lowest);
    CHECK_EQUAL(layout.bit_span(dtype).highest, highest);
    const ByteSpan bytes = layout.byte_span(dtype);
    CHECK(bytes.lowest * 8 <= lowest && lowest < bytes.lowest * 8 + 8);
    CHECK(bytes.highest * 8 >= highest && highest > bytes.highest * 8 - 8);
    CHECK_EQUAL(layout.compact_bytes(dtype), (count * bits + 7) / 8);
  }
}

TEST("contiguous means: in row-major order the elements lie at 0, 1, 2, …") {
  harness::Random random(3);
  int contiguous = 0;
  for (int i = 0; i < 6000; ++i) {
    const Layout layout = support::RandomLayout(&random, Uint8());
    int64_t next = 0;
    bool in_order = true;
    ForEachElement(layout, [&](const int64_t*, int64_t offset) {
      // The strides of axes of extent 1 do not matter: their index is always 0.
      in_order = in_order && offset == next++;
    });
    CHECK_EQUAL(layout.IsContiguous(), in_order);
    contiguous += in_order ? 1 : 0;
  }
  CHECK(contiguous > 1000 && contiguous < 5000);
}

TEST("the overlap test finds every layout in which two indices share an element") {
  harness::Random random(4);
  int overlapping = 0;
  int cleared = 0;
  for (int i = 0; i < 8000; ++i) {
    const Layout layout = support::RandomLayout(&random, Uint8());
    const support::Offsets offsets(layout);
    bool shared = false;
    bool seen[2048] = {};
    for (int k = 0; k < offsets.count; ++k) {
      bool& here = seen[1024 + offsets.values[k]];
      shared = shared || here;
      here = true;
    }
    if (shared) CHECK(layout.MayOverlap());
    overlapping += shared ? 1 : 0;
    cleared += layout.MayOverlap() ? 0 : 1;
  }
  CHECK(overlapping > 1000);
  CHECK(cleared > 1000);
}

TEST("what permuting, slicing and flipping make of compact memory is proven free of overlap") {
  harness::Random random(5);
  for (int i = 0; i < 4000; ++i) {
    int64_t shape[kMaxNdim];
    int32_t ndim = 0;
    support::RandomShape(&random, shape, &ndim);
    CHECK(!support::RandomLayoutOf(&random, shape, ndim, Uint8()).MayOverlap());
  }
}

TEST("stride 0 overlaps where the extent is above 1, and nowhere else") {
  CHECK(Make({3}, {0}, Uint8()).MayOverlap());
  CHECK(Make({2, 3}, {0, 1}, Uint8()).MayOverlap());
  CHECK(!Make({1, 3}, {0, 1}, Uint8()).MayOverlap());
  CHECK(!Make({0, 3}, {0, 0}, Uint8()).MayOverlap());
  // A sliding window.
  CHECK(Make({4, 3}, {1, 1}, Uint8()).MayOverlap());
  CHECK(!Make({4, 3}, {3, 1}, Uint8()).MayOverlap());
  CHECK(!Make({4, 3}, {-3, 1}, Uint8()).MayOverlap());
  CHECK(Make({4, 3}, {2, -1}, Uint8()).MayOverlap());
  // Free of overlap, but not proven by this test: it may say so.
  CHECK(Make({2, 2}, {3, 3}, Uint8()).MayOverlap());
}

TEST("axes of extent 1 and empty tensors keep any stride, and it is never used") {
  const int64_t strange[] = {kLeast, kMost, 0, -1, 7};
  for (int64_t stride : strange) {
    const Layout one = Make({1, 3}, {stride, 1}, Float32());
    CHECK_EQUAL(one.strides()[0], stride);
    CHECK(one.IsContiguous());
    CHECK(!one.MayOverlap());
    CHECK_EQUAL(one.byte_span(Float32()).size(), 12);
    const Layout none = Make({5, 0, 4}, {stride, stride, stride}, Float32());
    CHECK_EQUAL(none.strides()[2], stride);
    CHECK(none.IsContiguous());
    CHECK(!none.MayOverlap());
    CHECK_EQUAL(none.byte_span(Float32()).size(), 0);
    CHECK_EQUAL(none.bit_span(Float32()).highest, 0);
    CHECK_EQUAL(none.size(), 0);
  }
}

TEST("bit-packed sizes round once, over the whole tensor") {
  const DType fp4 = support::TypeOf(kDLFloat4_e2m1fn, 4);
  const DType fp6 = support::TypeOf(kDLFloat6_e2m3fn, 6);
  CHECK_EQUAL(Make({3}, fp4).compact_bytes(fp4), 2);
  CHECK_EQUAL(Make({2, 2}, fp6).compact_bytes(fp6), 3);
  CHECK_EQUAL(Make({5}, fp6).compact_bytes(fp6), 4);
  const Layout reversed = Make({3}, {-1}, fp6);
  CHECK_EQUAL(reversed.bit_span(fp6).lowest, -12);
  CHECK_EQUAL(reversed.bit_span(fp6).highest, 6);
  CHECK_EQUAL(reversed.byte_span(fp6).lowest, -2);
  CHECK_EQUAL(reversed.byte_span(fp6).highest, 1);
}

TEST("a negative extent is refused by its axis") {
  CHECK_FAULT(TryRowMajor({2, -3, 4}, Uint8()), kExtentNegative, 1, -3, 0);
  CHECK_FAULT(TryRowMajor({0, -1}, Uint8()), kExtentNegative, 1, -1, 0);
  CHECK_FAULT(Try({kLeast}, {1}, Uint8()), kExtentNegative, 0, kLeast, 0);
}

TEST("an extent that a JavaScript number cannot hold is refused, in an empty tensor too") {
  CHECK_OK(TryRowMajor({kMaxExtent}, Uint8()));
  CHECK_FAULT(TryRowMajor({kMaxExtent + 1}, Uint8()), kExtentTooLarge, 0, kMaxExtent + 1, kMaxExtent);
  CHECK_FAULT(TryRowMajor({int64_t{1} << 62, 4, 0}, Uint8()), kExtentTooLarge, 0, int64_t{1} << 62, kMaxExtent);
  CHECK_FAULT(TryRowMajor({0, kMost}, Uint8()), kExtentTooLarge, 1, kMost, kMaxExtent);
}

TEST("a product that does not fit is refused at the axis that makes it so; strides of 0 do not save it") {
  constexpr int64_t kBig = int64_t{1} << 32;
  CHECK_FAULT(TryRowMajor({kBig, 2, kBig}, Uint8()), kSizeOverflow, 2, kBig, 0);
  CHECK_FAULT(Try({kBig, 2, kBig}, {0, 0, 0}, Uint8()), kSizeOverflow, 2, kBig, 0);
  // 2^60 elements of one byte are 2^63 bits.
  CHECK_FAULT(TryRowMajor({int64_t{1} << 30, int64_t{1} << 30}, Uint8()), kSizeOverflow, 1, int64_t{1} << 30, 0);
  CHECK_OK(TryRowMajor({int64_t{1} << 29, int64_t{1} << 30}, Uint8()));
  CHECK_FAULT(TryRowMajor({int64_t{1} << 29, int64_t{1} << 30}, support::TypeOf(kDLComplex, 128)), kSizeOverflow, 1,
              int64_t{1} << 30, 0);
}

TEST("a product that does not fit is refused whether or not the tensor is empty, and wherever the 0 stands") {
  constexpr int64_t kBig = int64_t{1} << 40;
  CHECK_FAULT(TryRowMajor({kBig, kBig, 0}, Uint8()), kSizeOverflow, 1, kBig, 0);
  CHECK_FAULT(TryRowMajor({0, kBig, kBig}, Uint8()), kSizeOverflow, 2, kBig, 0);
  CHECK_FAULT(Try({kBig, 0, kBig}, {1, 1, 1}, Uint8()), kSizeOverflow, 2, kBig, 0);
}

TEST("strides that reach too far are refused by their axis, in each direction and together") {
  CHECK_FAULT(Try({2}, {kLeast}, Uint8()), kSpanOverflow, 0, kLeast, 0);
  CHECK_FAULT(Try({2}, {kMost}, Uint8()), kSpanOverflow, 0, kMost, 0);
  CHECK_FAULT(Try({3, 3}, {1, kMost / 2}, Uint8()), kSpanOverflow, 1, kMost / 2, 0);
  // Each fits alone, the sum does not.
  constexpr int64_t kHalf = int64_t{1} << 59;
  CHECK_OK(Try({2}, {kHalf}, Uint8()));
  CHECK_FAULT(Try({2, 2}, {kHalf, kHalf}, Uint8()), kSpanOverflow, 1, kHalf, 0);
  CHECK_FAULT(Try({2, 2}, {kHalf, -kHalf}, Uint8()), kSpanOverflow, 1, -kHalf, 0);
  // The same numbers in wider elements.
  CHECK_FAULT(Try({2}, {kHalf}, Float32()), kSpanOverflow, 0, kHalf, 0);
}

TEST("the largest spans that fit are right") {
  constexpr int64_t kStride = (int64_t{1} << 60) - 2;
  const Layout up = Make({2}, {kStride}, Uint8());
  CHECK_EQUAL(up.byte_span(Uint8()).highest, kStride + 1);
  const Layout down = Make({2}, {-kStride}, Uint8());
  CHECK_EQUAL(down.byte_span(Uint8()).lowest, -kStride);
  CHECK_EQUAL(down.byte_span(Uint8()).size(), kStride + 1);
}

TEST("64 axes are fine, 65 and -1 are not") {
  int64_t shape[kMaxNdim + 1];
  for (int64_t& extent : shape) extent = 1;
  Layout layout;
  CHECK_OK(Layout::RowMajor(shape, kMaxNdim, Uint8(), &layout));
  CHECK_EQUAL(layout.ndim(), 64);
  CHECK_FAULT(Layout::RowMajor(shape, kMaxNdim + 1, Uint8(), &layout), kNdimLimit, 0, 65, 64);
  CHECK_FAULT(Layout::RowMajor(shape, -1, Uint8(), &layout), kNdimLimit, 0, -1, 64);
  CHECK_EQUAL(layout.ndim(), 64);
}

TEST("a layout moves and copies whole, with few axes and with many; what it is moved from is 0-d") {
  const int64_t shape[] = {1, 2, 3, 4, 5, 6};
  for (int32_t ndim = 0; ndim <= 6; ++ndim) {
    Layout source = Make(shape, nullptr, ndim, Uint8());
    Layout copy = Make({9, 9, 9, 9, 9}, Uint8());
    CHECK_OK(source.CopyTo(&copy));
    CHECK(support::SameLayout(source, copy));
    CHECK(copy.shape() != source.shape());
    Layout moved(std::move(source));
    CHECK(support::SameLayout(moved, copy));
    CHECK_EQUAL(source.ndim(), 0);  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    CHECK_EQUAL(source.size(), 1);
    Layout assigned = Make({8, 8, 8, 8, 8, 8}, Uint8());
    assigned = std::move(moved);
    CHECK(support::SameLayout(assigned, copy));
    CHECK_OK(assigned.CopyTo(&assigned));
    CHECK(support::SameLayout(assigned, copy));
  }
}

TEST("a layout that cannot be made leaves the target as it was") {
  Layout layout = Make({2, 3}, Uint8());
  const int64_t shape[] = {2, -1};
  CHECK(!Layout::RowMajor(shape, 2, Uint8(), &layout).ok());
  CHECK_EQUAL(layout.shape()[1], 3);
  CHECK_EQUAL(layout.size(), 6);
}

TEST("the offset of an index is the sum of its steps") {
  harness::Random random(6);
  for (int i = 0; i < 2000; ++i) {
    const Layout layout = support::RandomLayout(&random, Uint8());
    ForEachElement(layout, [&](const int64_t* index, int64_t expected) {
      int64_t offset = kMost;
      CHECK_OK(layout.OffsetOf(index, layout.ndim(), &offset));
      CHECK_EQUAL(offset, expected);
    });
  }
}

TEST("an index outside, or too many or too few of them, is a fault that says which") {
  const Layout layout = Make({2, 3}, Uint8());
  int64_t offset = 0;
  const int64_t past[] = {1, 3};
  CHECK_FAULT(layout.OffsetOf(past, 2, &offset), kIndex, 1, 3, 3);
  const int64_t before[] = {-1, 0};
  CHECK_FAULT(layout.OffsetOf(before, 2, &offset), kIndex, 0, -1, 2);
  CHECK_FAULT(layout.OffsetOf(past, 1, &offset), kIndexCount, 0, 1, 2);
  CHECK_FAULT(layout.OffsetOf(past, 3, &offset), kIndexCount, 0, 3, 2);
  const int64_t first[] = {0};
  CHECK_FAULT(Make({0}, Uint8()).OffsetOf(first, 1, &offset), kIndex, 0, 0, 0);
  const int64_t inside[] = {4, 0};
  CHECK_FAULT(Make({5, 0}, {kMost, 1}, Uint8()).OffsetOf(inside, 2, &offset), kIndex, 1, 0, 0);
  CHECK_OK(Make({1}, {kLeast}, Uint8()).OffsetOf(first, 1, &offset));
  CHECK_EQUAL(offset, 0);
}
