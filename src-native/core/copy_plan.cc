#include "copy_plan.h"

namespace node_dlpack {

namespace {

constexpr int64_t kLargestItem = 16;

bool IsItem(int64_t bytes) {
  return bytes > 0 && bytes <= kLargestItem && (bytes & (bytes - 1)) == 0;
}

}  // namespace

CopyPlan::CopyPlan(const Walk& walk, int64_t first_itemsize) : itemsize(first_itemsize) {
  const auto in_bytes = [](const WalkAxis& axis) { return CopyAxis{axis.extent, axis.target / 8, axis.source / 8}; };
  run = in_bytes(walk.run());
  ndim = walk.ndim();
  bytes = itemsize * run.extent;
  for (int32_t place = 0; place < ndim; ++place) {
    axes[place] = in_bytes(walk.axis(place));
    bytes *= axes[place].extent;
  }
  target_start = walk.start().target / 8;
  source_start = walk.start().source / 8;
  if (run.extent == 1) {  // of one element, whatever its steps
    run.target = itemsize;
    run.source = itemsize;
  }
  Widen();
  Choose();
}

bool CopyPlan::AxesKeep(int64_t unit) const {
  for (int32_t place = 0; place < ndim; ++place) {
    if (axes[place].target % unit != 0) return false;
  }
  return true;
}

// A few elements that stay together are one larger element: pairs, pixels of four, complex numbers.
void CopyPlan::Widen() {
  while (ndim > 0 && run.target == itemsize && run.source == itemsize) {
    const int64_t whole = run.extent * itemsize;
    if (whole > kLargestItem) return;
    itemsize = whole;
    run = axes[--ndim];
  }
}

void CopyPlan::Remove(int32_t place) {
  --ndim;
  for (; place < ndim; ++place) axes[place] = axes[place + 1];
}

void CopyPlan::Choose() {
  if (run.target == itemsize && run.source == itemsize) {
    kind = CopyKind::kRun;
    return;
  }
  if (run.target != itemsize || !IsItem(itemsize)) return ChooseGather();
  constexpr int64_t kShortFill = 256;
  const bool fills = run.source == 0;
  const bool short_fill = fills && run.extent * itemsize < kShortFill;
  if (run.source == -itemsize) {
    kind = CopyKind::kReverse;
  } else if (fills && !short_fill) {
    kind = CopyKind::kFill;
  } else if (ChooseMatrix()) {
    return;
  } else if (fills) {
    kind = CopyKind::kFill;
  } else if (run.source % itemsize == 0 && run.source / itemsize >= 2 && run.source / itemsize <= 4) {
    kind = CopyKind::kPick;
  } else {
    ChooseGather();
  }
}

// Is there another axis along which the source's elements lie side by side?
bool CopyPlan::ChooseMatrix() {
  int32_t found = -1;
  for (int32_t place = 0; place < ndim; ++place) {
    const int64_t step = axes[place].source;
    if ((step == itemsize || step == -itemsize) && (found < 0 || axes[place].extent > axes[found].extent)) {
      found = place;
    }
  }
  if (found < 0) return false;
  column = axes[found];
  Remove(found);
  if (column.source < 0) {
    target_start += column.target * (column.extent - 1);
    source_start += column.source * (column.extent - 1);
    column.target = -column.target;
    column.source = -column.source;
  }
  kind = CopyKind::kTranspose;
  const int64_t channels = run.source / itemsize;
  if (run.source == channels * itemsize && channels >= 2 && channels <= 4 &&
      (column.extent == channels || (column.extent == 3 && channels == 4))) {
    kind = CopyKind::kDeinterleave;
  } else if (run.extent >= 2 && run.extent <= 4 && column.target == run.extent * itemsize) {
    kind = CopyKind::kInterleave;
  }
  return true;
}

void CopyPlan::ChooseGather() {
  kind = CopyKind::kGather;
  PreferLongRuns();
  // A run that takes little of each line it passes leaves the rest to its neighbours along another axis.
  constexpr int64_t kLine = 64;
  const auto distance = [](const CopyAxis& axis) { return axis.source < 0 ? -axis.source : axis.source; };
  if (distance(run) < kLine) return;
  int32_t nearest = -1;
  for (int32_t place = 0; place < ndim; ++place) {
    if (distance(axes[place]) < (nearest < 0 ? kLine : distance(axes[nearest]))) nearest = place;
  }
  if (nearest < 0) return;
  column = axes[nearest];
  Remove(nearest);
}

// Where the run is so short that starting one costs more than its elements, the longest axis takes its place.
void CopyPlan::PreferLongRuns() {
  constexpr int64_t kShort = 8;
  if (run.extent >= kShort) return;
  int32_t longest = -1;
  for (int32_t place = 0; place < ndim; ++place) {
    if (axes[place].extent > (longest < 0 ? run.extent : axes[longest].extent)) longest = place;
  }
  if (longest < 0) return;
  const CopyAxis before = run;
  run = axes[longest];
  axes[longest] = before;
}

}  // namespace node_dlpack
