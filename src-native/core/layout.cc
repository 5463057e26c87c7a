#include "layout.h"

#include <cstring>

#include "checked_math.h"
#include "memory.h"

namespace node_dlpack {

void Layout::FreeDims() {
  FreeBytes(dims_);
}

Fault Layout::Resize(int32_t ndim) {
  if (ndim < 0 || ndim > kMaxNdim) return Fault(FaultCode::kNdimLimit, 0, ndim, kMaxNdim);
  int64_t* dims = inline_;
  if (ndim > kInlineNdim) {
    const size_t bytes = 2 * static_cast<size_t>(ndim) * sizeof(int64_t);
    dims = static_cast<int64_t*>(AllocateBytes(bytes));
    if (dims == nullptr) return Fault(FaultCode::kOutOfMemory, 0, static_cast<int64_t>(bytes));
  }
  if (dims_ != inline_) FreeBytes(dims_);
  dims_ = dims;
  ndim_ = ndim;
  return Fault();
}

Fault Layout::CopyDimsTo(Layout* out) const {
  if (out == this) return Fault();
  Layout result;
  if (Fault fault = result.Resize(ndim_); !fault.ok()) return fault;
  std::memcpy(result.dims_, dims_, 2 * static_cast<size_t>(ndim_) * sizeof(int64_t));
  result.size_ = size_;
  *out = static_cast<Layout&&>(result);
  return Fault();
}

Fault Layout::RowMajor(const int64_t* shape, int32_t ndim, DType dtype, Layout* out) {
  return Strided(shape, nullptr, ndim, dtype, out);
}

Fault Layout::Strided(const int64_t* shape, const int64_t* strides, int32_t ndim, DType dtype, Layout* out) {
  Layout result;
  if (Fault fault = result.Resize(ndim); !fault.ok()) return fault;
  for (int32_t axis = 0; axis < ndim; ++axis) result.mutable_shape()[axis] = shape[axis];
  if (strides == nullptr) {
    if (Fault fault = result.CheckShape(dtype); !fault.ok()) return fault;
    result.FillRowMajorStrides();
  } else {
    for (int32_t axis = 0; axis < ndim; ++axis) result.mutable_strides()[axis] = strides[axis];
    if (Fault fault = result.Seal(dtype); !fault.ok()) return fault;
  }
  *out = static_cast<Layout&&>(result);
  return Fault();
}

Fault Layout::Seal(DType dtype) {
  if (Fault fault = CheckShape(dtype); !fault.ok()) return fault;
  return CheckSpan(dtype);
}

// The product counts an extent of 0 as 1. So a shape is refused for its other extents even when it holds nothing:
// whether it is accepted does not depend on the order of its axes, and row-major strides exist for every shape that is.
Fault Layout::CheckShape(DType dtype) {
  const int64_t element_bits = dtype.stride_bits();
  int64_t bits = element_bits;
  bool empty = false;
  for (int32_t axis = 0; axis < ndim_; ++axis) {
    const int64_t extent = shape()[axis];
    if (extent < 0) return Fault(FaultCode::kExtentNegative, axis, extent);
    if (extent > kMaxExtent) return Fault(FaultCode::kExtentTooLarge, axis, extent, kMaxExtent);
    if (extent == 0) {
      empty = true;
    } else if (!CheckedMultiply(bits, extent, &bits)) {
      return Fault(FaultCode::kSizeOverflow, axis, extent);
    }
  }
  size_ = empty ? 0 : bits / element_bits;
  return Fault();
}

Fault Layout::CheckSpan(DType dtype) const {
  if (empty()) return Fault();
  const int64_t element_bits = dtype.stride_bits();
  int64_t lowest = 0;
  int64_t highest = element_bits;
  for (int32_t axis = 0; axis < ndim_; ++axis) {
    // With an extent of 1 this is 0 x stride: any stride will do.
    const int64_t stride = strides()[axis];
    int64_t reach = 0;
    int64_t size = 0;
    const bool fits = CheckedMultiply(stride, shape()[axis] - 1, &reach) &&
                      CheckedMultiply(reach, element_bits, &reach) &&
                      (reach < 0 ? CheckedAdd(lowest, reach, &lowest) : CheckedAdd(highest, reach, &highest)) &&
                      CheckedSubtract(highest, lowest, &size);
    if (!fits) return Fault(FaultCode::kSpanOverflow, axis, stride);
  }
  return Fault();
}

void Layout::FillRowMajorStrides() {
  int64_t stride = 1;
  for (int32_t axis = ndim_ - 1; axis >= 0; --axis) {
    mutable_strides()[axis] = stride;
    if (shape()[axis] > 1) stride *= shape()[axis];
  }
}

BitSpan Layout::bit_span(DType dtype) const {
  BitSpan span;
  if (empty()) return span;
  const int64_t element_bits = dtype.stride_bits();
  span.highest = element_bits;
  for (int32_t axis = 0; axis < ndim_; ++axis) {
    const int64_t reach = (shape()[axis] - 1) * strides()[axis] * element_bits;
    (reach < 0 ? span.lowest : span.highest) += reach;
  }
  return span;
}

ByteSpan Layout::byte_span(DType dtype) const {
  const BitSpan bits = bit_span(dtype);
  return ByteSpan{BytesBelow(bits.lowest), BytesAbove(bits.highest)};
}

Fault Layout::SpanFault(bool below) const {
  int32_t furthest = 0;
  int64_t most = 0;
  for (int32_t axis = 0; axis < ndim_; ++axis) {
    if (shape()[axis] == 1) continue;
    const int64_t reach = (shape()[axis] - 1) * strides()[axis];
    if (below ? reach >= most : reach <= most) continue;
    most = reach;
    furthest = axis;
  }
  const int64_t stride = ndim_ > 0 ? strides()[furthest] : 1;
  return Fault(FaultCode::kSpanOverflow, furthest, stride);
}

int64_t Layout::compact_bytes(DType dtype) const {
  return BytesAbove(size_ * dtype.stride_bits());
}

bool Layout::IsContiguous() const {
  if (empty()) return true;
  int64_t expected = 1;
  for (int32_t axis = ndim_ - 1; axis >= 0; --axis) {
    if (shape()[axis] == 1) continue;
    if (strides()[axis] != expected) return false;
    expected *= shape()[axis];
  }
  return true;
}

bool Layout::MayOverlap() const {
  if (empty()) return false;
  // The axes that matter, by rising |stride|.
  int32_t order[kMaxNdim];
  int32_t count = 0;
  for (int32_t axis = 0; axis < ndim_; ++axis) {
    if (shape()[axis] == 1) continue;
    int32_t place = count++;
    for (; place > 0 && Magnitude(strides()[order[place - 1]]) > Magnitude(strides()[axis]); --place) {
      order[place] = order[place - 1];
    }
    order[place] = axis;
  }
  // How far apart two elements can be that differ only in the axes so far; bounded by the span, which fits.
  uint64_t reach = 0;
  for (int32_t place = 0; place < count; ++place) {
    const uint64_t step = Magnitude(strides()[order[place]]);
    if (step <= reach) return true;
    reach += step * static_cast<uint64_t>(shape()[order[place]] - 1);
  }
  return false;
}

Fault Layout::OffsetOf(const int64_t* index, int32_t count, int64_t* offset) const {
  if (count != ndim_) return Fault(FaultCode::kIndexCount, 0, count, ndim_);
  for (int32_t axis = 0; axis < ndim_; ++axis) {
    const int64_t extent = shape()[axis];
    if (index[axis] < 0 || index[axis] >= extent) return Fault(FaultCode::kIndex, axis, index[axis], extent);
  }
  // Only now: the strides of a tensor without elements may be anything.
  int64_t sum = 0;
  for (int32_t axis = 0; axis < ndim_; ++axis) sum += index[axis] * strides()[axis];
  *offset = sum;
  return Fault();
}

}  // namespace node_dlpack
