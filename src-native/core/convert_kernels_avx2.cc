// Conversions with AVX2 and F16C, eight elements at a time. The target has no fused multiplication and addition, which
// would round once where two roundings are promised.
#include "convert_kernels.h"

#if NODE_DLPACK_X86_KERNELS

#include <immintrin.h>

#include <cstring>

NODE_DLPACK_BEGIN_TARGET("avx2,f16c")

namespace node_dlpack {

namespace {

struct Floats {
  using Type = __m256;
  static constexpr int64_t kWidth = 8;
  static inline Type Load(const uint8_t* at) { return _mm256_loadu_ps(reinterpret_cast<const float*>(at)); }
  static inline void Store(uint8_t* at, Type value) { _mm256_storeu_ps(reinterpret_cast<float*>(at), value); }
  static inline Type SetAll(float value) { return _mm256_set1_ps(value); }
  static inline Type Multiply(Type a, Type b) { return _mm256_mul_ps(a, b); }
  static inline Type Add(Type a, Type b) { return _mm256_add_ps(a, b); }
};

inline __m128i LoadHalf(const uint8_t* address) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(address));
}

inline __m128i LoadQuarter(const uint8_t* address) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(address));
}

inline void StoreHalf(uint8_t* address, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(address), value);
}

struct Uint8 {
  static constexpr int64_t kBytes = 1;
  static inline __m256 Load(const uint8_t* at) { return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(LoadQuarter(at))); }
  static inline void Store(uint8_t* at, __m256 value) {
    // The maximum answers its second operand, zero, when the first is NaN.
    value = _mm256_min_ps(_mm256_max_ps(value, _mm256_setzero_ps()), _mm256_set1_ps(255.0F));
    const __m256i whole = _mm256_cvtps_epi32(value);  // half to even
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm_packus_epi16(words, words));
  }
};

struct Int8 {
  static constexpr int64_t kBytes = 1;
  static inline __m256 Load(const uint8_t* at) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(LoadQuarter(at))); }
  static inline void Store(uint8_t* at, __m256 value) {
    value = _mm256_and_ps(value, _mm256_cmp_ps(value, value, _CMP_ORD_Q));  // NaN becomes zero
    value = _mm256_min_ps(_mm256_max_ps(value, _mm256_set1_ps(-128.0F)), _mm256_set1_ps(127.0F));
    const __m256i whole = _mm256_cvtps_epi32(value);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm_packs_epi16(words, words));
  }
};

struct Float16 {
  static constexpr int64_t kBytes = 2;
  static inline __m256 Load(const uint8_t* at) { return _mm256_cvtph_ps(LoadHalf(at)); }
  static inline void Store(uint8_t* at, __m256 value) {
    StoreHalf(at, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
};

// The upper half of a float. The processors' own instruction for it takes subnormal numbers for zero.
struct Bfloat16 {
  static constexpr int64_t kBytes = 2;
  static inline __m256 Load(const uint8_t* at) {
    const __m256 value = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(LoadHalf(at)), 16));
    // A signalling NaN becomes a quiet one.
    const __m256 nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    const __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x00400000));
    return _mm256_or_ps(value, _mm256_and_ps(nan, quiet));
  }
  static inline void Store(uint8_t* at, __m256 value) {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i sign = _mm256_and_si256(bits, _mm256_set1_epi32(INT32_MIN));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i one_nan = _mm256_or_si256(sign, _mm256_set1_epi32(0x7fc00000));
    const __m256i upper = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, one_nan, nan), 16);
    StoreHalf(at, _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1)));
  }
};

#include "vector_convert_kernels.h"

}  // namespace

const ConvertKernels kAvx2ConvertKernels = {
    InstructionSet::kAvx2, Load<Uint8>,  Load<Int8>,  Load<Float16>,  Load<Bfloat16>,
    Load<Float32>,         Store<Uint8>, Store<Int8>, Store<Float16>, Store<Bfloat16>,
};

}  // namespace node_dlpack

NODE_DLPACK_END_TARGET

#endif
