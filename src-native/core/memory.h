// Every byte the core takes from the system passes through here, and nowhere else: an allocation that fails answers
// nullptr, which its caller turns into a Fault. Nothing throws, and a test can make any one of them fail.
#ifndef NODE_DLPACK_CORE_MEMORY_H_
#define NODE_DLPACK_CORE_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace node_dlpack {

// Alignment of plain allocations: enough for every type that the core keeps in them.
constexpr size_t kAllocationAlignment = alignof(max_align_t);

void* AllocateBytes(size_t bytes);        // contents undefined
void* AllocateZeroedBytes(size_t bytes);  // for larger sizes, where the system may know that memory is zero already
void FreeBytes(void* memory);             // nullptr is fine
// For large memory from AllocateBytes, before it is used: the system may back it with large pages.
void PreferLargePages(void* memory, size_t bytes);

// Whole pages of their own, zeroed by the system and not touched until they are used. bytes > 0; the same number at
// both ends of their life.
void* MapPages(size_t bytes);
void UnmapPages(void* pages, size_t bytes);
// False when the system refuses; the pages are then as before.
bool SetPagesReadOnly(void* pages, size_t bytes, bool read_only);

// For the tests of the core: these exist only where it is built with NODE_DLPACK_FAILURE_INJECTION, not in the addon.
// The next allocations succeed `after` times, then one fails, then they succeed again. Negative: never fail.
void FailAllocation(int64_t after);
bool AllocationFailed();    // did it happen since the last FailAllocation?
int64_t LiveAllocations();  // taken and not given back, of both kinds

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_MEMORY_H_
