// Elements of less than a byte, packed little-endian by bit: the first element in the lowest bits of the first byte. An
// element of 6 bits may lie in two bytes. offset: bits from address to the element, negative ones too.
#ifndef NODE_DLPACK_CORE_BITS_H_
#define NODE_DLPACK_CORE_BITS_H_

#include <cstdint>

#include "checked_math.h"

namespace node_dlpack {

// width: 1 to 8. Touches only the bytes that hold the element.
inline uint32_t LoadBits(const uint8_t* address, int64_t offset, uint32_t width) {
  const uint8_t* byte = address + BytesBelow(offset);
  const auto shift = static_cast<uint32_t>(offset & 7);
  uint32_t word = byte[0];
  if (shift + width > 8) word |= static_cast<uint32_t>(byte[1]) << 8;
  return word >> shift & ((1U << width) - 1);
}

// Leaves the neighbours' bits as they are.
inline void StoreBits(uint8_t* address, int64_t offset, uint32_t width, uint32_t bits) {
  uint8_t* byte = address + BytesBelow(offset);
  const auto shift = static_cast<uint32_t>(offset & 7);
  const uint32_t mask = ((1U << width) - 1) << shift;
  const uint32_t word = bits << shift & mask;
  byte[0] = static_cast<uint8_t>((byte[0] & ~mask) | word);
  if (shift + width > 8) byte[1] = static_cast<uint8_t>((byte[1] & ~(mask >> 8)) | word >> 8);
}

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_BITS_H_
