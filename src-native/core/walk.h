// The order in which the elements of two layouts of one shape are visited, element i of one together with element i of
// the other. The axes are reduced to the fewest that say the same: none of extent 1, target addresses rising,
// neighbours merged where they run on without a gap. For element-wise work only: the order is not the logical one.
#ifndef NODE_DLPACK_CORE_WALK_H_
#define NODE_DLPACK_CORE_WALK_H_

#include <cstdint>

#include "dtype.h"
#include "layout.h"

namespace node_dlpack {

// Steps are in bits, so that packed elements need no other code; for whole bytes they are multiples of 8. channel
// counts indices of one axis of the common shape, for numbers that belong to a channel.
struct WalkAxis {
  int64_t extent;
  int64_t target;
  int64_t source;
  int64_t channel;
};

class Walk {
 public:
  static constexpr int32_t kNoChannel = -1;

  // The layouts are not empty.
  Walk(const Layout& target, DType target_dtype, const Layout& source, DType source_dtype, int32_t channel_axis);

  int32_t ndim() const { return ndim_; }
  const WalkAxis& axis(int32_t index) const { return axes_[index]; }
  // The axis that is walked innermost; of extent 1 when there is but one element.
  const WalkAxis& run() const { return run_; }
  // From the layouts' first elements to the first ones visited; its extent says nothing.
  const WalkAxis& start() const { return start_; }

  // Where the run is so short that starting one costs more than the elements, another axis is walked innermost instead,
  // at the price of a less favourable order of addresses.
  void PreferLongRuns();

  // visit(target, source, channel): the bits and channels from the layouts' first elements to the first of each run.
  template <typename Visit>
  void ForEachRun(Visit visit) const {
    int64_t index[kMaxNdim];
    for (int32_t place = 0; place < ndim_; ++place) index[place] = 0;
    int64_t target = start_.target;
    int64_t source = start_.source;
    int64_t channel = start_.channel;
    for (;;) {
      visit(target, source, channel);
      int32_t left = ndim_;
      for (; left > 0; --left) {
        const WalkAxis& axis = axes_[left - 1];
        if (++index[left - 1] < axis.extent) {
          target += axis.target;
          source += axis.source;
          channel += axis.channel;
          break;
        }
        // Back to the axis's first index. (extent - 1) steps lie within the span, extent steps might not fit.
        index[left - 1] = 0;
        target -= axis.target * (axis.extent - 1);
        source -= axis.source * (axis.extent - 1);
        channel -= axis.channel * (axis.extent - 1);
      }
      if (left <= 0) return;
    }
  }

 private:
  void Add(WalkAxis axis);
  void Merge();

  WalkAxis axes_[kMaxNdim];  // the first ndim_: all but the run, outermost first
  int32_t ndim_ = 0;
  WalkAxis run_{1, 0, 0, 0};
  WalkAxis start_{1, 0, 0, 0};  // extent unused
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_WALK_H_
