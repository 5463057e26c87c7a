// The kernels for x86 processors with AVX-512: registers of 64 bytes, a whole cache line, four lanes.
#include "channel_tables.h"
#include "copy_kernels.h"

#if NODE_DLPACK_X86_KERNELS

#include <immintrin.h>

#include <cstring>

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own headers start results that are overwritten whole from variables that were never set.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

NODE_DLPACK_BEGIN_TARGET("avx2,avx512f,avx512bw,avx512dq,avx512vl")

namespace node_dlpack {

namespace {

#include "vector_x86.h"

struct Vector {
  using Type = __m512i;
  static constexpr int kBytes = 64;

  static inline Type Load(const uint8_t* address) { return _mm512_loadu_si512(address); }
  static inline void Store(uint8_t* address, Type value) { _mm512_storeu_si512(address, value); }
  static inline void Stream(uint8_t* address, Type value) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(address), value);
  }
  static inline void Finish() { _mm_sfence(); }
  // Loads of whole registers, whose lanes are then sorted: to insert lanes one by one is slower here. Of three channels
  // the lanes of one result all lie in different places, so that to sort them is to blend, and to turn what came out.
  template <int kChannels>
  static inline void LoadChannels(const uint8_t* address, Type* in) {
    NODE_DLPACK_UNROLL
    for (int i = 0; i < kChannels; ++i) in[i] = Load(address + i * kBytes);
    if constexpr (kChannels == 4) {
      TransposeLanes(in);
    } else if constexpr (kChannels == 2) {
      const Type first = _mm512_shuffle_i64x2(in[0], in[1], 0x88);
      in[1] = _mm512_shuffle_i64x2(in[0], in[1], 0xdd);
      in[0] = first;
    } else {
      BlendThree(in[0], in[2], in[1], in);
      const Type second = in[2];
      in[2] = in[1];
      in[1] = second;
      TurnThree(in);
    }
  }
  static inline Type Table(const uint8_t* lane) { return _mm512_broadcast_i32x4(SmallVector::Load(lane)); }
  static inline Type Shuffle(Type value, Type table) { return _mm512_shuffle_epi8(value, table); }
  static inline Type Or(Type a, Type b) { return _mm512_or_si512(a, b); }
  template <int kSize>
  static inline Type UnpackLow(Type a, Type b) {
    if constexpr (kSize == 1) return _mm512_unpacklo_epi8(a, b);
    if constexpr (kSize == 2) return _mm512_unpacklo_epi16(a, b);
    if constexpr (kSize == 4) return _mm512_unpacklo_epi32(a, b);
    return _mm512_unpacklo_epi64(a, b);
  }
  template <int kSize>
  static inline Type UnpackHigh(Type a, Type b) {
    if constexpr (kSize == 1) return _mm512_unpackhi_epi8(a, b);
    if constexpr (kSize == 2) return _mm512_unpackhi_epi16(a, b);
    if constexpr (kSize == 4) return _mm512_unpackhi_epi32(a, b);
    return _mm512_unpackhi_epi64(a, b);
  }
  static inline void TransposeLanes(Type* rows) {
    const Type even_low = _mm512_shuffle_i64x2(rows[0], rows[1], 0x88);
    const Type odd_low = _mm512_shuffle_i64x2(rows[0], rows[1], 0xdd);
    const Type even_high = _mm512_shuffle_i64x2(rows[2], rows[3], 0x88);
    const Type odd_high = _mm512_shuffle_i64x2(rows[2], rows[3], 0xdd);
    rows[0] = _mm512_shuffle_i64x2(even_low, even_high, 0x88);
    rows[1] = _mm512_shuffle_i64x2(odd_low, odd_high, 0x88);
    rows[2] = _mm512_shuffle_i64x2(even_low, even_high, 0xdd);
    rows[3] = _mm512_shuffle_i64x2(odd_low, odd_high, 0xdd);
  }
  // Lanes in place, from a, b and c in turn: a b c a, b c a b, c a b c.
  static inline void BlendThree(Type a, Type b, Type c, Type* out) {
    out[0] = _mm512_mask_blend_epi64(0x30, _mm512_mask_blend_epi64(0x0c, a, b), c);
    out[1] = _mm512_mask_blend_epi64(0x30, _mm512_mask_blend_epi64(0x0c, b, c), a);
    out[2] = _mm512_mask_blend_epi64(0x30, _mm512_mask_blend_epi64(0x0c, c, a), b);
  }
  // Swaps two lanes of each, which is its own way back.
  static inline void TurnThree(Type* v) {
    v[0] = _mm512_shuffle_i64x2(v[0], v[0], 0x6c);
    v[1] = _mm512_shuffle_i64x2(v[1], v[1], 0xb1);
    v[2] = _mm512_shuffle_i64x2(v[2], v[2], 0xc6);
  }
  static inline Type ReverseLanes(Type value) { return _mm512_shuffle_i64x2(value, value, 0x1b); }
  template <int kChannels>
  static inline void InterleaveLanes(Type* v) {
    if constexpr (kChannels == 4) {
      TransposeLanes(v);
    } else if constexpr (kChannels == 2) {
      // In units of half a lane: 0 to 7 from the first register, 8 to 15 from the second.
      const Type first = _mm512_permutex2var_epi64(v[0], _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), v[1]);
      v[1] = _mm512_permutex2var_epi64(v[0], _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), v[1]);
      v[0] = first;
    } else {  // LoadChannels, backwards
      TurnThree(v);
      BlendThree(v[0], v[1], v[2], v);
    }
  }
};

#include "vector_copy_kernels.h"
#include "vector_transpose_kernel.h"

// Rows that reach a boundary at different pixels are written one at a time. To sort four lanes for a single row costs
// more than it saves: registers of two lanes, loaded lane by lane, take two thirds of the time.
void DeinterleaveNarrowly(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t itemsize, int64_t pixels,
                          int channels, int kept, bool stream) {
  const bool shifted = stream && kept > 1 && target_step % Vector::kBytes != 0;
  const auto deinterleave = shifted ? kAvx2CopyKernels.deinterleave : Deinterleave;
  deinterleave(target, target_step, source, itemsize, pixels, channels, kept, stream);
}

}  // namespace

const CopyKernels kAvx512CopyKernels = {
    InstructionSet::kAvx512, Vector::kBytes, Copy, Fill, Reverse, DeinterleaveNarrowly, Interleave, Transpose, Finish,
};

}  // namespace node_dlpack

NODE_DLPACK_END_TARGET

#endif
