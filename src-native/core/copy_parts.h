// A large copy divided among threads: into parts of equal size along one axis of the common shape, each of which is a
// copy of its own. Layouts are divided, not bytes, so that every kind of copy and conversion is divided here, and none
// of them knows.
#ifndef NODE_DLPACK_CORE_COPY_PARTS_H_
#define NODE_DLPACK_CORE_COPY_PARTS_H_

#include <cstdint>

#include "copy_threads.h"
#include "dtype.h"
#include "layout.h"

namespace node_dlpack {

class CopyParts {
 public:
  static constexpr int32_t kNoAxis = -1;

  // Layouts of one shape. whole_axis: one that must stay in one piece, or kNoAxis. threads: as many parts at most;
  // fewer where they would be too small to be worth a thread, and one where elements share a byte.
  CopyParts(const Layout& target, DType target_dtype, const Layout& source, DType source_dtype, int32_t whole_axis,
            int32_t threads);

  int32_t count() const { return count_; }

  // copy(target, target_layout, source, source_layout) for each part, on a thread each; the addresses are those of its
  // first elements. True when all of them answered true. Only for a count above 1.
  template <typename Copy>
  bool ForEach(uint8_t* target, const uint8_t* source, const Copy& copy) const {
    struct Work {
      const CopyParts* parts;
      const Copy* copy;
      uint8_t* target;
      const uint8_t* source;
      bool done[kMostCopyThreads];
    };
    Work work{this, &copy, target, source, {}};
    RunInParts(
        count_,
        [](void* context, int32_t part) {
          auto* all = static_cast<Work*>(context);
          Layout to;
          Layout from;
          int64_t to_bytes = 0;
          int64_t from_bytes = 0;
          all->done[part] = all->parts->Part(part, &to, &to_bytes, &from, &from_bytes) &&
                            (*all->copy)(all->target + to_bytes, to, all->source + from_bytes, from);
        },
        &work);
    for (int32_t part = 0; part < count_; ++part) {
      if (!work.done[part]) return false;
    }
    return true;
  }

 private:
  // False when there is no memory for the layouts.
  bool Part(int32_t part, Layout* to, int64_t* to_bytes, Layout* from, int64_t* from_bytes) const;

  const Layout& target_;
  const Layout& source_;
  DType target_dtype_;
  DType source_dtype_;
  int32_t axis_ = 0;
  int32_t count_ = 1;
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_COPY_PARTS_H_
