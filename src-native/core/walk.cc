#include "walk.h"

#include "checked_math.h"

namespace node_dlpack {

namespace {

// Does the outer axis take up exactly where the inner one ends?
bool RunsOn(int64_t outer, int64_t inner, int64_t inner_extent) {
  int64_t whole = 0;
  return CheckedMultiply(inner, inner_extent, &whole) && outer == whole;
}

}  // namespace

Walk::Walk(const Layout& target, DType target_dtype, const Layout& source, DType source_dtype, int32_t channel_axis) {
  const int64_t target_bits = target_dtype.stride_bits();
  const int64_t source_bits = source_dtype.stride_bits();
  for (int32_t axis = 0; axis < target.ndim(); ++axis) {
    if (target.shape()[axis] == 1) continue;
    Add(WalkAxis{target.shape()[axis], target.strides()[axis] * target_bits, source.strides()[axis] * source_bits,
                 axis == channel_axis ? 1 : 0});
  }
  Merge();
  if (ndim_ > 0) run_ = axes_[--ndim_];
}

// Keeps the axes by falling distance of their target elements, and turns those around that lead to lower addresses.
void Walk::Add(WalkAxis axis) {
  if (axis.target < 0) {
    start_.target += axis.target * (axis.extent - 1);
    start_.source += axis.source * (axis.extent - 1);
    start_.channel += axis.channel * (axis.extent - 1);
    axis.target = -axis.target;
    axis.source = -axis.source;
    axis.channel = -axis.channel;
  }
  int32_t place = ndim_++;
  for (; place > 0 && axes_[place - 1].target < axis.target; --place) axes_[place] = axes_[place - 1];
  axes_[place] = axis;
}

void Walk::Merge() {
  int32_t kept = 0;
  for (int32_t next = 1; next < ndim_; ++next) {
    WalkAxis& outer = axes_[kept];
    const WalkAxis& inner = axes_[next];
    if (RunsOn(outer.target, inner.target, inner.extent) && RunsOn(outer.source, inner.source, inner.extent) &&
        RunsOn(outer.channel, inner.channel, inner.extent)) {
      const int64_t extent = outer.extent * inner.extent;
      outer = inner;
      outer.extent = extent;
    } else {
      axes_[++kept] = inner;
    }
  }
  if (ndim_ > 0) ndim_ = kept + 1;
}

void Walk::PreferLongRuns() {
  constexpr int64_t kShort = 8;
  if (run_.extent >= kShort) return;
  int32_t longest = -1;
  for (int32_t place = 0; place < ndim_; ++place) {
    if (axes_[place].extent > (longest < 0 ? run_.extent : axes_[longest].extent)) longest = place;
  }
  if (longest < 0) return;
  const WalkAxis before = run_;
  run_ = axes_[longest];
  axes_[longest] = before;
}

}  // namespace node_dlpack
