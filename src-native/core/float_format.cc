#include "float_format.h"

#include "scalar.h"

namespace node_dlpack {

namespace {

constexpr FloatFormat kFormats[] = {
    {3, 4, 3, FloatSpecials::kIeee},           // kDLFloat8_e3m4
    {4, 3, 7, FloatSpecials::kIeee},           // kDLFloat8_e4m3
    {4, 3, 11, FloatSpecials::kUnsignedZero},  // kDLFloat8_e4m3b11fnuz
    {4, 3, 7, FloatSpecials::kNanOnly},        // kDLFloat8_e4m3fn
    {4, 3, 8, FloatSpecials::kUnsignedZero},   // kDLFloat8_e4m3fnuz
    {5, 2, 15, FloatSpecials::kIeee},          // kDLFloat8_e5m2
    {5, 2, 16, FloatSpecials::kUnsignedZero},  // kDLFloat8_e5m2fnuz
    {8, 0, 127, FloatSpecials::kScale},        // kDLFloat8_e8m0fnu
    {2, 3, 1, FloatSpecials::kNone},           // kDLFloat6_e2m3fn
    {3, 2, 3, FloatSpecials::kNone},           // kDLFloat6_e3m2fn
    {2, 1, 1, FloatSpecials::kNone},           // kDLFloat4_e2m1fn
};
static_assert(sizeof(kFormats) / sizeof(kFormats[0]) == kDLFloat4_e2m1fn - kDLFloat8_e3m4 + 1, "one row a code");

}  // namespace

const FloatFormat* FormatOf(DType dtype) {
  if (dtype.code() == kDLFloat && dtype.bits() == 16) return &kFloat16Format;
  if (dtype.code() == kDLBfloat) return &kBfloat16Format;
  if (dtype.code() < kDLFloat8_e3m4) return nullptr;
  return &kFormats[dtype.code() - kDLFloat8_e3m4];
}

double FloatFromBits(uint32_t bits, DType dtype) {
  const FloatFormat* format = FormatOf(dtype);
  if (format == nullptr) return 0;
  const uint32_t used = format->magnitude_mask() | (format->has_sign() ? 1U << format->sign_shift() : 0);
  return DecodeFloat(bits & used, *format);
}

uint32_t FloatToBits(double value, DType dtype) {
  const FloatFormat* format = FormatOf(dtype);
  return format == nullptr ? 0 : EncodeFloat(value, *format);
}

}  // namespace node_dlpack
