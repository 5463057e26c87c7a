// One element of any dtype as a value: read, rounded and stored exactly as the formats' definitions say.
#ifndef NODE_DLPACK_CORE_SCALAR_H_
#define NODE_DLPACK_CORE_SCALAR_H_

#include <cstdint>

#include "dtype.h"

namespace node_dlpack {

// A number big enough for every real dtype without loss: exactly one of the three holds the value.
struct Scalar {
  enum class Kind : uint8_t { kInt, kUInt, kFloat } kind = Kind::kFloat;
  union {
    int64_t i;
    uint64_t u;
    double f = 0.0;
  };
  double imag = 0.0;  // complex only
};

// bit_offset: bits past address where the element begins (always a multiple of 8 unless the dtype is bit-packed).
Scalar LoadScalar(const uint8_t* address, int64_t bit_offset, DType dtype);
// One conversion: float -> integer saturates and rounds half to even, NaN -> 0; integer -> integer wraps (NumPy's
// casting); anything -> bool is "not zero"; to floats: nearest even, overflow as the format defines it (infinity where
// it has one, else NaN or the largest value as NumPy/ml_dtypes do). Complex takes the real part; imag is stored when
// the target is complex.
void StoreScalar(uint8_t* address, int64_t bit_offset, DType dtype, const Scalar& value);

// The widening and narrowing behind them, for values up to 16 bits wide; bits in the low end.
double FloatFromBits(uint32_t bits, DType dtype);
uint32_t FloatToBits(double value, DType dtype);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_SCALAR_H_
