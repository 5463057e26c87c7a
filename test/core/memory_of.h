// Memory of exactly the bytes that a layout spans, at a chosen distance from a cache line, filled with numbers that are
// the same for the same seed: the sanitizers see every byte read or written outside.
#ifndef NODE_DLPACK_TEST_CORE_MEMORY_OF_H_
#define NODE_DLPACK_TEST_CORE_MEMORY_OF_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "harness.h"
#include "layout.h"

namespace support {

class MemoryOf {
 public:
  MemoryOf(const node_dlpack::Layout& layout, node_dlpack::DType dtype, int64_t misalignment, uint64_t seed) {
    const node_dlpack::ByteSpan span = layout.byte_span(dtype);
    bytes_ = static_cast<size_t>(span.size());
    void* memory = nullptr;
    // Not a multiple of the alignment: the end is the end.
    if (posix_memalign(&memory, 64, static_cast<size_t>(misalignment) + bytes_ + (bytes_ == 0 ? 1 : 0)) != 0)
      std::abort();
    base_ = static_cast<uint8_t*>(memory);
    start_ = base_ + misalignment;
    lowest_ = span.lowest;
    harness::Random random(seed);
    size_t filled = 0;
    for (; filled + sizeof(uint64_t) <= bytes_; filled += sizeof(uint64_t)) {
      const uint64_t word = random.Next();
      std::memcpy(start_ + filled, &word, sizeof(word));
    }
    const uint64_t rest = random.Next();
    std::memcpy(start_ + filled, &rest, bytes_ - filled);
  }
  ~MemoryOf() { std::free(base_); }
  MemoryOf(const MemoryOf&) = delete;
  MemoryOf& operator=(const MemoryOf&) = delete;

  uint8_t* origin() const { return start_ - lowest_; }
  uint8_t* start() const { return start_; }
  size_t bytes() const { return bytes_; }
  bool SameAs(const MemoryOf& other) const {
    return bytes_ == other.bytes_ && (bytes_ == 0 || std::memcmp(start_, other.start_, bytes_) == 0);
  }

 private:
  uint8_t* base_ = nullptr;
  uint8_t* start_ = nullptr;
  size_t bytes_ = 0;
  int64_t lowest_ = 0;
};

}  // namespace support

#endif  // NODE_DLPACK_TEST_CORE_MEMORY_OF_H_
