// Integer arithmetic that says when a result does not fit, for every size and offset that comes from outside. Signed
// overflow is undefined behaviour in C++, so a wrap cannot be found afterwards: it has to be asked for before.
#ifndef NODE_DLPACK_CORE_CHECKED_MATH_H_
#define NODE_DLPACK_CORE_CHECKED_MATH_H_

#include <cstdint>
#include <limits>

namespace node_dlpack {

// True and *out when the result fits; false, with *out untouched, when it does not.
inline bool CheckedAdd(int64_t a, int64_t b, int64_t* out) {
#if defined(__GNUC__) || defined(__clang__)
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return false;
  *out = result;
#else
  if (b > 0 ? a > (std::numeric_limits<int64_t>::max)() - b : a < (std::numeric_limits<int64_t>::min)() - b)
    return false;
  *out = a + b;
#endif
  return true;
}

inline bool CheckedSubtract(int64_t a, int64_t b, int64_t* out) {
#if defined(__GNUC__) || defined(__clang__)
  int64_t result = 0;
  if (__builtin_sub_overflow(a, b, &result)) return false;
  *out = result;
#else
  if (b < 0 ? a > (std::numeric_limits<int64_t>::max)() + b : a < (std::numeric_limits<int64_t>::min)() + b)
    return false;
  *out = a - b;
#endif
  return true;
}

// |value|, INT64_MIN included.
inline uint64_t Magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

inline bool CheckedMultiply(int64_t a, int64_t b, int64_t* out) {
#if defined(__GNUC__) || defined(__clang__)
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return false;
  *out = result;
#else
  const bool negative = (a < 0) != (b < 0);
  const uint64_t limit = static_cast<uint64_t>((std::numeric_limits<int64_t>::max)()) + (negative ? 1 : 0);
  const uint64_t x = Magnitude(a);
  const uint64_t y = Magnitude(b);
  if (y != 0 && x > limit / y) return false;
  const uint64_t product = x * y;
  *out = static_cast<int64_t>(negative ? uint64_t{0} - product : product);
#endif
  return true;
}

// Bits to whole bytes, towards lower and higher addresses.
inline int64_t BytesBelow(int64_t bits) {
  return bits / 8 - (bits % 8 < 0 ? 1 : 0);
}
inline int64_t BytesAbove(int64_t bits) {
  return bits / 8 + (bits % 8 > 0 ? 1 : 0);
}

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_CHECKED_MATH_H_
