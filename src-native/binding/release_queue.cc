#include "release_queue.h"

#include <new>

namespace node_dlpack::binding {

ReleaseQueue* ReleaseQueue::Create() {
  return new (std::nothrow) ReleaseQueue();
}

void ReleaseQueue::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool ReleaseQueue::Bind(napi_env env, ReleaseJob* job) {
  if (!HasWakeUp() && !MakeWakeUp(env)) return false;
  Retain();
  job->queue = this;
  return true;
}

bool ReleaseQueue::HasWakeUp() {
  std::lock_guard<std::mutex> lock(mutex_);
  return wake_ != nullptr;
}

bool ReleaseQueue::MakeWakeUp(napi_env env) {
  napi_value name;
  if (napi_create_string_utf8(env, "node-dlpack:release", NAPI_AUTO_LENGTH, &name) != napi_ok) return false;
  napi_threadsafe_function wake = nullptr;
  Retain();  // the function's own reference, given back when it is finalized
  if (napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, this, OnWakeGone, this, OnWake, &wake) !=
      napi_ok) {
    Release();
    return false;
  }
  // Memory that waits to be released is no reason to keep a process alive.
  static_cast<void>(napi_unref_threadsafe_function(env, wake));
  std::lock_guard<std::mutex> lock(mutex_);
  wake_ = wake;
  return true;
}

void ReleaseQueue::Unbind(ReleaseJob* job) {
  job->queue->Release();
  job->queue = nullptr;
}

void ReleaseQueue::Post(void* context) {
  auto* job = static_cast<ReleaseJob*>(context);
  ReleaseQueue* queue = job->queue;
  {
    std::lock_guard<std::mutex> lock(queue->mutex_);
    if (!queue->closed_) {
      const bool first = !queue->pending();
      job->next = queue->head_.load(std::memory_order_relaxed);
      queue->head_.store(job, std::memory_order_release);
      // A refusal (the runtime is closing the function before our hook ran) is final: the function must not be touched
      // again.
      if (first && queue->wake_ != nullptr &&
          napi_call_threadsafe_function(queue->wake_, nullptr, napi_tsfn_nonblocking) != napi_ok) {
        queue->wake_ = nullptr;
      }
      return;
    }
  }
  job->run(nullptr, job);
  queue->Release();
}

ReleaseJob* ReleaseQueue::TakePosted() {
  std::lock_guard<std::mutex> lock(mutex_);
  ReleaseJob* newest = head_.load(std::memory_order_acquire);
  head_.store(nullptr, std::memory_order_relaxed);
  ReleaseJob* oldest = nullptr;
  while (newest != nullptr) {
    ReleaseJob* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

void ReleaseQueue::Drain(napi_env env) {
  ReleaseJob* job = TakePosted();
  while (job != nullptr) {
    ReleaseJob* next = job->next;
    napi_handle_scope scope = nullptr;
    const bool scoped = napi_open_handle_scope(env, &scope) == napi_ok;
    // Without a scope the environment is beyond running anything.
    job->run(scoped ? env : nullptr, job);
    Release();
    if (scoped) {
      // An error thrown by somebody's release has no caller to go to: the process hears of it as of any uncaught one.
      bool pending = false;
      napi_value error;
      if (napi_is_exception_pending(env, &pending) == napi_ok && pending &&
          napi_get_and_clear_last_exception(env, &error) == napi_ok) {
        static_cast<void>(napi_fatal_exception(env, error));
      }
      static_cast<void>(napi_close_handle_scope(env, scope));
    }
    job = next;
  }
}

void ReleaseQueue::Close() {
  napi_threadsafe_function wake = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    wake = wake_;
    wake_ = nullptr;
  }
  // Nobody else has the function any more. It ends later on this thread, through OnWakeGone.
  if (wake != nullptr) static_cast<void>(napi_release_threadsafe_function(wake, napi_tsfn_abort));
  ReleaseJob* job = TakePosted();
  while (job != nullptr) {
    ReleaseJob* next = job->next;
    job->run(nullptr, job);
    Release();
    job = next;
  }
}

void ReleaseQueue::OnWake(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;  // the runtime is emptying a function that it closes
  static_cast<ReleaseQueue*>(context)->Drain(env);
}

void ReleaseQueue::OnWakeGone(napi_env, void* data, void*) {
  auto* queue = static_cast<ReleaseQueue*>(data);
  {
    std::lock_guard<std::mutex> lock(queue->mutex_);
    queue->wake_ = nullptr;
  }
  queue->Release();
}

}  // namespace node_dlpack::binding
