#include "foreign.h"

#include <cstdint>

#include "checked_math.h"

namespace node_dlpack {

namespace {

constexpr uint64_t kKnownFlags =
    DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;

// What was read of a struct, nothing of it checked.
struct Claims {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  DLDataType dtype;
  const int64_t* shape;
  const int64_t* strides;
  uint64_t byte_offset;
};

Claims Read(const DLTensor& tensor) {
  Claims claims;
  claims.data = ReadOnce(tensor.data);
  claims.device_type = ReadOnce(tensor.device.device_type);
  claims.device_id = ReadOnce(tensor.device.device_id);
  claims.ndim = ReadOnce(tensor.ndim);
  claims.dtype.code = ReadOnce(tensor.dtype.code);
  claims.dtype.bits = ReadOnce(tensor.dtype.bits);
  claims.dtype.lanes = ReadOnce(tensor.dtype.lanes);
  claims.shape = ReadOnce(tensor.shape);
  claims.strides = ReadOnce(tensor.strides);
  claims.byte_offset = ReadOnce(tensor.byte_offset);
  return claims;
}

Fault ReadLayout(const Claims& claims, DType dtype, Layout* out) {
  if (claims.ndim < 0 || claims.ndim > kMaxNdim) return Fault(FaultCode::kNdim, 0, claims.ndim, kMaxNdim);
  if (claims.ndim > 0 && claims.shape == nullptr) return Fault(FaultCode::kShapeNull, 0, claims.ndim);
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
  const bool row_major = claims.strides == nullptr;
  for (int32_t axis = 0; axis < claims.ndim; ++axis) {
    shape[axis] = ReadOnce(claims.shape[axis]);
    strides[axis] = row_major ? 0 : ReadOnce(claims.strides[axis]);
  }
  return Layout::Strided(shape, row_major ? nullptr : strides, claims.ndim, dtype, out);
}

}  // namespace

Fault CheckedTensor::Check(const void* managed, ManagedKind kind, CheckedTensor* out) {
  if (managed == nullptr) return Fault(FaultCode::kManagedNull);
  CheckedTensor result;
  const DLTensor* tensor = nullptr;
  if (kind == ManagedKind::kVersioned) {
    const auto* versioned = static_cast<const DLManagedTensorVersioned*>(managed);
    const uint32_t major = ReadOnce(versioned->version.major);
    if (major != DLPACK_MAJOR_VERSION) return Fault(FaultCode::kVersionMajor, 0, major);
    result.versioned_ = true;
    result.flags_ = ReadOnce(versioned->flags) & kKnownFlags;
    tensor = &versioned->dl_tensor;
  } else {
    tensor = &static_cast<const DLManagedTensor*>(managed)->dl_tensor;
  }
  const Claims claims = Read(*tensor);

  if (!IsKnownDevice(claims.device_type)) return Fault(FaultCode::kDeviceType, 0, claims.device_type);
  result.host_readable_ = IsHostReadable(claims.device_type);
  result.device_.device_type = static_cast<DLDeviceType>(claims.device_type);
  result.device_.device_id = result.host_readable_ ? 0 : claims.device_id;

  const bool padded = (result.flags_ & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  if (Fault fault = DType::Check(claims.dtype, padded, &result.dtype_); !fault.ok()) return fault;
  if (Fault fault = ReadLayout(claims, result.dtype_, &result.layout_); !fault.ok()) return fault;
  if (Fault fault = result.Place(claims.data, claims.byte_offset); !fault.ok()) return fault;
  *out = static_cast<CheckedTensor&&>(result);
  return Fault();
}

// The last step: where the elements are.
Fault CheckedTensor::Place(void* data, uint64_t byte_offset) {
  if (layout_.empty()) return Fault();
  const auto address = reinterpret_cast<uintptr_t>(data);
  // An offset above PTRDIFF_MAX lies in no object; read as signed it would lead backwards.
  if (byte_offset > UINTPTR_MAX - address || byte_offset > static_cast<uint64_t>(PTRDIFF_MAX)) {
    return Fault(FaultCode::kByteOffset, 0, static_cast<int64_t>(byte_offset));
  }
  if (data == nullptr) return Fault(FaultCode::kDataNull, 0, layout_.size());
  const ByteSpan span = layout_.byte_span(dtype_);
  span_bytes_ = static_cast<size_t>(span.size());
  origin_ = static_cast<uint8_t*>(data);
  lowest_ = origin_;
  if (!host_readable_) {
    byte_offset_ = byte_offset;
    return Fault();
  }

  const uintptr_t first = address + static_cast<uintptr_t>(byte_offset);
  if (Magnitude(span.lowest) > first) return layout_.SpanFault(true);
  if (static_cast<uint64_t>(span.highest) > UINTPTR_MAX - first) return layout_.SpanFault(false);
  origin_ = reinterpret_cast<uint8_t*>(first);
  lowest_ = reinterpret_cast<uint8_t*>(first - static_cast<uintptr_t>(Magnitude(span.lowest)));
  misalignment_ = static_cast<uint32_t>(first % dtype_.alignment());
  misaligned_ = misalignment_ != 0;
  return Fault();
}

bool IsKnownDevice(int32_t type) {
  return type >= kDLCPU && type <= kDLTrn && type != 5 && type != 6;
}

bool IsHostReadable(int32_t type) {
  return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
}

}  // namespace node_dlpack
