// A producer that changes a field right after it was read for the first time, which is the worst that a producer with a
// thread of its own can do, at will instead of by luck: a consumer that checks one reading and uses another is found
// every time. The struct's page refuses access; each access faults, is carried out by a single step of the processor,
// and is counted. Linux on x64 alone.
#include <cstring>

#include "lab.h"

#if defined(__linux__) && defined(__x86_64__)
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#endif

namespace lab {

#if defined(__linux__) && defined(__x86_64__)

namespace {

constexpr greg_t kSingleStep = 0x100;

struct Watch {
  pid_t thread = 0;
  volatile bool on = false;
  volatile bool disturbed = false;  // another thread touched the page
  uintptr_t page = 0;
  uintptr_t field = 0;
  size_t bytes = 0;
  uint64_t later = 0;  // what the field says after its first reading
  volatile bool reading = false;
  volatile int reads = 0;
};

Watch g_watch;  // one at a time, of one thread
struct sigaction g_old_fault = {};
bool g_handled = false;

pid_t CurrentThread() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

size_t PageSize() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void Protect(int protection) {
  mprotect(reinterpret_cast<void*>(g_watch.page), PageSize(), protection);
}

void OnFault(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (address < g_watch.page || address >= g_watch.page + PageSize()) {
    // Somebody else's: the access faults again and finds the handler that was there.
    sigaction(number, &g_old_fault, nullptr);
    g_handled = false;
    return;
  }
  if (!g_watch.on) return;  // the watching ended meanwhile: the same access succeeds now
  if (CurrentThread() != g_watch.thread) {
    g_watch.disturbed = true;
    Protect(PROT_READ | PROT_WRITE);  // for good: nothing is counted any more
    return;
  }
  g_watch.reading = address >= g_watch.field && address < g_watch.field + g_watch.bytes;
  Protect(PROT_READ | PROT_WRITE);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kSingleStep;
}

void OnStep(int, siginfo_t*, void* context) {
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kSingleStep;
  if (g_watch.reading) {
    g_watch.reads = g_watch.reads + 1;
    std::memcpy(reinterpret_cast<void*>(g_watch.field), &g_watch.later, g_watch.bytes);
  }
  g_watch.reading = false;
  if (g_watch.on && !g_watch.disturbed) Protect(PROT_NONE);
}

void Handle() {
  if (g_handled) return;
  g_handled = true;
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  action.sa_sigaction = OnStep;
  sigaction(SIGTRAP, &action, nullptr);
  action.sa_sigaction = OnFault;
  sigaction(SIGSEGV, &action, &g_old_fault);
}

}  // namespace

// watchReads(address, bytes, later) -> true: from now on the field of so many bytes says `later` once it was read.
// false: not here.
Napi::Value WatchReads(const Napi::CallbackInfo& info) {
  g_watch = Watch();
  g_watch.field = static_cast<uintptr_t>(Bits(info[0]));
  g_watch.page = g_watch.field & ~(PageSize() - 1);
  g_watch.bytes = static_cast<size_t>(Bits(info[1]));
  g_watch.later = Bits(info[2]);
  g_watch.thread = CurrentThread();
  Handle();
  g_watch.on = true;
  Protect(PROT_NONE);
  return Napi::Boolean::New(info.Env(), true);
}

// stopWatching() -> how often the field was read; -1 when another thread touched the page.
Napi::Value StopWatching(const Napi::CallbackInfo& info) {
  g_watch.on = false;
  Protect(PROT_READ | PROT_WRITE);
  return Napi::Number::New(info.Env(), g_watch.disturbed ? -1 : g_watch.reads);
}

#else

Napi::Value WatchReads(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), false);
}
Napi::Value StopWatching(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), 0);
}

#endif

}  // namespace lab
