// What the kernels for x86 share: registers of one lane, and the hint to fetch a line. Included as
// vector_copy_kernels.h is, before the wider registers.

inline void Prefetch(const uint8_t* address) {
  _mm_prefetch(reinterpret_cast<const char*>(address), _MM_HINT_T0);
}

struct SmallVector {
  using Type = __m128i;
  static constexpr int kBytes = 16;

  static inline Type Load(const uint8_t* address) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(address)); }
  static inline void Store(uint8_t* address, Type value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(address), value);
  }
  template <int kSize>
  static inline Type UnpackLow(Type a, Type b) {
    if constexpr (kSize == 1) return _mm_unpacklo_epi8(a, b);
    if constexpr (kSize == 2) return _mm_unpacklo_epi16(a, b);
    if constexpr (kSize == 4) return _mm_unpacklo_epi32(a, b);
    return _mm_unpacklo_epi64(a, b);
  }
  template <int kSize>
  static inline Type UnpackHigh(Type a, Type b) {
    if constexpr (kSize == 1) return _mm_unpackhi_epi8(a, b);
    if constexpr (kSize == 2) return _mm_unpackhi_epi16(a, b);
    if constexpr (kSize == 4) return _mm_unpackhi_epi32(a, b);
    return _mm_unpackhi_epi64(a, b);
  }
  static inline void TransposeLanes(Type*) {}
};
