// Process-wide counters behind stats(): what lives now. Relaxed atomics; exact whenever no other thread is at work.
#ifndef NODE_DLPACK_CORE_COUNTERS_H_
#define NODE_DLPACK_CORE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace node_dlpack {

// The core keeps exports, blocks and bytes; who makes handles, views and tokens counts those.
struct Counters {
  std::atomic<int64_t> tensors{0};  // handles: Tensor and OwnedTensor, all threads
  std::atomic<int64_t> exports{0};  // managed tensors of ours that still exist: neither deleted nor unwrapped
  std::atomic<int64_t> views{0};    // ArrayBuffers over blocks
  std::atomic<int64_t> tokens{0};   // references in transit
  std::atomic<int64_t> blocks{0};   // blocks alive
  std::atomic<int64_t> bytes{0};    // their bytes
};

// No static with a destructor (the module stays mapped and is used after exit handlers): zero-initialised, trivially
// destructible.
extern Counters g_counters;

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_COUNTERS_H_
