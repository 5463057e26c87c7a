// Reported memory: tells the engine how many bytes its dropped objects would free. Without the report Node 20 to 24
// never collects them (1,000,000 dropped capsules of 4 KiB grew to 4.2 GB); with a report for each tensor every call
// provokes collections (30 us). So what the environment holds is compared with what was last reported, at cheap
// moments, and adjusted in net steps of at least 8 MiB.
#ifndef NODE_DLPACK_BINDING_MEMORY_REPORT_H_
#define NODE_DLPACK_BINDING_MEMORY_REPORT_H_

#include <cstdint>

#include "napi_setup.h"

namespace node_dlpack::binding {

class MemoryReport {
 public:
  // held: bytes of what the environment's objects would free.
  void Check(napi_env env, int64_t held) {
    const int64_t change = (held < kMost ? held : kMost) - reported_;
    if (change < kStep && change > -kStep) return;
    int64_t total = 0;
    // A refusal (the environment is ending) changes nothing that matters: the next check tries again.
    if (napi_adjust_external_memory(env, change, &total) == napi_ok) reported_ += change;
  }

 private:
  static constexpr int64_t kStep = int64_t{8} << 20;
  // A foreign struct may claim a span that no machine has; the engine adds what it is told to sums of its own.
  static constexpr int64_t kMost = int64_t{1} << 46;
  int64_t reported_ = 0;
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_MEMORY_REPORT_H_
