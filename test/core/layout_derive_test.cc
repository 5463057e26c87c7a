// Layouts derived from a layout, each held element by element against what its rule says about indices.
#include <initializer_list>
#include <limits>

#include "harness.h"
#include "layout.h"
#include "support.h"

using namespace node_dlpack;
using support::ForEachElement;
using support::Make;
using support::Uint8;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t OffsetAt(const Layout& layout, const int64_t* index) {
  int64_t offset = 0;
  CHECK_OK(layout.OffsetOf(index, layout.ndim(), &offset));
  return offset;
}

AxisSlice Index(int64_t at) {
  return AxisSlice{true, at, 0, 1};
}
AxisSlice Range(int64_t start, int64_t extent, int64_t step) {
  return AxisSlice{false, start, extent, step};
}

// A spec that is in bounds.
AxisSlice RandomSlice(harness::Random* random, int64_t extent) {
  if (extent > 0 && random->Between(0, 3) == 0) return Index(random->Between(0, extent - 1));
  if (extent == 0 || random->Between(0, 5) == 0) return Range(random->Between(0, 9), 0, random->Between(-3, 3));
  const int64_t start = random->Between(0, extent - 1);
  int64_t step = random->Between(1, 3);
  if (random->Between(0, 1) == 0) step = -step;
  const int64_t room = step > 0 ? (extent - 1 - start) / step : start / -step;
  return Range(start, random->Between(1, room + 1), step);
}

// Some shape of as many elements.
void RandomShapeOf(harness::Random* random, int64_t size, int64_t* shape, int32_t* ndim) {
  *ndim = 0;
  while (*ndim < 6) {
    if (random->Between(0, 3) == 0) shape[(*ndim)++] = 1;
    if (size == 1 || *ndim >= 6) break;
    int64_t factor = random->Between(2, 4);
    while (size % factor != 0) factor = factor < size ? factor + 1 : size;
    shape[(*ndim)++] = factor;
    size /= factor;
  }
  if (size > 1) shape[*ndim - 1] *= size;
}

}  // namespace

TEST("a slice holds the elements its specs pick, on thousands of random layouts") {
  harness::Random random(11);
  for (int i = 0; i < 8000; ++i) {
    const Layout source = support::RandomLayout(&random, Uint8());
    AxisSlice specs[8];
    const auto count = static_cast<int32_t>(random.Between(0, source.ndim()));
    for (int32_t axis = 0; axis < count; ++axis) specs[axis] = RandomSlice(&random, source.shape()[axis]);
    Layout slice;
    int64_t first = kMost;
    CHECK_OK(source.Slice(specs, count, Uint8(), &slice, &first));
    int32_t expected_axis = 0;
    for (int32_t axis = 0; axis < source.ndim(); ++axis) {
      if (axis < count && specs[axis].is_index) continue;
      CHECK_EQUAL(slice.shape()[expected_axis++], axis < count ? specs[axis].extent : source.shape()[axis]);
    }
    CHECK_EQUAL(slice.ndim(), expected_axis);
    if (slice.empty()) CHECK_EQUAL(first, 0);
    ForEachElement(slice, [&](const int64_t* index, int64_t offset) {
      int64_t of_source[8] = {};
      int32_t from = 0;
      for (int32_t axis = 0; axis < source.ndim(); ++axis) {
        if (axis >= count) {
          of_source[axis] = index[from++];
        } else if (specs[axis].is_index) {
          of_source[axis] = specs[axis].start;
        } else {
          of_source[axis] = specs[axis].start + index[from++] * specs[axis].step;
        }
      }
      CHECK_EQUAL(first + offset, OffsetAt(source, of_source));
    });
  }
}

TEST("a slice that leaves its axis is refused, at either end and however large its numbers") {
  const Layout layout = Make({4, 5}, Uint8());
  Layout out;
  int64_t first = 0;
  const auto slice = [&](std::initializer_list<AxisSlice> specs) {
    return layout.Slice(specs.begin(), static_cast<int32_t>(specs.size()), Uint8(), &out, &first);
  };
  CHECK_FAULT(slice({Index(4)}), kIndex, 0, 4, 4);
  CHECK_FAULT(slice({Range(0, 4, 1), Index(-1)}), kIndex, 1, -1, 5);
  CHECK_FAULT(slice({Range(4, 1, 1)}), kIndex, 0, 4, 4);
  CHECK_FAULT(slice({Range(0, 5, 1)}), kIndex, 0, 4, 4);
  CHECK_FAULT(slice({Range(2, 4, -1)}), kIndex, 0, -1, 4);
  CHECK_FAULT(slice({Range(1, 3, 2)}), kIndex, 0, 5, 4);
  CHECK_EQUAL(slice({Range(0, 2, kMost)}).code, FaultCode::kIndex);
  CHECK_EQUAL(slice({Range(0, 2, kLeast)}).code, FaultCode::kIndex);
  CHECK_EQUAL(slice({Range(0, kMost, kMost)}).code, FaultCode::kIndex);
  CHECK_FAULT(slice({Range(0, -1, 1)}), kExtentNegative, 0, -1, 0);
  CHECK_FAULT(slice({Range(0, 2, 0)}), kIndex, 0, 0, 4);
  CHECK_FAULT(slice({Index(0), Index(0), Index(0)}), kIndexCount, 0, 3, 2);
  CHECK_FAULT(layout.Slice(nullptr, -1, Uint8(), &out, &first), kIndexCount, 0, -1, 2);
  CHECK_OK(slice({Range(3, 1, kMost)}));
  CHECK_EQUAL(first, 15);
  CHECK_OK(slice({Range(kMost, 0, kMost)}));
  CHECK(out.empty());
}

TEST("nothing is taken from an axis of extent 0, and all of it can be taken") {
  const Layout layout = Make({0, 3}, Uint8());
  Layout out;
  int64_t first = 0;
  const AxisSlice whole[] = {Range(0, 0, 1), Index(2)};
  CHECK_OK(layout.Slice(whole, 2, Uint8(), &out, &first));
  CHECK_EQUAL(out.ndim(), 1);
  CHECK_EQUAL(first, 0);
  const AxisSlice element[] = {Index(0)};
  CHECK_FAULT(layout.Slice(element, 1, Uint8(), &out, &first), kIndex, 0, 0, 0);
}

TEST("a permutation takes its axes in the order given") {
  harness::Random random(12);
  for (int i = 0; i < 4000; ++i) {
    const Layout source = support::RandomLayout(&random, Uint8());
    int32_t axes[8];
    for (int32_t axis = 0; axis < source.ndim(); ++axis) axes[axis] = axis;
    support::Shuffle(&random, axes, source.ndim());
    Layout permuted;
    CHECK_OK(source.Permute(axes, Uint8(), &permuted));
    CHECK_EQUAL(permuted.size(), source.size());
    ForEachElement(permuted, [&](const int64_t* index, int64_t offset) {
      int64_t of_source[8] = {};
      for (int32_t axis = 0; axis < source.ndim(); ++axis) of_source[axes[axis]] = index[axis];
      CHECK_EQUAL(offset, OffsetAt(source, of_source));
    });
  }
}

TEST("what is not a permutation is refused by the axis that is wrong") {
  const Layout layout = Make({2, 3}, Uint8());
  Layout out;
  const int32_t twice[] = {1, 1};
  CHECK_FAULT(layout.Permute(twice, Uint8(), &out), kAxis, 1, 0, 2);
  const int32_t past[] = {0, 2};
  CHECK_FAULT(layout.Permute(past, Uint8(), &out), kAxis, 2, 0, 2);
  const int32_t before[] = {-1, 0};
  CHECK_FAULT(layout.Permute(before, Uint8(), &out), kAxis, -1, 0, 2);
}

TEST("a reshape keeps the order of the elements, and is refused exactly where no strides can say it") {
  harness::Random random(13);
  int made = 0;
  int refused = 0;
  for (int i = 0; i < 12000; ++i) {
    const Layout source = support::RandomLayout(&random, Uint8());
    if (source.empty()) continue;
    int64_t shape[8];
    int32_t ndim = 0;
    RandomShapeOf(&random, source.size(), shape, &ndim);
    const support::Offsets offsets(source);
    Layout reshaped;
    const Fault fault = source.Reshape(shape, ndim, Uint8(), &reshaped);
    if (!support::StridesExist(offsets, shape, ndim)) {
      CHECK_EQUAL(fault.code, FaultCode::kReshapeNeedsCopy);
      ++refused;
      continue;
    }
    if (!CHECK_OK(fault)) continue;
    ++made;
    int next = 0;
    ForEachElement(reshaped, [&](const int64_t*, int64_t offset) { CHECK_EQUAL(offset, offsets.values[next++]); });
    CHECK_EQUAL(next, offsets.count);
  }
  CHECK(made > 2000);
  CHECK(refused > 2000);
}

TEST("a reshape of a contiguous tensor has row-major strides, size-1 axes too") {
  const Layout layout = Make({77}, Uint8());
  Layout out;
  const int64_t shape[] = {1, 7, 1, 11, 1};
  CHECK_OK(layout.Reshape(shape, 5, Uint8(), &out));
  const int64_t strides[] = {77, 11, 11, 1, 1};
  for (int axis = 0; axis < 5; ++axis) CHECK_EQUAL(out.strides()[axis], strides[axis]);
  CHECK_OK(Layout().Reshape(shape, 1, Uint8(), &out));
  CHECK_EQUAL(out.strides()[0], 1);
  CHECK_OK(Make({1, 1}, Uint8()).Reshape(nullptr, 0, Uint8(), &out));
  CHECK_EQUAL(out.ndim(), 0);
}

TEST("an empty tensor takes every empty shape, whatever its strides") {
  const Layout layout = Make({3, 0, 2}, {kLeast, 5, -7}, Uint8());
  Layout out;
  const int64_t shape[] = {0, 9};
  CHECK_OK(layout.Reshape(shape, 2, Uint8(), &out));
  CHECK_EQUAL(out.strides()[0], 9);
  CHECK_EQUAL(out.strides()[1], 1);
  const int64_t full[] = {6};
  CHECK_FAULT(layout.Reshape(full, 1, Uint8(), &out), kReshapeSize, 0, 6, 0);
}

TEST("a reshape to another number of elements, or to an impossible shape, is refused") {
  const Layout layout = Make({6}, Uint8());
  Layout out;
  const int64_t seven[] = {7};
  CHECK_FAULT(layout.Reshape(seven, 1, Uint8(), &out), kReshapeSize, 0, 7, 6);
  const int64_t negative[] = {-2, -3};
  CHECK_FAULT(layout.Reshape(negative, 2, Uint8(), &out), kExtentNegative, 0, -2, 0);
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  CHECK_FAULT(layout.Reshape(huge, 2, Uint8(), &out), kSizeOverflow, 1, int64_t{1} << 40, 0);
  CHECK_FAULT(layout.Reshape(nullptr, 65, Uint8(), &out), kNdimLimit, 0, 65, 64);
  CHECK_FAULT(layout.Reshape(nullptr, 0, Uint8(), &out), kReshapeSize, 0, 1, 6);
}

TEST("squeeze drops an axis of extent 1, and no other") {
  harness::Random random(14);
  for (int i = 0; i < 3000; ++i) {
    const Layout source = support::RandomLayout(&random, Uint8());
    for (int32_t axis = 0; axis < source.ndim(); ++axis) {
      Layout squeezed;
      const Fault fault = source.Squeeze(axis, Uint8(), &squeezed);
      if (source.shape()[axis] != 1) {
        CHECK_FAULT(fault, kReshapeSize, axis, 1, source.shape()[axis]);
        continue;
      }
      CHECK_OK(fault);
      CHECK_EQUAL(squeezed.ndim(), source.ndim() - 1);
      ForEachElement(squeezed, [&](const int64_t* index, int64_t offset) {
        int64_t of_source[8] = {};
        for (int32_t from = 0, to = 0; to < source.ndim(); ++to) of_source[to] = to == axis ? 0 : index[from++];
        CHECK_EQUAL(offset, OffsetAt(source, of_source));
      });
    }
  }
  Layout out;
  CHECK_FAULT(Make({1}, Uint8()).Squeeze(1, Uint8(), &out), kAxis, 1, 0, 1);
  CHECK_FAULT(Make({1}, Uint8()).Squeeze(-1, Uint8(), &out), kAxis, -1, 0, 1);
}

TEST("expandDims and squeeze undo each other, and a contiguous tensor gets row-major strides") {
  harness::Random random(15);
  for (int i = 0; i < 3000; ++i) {
    const Layout source = support::RandomLayout(&random, Uint8());
    for (int32_t axis = 0; axis <= source.ndim(); ++axis) {
      Layout expanded;
      CHECK_OK(source.ExpandDims(axis, Uint8(), &expanded));
      CHECK_EQUAL(expanded.shape()[axis], 1);
      Layout back;
      CHECK_OK(expanded.Squeeze(axis, Uint8(), &back));
      CHECK(support::SameLayout(back, source));
    }
  }
  Layout out;
  CHECK_OK(Make({2, 3}, Uint8()).ExpandDims(0, Uint8(), &out));
  CHECK_EQUAL(out.strides()[0], 6);
  CHECK_OK(Make({2, 3}, Uint8()).ExpandDims(2, Uint8(), &out));
  CHECK_EQUAL(out.strides()[2], 1);
  CHECK_OK(Make({1, 3}, {kMost, 1}, Uint8()).ExpandDims(0, Uint8(), &out));
  CHECK_FAULT(out.ExpandDims(4, Uint8(), &out), kAxis, 4, 0, 3);
  CHECK_FAULT(out.ExpandDims(-1, Uint8(), &out), kAxis, -1, 0, 3);
  int64_t ones[kMaxNdim];
  for (int64_t& extent : ones) extent = 1;
  CHECK_FAULT(Make(ones, nullptr, kMaxNdim, Uint8()).ExpandDims(0, Uint8(), &out), kNdimLimit, 0, 65, 64);
}

TEST("broadcasting repeats axes of extent 1 and new leading axes by stride 0") {
  harness::Random random(16);
  for (int i = 0; i < 4000; ++i) {
    const Layout source = support::RandomLayout(&random, Uint8());
    const auto added = static_cast<int32_t>(random.Between(0, 2));
    const int32_t ndim = source.ndim() + added;
    int64_t shape[8];
    for (int32_t axis = 0; axis < ndim; ++axis) {
      const int64_t extent = axis < added ? 1 : source.shape()[axis - added];
      shape[axis] = extent == 1 ? random.Between(0, 3) : extent;
    }
    Layout broadcast;
    CHECK_OK(source.BroadcastTo(shape, ndim, Uint8(), &broadcast));
    CHECK_EQUAL(broadcast.ndim(), ndim);
    ForEachElement(broadcast, [&](const int64_t* index, int64_t offset) {
      int64_t of_source[8] = {};
      for (int32_t axis = 0; axis < source.ndim(); ++axis) {
        of_source[axis] = source.shape()[axis] == 1 ? 0 : index[axis + added];
      }
      CHECK_EQUAL(offset, OffsetAt(source, of_source));
    });
  }
}

TEST("a shape that cannot be broadcast to is refused by its axis, or by its number of axes") {
  const Layout layout = Make({2, 3}, Uint8());
  Layout out;
  const int64_t wrong[] = {4, 2, 5};
  CHECK_FAULT(layout.BroadcastTo(wrong, 3, Uint8(), &out), kBroadcast, 2, 3, 5);
  const int64_t fewer[] = {3};
  CHECK_FAULT(layout.BroadcastTo(fewer, 1, Uint8(), &out), kBroadcast, -1, 2, 1);
  const int64_t negative[] = {-1, 2, 3};
  CHECK_FAULT(layout.BroadcastTo(negative, 3, Uint8(), &out), kExtentNegative, 0, -1, 0);
  const int64_t huge[] = {kMaxExtent, kMaxExtent, 2, 3};
  CHECK_FAULT(layout.BroadcastTo(huge, 4, Uint8(), &out), kSizeOverflow, 1, kMaxExtent, 0);
  const int64_t none[] = {0};
  CHECK_FAULT(Make({3}, Uint8()).BroadcastTo(none, 1, Uint8(), &out), kBroadcast, 0, 3, 0);
  CHECK_OK(Make({1}, Uint8()).BroadcastTo(none, 1, Uint8(), &out));
  CHECK(out.empty());
}

TEST("flipping an axis reads it from its other end, and twice is nothing") {
  harness::Random random(17);
  for (int i = 0; i < 3000; ++i) {
    const Layout source = support::RandomLayout(&random, Uint8());
    for (int32_t axis = 0; axis < source.ndim(); ++axis) {
      Layout flipped;
      int64_t first = kMost;
      CHECK_OK(source.Flip(axis, Uint8(), &flipped, &first));
      ForEachElement(flipped, [&](const int64_t* index, int64_t offset) {
        int64_t of_source[8] = {};
        for (int32_t k = 0; k < source.ndim(); ++k) of_source[k] = index[k];
        of_source[axis] = source.shape()[axis] - 1 - index[axis];
        CHECK_EQUAL(first + offset, OffsetAt(source, of_source));
      });
      int64_t back = kMost;
      CHECK_OK(flipped.Flip(axis, Uint8(), &flipped, &back));
      CHECK_EQUAL(first + back, 0);
      CHECK(support::SameLayout(flipped, source));
    }
  }
  Layout out;
  int64_t first = 0;
  CHECK_FAULT(Make({2}, Uint8()).Flip(1, Uint8(), &out, &first), kAxis, 1, 0, 1);
  CHECK_FAULT(Layout().Flip(0, Uint8(), &out, &first), kAxis, 0, 0, 0);
}

TEST("strides that are never used survive every derivation without a wrap") {
  for (int64_t stride : {kLeast, kMost}) {
    const Layout layout = Make({1, 3}, {stride, 1}, Uint8());
    Layout out;
    int64_t first = kMost;
    CHECK_OK(layout.Flip(0, Uint8(), &out, &first));
    CHECK_EQUAL(first, 0);
    const AxisSlice specs[] = {Range(0, 1, -5)};
    CHECK_OK(layout.Slice(specs, 1, Uint8(), &out, &first));
    CHECK_EQUAL(first, 0);
    const int64_t shape[] = {3, 1};
    CHECK_OK(layout.Reshape(shape, 2, Uint8(), &out));
    const int64_t wide[] = {2, 3};
    CHECK_OK(layout.BroadcastTo(wide, 2, Uint8(), &out));
    CHECK_EQUAL(out.strides()[0], 0);
    CHECK_OK(layout.ExpandDims(0, Uint8(), &out));
  }
}

TEST("slicing and flipping an empty tensor leads nowhere, whatever its strides") {
  const Layout layout = Make({5, 0}, {kMost, kLeast}, Uint8());
  Layout out;
  int64_t first = kMost;
  const AxisSlice backwards[] = {Range(4, 3, -2)};
  CHECK_OK(layout.Slice(backwards, 1, Uint8(), &out, &first));
  CHECK_EQUAL(first, 0);
  first = kMost;
  const AxisSlice row[] = {Index(3)};
  CHECK_OK(layout.Slice(row, 1, Uint8(), &out, &first));
  CHECK_EQUAL(first, 0);
  first = kMost;
  CHECK_OK(layout.Flip(0, Uint8(), &out, &first));
  CHECK_EQUAL(first, 0);
}

TEST("a layout may be derived into itself, and a fault leaves it as it was") {
  Layout layout = Make({2, 3, 4, 5, 6}, Uint8());
  const int32_t axes[] = {4, 3, 2, 1, 0};
  CHECK_OK(layout.Permute(axes, Uint8(), &layout));
  CHECK_EQUAL(layout.shape()[0], 6);
  const int64_t shape[] = {719};
  CHECK(!layout.Reshape(shape, 1, Uint8(), &layout).ok());
  CHECK_EQUAL(layout.ndim(), 5);
  int64_t first = 0;
  const AxisSlice specs[] = {Index(5), Index(4)};
  CHECK_OK(layout.Slice(specs, 2, Uint8(), &layout, &first));
  CHECK_EQUAL(layout.ndim(), 3);
  CHECK_EQUAL(first, 5 + 4 * 6);
}
