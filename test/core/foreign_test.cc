// What a consumer does with a struct from outside. The numbers are rows of the conformance table.
#include "foreign.h"

#include <cstring>
#include <initializer_list>
#include <limits>
#include <utility>

#include "harness.h"
#include "managed_tensor.h"
#include "support.h"

using namespace node_dlpack;
using support::Foreign;

namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Any number at all.
void SetDeviceType(Foreign* foreign, int32_t type) {
  static_assert(sizeof(DLDeviceType) == sizeof(type), "the field is 32 bits wide");
  std::memcpy(&foreign->tensor.device.device_type, &type, sizeof(type));
}

ManagedKind KindOf(bool versioned) {
  return versioned ? ManagedKind::kVersioned : ManagedKind::kLegacy;
}

// Takes the struct as an import does: the guard owns it before anything is looked at. The deleter must then run once,
// whatever comes out, and the struct must be as it was.
Fault Import(Foreign* foreign, bool versioned, CheckedTensor* out) {
  foreign->Fill();
  foreign->deleted = 0;
  const DLManagedTensor legacy_before = foreign->legacy;
  const DLManagedTensorVersioned versioned_before = foreign->versioned;
  Fault fault;
  {
    ManagedGuard guard(foreign->managed(versioned), KindOf(versioned));
    fault = CheckedTensor::Check(guard.get(), guard.kind(), out);
    CHECK_EQUAL(foreign->deleted, 0);
  }
  CHECK_EQUAL(foreign->deleted, 1);
  CHECK_EQUAL(std::memcmp(&legacy_before, &foreign->legacy, sizeof(legacy_before)), 0);
  CHECK_EQUAL(std::memcmp(&versioned_before, &foreign->versioned, sizeof(versioned_before)), 0);
  return fault;
}

// Both kinds of struct must give the same fault.
void CheckRefused(Foreign* foreign, FaultCode code, int32_t index, int64_t value, int64_t limit = 0) {
  for (bool versioned : {false, true}) {
    CheckedTensor checked;
    const Fault fault = Import(foreign, versioned, &checked);
    CHECK_EQUAL(fault.code, code);
    CHECK_EQUAL(fault.index, index);
    CHECK_EQUAL(fault.value, value);
    CHECK_EQUAL(fault.limit, limit);
  }
}

CheckedTensor CheckAccepted(Foreign* foreign, bool versioned) {
  CheckedTensor checked;
  CHECK_OK(Import(foreign, versioned, &checked));
  return checked;
}

}  // namespace

TEST("a sound struct becomes a view that says what the struct said") {
  for (bool versioned : {false, true}) {
    Foreign foreign;
    const CheckedTensor checked = CheckAccepted(&foreign, versioned);
    CHECK(checked.origin() == foreign.memory);
    CHECK(checked.lowest() == foreign.memory);
    CHECK_EQUAL(checked.span_bytes(), size_t{24});
    CHECK_EQUAL(checked.byte_offset(), 0U);
    CHECK_EQUAL(checked.layout().ndim(), 2);
    CHECK_EQUAL(checked.layout().shape()[1], 3);
    CHECK(checked.layout().shape() != foreign.shape);
    CHECK(checked.dtype() == support::Float32());
    CHECK_EQUAL(checked.versioned(), versioned);
    CHECK(checked.host_readable());
    CHECK(!checked.misaligned());
    CHECK_EQUAL(checked.flags(), 0U);
  }
}

TEST("C072 the first element is at data + byte_offset") {
  for (bool versioned : {false, true}) {
    Foreign foreign;
    foreign.tensor.byte_offset = 8;
    const CheckedTensor checked = CheckAccepted(&foreign, versioned);
    CHECK(checked.origin() == foreign.memory + 8);
    CHECK_EQUAL(checked.byte_offset(), 0U);
  }
}

TEST("C073 strides NULL means row-major, in every version") {
  for (uint32_t minor : {0U, 2U, 3U}) {
    for (bool versioned : {false, true}) {
      Foreign foreign;
      foreign.versioned.version.minor = minor;
      foreign.tensor.strides = nullptr;
      const CheckedTensor checked = CheckAccepted(&foreign, versioned);
      CHECK_EQUAL(checked.layout().strides()[0], 3);
      CHECK_EQUAL(checked.layout().strides()[1], 1);
    }
  }
}

TEST("C074 an empty tensor's data, strides and byte offset mean nothing") {
  for (bool versioned : {false, true}) {
    for (void* data : {static_cast<void*>(nullptr), reinterpret_cast<void*>(uintptr_t{0xdead0001})}) {
      Foreign foreign;
      foreign.tensor.data = data;
      foreign.tensor.byte_offset = std::numeric_limits<uint64_t>::max();
      foreign.tensor.ndim = 4;
      const int64_t shape[] = {1, 8, 0, 128};
      const int64_t strides[] = {7, kLeast, kMost, 7};
      std::memcpy(foreign.shape, shape, sizeof(shape));
      std::memcpy(foreign.strides, strides, sizeof(strides));
      const CheckedTensor checked = CheckAccepted(&foreign, versioned);
      CHECK(checked.origin() == nullptr);
      CHECK(checked.lowest() == nullptr);
      CHECK_EQUAL(checked.span_bytes(), size_t{0});
      CHECK(checked.layout().IsContiguous());
      CHECK_EQUAL(checked.layout().strides()[1], kLeast);
      CHECK(!checked.misaligned());
    }
  }
}

TEST("C075 an axis of extent 1 may have any stride") {
  for (int64_t stride : {kLeast, kMost, int64_t{0}, int64_t{-5}}) {
    Foreign foreign;
    foreign.shape[0] = 1;
    foreign.strides[0] = stride;
    for (bool versioned : {false, true}) {
      const CheckedTensor checked = CheckAccepted(&foreign, versioned);
      CHECK_EQUAL(checked.layout().strides()[0], stride);
      CHECK_EQUAL(checked.span_bytes(), size_t{12});
    }
  }
}

TEST("C076 a higher minor version is fine, and unknown flags are dropped") {
  Foreign foreign;
  foreign.versioned.version.minor = DLPACK_MINOR_VERSION + 7;
  foreign.versioned.flags = ~uint64_t{0};
  const CheckedTensor checked = CheckAccepted(&foreign, true);
  CHECK_EQUAL(checked.flags(), 7U);
}

TEST("C077 64 axes are accepted, 65 are not") {
  Foreign foreign;
  for (int64_t& extent : foreign.shape) extent = 1;
  for (int64_t& stride : foreign.strides) stride = 1;
  foreign.tensor.ndim = 64;
  for (bool versioned : {false, true}) CHECK_EQUAL(CheckAccepted(&foreign, versioned).layout().ndim(), 64);
  foreign.tensor.ndim = 65;
  CheckRefused(&foreign, FaultCode::kNdim, 0, 65, 64);
  foreign.tensor.ndim = std::numeric_limits<int32_t>::max();
  CheckRefused(&foreign, FaultCode::kNdim, 0, std::numeric_limits<int32_t>::max(), 64);
}

TEST("C078 known devices are accepted and told apart by whether the host can read them; unknown ones are refused") {
  for (int32_t type = -3; type < 64; ++type) {
    Foreign foreign;
    SetDeviceType(&foreign, type);
    foreign.tensor.device.device_id = 2;
    const bool known = type >= 1 && type <= 18 && type != 5 && type != 6;
    CHECK_EQUAL(IsKnownDevice(type), known);
    if (!known) {
      CheckRefused(&foreign, FaultCode::kDeviceType, 0, type);
      continue;
    }
    for (bool versioned : {false, true}) {
      const CheckedTensor checked = CheckAccepted(&foreign, versioned);
      const bool host = type == 1 || type == 3 || type == 11;
      CHECK_EQUAL(checked.host_readable(), host);
      CHECK_EQUAL(static_cast<int>(checked.device().device_type), type);
      CHECK_EQUAL(checked.device().device_id, host ? 0 : 2);
    }
  }
  for (int32_t type : {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    Foreign foreign;
    SetDeviceType(&foreign, type);
    CheckRefused(&foreign, FaultCode::kDeviceType, 0, type);
  }
}

TEST(
    "on a device that the host cannot address, data and byte_offset are kept apart, and layouts are checked all the "
    "same") {
  Foreign foreign;
  foreign.tensor.device.device_type = kDLOpenCL;
  foreign.tensor.data = reinterpret_cast<void*>(uintptr_t{3});  // a handle, aligned to nothing
  foreign.tensor.byte_offset = 4096;
  foreign.strides[0] = -3;
  for (bool versioned : {false, true}) {
    const CheckedTensor checked = CheckAccepted(&foreign, versioned);
    CHECK(checked.origin() == foreign.tensor.data);
    CHECK(checked.lowest() == foreign.tensor.data);
    CHECK_EQUAL(checked.byte_offset(), 4096U);
    CHECK_EQUAL(checked.span_bytes(), size_t{24});
    CHECK(!checked.misaligned());
  }
  foreign.strides[0] = kMost;
  CheckRefused(&foreign, FaultCode::kSpanOverflow, 0, kMost);
  foreign.strides[0] = 3;
  foreign.tensor.byte_offset = std::numeric_limits<uint64_t>::max();
  CheckRefused(&foreign, FaultCode::kByteOffset, 0, -1);
  foreign.tensor.byte_offset = 0;
  foreign.tensor.data = nullptr;
  CheckRefused(&foreign, FaultCode::kDataNull, 0, 6);
}

TEST("C079 a CPU tensor's device_id is ignored") {
  Foreign foreign;
  foreign.tensor.device.device_id = -7;
  for (bool versioned : {false, true}) CHECK_EQUAL(CheckAccepted(&foreign, versioned).device().device_id, 0);
}

TEST("C080 C081 C091 every dtype outside the table is refused by the field that is wrong") {
  Foreign foreign;
  for (int code = 0; code < 256; ++code) {
    for (int bits = 0; bits < 256; ++bits) {
      foreign.tensor.dtype = DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
      DType dtype;
      const Fault expected = DType::Check(foreign.tensor.dtype, false, &dtype);
      if (!expected.ok()) CheckRefused(&foreign, expected.code, expected.index, expected.value);
    }
  }
  foreign.tensor.dtype = DLDataType{kDLFloat, 0, 1};
  CheckRefused(&foreign, FaultCode::kDTypeBits, kDLFloat, 0);
  foreign.tensor.dtype = DLDataType{kDLFloat, 12, 1};
  CheckRefused(&foreign, FaultCode::kDTypeBits, kDLFloat, 12);
  foreign.tensor.dtype = DLDataType{kDLFloat4_e2m1fn, 8, 1};
  CheckRefused(&foreign, FaultCode::kDTypeBits, kDLFloat4_e2m1fn, 8);
  foreign.tensor.dtype = DLDataType{kDLBool, 1, 1};
  CheckRefused(&foreign, FaultCode::kDTypeBits, kDLBool, 1);
  foreign.tensor.dtype = DLDataType{kDLOpaqueHandle, 64, 1};
  CheckRefused(&foreign, FaultCode::kDTypeCode, 0, kDLOpaqueHandle);
  for (uint16_t lanes : {uint16_t{0}, uint16_t{2}, uint16_t{4}}) {
    foreign.tensor.dtype = DLDataType{kDLFloat, 32, lanes};
    CheckRefused(&foreign, FaultCode::kDTypeLanes, 0, lanes);
  }
}

TEST("every dtype of the table is accepted; sub-byte ones as packed, or padded where the flag says so") {
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType dtype = support::DTypeAt(i);
    Foreign foreign(dtype);
    foreign.versioned.flags = dtype.padded() ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0;
    const CheckedTensor checked = CheckAccepted(&foreign, true);
    CHECK(checked.dtype() == dtype);
    CHECK_EQUAL(static_cast<int64_t>(checked.span_bytes()), (6 * int64_t{dtype.stride_bits()} + 7) / 8);
  }
}

TEST("C082 a NULL struct is a fault before anything is read") {
  for (ManagedKind kind : {ManagedKind::kLegacy, ManagedKind::kVersioned}) {
    CheckedTensor checked;
    CHECK_FAULT(CheckedTensor::Check(nullptr, kind, &checked), kManagedNull, 0, 0, 0);
  }
}

TEST("C083 C084 another major version is refused, and no other field is read") {
  for (uint32_t major : {0U, 2U, 100U, std::numeric_limits<uint32_t>::max()}) {
    Foreign foreign;
    foreign.versioned.version.major = major;
    std::memset(static_cast<void*>(&foreign.tensor), 0xee, sizeof(foreign.tensor));
    foreign.versioned.flags = 0xeeeeeeeeeeeeeeee;
    CheckedTensor checked;
    const Fault fault = Import(&foreign, true, &checked);
    CHECK_EQUAL(fault.code, FaultCode::kVersionMajor);
    CHECK_EQUAL(fault.value, int64_t{major});
  }
}

TEST("C085 a negative number of axes, and axes without a shape, are refused") {
  Foreign foreign;
  for (int32_t ndim : {-1, std::numeric_limits<int32_t>::min()}) {
    foreign.tensor.ndim = ndim;
    CheckRefused(&foreign, FaultCode::kNdim, 0, ndim, 64);
  }
  foreign.tensor.ndim = 2;
  foreign.tensor.shape = nullptr;
  CheckRefused(&foreign, FaultCode::kShapeNull, 0, 2);
  foreign.tensor.strides = nullptr;
  CheckRefused(&foreign, FaultCode::kShapeNull, 0, 2);
}

TEST("a 0-d struct needs neither shape nor strides, and neither is read") {
  for (auto* pointer : {static_cast<int64_t*>(nullptr), reinterpret_cast<int64_t*>(uintptr_t{8})}) {
    Foreign foreign;
    foreign.tensor.ndim = 0;
    foreign.tensor.shape = pointer;
    foreign.tensor.strides = pointer;
    for (bool versioned : {false, true}) {
      const CheckedTensor checked = CheckAccepted(&foreign, versioned);
      CHECK_EQUAL(checked.layout().size(), 1);
      CHECK_EQUAL(checked.span_bytes(), size_t{4});
    }
  }
}

TEST("C086 a negative extent is refused by its axis") {
  Foreign foreign;
  for (int64_t extent : {int64_t{-1}, kLeast}) {
    foreign.shape[1] = extent;
    CheckRefused(&foreign, FaultCode::kExtentNegative, 1, extent);
  }
}

TEST("C087 products that do not fit are refused, in extents, in bytes, behind a 0 and under strides of 0") {
  Foreign foreign;
  constexpr int64_t kBig = int64_t{1} << 40;
  foreign.shape[0] = kBig;
  foreign.shape[1] = kBig;
  CheckRefused(&foreign, FaultCode::kSizeOverflow, 1, kBig);
  foreign.strides[0] = foreign.strides[1] = 0;
  CheckRefused(&foreign, FaultCode::kSizeOverflow, 1, kBig);
  foreign.tensor.strides = nullptr;
  CheckRefused(&foreign, FaultCode::kSizeOverflow, 1, kBig);
  foreign.shape[0] = int64_t{1} << 29;
  foreign.shape[1] = int64_t{1} << 30;  // 2^59 elements of 32 bits
  CheckRefused(&foreign, FaultCode::kSizeOverflow, 1, int64_t{1} << 30);
  foreign.tensor.ndim = 3;
  foreign.shape[0] = int64_t{1} << 62;
  foreign.shape[1] = 4;
  foreign.shape[2] = 0;
  CheckRefused(&foreign, FaultCode::kExtentTooLarge, 0, int64_t{1} << 62, kMaxExtent);
}

TEST("C088 spans that do not fit are refused by the axis whose stride does it") {
  Foreign foreign;
  for (int64_t stride : {kLeast, kLeast + 1, kMost, int64_t{1} << 58, -(int64_t{1} << 58)}) {
    foreign.strides[1] = stride;
    CheckRefused(&foreign, FaultCode::kSpanOverflow, 1, stride);
  }
}

TEST("C088 spans that leave the address space are refused at either end") {
  Foreign foreign;
  foreign.tensor.data = reinterpret_cast<void*>(uintptr_t{4096});
  foreign.strides[0] = -2000;
  CheckRefused(&foreign, FaultCode::kSpanOverflow, 0, -2000);
  foreign.strides[0] = -1024;
  CheckedTensor checked = CheckAccepted(&foreign, true);
  CHECK_EQUAL(reinterpret_cast<uintptr_t>(checked.lowest()), uintptr_t{0});
  foreign.strides[0] = 3;
  foreign.tensor.data = reinterpret_cast<void*>(UINTPTR_MAX - 15);
  CheckRefused(&foreign, FaultCode::kSpanOverflow, 0, 3);
  foreign.tensor.ndim = 0;
  for (bool versioned : {false, true}) CheckAccepted(&foreign, versioned);
}

TEST("C089 elements without data are refused, by their number") {
  Foreign foreign;
  foreign.tensor.data = nullptr;
  CheckRefused(&foreign, FaultCode::kDataNull, 0, 6);
  foreign.tensor.byte_offset = 4096;  // no address may be made of it either
  CheckRefused(&foreign, FaultCode::kDataNull, 0, 6);
  foreign.tensor.ndim = 0;
  CheckRefused(&foreign, FaultCode::kDataNull, 0, 1);
}

TEST("C090 a byte offset that makes the address wrap, or lead backwards, is refused") {
  Foreign foreign;
  for (uint64_t offset : {std::numeric_limits<uint64_t>::max(), uint64_t{0} - 8, uint64_t{1} << 63}) {
    foreign.tensor.byte_offset = offset;
    CheckRefused(&foreign, FaultCode::kByteOffset, 0, static_cast<int64_t>(offset));
  }
  foreign.tensor.data = reinterpret_cast<void*>(UINTPTR_MAX - 100);
  foreign.tensor.byte_offset = 200;
  CheckRefused(&foreign, FaultCode::kByteOffset, 0, 200);
}

TEST("C092 negative strides are accepted, and the span begins at the least address") {
  for (bool versioned : {false, true}) {
    Foreign foreign;
    foreign.tensor.data = foreign.memory + 20;
    foreign.strides[0] = -3;
    foreign.strides[1] = -1;
    const CheckedTensor checked = CheckAccepted(&foreign, versioned);
    CHECK(checked.origin() == foreign.memory + 20);
    CHECK(checked.lowest() == foreign.memory);
    CHECK_EQUAL(checked.span_bytes(), size_t{24});
  }
}

TEST("C093 an address that is not aligned to its element is no fault, but said") {
  for (int i = 0; i < support::kDTypeCount; ++i) {
    const DType dtype = support::DTypeAt(i);
    for (uint32_t off = 0; off < 16; ++off) {
      for (bool by_offset : {false, true}) {
        Foreign foreign(dtype);
        foreign.versioned.flags = dtype.padded() ? DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED : 0;
        if (by_offset) {
          foreign.tensor.byte_offset = off;
        } else {
          foreign.tensor.data = foreign.memory + off;
        }
        const CheckedTensor checked = CheckAccepted(&foreign, true);
        CHECK_EQUAL(checked.misalignment(), off % dtype.alignment());
        CHECK_EQUAL(checked.misaligned(), off % dtype.alignment() != 0);
      }
    }
  }
}

TEST("a fault leaves the result as it was") {
  Foreign foreign;
  CheckedTensor checked = CheckAccepted(&foreign, true);
  foreign.shape[1] = -1;
  CHECK(!Import(&foreign, true, &checked).ok());
  CHECK_EQUAL(checked.layout().shape()[1], 3);
  CHECK(checked.origin() == foreign.memory);
}

TEST("the view stays right when the producer changes its struct afterwards") {
  Foreign foreign;
  const CheckedTensor checked = CheckAccepted(&foreign, true);
  foreign.shape[0] = 1000000;
  foreign.strides[1] = kMost;
  foreign.versioned.dl_tensor.data = nullptr;
  CHECK_EQUAL(checked.layout().shape()[0], 2);
  CHECK_EQUAL(checked.layout().strides()[1], 1);
  CHECK(checked.origin() == foreign.memory);
}

TEST("random fields never get past the check into an address outside what they claim") {
  harness::Random random(21);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    Foreign foreign;
    foreign.tensor.ndim = static_cast<int32_t>(random.Between(0, 6));
    for (int axis = 0; axis < 6; ++axis) {
      foreign.shape[axis] = static_cast<int64_t>(random.Next()) >> random.Between(10, 63);
      if (foreign.shape[axis] < 0 && random.Between(0, 3) != 0) foreign.shape[axis] = -foreign.shape[axis];
      foreign.strides[axis] = static_cast<int64_t>(random.Next()) >> random.Between(0, 63);
    }
    foreign.tensor.byte_offset = random.Next() >> random.Between(0, 63);
    foreign.tensor.data = reinterpret_cast<void*>(random.Next() >> random.Between(0, 40));
    foreign.tensor.dtype = support::DTypeAt(i % support::kDTypeCount).raw();
    CheckedTensor checked;
    if (!Import(&foreign, i % 2 == 0, &checked).ok()) continue;
    ++accepted;
    if (checked.layout().empty()) continue;
    const auto origin = reinterpret_cast<uintptr_t>(checked.origin());
    const auto lowest = reinterpret_cast<uintptr_t>(checked.lowest());
    CHECK(lowest <= origin);
    CHECK(checked.span_bytes() <= UINTPTR_MAX - lowest);
    CHECK(origin < lowest + checked.span_bytes());
  }
  CHECK(accepted > 1000);
}
