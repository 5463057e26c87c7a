// The little of a C++ library that the addon calls, for binaries made by scripts/prebuilds.mjs: libc++'s headers are
// compiled with, its library is not linked. That would bring a demangler, an unwinder and locales of no use here (a
// third of the binary), operators that other addons would find in place of theirs, and it would be compiled anew for
// every target, which takes longer than the addon.
//
// What is declared in libc++'s headers is defined here as they say, so a change over there does not compile, or does
// not link: scripts/prebuild/check.mjs holds what a binary asks of the system against a list. There are no exceptions:
// what would throw ends the process.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <ctime>
#endif

// Another C++ library brings its own.
#if defined(_LIBCPP_VERSION)

// --- memory ----------------------------------------------------------------------------------------------------------

namespace {

void* Allocate(size_t bytes) {
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* AllocateOrEnd(size_t bytes) {
  void* memory = Allocate(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) {
  return AllocateOrEnd(bytes);
}
void* operator new[](size_t bytes) {
  return AllocateOrEnd(bytes);
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}

// --- what the compiler calls -----------------------------------------------------------------------------------------

extern "C" {

// Of a static in a function: its first byte says that it is made, which compiled code asks first; the second, that
// somebody makes it. Nobody fails to, without exceptions.
int __cxa_guard_acquire(std::atomic<uint8_t>* guard) {
  if (guard[1].exchange(1) == 0) return 1;
  while (guard[0].load(std::memory_order_acquire) == 0) std::this_thread::yield();
  return 0;
}

void __cxa_guard_release(std::atomic<uint8_t>* guard) {
  guard[0].store(1, std::memory_order_release);
}

[[noreturn]] void __cxa_pure_virtual() {
  std::abort();
}

}  // extern "C"

// --- what the headers declare ----------------------------------------------------------------------------------------

namespace std {
const nothrow_t nothrow{};

void terminate() noexcept {
  abort();
}
}  // namespace std

_LIBCPP_BEGIN_NAMESPACE_STD

void __libcpp_verbose_abort(const char*, ...) noexcept {
  abort();
}

void __throw_system_error(int, const char*) {
  abort();
}

#if !_LIBCPP_HAS_TRIVIAL_MUTEX_DESTRUCTION
mutex::~mutex() noexcept {
  __libcpp_mutex_destroy(&__m_);
}
#endif

void mutex::lock() {
  if (__libcpp_mutex_lock(&__m_) != 0) abort();
}

void mutex::unlock() noexcept {
  if (__libcpp_mutex_unlock(&__m_) != 0) abort();
}

namespace this_thread {
void sleep_for(const chrono::nanoseconds& duration) {
  if (duration > chrono::nanoseconds::zero()) __libcpp_thread_sleep_for(duration);
}
}  // namespace this_thread

namespace chrono {
steady_clock::time_point steady_clock::now() noexcept {
#if defined(_WIN32)
  LARGE_INTEGER frequency;
  LARGE_INTEGER count;
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&count);
  const int64_t second = frequency.QuadPart;
  const int64_t rest = count.QuadPart % second;
  return time_point(seconds(count.QuadPart / second) + nanoseconds(rest * 1000000000 / second));
#else
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return time_point(seconds(now.tv_sec) + nanoseconds(now.tv_nsec));
#endif
}

#if defined(_WIN32)
// For waits with an end, which libc++'s threads for Windows know and nobody here uses.
system_clock::time_point system_clock::now() noexcept {
  constexpr int64_t kUntil1970 = 116444736000000000;  // since 1601, in steps of 100 ns
  FILETIME time;
  GetSystemTimePreciseAsFileTime(&time);
  const int64_t since1601 = (static_cast<int64_t>(time.dwHighDateTime) << 32) | time.dwLowDateTime;
  return time_point(duration_cast<microseconds>(nanoseconds((since1601 - kUntil1970) * 100)));
}
#endif
}  // namespace chrono

_LIBCPP_END_NAMESPACE_STD

#endif  // _LIBCPP_VERSION
