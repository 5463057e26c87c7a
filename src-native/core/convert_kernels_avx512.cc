// Conversions with AVX-512, sixteen elements at a time. The target has a fused multiplication and addition, which would
// round once where two roundings are promised: the build forbids to make one of the two (-ffp-contract=off).
#include "convert_kernels.h"

#if NODE_DLPACK_X86_KERNELS

#include <immintrin.h>

#include <cstring>

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's own headers start results that are overwritten whole from variables that were never set.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

NODE_DLPACK_BEGIN_TARGET("avx2,f16c,avx512f,avx512bw,avx512dq,avx512vl")

namespace node_dlpack {

namespace {

struct Floats {
  using Type = __m512;
  static constexpr int64_t kWidth = 16;
  static inline Type Load(const uint8_t* at) { return _mm512_loadu_ps(at); }
  static inline void Store(uint8_t* at, Type value) { _mm512_storeu_ps(at, value); }
  static inline Type SetAll(float value) { return _mm512_set1_ps(value); }
  static inline Type Multiply(Type a, Type b) { return _mm512_mul_ps(a, b); }
  static inline Type Add(Type a, Type b) { return _mm512_add_ps(a, b); }
};

inline __m256i LoadHalf(const uint8_t* address) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(address));
}

inline __m128i LoadQuarter(const uint8_t* address) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(address));
}

inline void StoreHalf(uint8_t* address, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(address), value);
}

inline void StoreQuarter(uint8_t* address, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(address), value);
}

inline __m512 Clamp(__m512 value, float least, float most) {
  return _mm512_min_ps(_mm512_max_ps(value, _mm512_set1_ps(least)), _mm512_set1_ps(most));
}

struct Uint8 {
  static constexpr int64_t kBytes = 1;
  static inline __m512 Load(const uint8_t* at) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(LoadQuarter(at))); }
  static inline void Store(uint8_t* at, __m512 value) {
    // The maximum answers its second operand, zero, when the first is NaN.
    StoreQuarter(at, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(Clamp(value, 0.0F, 255.0F))));  // half to even
  }
};

struct Int8 {
  static constexpr int64_t kBytes = 1;
  static inline __m512 Load(const uint8_t* at) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(LoadQuarter(at))); }
  static inline void Store(uint8_t* at, __m512 value) {
    value = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(value, value, _CMP_ORD_Q), value);  // NaN becomes zero
    StoreQuarter(at, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(Clamp(value, -128.0F, 127.0F))));
  }
};

struct Float16 {
  static constexpr int64_t kBytes = 2;
  static inline __m512 Load(const uint8_t* at) { return _mm512_cvtph_ps(LoadHalf(at)); }
  static inline void Store(uint8_t* at, __m512 value) {
    StoreHalf(at, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
};

// The upper half of a float. The processors' own instruction for it takes subnormal numbers for zero.
struct Bfloat16 {
  static constexpr int64_t kBytes = 2;
  static inline __m512 Load(const uint8_t* at) {
    const __m512i bits = _mm512_slli_epi32(_mm512_cvtepu16_epi32(LoadHalf(at)), 16);
    const __m512 value = _mm512_castsi512_ps(bits);
    // A signalling NaN becomes a quiet one.
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_castsi512_ps(_mm512_mask_or_epi32(bits, nan, bits, _mm512_set1_epi32(0x00400000)));
  }
  static inline void Store(uint8_t* at, __m512 value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i sign = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MIN));
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i upper = _mm512_mask_or_epi32(rounded, nan, sign, _mm512_set1_epi32(0x7fc00000));
    StoreHalf(at, _mm512_cvtepi32_epi16(_mm512_srli_epi32(upper, 16)));
  }
};

#include "vector_convert_kernels.h"

}  // namespace

const ConvertKernels kAvx512ConvertKernels = {
    InstructionSet::kAvx512, Load<Uint8>,  Load<Int8>,  Load<Float16>,  Load<Bfloat16>,
    Load<Float32>,           Store<Uint8>, Store<Int8>, Store<Float16>, Store<Bfloat16>,
};

}  // namespace node_dlpack

NODE_DLPACK_END_TARGET

#endif
