#include "copy_parts.h"

namespace node_dlpack {

namespace {

// Some 200 microseconds of work, ten times what it takes to start a thread.
constexpr int64_t kLeastBytes = int64_t{2} << 20;

int64_t Least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t Distance(int64_t step) {
  return step < 0 ? -step : step;
}

// The outermost axis of the target that gives every part several indices: each part then writes memory of its own, as
// far from the others' as can be. Where there is none, the longest.
int32_t AxisToDivide(const Layout& layout, int32_t whole_axis, int64_t parts) {
  constexpr int64_t kSeveral = 4;
  int32_t best = CopyParts::kNoAxis;
  const auto better = [&](int32_t axis) {
    if (best == CopyParts::kNoAxis) return true;
    const int64_t extent = layout.shape()[axis];
    const int64_t best_extent = layout.shape()[best];
    const bool enough = extent >= kSeveral * parts;
    if (enough != (best_extent >= kSeveral * parts)) return enough;
    if (!enough) return extent > best_extent;
    return Distance(layout.strides()[axis]) > Distance(layout.strides()[best]);
  };
  for (int32_t axis = 0; axis < layout.ndim(); ++axis) {
    if (axis != whole_axis && better(axis)) best = axis;
  }
  return best;
}

}  // namespace

CopyParts::CopyParts(const Layout& target, DType target_dtype, const Layout& source, DType source_dtype,
                     int32_t whole_axis, int32_t threads)
    : target_(target), source_(source), target_dtype_(target_dtype), source_dtype_(source_dtype) {
  if (threads <= 1 || target_dtype.bit_packed() || source_dtype.bit_packed()) return;
  const int64_t bytes = target.size() * static_cast<int64_t>(target_dtype.itemsize());
  const int64_t parts = Least(threads, bytes / kLeastBytes);
  if (parts <= 1) return;
  axis_ = AxisToDivide(target, whole_axis, parts);
  if (axis_ == kNoAxis) return;
  count_ = static_cast<int32_t>(Least(parts, target.shape()[axis_]));
}

bool CopyParts::Part(int32_t part, Layout* to, int64_t* to_bytes, Layout* from, int64_t* from_bytes) const {
  AxisSlice specs[kMaxNdim];
  for (int32_t axis = 0; axis < axis_; ++axis) specs[axis].extent = target_.shape()[axis];
  const int64_t extent = target_.shape()[axis_];
  const int64_t begin = extent / count_ * part + Least(extent % count_, part);
  specs[axis_].start = begin;
  specs[axis_].extent = extent / count_ + (part < extent % count_ ? 1 : 0);
  if (!target_.Slice(specs, axis_ + 1, target_dtype_, to, to_bytes).ok()) return false;
  if (!source_.Slice(specs, axis_ + 1, source_dtype_, from, from_bytes).ok()) return false;
  *to_bytes *= static_cast<int64_t>(target_dtype_.itemsize());
  *from_bytes *= static_cast<int64_t>(source_dtype_.itemsize());
  return true;
}

}  // namespace node_dlpack
