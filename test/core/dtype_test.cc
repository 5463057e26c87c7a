#include "dtype.h"

#include <initializer_list>

#include "harness.h"
#include "support.h"

using namespace node_dlpack;

namespace {

// The table, written a second time and the other way round: which widths a code has.
bool Exists(int code, int bits) {
  switch (code) {
    case 0:
    case 1:
      return bits == 8 || bits == 16 || bits == 32 || bits == 64;
    case 2:
      return bits == 16 || bits == 32 || bits == 64;
    case 4:
      return bits == 16;
    case 5:
      return bits == 64 || bits == 128;
    case 15:
    case 16:
      return bits == 6;
    case 17:
      return bits == 4;
    default:
      return bits == 8 && (code == 6 || (code >= 7 && code <= 14));
  }
}

}  // namespace

TEST("of all 65,536 codes and widths exactly those of the table are held, each fault naming its field") {
  int held = 0;
  for (int code = 0; code < 256; ++code) {
    for (int bits = 0; bits < 256; ++bits) {
      DType dtype;
      const DLDataType raw{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
      const Fault fault = DType::Check(raw, false, &dtype);
      if (Exists(code, bits)) {
        ++held;
        CHECK_OK(fault);
        CHECK_EQUAL(dtype.code(), code);
        CHECK_EQUAL(dtype.bits(), bits);
        CHECK_EQUAL(dtype.raw().lanes, 1);
      } else if (code > 17 || code == 3) {
        CHECK_EQUAL(fault.code, FaultCode::kDTypeCode);
        CHECK_EQUAL(fault.value, code);
      } else {
        CHECK_EQUAL(fault.code, FaultCode::kDTypeBits);
        CHECK_EQUAL(fault.index, code);
        CHECK_EQUAL(fault.value, bits);
      }
    }
  }
  CHECK_EQUAL(held, 26);
}

TEST("lanes other than 1 are refused, 0 too") {
  DType dtype;
  for (uint16_t lanes : {uint16_t{0}, uint16_t{2}, uint16_t{4}, uint16_t{257}, uint16_t{65535}}) {
    CHECK_FAULT(DType::Check(DLDataType{kDLFloat, 32, lanes}, false, &dtype), kDTypeLanes, 0, lanes, 0);
    CHECK_FAULT(DType::Check(DLDataType{kDLFloat4_e2m1fn, 4, lanes}, false, &dtype), kDTypeLanes, 0, lanes, 0);
  }
}

TEST("a fault leaves the dtype as it was") {
  DType dtype = support::Float32();
  CHECK(!DType::Check(DLDataType{99, 8, 1}, false, &dtype).ok());
  CHECK(!DType::Check(DLDataType{kDLInt, 9, 1}, false, &dtype).ok());
  CHECK(!DType::FromPacked(kDLInt | 24U << 8, &dtype).ok());
  CHECK(dtype == support::Float32());
}

TEST("padded means something for types below a byte, and is ignored elsewhere") {
  const DType padded = support::TypeOf(kDLFloat6_e2m3fn, 6, true);
  const DType packed = support::TypeOf(kDLFloat6_e2m3fn, 6, false);
  CHECK(padded.padded() && !padded.bit_packed() && padded.sub_byte());
  CHECK(!packed.padded() && packed.bit_packed() && packed.sub_byte());
  CHECK(padded != packed);
  CHECK(support::TypeOf(kDLFloat, 32, true) == support::Float32());
  CHECK(!support::TypeOf(kDLFloat, 32, true).padded());
}

TEST("sizes: itemsize in bytes, 0 where elements are packed; the step from one element to the next in bits") {
  struct Row {
    DType dtype;
    uint32_t itemsize, stride_bits, alignment;
  };
  const Row rows[] = {
      {support::TypeOf(kDLInt, 8), 1, 8, 1},
      {support::TypeOf(kDLUInt, 16), 2, 16, 2},
      {support::TypeOf(kDLFloat, 32), 4, 32, 4},
      {support::TypeOf(kDLFloat, 64), 8, 64, 8},
      {support::TypeOf(kDLBfloat, 16), 2, 16, 2},
      {support::TypeOf(kDLBool, 8), 1, 8, 1},
      {support::TypeOf(kDLComplex, 64), 8, 64, 4},
      {support::TypeOf(kDLComplex, 128), 16, 128, 8},
      {support::TypeOf(kDLFloat8_e8m0fnu, 8), 1, 8, 1},
      {support::TypeOf(kDLFloat6_e3m2fn, 6), 0, 6, 1},
      {support::TypeOf(kDLFloat6_e3m2fn, 6, true), 1, 8, 1},
      {support::TypeOf(kDLFloat4_e2m1fn, 4), 0, 4, 1},
      {support::TypeOf(kDLFloat4_e2m1fn, 4, true), 1, 8, 1},
  };
  for (const Row& row : rows) {
    CHECK_EQUAL(row.dtype.itemsize(), row.itemsize);
    CHECK_EQUAL(row.dtype.stride_bits(), row.stride_bits);
    CHECK_EQUAL(row.dtype.alignment(), row.alignment);
  }
}

TEST("every dtype is of exactly one kind: integer, bool, float or complex") {
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType dtype = support::DTypeAt(i);
    CHECK_EQUAL(int{dtype.is_integer()} + int{dtype.is_bool()} + int{dtype.is_float()} + int{dtype.is_complex()}, 1);
  }
  CHECK(support::TypeOf(kDLBfloat, 16).is_float());
  CHECK(support::TypeOf(kDLFloat4_e2m1fn, 4).is_float());
}

TEST("the packed number leads back to the same dtype, and a number that is none is refused") {
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType dtype = support::DTypeAt(i);
    DType back;
    CHECK_OK(DType::FromPacked(dtype.packed(), &back));
    CHECK(back == dtype);
  }
  DType dtype;
  CHECK_FAULT(DType::FromPacked(1U << 17 | kDLUInt | 8U << 8, &dtype), kDTypeCode, 0, 1 << 17 | kDLUInt | 8 << 8, 0);
  CHECK_FAULT(DType::FromPacked(0xffffffffU, &dtype), kDTypeCode, 0, 0xffffffffLL, 0);
  CHECK_FAULT(DType::FromPacked(kDLOpaqueHandle | 64U << 8, &dtype), kDTypeCode, 0, kDLOpaqueHandle, 0);
}

TEST("a dtype made without arguments is uint8") {
  CHECK(DType() == support::Uint8());
}
