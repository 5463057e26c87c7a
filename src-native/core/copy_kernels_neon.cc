// The kernels for arm64: registers of 16 bytes, one lane. There is no store past the caches that would pay here: the
// processors notice by themselves when whole lines are overwritten.
#include "channel_tables.h"
#include "copy_kernels.h"

#if NODE_DLPACK_NEON_KERNELS

#include <arm_neon.h>

#include <cstring>

namespace node_dlpack {

namespace {

inline void Prefetch(const uint8_t* address) {
  __builtin_prefetch(address);
}

struct Vector {
  using Type = uint8x16_t;
  static constexpr int kBytes = 16;

  static inline Type Load(const uint8_t* address) { return vld1q_u8(address); }
  static inline void Store(uint8_t* address, Type value) { vst1q_u8(address, value); }
  static inline void Stream(uint8_t* address, Type value) { vst1q_u8(address, value); }
  static inline void Finish() {}
  template <int kChannels>
  static inline void LoadChannels(const uint8_t* address, Type* in) {
    NODE_DLPACK_UNROLL
    for (int i = 0; i < kChannels; ++i) in[i] = vld1q_u8(address + 16 * i);
  }
  static inline Type Table(const uint8_t* lane) { return vld1q_u8(lane); }
  static inline Type Shuffle(Type value, Type table) { return vqtbl1q_u8(value, table); }
  static inline Type Or(Type a, Type b) { return vorrq_u8(a, b); }
  template <int kSize>
  static inline Type UnpackLow(Type a, Type b) {
    if constexpr (kSize == 1) {
      return vzip1q_u8(a, b);
    } else if constexpr (kSize == 2) {
      return vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    } else if constexpr (kSize == 4) {
      return vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    } else {
      return vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
    }
  }
  template <int kSize>
  static inline Type UnpackHigh(Type a, Type b) {
    if constexpr (kSize == 1) {
      return vzip2q_u8(a, b);
    } else if constexpr (kSize == 2) {
      return vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    } else if constexpr (kSize == 4) {
      return vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    } else {
      return vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
    }
  }
  static inline void TransposeLanes(Type*) {}
  static inline Type ReverseLanes(Type value) { return value; }
  template <int kChannels>
  static inline void InterleaveLanes(Type*) {}
};

using SmallVector = Vector;

#include "vector_copy_kernels.h"
#include "vector_transpose_kernel.h"

}  // namespace

const CopyKernels kNeonCopyKernels = {
    InstructionSet::kNeon, Vector::kBytes, Copy, Fill, Reverse, Deinterleave, Interleave, Transpose, Finish,
};

}  // namespace node_dlpack

#endif
