#include "copy_threads.h"

#include <atomic>
#include <initializer_list>

#include "system_thread.h"

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

namespace node_dlpack {

namespace {

std::atomic<int32_t> g_threads{0};  // 0: nobody has said anything

struct Part {
  void (*work)(void* context, int32_t part);
  void* context;
  int32_t number;
};

void RunPart(void* context) {
  const auto* part = static_cast<const Part*>(context);
  part->work(part->context, part->number);
}

// Signals are for the program's own threads: a handler that is run on one of these would find a thread that its author
// does not know of. What the processor raises is left, since whoever is to blame must be told.
class SignalsBlocked {
 public:
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
#ifdef _WIN32
  SignalsBlocked() = default;
  ~SignalsBlocked() = default;
#else
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&blocked, raised);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
#endif
};

}  // namespace

int32_t CopyThreads() {
  const int32_t count = g_threads.load(std::memory_order_relaxed);
  return count == 0 ? 1 : count;
}

void SetCopyThreads(int32_t count) {
  g_threads.store(count, std::memory_order_relaxed);
}

void SetCopyThreadsByDefault(int32_t count) {
  int32_t unsaid = 0;
  g_threads.compare_exchange_strong(unsaid, count, std::memory_order_relaxed);
}

void RunInParts(int32_t parts, void (*work)(void* context, int32_t part), void* context) {
  SystemThread threads[kMostCopyThreads];
  ThreadWork entered[kMostCopyThreads];
  Part started[kMostCopyThreads];
  int32_t running = 0;
  {
    [[maybe_unused]] const SignalsBlocked blocked;
    for (; running < parts - 1; ++running) {
      started[running] = Part{work, context, running};
      entered[running] = ThreadWork{RunPart, &started[running]};
      if (!threads[running].Start(&entered[running])) break;
    }
  }
  for (int32_t part = running; part < parts; ++part) work(context, part);
  for (int32_t thread = 0; thread < running; ++thread) threads[thread].Join();
}

}  // namespace node_dlpack
