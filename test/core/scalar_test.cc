#include "scalar.h"

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>

#include "bits.h"
#include "float_format.h"
#include "harness.h"
#include "rounding.h"
#include "support.h"

using namespace node_dlpack;
using support::TypeOf;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Scalar FromDouble(double value) {
  Scalar scalar;
  scalar.f = value;
  return scalar;
}

Scalar FromInt(int64_t value) {
  Scalar scalar;
  scalar.kind = Scalar::Kind::kInt;
  scalar.i = value;
  return scalar;
}

Scalar FromUInt(uint64_t value) {
  Scalar scalar;
  scalar.kind = Scalar::Kind::kUInt;
  scalar.u = value;
  return scalar;
}

template <typename T>
T StoredAs(DType dtype, const Scalar& value) {
  T stored;
  StoreScalar(reinterpret_cast<uint8_t*>(&stored), 0, dtype, value);
  return stored;
}

// Calls visit(dtype) for each float of at most 16 bits.
template <typename Visit>
void ForEachSmallFloat(Visit visit) {
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType dtype = support::DTypeAt(i);
    if (FormatOf(dtype) != nullptr && !dtype.padded()) visit(dtype);
  }
  visit(TypeOf(kDLFloat6_e3m2fn, 6));  // the table above has it padded only
}

class Hash {
 public:
  void Add(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) value_ = (value_ ^ (number >> shift & 0xff)) * 0x100000001b3U;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325U;
};

struct Encoding {
  DLDataTypeCode code;
  uint8_t bits;
  uint64_t number;
  uint32_t expected;
};

struct Digest {
  DLDataTypeCode code;
  uint8_t bits;
  uint64_t hash;
};

#define DECODED(code, bits, hash) {code, bits, hash},
#define ENCODED(code, bits, hash)
#define SPOT(code, bits, number, expected)
constexpr Digest kDecoded[] = {
#include "float_vectors.inc"
};
#undef DECODED
#undef ENCODED
#undef SPOT
#define DECODED(code, bits, hash)
#define ENCODED(code, bits, hash) {code, bits, hash},
#define SPOT(code, bits, number, expected)
constexpr Digest kEncoded[] = {
#include "float_vectors.inc"
};
#undef DECODED
#undef ENCODED
#undef SPOT
#define DECODED(code, bits, hash)
#define ENCODED(code, bits, hash)
#define SPOT(code, bits, number, expected) {code, bits, number, expected},
constexpr Encoding kSpots[] = {
#include "float_vectors.inc"
};
#undef DECODED
#undef ENCODED
#undef SPOT

}  // namespace

TEST("every bit pattern of every small float is the number that ml_dtypes and NumPy say") {
  for (const Digest& row : kDecoded) {
    const DType dtype = TypeOf(static_cast<uint8_t>(row.code), row.bits);
    Hash hash;
    for (uint32_t bits = 0; bits < 1U << row.bits; ++bits) {
      const double value = FloatFromBits(bits, dtype);
      hash.Add(std::isnan(value) ? uint64_t{0x7ff8} << 48 : BitsOfDouble(value));
    }
    CHECK_EQUAL(hash.value(), row.hash);
  }
}

TEST("20,000 random numbers become the bits that ml_dtypes and NumPy make of them, in every small float") {
  for (const Digest& row : kEncoded) {
    const DType dtype = TypeOf(static_cast<uint8_t>(row.code), row.bits);
    harness::Random random(31);
    Hash hash;
    for (int i = 0; i < 20000; ++i) {
      const uint64_t word = random.Next();
      const auto exponent = static_cast<uint32_t>((word >> 8) % 41 + 127 - 20);
      const uint32_t pattern = i % 2 == 0 ? static_cast<uint32_t>(word >> 32)
                                          : static_cast<uint32_t>(word >> 63) << 31 | exponent << 23 |
                                                (static_cast<uint32_t>(word >> 32) & 0x7fffff);
      float value = 0;
      std::memcpy(&value, &pattern, sizeof(value));
      if (std::isnan(value)) continue;
      // Where ml_dtypes does not round to the nearest; see float_format.h.
      const double magnitude = std::fabs(static_cast<double>(value));
      if (row.code == kDLFloat8_e8m0fnu && magnitude > std::ldexp(1, -127) && magnitude < std::ldexp(1, -126)) continue;
      hash.Add(FloatToBits(value, dtype));
    }
    CHECK_EQUAL(hash.value(), row.hash);
  }
}

TEST("zeros, infinities, NaN, ties and both ends of the range become what ml_dtypes and NumPy make of them") {
  for (const Encoding& row : kSpots) {
    const DType dtype = TypeOf(static_cast<uint8_t>(row.code), row.bits);
    CHECK_EQUAL(FloatToBits(DoubleFromBits(row.number), dtype), row.expected);
  }
}

TEST("every finite value and infinity of a small float comes back as the bits it was; NaN comes back as NaN") {
  ForEachSmallFloat([](DType dtype) {
    for (uint32_t bits = 0; bits < 1U << dtype.bits(); ++bits) {
      const double value = FloatFromBits(bits, dtype);
      if (std::isnan(value)) {
        const double back = FloatFromBits(FloatToBits(value, dtype), dtype);
        CHECK(std::isnan(back));
        CHECK_EQUAL(std::signbit(back), std::signbit(value));
      } else {
        CHECK_EQUAL(FloatToBits(value, dtype), bits);
      }
    }
  });
}

TEST("float16 keeps the payload of a NaN and makes it quiet") {
  const DType dtype = TypeOf(kDLFloat, 16);
  for (uint32_t payload = 1; payload < 0x400; ++payload) {
    CHECK_EQUAL(FloatToBits(FloatFromBits(0x7c00 | payload, dtype), dtype), 0x7e00 | payload);
  }
}

TEST("a double becomes the nearest value, the even one at a tie, in one rounding") {
  ForEachSmallFloat([](DType dtype) {
    const FloatFormat& format = *FormatOf(dtype);
    // Between each value and the next: the middle, and the doubles beside it. Magnitudes rise with their bits.
    for (uint32_t bits = 0; bits < format.largest(); ++bits) {
      const double lower = FloatFromBits(bits, dtype);
      const double upper = FloatFromBits(bits + 1, dtype);
      const double middle = lower + (upper - lower) / 2;
      // A mantissa of no bits is the leading one alone, which is odd: ties go up.
      const bool to_upper = format.mantissa_bits == 0 || bits % 2 == 1;
      CHECK_EQUAL(FloatToBits(middle, dtype), to_upper ? bits + 1 : bits);
      CHECK_EQUAL(FloatToBits(std::nextafter(middle, 0), dtype), bits);
      CHECK_EQUAL(FloatToBits(std::nextafter(middle, kInfinity), dtype), bits + 1);
      if (format.has_sign() && bits > 0) {
        const uint32_t sign = 1U << format.sign_shift();
        CHECK_EQUAL(FloatToBits(std::nextafter(-middle, 0), dtype), sign | bits);
        CHECK_EQUAL(FloatToBits(std::nextafter(-middle, -kInfinity), dtype), sign | (bits + 1));
      }
    }
  });
}

TEST("what is beyond the largest value becomes infinity where there is one, else NaN, else the largest value") {
  for (double sign : {1.0, -1.0}) {
    for (double beyond : {1e39, 1e300, kInfinity}) {
      CHECK_EQUAL(FloatFromBits(FloatToBits(sign * beyond, TypeOf(kDLFloat8_e5m2, 8)), TypeOf(kDLFloat8_e5m2, 8)),
                  sign * kInfinity);
      for (DLDataTypeCode code : {kDLFloat8_e4m3fn, kDLFloat8_e4m3fnuz, kDLFloat8_e5m2fnuz, kDLFloat8_e4m3b11fnuz}) {
        const DType dtype = TypeOf(static_cast<uint8_t>(code), 8);
        CHECK(std::isnan(FloatFromBits(FloatToBits(sign * beyond, dtype), dtype)));
      }
      const DType fp4 = TypeOf(kDLFloat4_e2m1fn, 4);
      CHECK_EQUAL(FloatFromBits(FloatToBits(sign * beyond, fp4), fp4), sign * 6.0);
    }
  }
}

TEST("what is too small becomes a zero of its sign, where the format has one") {
  for (double value : {1e-300, 5e-324, -1e-300, -5e-324}) {
    const DType e5m2 = TypeOf(kDLFloat8_e5m2, 8);
    CHECK_EQUAL(FloatToBits(value, e5m2), value < 0 ? 0x80U : 0U);
    CHECK_EQUAL(FloatToBits(value, TypeOf(kDLFloat8_e5m2fnuz, 8)), 0U);
  }
  // Powers of two alone: no zero and no sign.
  const DType scale = TypeOf(kDLFloat8_e8m0fnu, 8);
  CHECK_EQUAL(FloatToBits(5e-324, scale), 0U);
  CHECK_EQUAL(FloatToBits(0.0, scale), 0xffU);
  CHECK_EQUAL(FloatToBits(-1.0, scale), 0xffU);
  CHECK_EQUAL(FloatFromBits(0, scale), std::ldexp(1, -127));
  CHECK_EQUAL(FloatFromBits(127, scale), 1.0);
}

TEST("packed bits lie little-endian: the first element in the lowest bits") {
  const DType fp4 = TypeOf(kDLFloat4_e2m1fn, 4);
  uint8_t memory[3] = {};
  StoreScalar(memory, 0, fp4, FromDouble(1.0));   // 0010
  StoreScalar(memory, 4, fp4, FromDouble(-6.0));  // 1111
  StoreScalar(memory, 12, fp4, FromDouble(0.5));  // 0001
  CHECK_EQUAL(int{memory[0]}, 0xf2);
  CHECK_EQUAL(int{memory[1]}, 0x10);
  const DType fp6 = TypeOf(kDLFloat6_e2m3fn, 6);
  std::memset(memory, 0xff, sizeof(memory));
  StoreScalar(memory, 6, fp6, FromDouble(0.0));  // across the first two bytes
  CHECK_EQUAL(int{memory[0]}, 0x3f);
  CHECK_EQUAL(int{memory[1]}, 0xf0);
  CHECK_EQUAL(LoadScalar(memory, 6, fp6).f, 0.0);
}

TEST("packed elements are written and read at every place, before the address too, without touching a neighbour") {
  for (uint32_t width : {1U, 4U, 6U, 7U, 8U}) {
    for (int64_t offset = -40; offset <= 40; ++offset) {
      for (uint8_t background : {uint8_t{0}, uint8_t{0xff}, uint8_t{0x5a}}) {
        uint8_t memory[16];
        std::memset(memory, background, sizeof(memory));
        const uint32_t bits = 0x2d & ((1U << width) - 1);
        StoreBits(memory + 8, offset, width, bits);
        CHECK_EQUAL(LoadBits(memory + 8, offset, width), bits);
        for (int64_t other = -64; other < 64; ++other) {
          const uint32_t found = LoadBits(memory + 8, other, 1);
          const bool inside = other >= offset && other < offset + width;
          CHECK_EQUAL(found,
                      inside ? bits >> (other - offset) & 1 : static_cast<uint32_t>(background >> (other & 7) & 1));
        }
      }
    }
  }
}

TEST("a packed element at the end of memory touches no byte behind it") {
  // The sanitizers see to it: the last element of 6 bits ends with the last bit.
  auto* memory = new (std::nothrow) uint8_t[3]();
  if (!CHECK(memory != nullptr)) return;
  const DType fp6 = TypeOf(kDLFloat6_e3m2fn, 6);
  StoreScalar(memory, 18, fp6, FromDouble(28.0));
  CHECK_EQUAL(LoadScalar(memory, 18, fp6).f, 28.0);
  delete[] memory;
}

TEST("a padded element fills its byte, and its unused bits are ignored when read") {
  const DType padded = TypeOf(kDLFloat4_e2m1fn, 4, true);
  uint8_t memory = 0xff;
  StoreScalar(&memory, 0, padded, FromDouble(1.0));
  CHECK_EQUAL(int{memory}, 2);
  memory = 0xf2;
  CHECK_EQUAL(LoadScalar(&memory, 0, padded).f, 1.0);
}

TEST("every dtype loads what was stored in it, aligned or not") {
  uint8_t memory[40];
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType dtype = support::DTypeAt(i);
    for (int64_t at = 0; at < 9; ++at) {
      StoreScalar(memory + 8, 8 * at, dtype, FromDouble(1.0));
      const Scalar loaded = LoadScalar(memory + 8, 8 * at, dtype);
      if (loaded.kind == Scalar::Kind::kFloat) {
        CHECK_EQUAL(loaded.f, 1.0);
      } else {
        CHECK_EQUAL(loaded.u, 1U);
      }
    }
  }
}

TEST("an element is of its dtype's kind: signed, unsigned or floating point") {
  const uint8_t memory[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
  for (uint8_t bits : {uint8_t{8}, uint8_t{16}, uint8_t{32}, uint8_t{64}}) {
    const Scalar i = LoadScalar(memory, 0, TypeOf(kDLInt, bits));
    CHECK_EQUAL(i.kind, Scalar::Kind::kInt);
    CHECK_EQUAL(i.i, -1);
    const Scalar u = LoadScalar(memory, 0, TypeOf(kDLUInt, bits));
    CHECK_EQUAL(u.kind, Scalar::Kind::kUInt);
    CHECK_EQUAL(u.u, ~uint64_t{0} >> (64 - bits));
  }
  CHECK_EQUAL(LoadScalar(memory, 64, TypeOf(kDLFloat, 64)).f, 1.0);
  CHECK_EQUAL(LoadScalar(memory, 0, TypeOf(kDLBool, 8)).u, 1U);
  CHECK_EQUAL(LoadScalar(memory, 64, TypeOf(kDLBool, 8)).u, 0U);
}

TEST("float to integer saturates, rounds half to even, and makes 0 of NaN") {
  const struct {
    double value;
    int8_t as_int8;
    uint8_t as_uint8;
    int64_t as_int64;
    uint64_t as_uint64;
  } rows[] = {
      {0.5, 0, 0, 0, 0},
      {1.5, 2, 2, 2, 2},
      {2.5, 2, 2, 2, 2},
      {-0.5, 0, 0, 0, 0},
      {-1.5, -2, 0, -2, 0},
      {126.5, 126, 126, 126, 126},
      {127.5, 127, 128, 128, 128},
      {254.5, 127, 254, 254, 254},
      {255.5, 127, 255, 256, 256},
      {-128.5, -128, 0, -128, 0},
      {-129, -128, 0, -129, 0},
      {0.49999999999999994, 0, 0, 0, 0},
      {4503599627370495.5, 127, 255, 4503599627370496, 4503599627370496},
      {9223372036854774784.0, 127, 255, 9223372036854774784, 9223372036854774784U},
      {9223372036854775808.0, 127, 255, std::numeric_limits<int64_t>::max(), 9223372036854775808U},
      {18446744073709549568.0, 127, 255, std::numeric_limits<int64_t>::max(), 18446744073709549568U},
      {18446744073709551616.0, 127, 255, std::numeric_limits<int64_t>::max(), ~uint64_t{0}},
      {-9223372036854775808.0, -128, 0, std::numeric_limits<int64_t>::min(), 0},
      {-1e300, -128, 0, std::numeric_limits<int64_t>::min(), 0},
      {kInfinity, 127, 255, std::numeric_limits<int64_t>::max(), ~uint64_t{0}},
      {-kInfinity, -128, 0, std::numeric_limits<int64_t>::min(), 0},
      {kNan, 0, 0, 0, 0},
      {-kNan, 0, 0, 0, 0},
  };
  for (const auto& row : rows) {
    const Scalar value = FromDouble(row.value);
    CHECK_EQUAL(int{StoredAs<int8_t>(TypeOf(kDLInt, 8), value)}, int{row.as_int8});
    CHECK_EQUAL(int{StoredAs<uint8_t>(TypeOf(kDLUInt, 8), value)}, int{row.as_uint8});
    CHECK_EQUAL(StoredAs<int64_t>(TypeOf(kDLInt, 64), value), row.as_int64);
    CHECK_EQUAL(StoredAs<uint64_t>(TypeOf(kDLUInt, 64), value), row.as_uint64);
  }
}

TEST("rounding half to even agrees with the C library in its default mode") {
  harness::Random random(32);
  for (int i = 0; i < 100000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(random.Between(-(1 << 20), 1 << 20)), static_cast<int>(random.Between(-4, 50)));
    CHECK_EQUAL(BitsOfDouble(RoundHalfToEven(value)), BitsOfDouble(std::nearbyint(value)));
    const double any = DoubleFromBits(random.Next());
    if (!std::isnan(any)) CHECK_EQUAL(BitsOfDouble(RoundHalfToEven(any)), BitsOfDouble(std::nearbyint(any)));
  }
}

TEST("integer to integer wraps") {
  CHECK_EQUAL(int{StoredAs<uint8_t>(TypeOf(kDLUInt, 8), FromInt(-1))}, 255);
  CHECK_EQUAL(int{StoredAs<int8_t>(TypeOf(kDLInt, 8), FromInt(200))}, -56);
  CHECK_EQUAL(StoredAs<int32_t>(TypeOf(kDLInt, 32), FromUInt(0xffffffff80000000U)),
              std::numeric_limits<int32_t>::min());
  CHECK_EQUAL(StoredAs<int64_t>(TypeOf(kDLInt, 64), FromUInt(~uint64_t{0})), -1);
  CHECK_EQUAL(StoredAs<uint64_t>(TypeOf(kDLUInt, 64), FromInt(-2)), ~uint64_t{1});
}

TEST("anything to bool is whether it is not zero, NaN too") {
  const DType dtype = TypeOf(kDLBool, 8);
  for (double value : {0.0, -0.0}) CHECK_EQUAL(int{StoredAs<uint8_t>(dtype, FromDouble(value))}, 0);
  for (double value : {0.1, -5e-324, kNan, kInfinity}) CHECK_EQUAL(int{StoredAs<uint8_t>(dtype, FromDouble(value))}, 1);
  CHECK_EQUAL(int{StoredAs<uint8_t>(dtype, FromInt(256))}, 1);
  CHECK_EQUAL(int{StoredAs<uint8_t>(dtype, FromInt(0))}, 0);
}

TEST("64-bit integers are rounded once on their way to a float of any width") {
  CHECK_EQUAL(StoredAs<float>(TypeOf(kDLFloat, 32), FromInt((int64_t{1} << 40) + (1 << 16) + 1)),
              std::ldexp(1.0f, 40) + std::ldexp(1.0f, 17));
  // Just above a tie of bfloat16, by less than a double can tell: two roundings would make it the tie, and then the
  // even value below.
  const DType bfloat16 = TypeOf(kDLBfloat, 16);
  const int64_t above_tie = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  CHECK_EQUAL(StoredAs<uint16_t>(bfloat16, FromInt(above_tie)),
              StoredAs<uint16_t>(bfloat16, FromDouble(std::ldexp(129, 55))));
  CHECK_EQUAL(StoredAs<uint16_t>(bfloat16, FromInt(above_tie - 1)),
              StoredAs<uint16_t>(bfloat16, FromDouble(std::ldexp(128, 55))));
  CHECK_EQUAL(StoredAs<uint16_t>(bfloat16, FromInt(-above_tie)),
              StoredAs<uint16_t>(bfloat16, FromDouble(-std::ldexp(129, 55))));
  CHECK_EQUAL(StoredAs<uint16_t>(bfloat16, FromUInt(uint64_t{above_tie} * 2)),
              StoredAs<uint16_t>(bfloat16, FromDouble(std::ldexp(129, 56))));
  CHECK_EQUAL(StoredAs<double>(TypeOf(kDLFloat, 64), FromUInt(~uint64_t{0})), std::ldexp(1.0, 64));
}

TEST("complex elements have two parts; a real target takes the first, a complex one has 0 for what is missing") {
  uint8_t memory[16];
  for (uint8_t bits : {uint8_t{64}, uint8_t{128}}) {
    Scalar value = FromDouble(1.5);
    value.imag = -2.25;
    StoreScalar(memory, 0, TypeOf(kDLComplex, bits), value);
    const Scalar loaded = LoadScalar(memory, 0, TypeOf(kDLComplex, bits));
    CHECK_EQUAL(loaded.f, 1.5);
    CHECK_EQUAL(loaded.imag, -2.25);
    CHECK_EQUAL(StoredAs<float>(TypeOf(kDLFloat, 32), loaded), 1.5f);
    StoreScalar(memory, 0, TypeOf(kDLComplex, bits), FromInt(-3));
    CHECK_EQUAL(LoadScalar(memory, 0, TypeOf(kDLComplex, bits)).f, -3.0);
    CHECK_EQUAL(LoadScalar(memory, 0, TypeOf(kDLComplex, bits)).imag, 0.0);
  }
}
