// The release queue: how JavaScript-backed memory (adopt, fromPointer) is given back by blocks that may die on any
// thread.
//
// Rule: a block's last alias may be dropped by a foreign thread, or after the environment's death, and Node-API may be
// called by neither. The block posts a job instead; the environment's thread runs it at the next library call, or when
// an unref'd threadsafe function wakes it. Once the environment has begun to end, jobs are told so (env nullptr) and
// free their own memory alone: what they held of JavaScript is the engine's business then. Without the queue a deleter
// called by a native thread would call into the engine and crash it.
//
// The queue is counted, since jobs outlive the environment.
#ifndef NODE_DLPACK_BINDING_RELEASE_QUEUE_H_
#define NODE_DLPACK_BINDING_RELEASE_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "napi_setup.h"

namespace node_dlpack::binding {

class ReleaseQueue;

struct ReleaseJob {
  // On the environment's thread, in a handle scope, never with an exception pending: gives back what the job holds and
  // frees the job. env nullptr, on any thread: the environment is ending or gone; frees the job and touches nothing of
  // Node-API.
  void (*run)(napi_env env, ReleaseJob* job) = nullptr;
  ReleaseQueue* queue = nullptr;  // counted; set by Bind
  ReleaseJob* next = nullptr;
};

class ReleaseQueue {
 public:
  static ReleaseQueue* Create();  // one reference; nullptr without memory
  void Retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Release();

  // Ties a job to this queue and makes sure that a wake-up exists. On the environment's thread. False when the runtime
  // refuses one.
  bool Bind(napi_env env, ReleaseJob* job);
  // Undoes Bind for a job whose block was never made.
  static void Unbind(ReleaseJob* job);
  // Posts a bound job. Any thread, any time: the release callback to give to Block::Wrap, with the job as context.
  static void Post(void* job);

  bool pending() const { return head_.load(std::memory_order_relaxed) != nullptr; }
  // Runs what was posted. On the environment's thread; may run JavaScript.
  void Drain(napi_env env);
  // The environment is ending. Whatever is or comes posted from now on is run with env nullptr.
  void Close();

 private:
  ReleaseQueue() = default;
  ~ReleaseQueue() = default;
  bool HasWakeUp();
  bool MakeWakeUp(napi_env env);
  ReleaseJob* TakePosted();  // oldest first
  static void OnWake(napi_env env, napi_value, void* context, void* data);
  // The runtime finalizes the threadsafe function, maybe before our hook: its own hooks run in an order that is not
  // ours.
  static void OnWakeGone(napi_env env, void* data, void* hint);

  std::atomic<int64_t> references_{1};
  std::atomic<ReleaseJob*> head_{nullptr};  // newest first
  std::mutex mutex_;                        // guards the list, and wake_ and closed_ against a post during Close
  napi_threadsafe_function wake_ = nullptr;
  bool closed_ = false;
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_RELEASE_QUEUE_H_
