// Faults on purpose, one for each kind that the sanitizers and valgrind are there to find: a net that has never caught
// anything may have a hole. They sit where all memory passes, so whatever test runs meets them. Compiled only with
// NODE_DLPACK_PLANTED_FAULTS, which the instrumented builds of the tests set and no other; even there nothing happens
// unless the environment names a fault.
#ifndef NODE_DLPACK_CORE_PLANTED_FAULT_H_
#define NODE_DLPACK_CORE_PLANTED_FAULT_H_

#include <cstddef>
#include <cstdlib>

#ifdef NODE_DLPACK_PLANTED_FAULTS
#include <cstdint>
#include <cstring>
#endif

namespace node_dlpack::planted {

#ifdef NODE_DLPACK_PLANTED_FAULTS

inline bool Is(const char* fault) {
  static const char* const kChosen = std::getenv("NODE_DLPACK_PLANTED_FAULT");
  return kChosen != nullptr && std::strcmp(kChosen, fault) == 0;
}

// Visible everywhere, so that the compiler leaves the additions to it alone.
inline int64_t g_unguarded = 0;

// Memory that was just taken, of `bytes` bytes with undefined contents.
inline void OnAllocate(void* memory, size_t bytes) {
  auto* first = static_cast<volatile uint8_t*>(memory);
  if (memory == nullptr || bytes == 0) return;
  if (Is("out_of_bounds")) first[bytes] = 1;
  if (Is("overflow")) {
    volatile int32_t most = INT32_MAX;
    most = most + static_cast<int32_t>(bytes);
  }
  if (Is("uninitialised") && first[bytes / 2] == 77) first[bytes / 2] = 78;
  if (Is("race")) g_unguarded += static_cast<int64_t>(bytes);
}

// Gives memory back, or not, or twice. The pointer is volatile so that the compiler does not find the fault first.
inline void Free(void* memory) {
  void* volatile kept = memory;
  if (Is("leak")) return;
  std::free(kept);
  if (Is("use_after_free")) *static_cast<volatile uint8_t*>(kept) = 1;
  if (Is("double_delete")) std::free(kept);
}

#else

inline void OnAllocate(void*, size_t) {}
inline void Free(void* memory) {
  std::free(memory);
}

#endif

}  // namespace node_dlpack::planted

#endif  // NODE_DLPACK_CORE_PLANTED_FAULT_H_
