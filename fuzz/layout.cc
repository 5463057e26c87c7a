// The algebra of layouts: chains of slice, permute, reshape, squeeze, expand, broadcast and flip, against a list of
// offsets, one for each element, that knows no strides. Then the same calls on sizes and steps of any magnitude, where
// the only questions are whether they are refused whole and whether what they make stays inside what it was made from.
#include "layout.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "input.h"

using namespace node_dlpack;

namespace {

constexpr int64_t kMost = 128;

// What a layout means: a shape, and where each element lies, in row-major order.
struct Reference {
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;

  int64_t size() const { return static_cast<int64_t>(offsets.size()); }
  int64_t At(const std::vector<int64_t>& index) const {
    int64_t place = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) place = place * shape[axis] + index[axis];
    return offsets[static_cast<size_t>(place)];
  }
};

int64_t SizeOf(const std::vector<int64_t>& shape) {
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  return size;
}

// source_of(index, &source): where an element of the new shape is found in the old one.
template <typename SourceOf>
Reference Derive(const Reference& from, std::vector<int64_t> shape, SourceOf source_of) {
  Reference result;
  const int64_t size = SizeOf(shape);
  std::vector<int64_t> index(shape.size());
  std::vector<int64_t> source(from.shape.size());
  result.offsets.reserve(static_cast<size_t>(size));
  for (int64_t place = 0; place < size; ++place) {
    int64_t rest = place;
    for (size_t left = shape.size(); left > 0; --left) {
      index[left - 1] = rest % shape[left - 1];
      rest /= shape[left - 1];
    }
    source_of(index, &source);
    result.offsets.push_back(from.At(source));
  }
  result.shape = std::move(shape);
  return result;
}

// A layout, where its first element lies, and what it should mean.
struct Pair {
  Layout layout;
  int64_t first = 0;
  Reference reference;
};

void CheckPair(const Pair& pair) {
  const Layout& layout = pair.layout;
  const Reference& reference = pair.reference;
  CHECK_EQUAL(layout.ndim(), static_cast<int32_t>(reference.shape.size()));
  for (int32_t axis = 0; axis < layout.ndim(); ++axis) {
    CHECK_EQUAL(layout.shape()[axis], reference.shape[static_cast<size_t>(axis)]);
  }
  CHECK_EQUAL(layout.size(), reference.size());
  size_t next = 0;
  support::ForEachElement(layout, [&](const int64_t* index, int64_t offset) {
    CHECK_EQUAL(pair.first + offset, reference.offsets[next++]);
    int64_t asked = 0;
    CHECK_OK(layout.OffsetOf(index, layout.ndim(), &asked));
    CHECK_EQUAL(asked, offset);
  });

  bool in_order = true;
  for (size_t i = 0; i < reference.offsets.size(); ++i) {
    in_order = in_order && reference.offsets[i] == reference.offsets[0] + static_cast<int64_t>(i);
  }
  CHECK_EQUAL(layout.IsContiguous(), in_order);
  std::vector<int64_t> sorted = reference.offsets;
  std::sort(sorted.begin(), sorted.end());
  // Two elements in one place are always found; "may overlap" is allowed to be a false alarm.
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) CHECK(layout.MayOverlap());
  if (layout.IsContiguous()) CHECK(!layout.MayOverlap());
  const BitSpan span = layout.bit_span(support::Uint8());
  if (!sorted.empty()) {
    CHECK_EQUAL(span.lowest, (sorted.front() - pair.first) * 8);
    CHECK_EQUAL(span.highest, (sorted.back() - pair.first + 1) * 8);
  }
}

// --- one derivation each ---------------------------------------------------------------------------------------------

// The specs are any; the reference says which of them can be.
void Slice(fuzz::Input* input, Pair* pair) {
  AxisSlice specs[kMaxNdim];
  const std::vector<int64_t> old = pair->reference.shape;
  const auto count = static_cast<int32_t>(input->Between(0, static_cast<int64_t>(old.size())));
  bool possible = true;
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < old.size(); ++axis) {
    if (static_cast<int32_t>(axis) >= count) {
      shape.push_back(old[axis]);
      continue;
    }
    AxisSlice& spec = specs[axis];
    spec.is_index = input->Between(0, 3) == 0;
    const bool wild = input->Between(0, 15) == 0;
    spec.start = wild ? input->Number() : input->Between(0, 12) % (old[axis] + 1);
    spec.extent = wild ? input->Number() : input->Between(0, 12) % (old[axis] + 1);
    spec.step = wild ? input->Number() : input->Between(-3, 3);
    __extension__ using Wide = __int128;
    const int64_t picked = spec.is_index ? 1 : spec.extent;
    const Wide last = spec.start + static_cast<Wide>(spec.step) * (picked > 1 ? picked - 1 : 0);
    if (picked < 0) possible = false;
    if (picked > 0 && (spec.start < 0 || spec.start >= old[axis] || last < 0 || last >= old[axis])) possible = false;
    if (picked > 1 && spec.step == 0) possible = false;
    if (!spec.is_index) shape.push_back(spec.extent);
  }
  Layout out;
  int64_t offset = 0;
  const Fault fault = pair->layout.Slice(specs, count, support::Uint8(), &out, &offset);
  CHECK_EQUAL(fault.ok(), possible);
  if (!fault.ok()) return;
  pair->reference = Derive(pair->reference, std::move(shape), [&](const auto& index, auto* source) {
    size_t from = 0;
    for (size_t axis = 0; axis < old.size(); ++axis) {
      if (static_cast<int32_t>(axis) >= count) {
        (*source)[axis] = index[from++];
      } else {
        (*source)[axis] = specs[axis].start + (specs[axis].is_index ? 0 : index[from++] * specs[axis].step);
      }
    }
  });
  pair->layout = std::move(out);
  pair->first += offset;
}

void Permute(fuzz::Input* input, Pair* pair) {
  const std::vector<int64_t> old = pair->reference.shape;
  int32_t axes[kMaxNdim] = {};
  std::vector<int> seen(old.size());
  bool possible = true;
  const bool wild = input->Between(0, 7) == 0;
  for (size_t axis = 0; axis < old.size(); ++axis) {
    if (wild) {
      axes[axis] = input->Any<int8_t>() % 8;
    } else {
      // The place-th of those that are left.
      auto place = static_cast<size_t>(input->Any<uint8_t>()) % (old.size() - axis);
      size_t candidate = 0;
      while (seen[candidate] != 0 || place-- > 0) ++candidate;
      axes[axis] = static_cast<int32_t>(candidate);
    }
    const auto chosen = static_cast<size_t>(axes[axis]);
    if (axes[axis] < 0 || chosen >= old.size() || seen[chosen]++ != 0) possible = false;
  }
  Layout out;
  const Fault fault = pair->layout.Permute(axes, support::Uint8(), &out);
  CHECK_EQUAL(fault.ok(), possible);
  if (!fault.ok()) return;
  std::vector<int64_t> shape(old.size());
  for (size_t axis = 0; axis < old.size(); ++axis) shape[axis] = old[static_cast<size_t>(axes[axis])];
  pair->reference = Derive(pair->reference, std::move(shape), [&](const auto& index, auto* source) {
    for (size_t axis = 0; axis < old.size(); ++axis) (*source)[static_cast<size_t>(axes[axis])] = index[axis];
  });
  pair->layout = std::move(out);
}

// Some shape, mostly of as many elements.
std::vector<int64_t> ShapeLike(fuzz::Input* input, int64_t size) {
  std::vector<int64_t> shape;
  while (shape.size() < 6) {
    const uint8_t how = input->Any<uint8_t>();
    if ((how & 1) != 0) shape.push_back(1);
    if (size <= 1) {
      if (size == 0) shape.push_back(0);
      break;
    }
    int64_t factor = how / 2 % 6 + 2;
    while (size % factor != 0) factor = factor < size ? factor + 1 : size;
    shape.push_back(factor);
    size /= factor;
  }
  if (size > 1) shape.push_back(size);
  if (input->Between(0, 15) == 0 && !shape.empty()) shape[0] += input->Between(-2, 2);
  return shape;
}

void Reshape(fuzz::Input* input, Pair* pair) {
  const std::vector<int64_t> shape = ShapeLike(input, pair->reference.size());
  const auto ndim = static_cast<int32_t>(shape.size());
  const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; });
  Layout out;
  const Fault fault = pair->layout.Reshape(shape.data(), ndim, support::Uint8(), &out);
  bool possible = !negative && SizeOf(shape) == pair->reference.size();
  if (possible && pair->reference.size() > 0) {
    possible = support::StridesExist(support::Offsets(pair->layout), shape.data(), ndim);
  }
  CHECK_EQUAL(fault.ok(), possible);
  if (!fault.ok()) return;
  pair->layout = std::move(out);
  pair->reference.shape = shape;
}

void SqueezeOrExpand(fuzz::Input* input, Pair* pair) {
  std::vector<int64_t> shape = pair->reference.shape;
  const auto ndim = static_cast<int32_t>(shape.size());
  const auto axis = static_cast<int32_t>(input->Between(-1, ndim + 1));
  const bool expand = input->Bool();
  Layout out;
  const Fault fault = expand ? pair->layout.ExpandDims(axis, support::Uint8(), &out)
                             : pair->layout.Squeeze(axis, support::Uint8(), &out);
  const bool possible = expand ? axis >= 0 && axis <= ndim && ndim < kMaxNdim
                               : axis >= 0 && axis < ndim && shape[static_cast<size_t>(axis)] == 1;
  CHECK_EQUAL(fault.ok(), possible);
  if (!fault.ok()) return;
  if (expand) {
    shape.insert(shape.begin() + axis, 1);
  } else {
    shape.erase(shape.begin() + axis);
  }
  pair->layout = std::move(out);
  pair->reference.shape = shape;
}

void Broadcast(fuzz::Input* input, Pair* pair) {
  const std::vector<int64_t> old = pair->reference.shape;
  std::vector<int64_t> shape;
  const auto added = static_cast<size_t>(input->Between(0, 2));
  for (size_t axis = 0; axis < added; ++axis) shape.push_back(input->Between(-1, 3));
  bool possible = true;
  for (const int64_t extent : old) {
    shape.push_back(extent == 1 && input->Bool() ? input->Between(0, 4)
                                                 : extent + (input->Between(0, 15) == 0 ? 1 : 0));
    if (extent != 1 && shape.back() != extent) possible = false;
  }
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; })) possible = false;
  if (possible && SizeOf(shape) > kMost) return;
  Layout out;
  const Fault fault =
      pair->layout.BroadcastTo(shape.data(), static_cast<int32_t>(shape.size()), support::Uint8(), &out);
  CHECK_EQUAL(fault.ok(), possible);
  if (!fault.ok()) return;
  pair->reference = Derive(pair->reference, std::move(shape), [&](const auto& index, auto* source) {
    for (size_t axis = 0; axis < old.size(); ++axis) (*source)[axis] = old[axis] == 1 ? 0 : index[axis + added];
  });
  pair->layout = std::move(out);
}

void Flip(fuzz::Input* input, Pair* pair) {
  const std::vector<int64_t> old = pair->reference.shape;
  const auto ndim = static_cast<int32_t>(old.size());
  const auto axis = static_cast<int32_t>(input->Between(-1, ndim));
  int64_t offset = 0;
  // In place: the target may be the source itself.
  const Fault fault = pair->layout.Flip(axis, support::Uint8(), &pair->layout, &offset);
  CHECK_EQUAL(fault.ok(), axis >= 0 && axis < ndim);
  if (!fault.ok()) return;
  const auto flipped = static_cast<size_t>(axis);
  pair->reference = Derive(pair->reference, old, [&](const auto& index, auto* source) {
    *source = index;
    (*source)[flipped] = old[flipped] - 1 - index[flipped];
  });
  pair->first += offset;
}

void CheckAlgebra(fuzz::Input* input) {
  int64_t shape[kMaxNdim];
  int32_t ndim = 0;
  fuzz::SmallShape(input, kMost, shape, &ndim);
  Pair pair;
  pair.layout = input->Bool() ? fuzz::Anyhow(input, shape, ndim, support::Uint8())
                              : fuzz::Apart(input, shape, ndim, support::Uint8());
  pair.reference.shape.assign(shape, shape + ndim);
  support::ForEachElement(pair.layout,
                          [&](const int64_t*, int64_t offset) { pair.reference.offsets.push_back(offset); });
  CheckPair(pair);
  for (int steps = 0; steps < 12 && !input->done(); ++steps) {
    switch (input->Between(0, 5)) {
      case 0:
        Slice(input, &pair);
        break;
      case 1:
        Permute(input, &pair);
        break;
      case 2:
        Reshape(input, &pair);
        break;
      case 3:
        SqueezeOrExpand(input, &pair);
        break;
      case 4:
        Broadcast(input, &pair);
        break;
      default:
        Flip(input, &pair);
    }
    CheckPair(pair);
  }
}

// --- any magnitude ---------------------------------------------------------------------------------------------------

// In bits, [lowest, highest) around first, of what must lie within.
void CheckWithin(const Layout& inner, int64_t first, const Layout& outer, DType dtype) {
  if (inner.empty()) return;
  const BitSpan in = inner.bit_span(dtype);
  const BitSpan out = outer.bit_span(dtype);
  __extension__ using Wide = __int128;
  const Wide start = static_cast<Wide>(first) * dtype.stride_bits();
  CHECK(start + in.lowest >= out.lowest && start + in.highest <= out.highest);
}

void CheckMagnitudes(fuzz::Input* input) {
  const DType dtype = input->DType();
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
  const auto ndim = static_cast<int32_t>(input->Between(0, 8));
  for (int32_t axis = 0; axis < ndim; ++axis) {
    shape[axis] = input->Number();
    strides[axis] = input->Number();
  }
  Layout layout;
  if (!Layout::Strided(shape, input->Bool() ? strides : nullptr, ndim, dtype, &layout).ok()) {
    CHECK_EQUAL(layout.ndim(), 0);
    return;
  }
  static_cast<void>(layout.MayOverlap());
  static_cast<void>(layout.IsContiguous());
  if (!layout.empty()) static_cast<void>(layout.SpanFault(true));
  CHECK(layout.compact_bytes(dtype) >= 0);
  for (int steps = 0; steps < 8 && !input->done(); ++steps) {
    Layout out;
    Fault fault;
    int64_t first = 0;
    int32_t axes[kMaxNdim + 8] = {};
    AxisSlice specs[kMaxNdim];
    const auto axis = static_cast<int32_t>(input->Between(-1, 9));
    const auto count = static_cast<int32_t>(input->Between(-1, 9));
    switch (input->Between(0, 6)) {
      case 0:
        for (int32_t i = 0; i < count; ++i)
          specs[i] = {input->Bool(), input->Number(), input->Number(), input->Number()};
        fault = layout.Slice(specs, count, dtype, &out, &first);
        break;
      case 1:
        for (int32_t i = 0; i < layout.ndim(); ++i) axes[i] = static_cast<int32_t>(input->Between(-1, 9));
        fault = layout.Permute(axes, dtype, &out);
        break;
      case 2:
        for (int32_t i = 0; i < count; ++i) shape[i] = input->Number();
        fault = layout.Reshape(shape, count, dtype, &out);
        break;
      case 3:
        fault = layout.Squeeze(axis, dtype, &out);
        break;
      case 4:
        fault = layout.ExpandDims(axis, dtype, &out);
        break;
      case 5:
        for (int32_t i = 0; i < count; ++i) shape[i] = input->Number();
        fault = layout.BroadcastTo(shape, count, dtype, &out);
        break;
      default:
        fault = layout.Flip(axis, dtype, &out, &first);
    }
    if (!fault.ok()) {
      CHECK(out.ndim() == 0 && out.size() == 1);
      continue;
    }
    CheckWithin(out, first, layout, dtype);
    layout = std::move(out);
  }
}

}  // namespace

void RunOne(fuzz::Input* input) {
  if (input->Between(0, 2) == 0) {
    CheckMagnitudes(input);
  } else {
    CheckAlgebra(input);
  }
}
