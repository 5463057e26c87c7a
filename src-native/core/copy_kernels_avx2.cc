// The kernels for x86 processors with AVX2: registers of 32 bytes, two lanes.
#include "channel_tables.h"
#include "copy_kernels.h"

#if NODE_DLPACK_X86_KERNELS

#include <immintrin.h>

#include <cstring>

NODE_DLPACK_BEGIN_TARGET("avx2")

namespace node_dlpack {

namespace {

#include "vector_x86.h"

struct Vector {
  using Type = __m256i;
  static constexpr int kBytes = 32;

  static inline Type Load(const uint8_t* address) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(address));
  }
  static inline void Store(uint8_t* address, Type value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(address), value);
  }
  static inline void Stream(uint8_t* address, Type value) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(address), value);
  }
  static inline void Finish() { _mm_sfence(); }
  template <int kChannels>
  static inline void LoadChannels(const uint8_t* address, Type* in) {
    NODE_DLPACK_UNROLL
    for (int i = 0; i < kChannels; ++i) {
      const __m256i low = _mm256_castsi128_si256(SmallVector::Load(address + 16 * i));
      in[i] = _mm256_inserti128_si256(low, SmallVector::Load(address + 16 * (i + kChannels)), 1);
    }
  }
  static inline Type Table(const uint8_t* lane) { return _mm256_broadcastsi128_si256(SmallVector::Load(lane)); }
  static inline Type Shuffle(Type value, Type table) { return _mm256_shuffle_epi8(value, table); }
  static inline Type Or(Type a, Type b) { return _mm256_or_si256(a, b); }
  template <int kSize>
  static inline Type UnpackLow(Type a, Type b) {
    if constexpr (kSize == 1) return _mm256_unpacklo_epi8(a, b);
    if constexpr (kSize == 2) return _mm256_unpacklo_epi16(a, b);
    if constexpr (kSize == 4) return _mm256_unpacklo_epi32(a, b);
    return _mm256_unpacklo_epi64(a, b);
  }
  template <int kSize>
  static inline Type UnpackHigh(Type a, Type b) {
    if constexpr (kSize == 1) return _mm256_unpackhi_epi8(a, b);
    if constexpr (kSize == 2) return _mm256_unpackhi_epi16(a, b);
    if constexpr (kSize == 4) return _mm256_unpackhi_epi32(a, b);
    return _mm256_unpackhi_epi64(a, b);
  }
  static inline void TransposeLanes(Type* rows) {
    const Type low = _mm256_permute2x128_si256(rows[0], rows[1], 0x20);
    rows[1] = _mm256_permute2x128_si256(rows[0], rows[1], 0x31);
    rows[0] = low;
  }
  static inline Type ReverseLanes(Type value) { return _mm256_permute4x64_epi64(value, 0x4e); }
  template <int kChannels>
  static inline void InterleaveLanes(Type* v) {
    const Type first = _mm256_permute2x128_si256(v[0], v[1], 0x20);
    const Type last = _mm256_permute2x128_si256(v[kChannels - 2], v[kChannels - 1], 0x31);
    if constexpr (kChannels == 3) v[1] = _mm256_permute2x128_si256(v[2], v[0], 0x30);
    if constexpr (kChannels == 4) {
      const Type third = _mm256_permute2x128_si256(v[0], v[1], 0x31);
      v[1] = _mm256_permute2x128_si256(v[2], v[3], 0x20);
      v[2] = third;
    }
    v[0] = first;
    v[kChannels - 1] = last;
  }
};

#include "vector_copy_kernels.h"
#include "vector_transpose_kernel.h"

}  // namespace

const CopyKernels kAvx2CopyKernels = {
    InstructionSet::kAvx2, Vector::kBytes, Copy, Fill, Reverse, Deinterleave, Interleave, Transpose, Finish,
};

}  // namespace node_dlpack

NODE_DLPACK_END_TARGET

#endif
