#include "convert_reference.h"

#include <cmath>

using namespace node_dlpack;

namespace support {

namespace {

bool FloatHolds(DType dtype) {
  return dtype.is_float() ? dtype.bits() <= 32 : dtype.bits() <= 16;
}

double AsDouble(const Scalar& value) {
  if (value.kind == Scalar::Kind::kInt) return static_cast<double>(value.i);
  if (value.kind == Scalar::Kind::kUInt) return static_cast<double>(value.u);
  return value.f;
}

}  // namespace

Scalar Apply(const Scalar& value, DType source, DType target, const Affine& affine, int64_t channel) {
  if (affine.scale == nullptr && affine.offset == nullptr) return value;
  const double* scale = affine.scale == nullptr ? nullptr : affine.scale + (affine.scale_count == 1 ? 0 : channel);
  const double* offset = affine.offset == nullptr ? nullptr : affine.offset + (affine.offset_count == 1 ? 0 : channel);
  Scalar result;
  if (FloatHolds(source) && FloatHolds(target)) {
    volatile auto x = static_cast<float>(AsDouble(value));
    if (scale != nullptr) x = x * static_cast<float>(*scale);
    if (offset != nullptr) x = x + static_cast<float>(*offset);
    result.f = static_cast<double>(x);
  } else {
    volatile double x = AsDouble(value);
    if (scale != nullptr) x = x * *scale;
    if (offset != nullptr) x = x + *offset;
    result.f = x;
  }
  return result;
}

bool SameNumber(const Scalar& a, const Scalar& b) {
  if (a.kind != b.kind) return false;
  if (a.kind != Scalar::Kind::kFloat) return a.u == b.u;
  return (std::isnan(a.f) && std::isnan(b.f)) || (a.f == b.f && std::signbit(a.f) == std::signbit(b.f));
}

}  // namespace support
