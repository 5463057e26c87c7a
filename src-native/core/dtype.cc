#include "dtype.h"

namespace node_dlpack {

namespace {

bool IsCodeHeld(uint8_t code) {
  return code <= kDLFloat4_e2m1fn && code != kDLOpaqueHandle;
}

// Called with codes that are held.
bool AreBitsHeld(uint8_t code, uint8_t bits) {
  switch (code) {
    case kDLInt:
    case kDLUInt:
      return bits == 8 || bits == 16 || bits == 32 || bits == 64;
    case kDLFloat:
      return bits == 16 || bits == 32 || bits == 64;
    case kDLBfloat:
      return bits == 16;
    case kDLComplex:
      return bits == 64 || bits == 128;
    case kDLFloat6_e2m3fn:
    case kDLFloat6_e3m2fn:
      return bits == 6;
    case kDLFloat4_e2m1fn:
      return bits == 4;
    default:  // bool and the 8-bit floats
      return bits == 8;
  }
}

}  // namespace

Fault DType::Check(DLDataType raw, bool padded, DType* out) {
  if (!IsCodeHeld(raw.code)) return Fault(FaultCode::kDTypeCode, 0, raw.code);
  if (!AreBitsHeld(raw.code, raw.bits)) return Fault(FaultCode::kDTypeBits, raw.code, raw.bits);
  if (raw.lanes != 1) return Fault(FaultCode::kDTypeLanes, 0, raw.lanes);
  out->code_ = raw.code;
  out->bits_ = raw.bits;
  out->padded_ = padded && raw.bits < 8;
  return Fault();
}

Fault DType::FromPacked(uint32_t packed, DType* out) {
  if (packed >> 17 != 0) return Fault(FaultCode::kDTypeCode, 0, packed);
  const DLDataType raw{static_cast<uint8_t>(packed), static_cast<uint8_t>(packed >> 8), 1};
  return Check(raw, packed >> 16 != 0, out);
}

uint32_t DType::alignment() const {
  if (bit_packed()) return 1;
  return is_complex() ? itemsize() / 2 : itemsize();
}

}  // namespace node_dlpack
