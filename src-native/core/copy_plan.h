// Which of the kernels a copy comes down to. Nearly every layout copy that people make is one of a few shapes once its
// axes are merged and sorted: long runs, a matrix turned around, channels taken apart or put together. What is none of
// them is gathered element by element.
#ifndef NODE_DLPACK_CORE_COPY_PLAN_H_
#define NODE_DLPACK_CORE_COPY_PLAN_H_

#include <cstdint>

#include "layout.h"
#include "walk.h"

namespace node_dlpack {

enum class CopyKind : uint8_t {
  kRun,           // side by side in both
  kFill,          // one element, many times
  kReverse,       // side by side in both, in opposite directions
  kPick,          // every second, third or fourth element
  kDeinterleave,  // channels of pixels to rows: column is the axis of channels
  kInterleave,    // rows to channels of pixels: run is the axis of channels, column that of pixels
  kTranspose,     // side by side along run in the target, along column in the source
  kGather,        // anything; column is the axis, if any, along which the source's elements lie near each other
};

// Steps in bytes.
struct CopyAxis {
  int64_t extent;
  int64_t target;
  int64_t source;
};

struct CopyPlan {
  CopyKind kind = CopyKind::kGather;
  int64_t itemsize = 0;  // 1, 2, 4, 8 or 16, but for kRun and kGather, where it may be any
  CopyAxis run{1, 0, 0};
  CopyAxis column{1, 0, 0};
  CopyAxis axes[kMaxNdim];  // the first ndim, outermost first: for each of their indices the same is done once
  int32_t ndim = 0;
  // From the first elements of the layouts to the first ones copied.
  int64_t target_start = 0;
  int64_t source_start = 0;
  int64_t bytes = 0;  // of all elements

  // itemsize: 1, 2, 4, 8 or 16.
  CopyPlan(const Walk& walk, int64_t itemsize);

  // visit(target, source): the bytes from the starts, for each index of the axes.
  template <typename Visit>
  void ForEach(Visit visit) const {
    int64_t index[kMaxNdim];
    for (int32_t place = 0; place < ndim; ++place) index[place] = 0;
    int64_t target = target_start;
    int64_t source = source_start;
    for (;;) {
      visit(target, source);
      int32_t left = ndim;
      for (; left > 0; --left) {
        const CopyAxis& axis = axes[left - 1];
        if (++index[left - 1] < axis.extent) {
          target += axis.target;
          source += axis.source;
          break;
        }
        index[left - 1] = 0;
        target -= axis.target * (axis.extent - 1);
        source -= axis.source * (axis.extent - 1);
      }
      if (left <= 0) return;
    }
  }

  // Is every run's beginning as well aligned as the first one's, as far as `unit` bytes go?
  bool AxesKeep(int64_t unit) const;

 private:
  void Widen();
  void Choose();
  bool ChooseMatrix();
  void Remove(int32_t place);
  void ChooseGather();
  void PreferLongRuns();
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_COPY_PLAN_H_
