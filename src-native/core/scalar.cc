#include "scalar.h"

#include <cstring>

#include "bits.h"
#include "float_format.h"
#include "rounding.h"

namespace node_dlpack {

namespace {

// Elements need no alignment.
template <typename T>
T Load(const uint8_t* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <typename T>
void Store(uint8_t* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

Scalar Signed(int64_t value) {
  Scalar scalar;
  scalar.kind = Scalar::Kind::kInt;
  scalar.i = value;
  return scalar;
}

Scalar Unsigned(uint64_t value) {
  Scalar scalar;
  scalar.kind = Scalar::Kind::kUInt;
  scalar.u = value;
  return scalar;
}

Scalar Float(double value, double imag = 0.0) {
  Scalar scalar;
  scalar.f = value;
  scalar.imag = imag;
  return scalar;
}

bool IsNotZero(const Scalar& value) {
  return value.kind == Scalar::Kind::kFloat ? value.f != 0.0 : value.u != 0;
}

template <typename Integer>
Integer ToInteger(const Scalar& value) {
  // Both kinds of integer wrap: the low bits are the same.
  return value.kind == Scalar::Kind::kFloat ? SaturateToInteger<Integer>(value.f) : static_cast<Integer>(value.u);
}

// Rounded once, straight from what the scalar holds.
template <typename Real>
Real ToReal(const Scalar& value) {
  if (value.kind == Scalar::Kind::kInt) return static_cast<Real>(value.i);
  if (value.kind == Scalar::Kind::kUInt) return static_cast<Real>(value.u);
  return static_cast<Real>(value.f);
}

double ToDoubleForEncoding(const Scalar& value) {
  if (value.kind == Scalar::Kind::kInt) return ToDoubleForRounding(value.i);
  if (value.kind == Scalar::Kind::kUInt) return ToDoubleForRounding(value.u);
  return value.f;
}

void StoreInteger(uint8_t* address, DType dtype, const Scalar& value) {
  const bool is_signed = dtype.code() == kDLInt;
  switch (dtype.bits()) {
    case 8:
      return is_signed ? Store(address, ToInteger<int8_t>(value)) : Store(address, ToInteger<uint8_t>(value));
    case 16:
      return is_signed ? Store(address, ToInteger<int16_t>(value)) : Store(address, ToInteger<uint16_t>(value));
    case 32:
      return is_signed ? Store(address, ToInteger<int32_t>(value)) : Store(address, ToInteger<uint32_t>(value));
    default:
      return is_signed ? Store(address, ToInteger<int64_t>(value)) : Store(address, ToInteger<uint64_t>(value));
  }
}

}  // namespace

Scalar LoadScalar(const uint8_t* address, int64_t bit_offset, DType dtype) {
  if (dtype.sub_byte()) return Float(FloatFromBits(LoadBits(address, bit_offset, dtype.bits()), dtype));
  const uint8_t* at = address + BytesBelow(bit_offset);
  switch (dtype.code()) {
    case kDLInt:
      if (dtype.bits() == 8) return Signed(Load<int8_t>(at));
      if (dtype.bits() == 16) return Signed(Load<int16_t>(at));
      if (dtype.bits() == 32) return Signed(Load<int32_t>(at));
      return Signed(Load<int64_t>(at));
    case kDLUInt:
      if (dtype.bits() == 8) return Unsigned(Load<uint8_t>(at));
      if (dtype.bits() == 16) return Unsigned(Load<uint16_t>(at));
      if (dtype.bits() == 32) return Unsigned(Load<uint32_t>(at));
      return Unsigned(Load<uint64_t>(at));
    case kDLBool:
      return Unsigned(*at != 0 ? 1 : 0);
    case kDLComplex:
      if (dtype.bits() == 64) return Float(Load<float>(at), Load<float>(at + 4));
      return Float(Load<double>(at), Load<double>(at + 8));
    case kDLFloat:
      if (dtype.bits() == 32) return Float(Load<float>(at));
      if (dtype.bits() == 64) return Float(Load<double>(at));
      [[fallthrough]];
    default:
      return Float(FloatFromBits(dtype.bits() == 16 ? Load<uint16_t>(at) : *at, dtype));
  }
}

void StoreScalar(uint8_t* address, int64_t bit_offset, DType dtype, const Scalar& value) {
  if (dtype.bit_packed()) {
    return StoreBits(address, bit_offset, dtype.bits(), FloatToBits(ToDoubleForEncoding(value), dtype));
  }
  uint8_t* at = address + BytesBelow(bit_offset);
  switch (dtype.code()) {
    case kDLInt:
    case kDLUInt:
      return StoreInteger(at, dtype, value);
    case kDLBool:
      return Store(at, static_cast<uint8_t>(IsNotZero(value) ? 1 : 0));
    case kDLComplex:
      if (dtype.bits() == 64) {
        Store(at, ToReal<float>(value));
        return Store(at + 4, static_cast<float>(value.imag));
      }
      Store(at, ToReal<double>(value));
      return Store(at + 8, value.imag);
    case kDLFloat:
      if (dtype.bits() == 32) return Store(at, ToReal<float>(value));
      if (dtype.bits() == 64) return Store(at, ToReal<double>(value));
      [[fallthrough]];
    default: {
      const uint32_t bits = FloatToBits(ToDoubleForEncoding(value), dtype);
      if (dtype.bits() == 16) return Store(at, static_cast<uint16_t>(bits));
      return Store(at, static_cast<uint8_t>(bits));
    }
  }
}

}  // namespace node_dlpack
