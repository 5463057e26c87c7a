#include "memory.h"

#include <cstdlib>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "planted_fault.h"

#ifdef NODE_DLPACK_FAILURE_INJECTION
#include <atomic>
#endif

namespace node_dlpack {

namespace {

#ifdef NODE_DLPACK_FAILURE_INJECTION
std::atomic<int64_t> g_allocations_before_failure{-1};
std::atomic<bool> g_allocation_failed{false};
std::atomic<int64_t> g_live_allocations{0};

bool MustFail() {
  if (g_allocations_before_failure.load(std::memory_order_relaxed) < 0) return false;
  if (g_allocations_before_failure.fetch_sub(1, std::memory_order_relaxed) != 0) return false;
  g_allocation_failed.store(true, std::memory_order_relaxed);
  return true;
}

void* Counted(void* memory) {
  if (memory != nullptr) g_live_allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void CountFreed() {
  g_live_allocations.fetch_sub(1, std::memory_order_relaxed);
}
#else
constexpr bool MustFail() {
  return false;
}
void* Counted(void* memory) {
  return memory;
}
void CountFreed() {}
#endif

#ifndef _WIN32
#ifdef MADV_HUGEPAGE
// The first touch of a page is an interrupt, and for 4 KiB pages these cost several times what filling them costs. So
// large memory asks for pages of 2 MiB, and begins on a multiple of it, without which its ends would get none. From
// kRoundFrom on its length is a multiple too: the last page is then a large one as well, at no more than an eighth of
// memory unused.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = size_t{4} << 20;
constexpr size_t kRoundFrom = size_t{16} << 20;
#endif

// 0 when the sum does not fit.
size_t WholePages(size_t bytes) {
#ifdef MADV_HUGEPAGE
  const size_t page = bytes >= kRoundFrom ? kHugePage : static_cast<size_t>(sysconf(_SC_PAGESIZE));
#else
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
#endif
  return bytes > SIZE_MAX - page ? 0 : (bytes + page - 1) / page * page;
}

void* MapAnonymous(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

#ifdef MADV_HUGEPAGE
// Maps more than is asked for, and gives back what lies before and behind. A system that refuses large pages, or that
// has none at the moment, uses small ones.
void* MapHugePages(size_t bytes) {
  if (bytes > SIZE_MAX - kHugePage) return nullptr;
  auto* mapped = static_cast<uint8_t*>(MapAnonymous(bytes + kHugePage));
  if (mapped == nullptr) return nullptr;
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(mapped) % kHugePage) % kHugePage;
  uint8_t* pages = mapped + before;
  if (before > 0) munmap(mapped, before);
  munmap(pages + bytes, kHugePage - before);
  madvise(pages, bytes, MADV_HUGEPAGE);
  return pages;
}
#endif
#endif

}  // namespace

void* AllocateBytes(size_t bytes) {
  if (MustFail()) return nullptr;
  void* memory = Counted(std::malloc(bytes));
  planted::OnAllocate(memory, bytes);
  return memory;
}

void* AllocateZeroedBytes(size_t bytes) {
  if (MustFail()) return nullptr;
  return Counted(std::calloc(1, bytes));
}

void FreeBytes(void* memory) {
  if (memory == nullptr) return;
  CountFreed();
  planted::Free(memory);
}

void PreferLargePages(void* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  // Whole large pages only; what the allocator keeps around them is not ours to advise on.
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (address + bytes) / kHugePage * kHugePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  static_cast<void>(memory);
  static_cast<void>(bytes);
#endif
}

#ifdef _WIN32

void* MapPages(size_t bytes) {
  if (MustFail()) return nullptr;
  return Counted(VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

void UnmapPages(void* pages, size_t) {
  CountFreed();
  VirtualFree(pages, 0, MEM_RELEASE);
}

bool SetPagesReadOnly(void* pages, size_t bytes, bool read_only) {
  DWORD before = 0;
  return VirtualProtect(pages, bytes, read_only ? PAGE_READONLY : PAGE_READWRITE, &before) != 0;
}

#else

void* MapPages(size_t bytes) {
  const size_t whole = WholePages(bytes);
  if (whole == 0 || MustFail()) return nullptr;
#ifdef MADV_HUGEPAGE
  if (whole >= kHugeFrom) return Counted(MapHugePages(whole));
#endif
  return Counted(MapAnonymous(whole));
}

void UnmapPages(void* pages, size_t bytes) {
  CountFreed();
  munmap(pages, WholePages(bytes));
}

bool SetPagesReadOnly(void* pages, size_t bytes, bool read_only) {
  return mprotect(pages, WholePages(bytes), read_only ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
}

#endif

#ifdef NODE_DLPACK_FAILURE_INJECTION
void FailAllocation(int64_t after) {
  g_allocation_failed.store(false, std::memory_order_relaxed);
  g_allocations_before_failure.store(after, std::memory_order_relaxed);
}

bool AllocationFailed() {
  return g_allocation_failed.load(std::memory_order_relaxed);
}

int64_t LiveAllocations() {
  return g_live_allocations.load(std::memory_order_relaxed);
}
#endif

}  // namespace node_dlpack
