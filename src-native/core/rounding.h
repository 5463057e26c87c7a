// How one number becomes another: the casts between integers and floating point that C++ leaves undefined or rounds too
// often.
#ifndef NODE_DLPACK_CORE_ROUNDING_H_
#define NODE_DLPACK_CORE_ROUNDING_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "checked_math.h"

namespace node_dlpack {

// To the nearest integer, ties to even, in the default rounding mode. From 2^52 on every double is an integer; below,
// adding 2^52 leaves no room for a fraction, and the addition itself rounds as wanted.
inline double RoundHalfToEven(double value) {
  constexpr double kNoFraction = 4503599627370496.0;
  const double magnitude = std::fabs(value);
  if (!(magnitude < kNoFraction)) return value;
  return std::copysign((magnitude + kNoFraction) - kNoFraction, value);
}

// Float to integer: ties to even, what is out of range becomes the nearest end of it, NaN becomes 0.
template <typename Integer>
inline Integer SaturateToInteger(double value) {
  // The lower end is a double exactly; the upper end plus one is too, and at 64 bits the upper end itself is not.
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<Integer>::min());
  constexpr double kAbove = static_cast<double>(uint64_t{1} << (std::numeric_limits<Integer>::digits - 1)) * 2.0;
  const double rounded = RoundHalfToEven(value);
  if (!(rounded >= kLeast)) return value != value ? Integer{0} : std::numeric_limits<Integer>::min();
  if (rounded >= kAbove) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(rounded);
}

// An integer as a double that a later rounding to at most 52 bits takes for the integer itself: where bits are lost,
// the lowest one kept says so
// ("round to odd"). Two ordinary roundings in a row could end on the wrong side of a tie.
template <typename Integer>
inline double ToDoubleForRounding(Integer value) {
  if constexpr (sizeof(Integer) < 8) {
    return static_cast<double>(value);
  } else {
    uint64_t magnitude = 0;
    bool negative = false;
    if constexpr (std::is_signed_v<Integer>) {
      magnitude = Magnitude(value);
      negative = value < 0;
    } else {
      magnitude = value;
    }
    if (magnitude >> 53 != 0) {
      int lost = 0;
      while (magnitude >> lost >> 53 != 0) ++lost;
      const bool inexact = (magnitude & ((uint64_t{1} << lost) - 1)) != 0;
      magnitude = (magnitude >> lost | (inexact ? 1 : 0)) << lost;
    }
    const auto result = static_cast<double>(magnitude);
    return negative ? -result : result;
  }
}

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_ROUNDING_H_
