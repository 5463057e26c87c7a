// Bytes that one environment answers for, shared between it and the blocks it made, since a block may outlive its
// environment and may be freed by any thread. The binding reports the sum to the engine: objects
// that hold memory the engine does not know of are hardly ever collected.
#ifndef NODE_DLPACK_CORE_ACCOUNT_H_
#define NODE_DLPACK_CORE_ACCOUNT_H_

#include <atomic>
#include <cstdint>

namespace node_dlpack {

class Account {
 public:
  static Account* Create();  // one reference, nullptr without memory
  void Retain();
  void Release();  // any thread; the last one frees
  void Add(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  Account() = default;
  ~Account() = default;
  std::atomic<int64_t> references_{1};
  std::atomic<int64_t> bytes_{0};
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_ACCOUNT_H_
