// Floating-point formats of at most 16 bits: how each lays out its bits, and the way to a double and back. Widening is
// exact. Narrowing rounds the double once, to nearest, ties to even; what is too large becomes infinity where the
// format has one, else NaN, else the largest value. The formats are those of ml_dtypes (float16: of IEEE 754), down to
// which NaN comes out. Its casts differ in two corners where they do not round to the nearest value: from double they
// go through float32 and so round twice, and float8_e8m0fnu rounds up just above its least value.
#ifndef NODE_DLPACK_CORE_FLOAT_FORMAT_H_
#define NODE_DLPACK_CORE_FLOAT_FORMAT_H_

#include <cstdint>
#include <cstring>

#include "dtype.h"

namespace node_dlpack {

// What besides finite numbers the bits can say.
enum class FloatSpecials : uint8_t {
  kIeee,          // the highest exponent: infinity, and NaN for every other mantissa
  kNanOnly,       // "fn": no infinity; all bits but the sign set is NaN
  kUnsignedZero,  // "fnuz": no infinity, no negative zero; its bits are the one NaN
  kNone,          // "fn" below 8 bits: finite numbers alone
  kScale,         // "fnu": powers of two, neither sign nor zero; all bits set is NaN
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  FloatSpecials specials;

  constexpr bool has_sign() const { return specials != FloatSpecials::kScale; }
  constexpr int sign_shift() const { return exponent_bits + mantissa_bits; }
  constexpr uint32_t magnitude_mask() const { return (1U << sign_shift()) - 1; }
  constexpr uint32_t mantissa_mask() const { return (1U << mantissa_bits) - 1; }
  constexpr uint32_t infinity() const { return magnitude_mask() - mantissa_mask(); }  // kIeee
  constexpr uint32_t largest() const {
    if (specials == FloatSpecials::kIeee) return infinity() - 1;
    return specials == FloatSpecials::kNanOnly || specials == FloatSpecials::kScale ? magnitude_mask() - 1
                                                                                    : magnitude_mask();
  }
};

constexpr FloatFormat kFloat16Format{5, 10, 15, FloatSpecials::kIeee};
constexpr FloatFormat kBfloat16Format{8, 7, 127, FloatSpecials::kIeee};

// nullptr for dtypes that are not floats of at most 16 bits.
const FloatFormat* FormatOf(DType dtype);

inline double DoubleFromBits(uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint64_t BitsOfDouble(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// Inline, so that loops over one known format are compiled for it. bits: no higher ones than the format has.
inline double DecodeFloat(uint32_t bits, const FloatFormat& format) {
  constexpr uint64_t kDoubleInfinity = uint64_t{0x7ff} << 52;
  constexpr uint64_t kDoubleNan = uint64_t{0xfff} << 51;
  const int to_double = 52 - format.mantissa_bits;
  const uint32_t magnitude = bits & format.magnitude_mask();
  const uint64_t sign = format.has_sign() ? static_cast<uint64_t>(bits >> format.sign_shift()) << 63 : 0;
  const uint64_t mantissa = static_cast<uint64_t>(magnitude & format.mantissa_mask()) << to_double;
  switch (format.specials) {
    case FloatSpecials::kIeee:
      // The bits of a NaN keep their places: as many as there are.
      if (magnitude >= format.infinity()) return DoubleFromBits(sign | kDoubleInfinity | mantissa);
      break;
    case FloatSpecials::kNanOnly:
    case FloatSpecials::kScale:
      if (magnitude == format.magnitude_mask()) return DoubleFromBits(sign | kDoubleNan);
      break;
    case FloatSpecials::kUnsignedZero:
      if (magnitude == 0 && sign != 0) return DoubleFromBits(kDoubleNan);
      break;
    case FloatSpecials::kNone:
      break;
  }
  const auto exponent = static_cast<uint64_t>(magnitude >> format.mantissa_bits);
  const auto rebias = static_cast<uint64_t>(1023 - format.bias);
  if (exponent != 0 || !format.has_sign()) return DoubleFromBits(sign | (exponent + rebias) << 52 | mantissa);
  // Subnormal: mantissa units of 2^(1 - bias - mantissa_bits), a double of ordinary size in every format.
  const double unit = DoubleFromBits((rebias + 1 - static_cast<uint64_t>(format.mantissa_bits)) << 52);
  return DoubleFromBits(sign | BitsOfDouble(static_cast<double>(magnitude) * unit));
}

inline uint32_t EncodeFloat(double value, const FloatFormat& format) {
  const uint64_t whole = BitsOfDouble(value);
  const bool negative = whole >> 63 != 0;
  const uint64_t magnitude = whole & ~(uint64_t{1} << 63);
  const uint32_t sign = format.has_sign() && negative ? 1U << format.sign_shift() : 0;
  const bool nan = magnitude > uint64_t{0x7ff} << 52;
  switch (format.specials) {
    case FloatSpecials::kIeee:
      if (nan) {
        // Quiet. float16 keeps the payload's upper bits, as the processors' own conversions do; the others have one NaN
        // of each sign.
        const uint32_t payload = format.exponent_bits == 5 && format.mantissa_bits == 10
                                     ? static_cast<uint32_t>(magnitude >> 42) & format.mantissa_mask()
                                     : 0;
        return sign | format.infinity() | 1U << (format.mantissa_bits - 1) | payload;
      }
      break;
    case FloatSpecials::kNanOnly:
      if (nan) return sign | format.magnitude_mask();
      break;
    case FloatSpecials::kUnsignedZero:
      if (nan) return 1U << format.sign_shift();
      break;
    case FloatSpecials::kNone:
      if (nan) return negative ? 0 : 1U << format.sign_shift();  // a zero, as ml_dtypes has it
      break;
    case FloatSpecials::kScale:
      if (nan || negative || magnitude == 0) return format.magnitude_mask();
      break;
  }

  // value = significand * 2^(exponent - 52). Doubles that are subnormal themselves lie far below every format.
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  const uint64_t significand = (magnitude & ((uint64_t{1} << 52) - 1)) | (exponent == -1023 ? 0 : uint64_t{1} << 52);
  const int least = (format.has_sign() ? 1 : 0) - format.bias;  // the least exponent of a normal number
  const bool normal = exponent >= least;
  const int shift = 52 - format.mantissa_bits + (normal ? 0 : least - exponent);
  uint64_t rounded = 0;
  if (shift < 64) {
    const uint64_t half = uint64_t{1} << (shift - 1);
    rounded = (significand + half - 1 + (significand >> shift & 1)) >> shift;
  }
  if (!normal && !format.has_sign()) return 0;  // without a zero, the least power of two is the nearest
  uint64_t bits = rounded;
  if (normal) {
    // rounded has its leading one still, so the exponent starts one lower; a carry out of the mantissa arrives in the
    // exponent by itself.
    bits +=
        (static_cast<uint64_t>(exponent + format.bias) << format.mantissa_bits) - (uint64_t{1} << format.mantissa_bits);
  }
  if (bits > format.largest()) {
    switch (format.specials) {
      case FloatSpecials::kIeee:
        return sign | format.infinity();
      case FloatSpecials::kNone:
        return sign | format.largest();
      case FloatSpecials::kUnsignedZero:
        return 1U << format.sign_shift();
      default:
        return sign | format.magnitude_mask();
    }
  }
  if (bits == 0 && format.specials == FloatSpecials::kUnsignedZero) return 0;
  return sign | static_cast<uint32_t>(bits);
}

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_FLOAT_FORMAT_H_
