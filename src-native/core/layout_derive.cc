// Layouts made from a layout, without touching memory. Each is built aside and handed over whole, so `out` may be the
// source itself and keeps its value on a fault.
#include <cstring>

#include "checked_math.h"
#include "layout.h"

namespace node_dlpack {

namespace {

// For axes whose stride is never used (extent 1, or nothing there at all) and need not be expressible.
int64_t MultiplyOrKeep(int64_t stride, int64_t factor) {
  CheckedMultiply(stride, factor, &stride);
  return stride;
}

}  // namespace

Fault Layout::Slice(const AxisSlice* specs, int32_t count, DType dtype, Layout* out, int64_t* offset) const {
  if (count < 0 || count > ndim_) return Fault(FaultCode::kIndexCount, 0, count, ndim_);
  int32_t kept = ndim_;
  for (int32_t axis = 0; axis < count; ++axis) kept -= specs[axis].is_index ? 1 : 0;
  Layout result;
  if (Fault fault = result.Resize(kept); !fault.ok()) return fault;

  int64_t first = 0;
  int32_t to = 0;
  for (int32_t axis = 0; axis < ndim_; ++axis) {
    const int64_t extent = shape()[axis];
    const int64_t stride = strides()[axis];
    if (axis >= count) {
      result.mutable_shape()[to] = extent;
      result.mutable_strides()[to++] = stride;
      continue;
    }
    const AxisSlice& spec = specs[axis];
    const int64_t picked = spec.is_index ? 1 : spec.extent;
    if (picked < 0) return Fault(FaultCode::kExtentNegative, axis, picked);
    if (picked > 0) {
      if (spec.start < 0 || spec.start >= extent) return Fault(FaultCode::kIndex, axis, spec.start, extent);
      int64_t last = spec.start;
      if (picked > 1 && (!CheckedMultiply(spec.step, picked - 1, &last) || !CheckedAdd(last, spec.start, &last) ||
                         last < 0 || last >= extent || spec.step == 0)) {
        return Fault(FaultCode::kIndex, axis, last, extent);
      }
      // The strides of an empty tensor may be anything; an extent of 1 has start 0.
      if (!empty()) first += spec.start * stride;
    }
    if (spec.is_index) continue;
    result.mutable_shape()[to] = picked;
    result.mutable_strides()[to++] = MultiplyOrKeep(stride, spec.step);
  }

  if (Fault fault = result.Seal(dtype); !fault.ok()) return fault;
  *offset = result.empty() ? 0 : first;
  *out = static_cast<Layout&&>(result);
  return Fault();
}

Fault Layout::Permute(const int32_t* axes, DType dtype, Layout* out) const {
  Layout result;
  if (Fault fault = result.Resize(ndim_); !fault.ok()) return fault;
  uint64_t seen = 0;
  for (int32_t to = 0; to < ndim_; ++to) {
    const int32_t axis = axes[to];
    if (axis < 0 || axis >= ndim_ || (seen >> axis & 1) != 0) return Fault(FaultCode::kAxis, axis, 0, ndim_);
    seen |= uint64_t{1} << axis;
    result.mutable_shape()[to] = shape()[axis];
    result.mutable_strides()[to] = strides()[axis];
  }
  if (Fault fault = result.Seal(dtype); !fault.ok()) return fault;
  *out = static_cast<Layout&&>(result);
  return Fault();
}

Fault Layout::Reshape(const int64_t* new_shape, int32_t ndim, DType dtype, Layout* out) const {
  Layout result;
  if (Fault fault = result.Resize(ndim); !fault.ok()) return fault;
  if (ndim > 0) std::memcpy(result.mutable_shape(), new_shape, static_cast<size_t>(ndim) * sizeof(int64_t));
  if (Fault fault = result.CheckShape(dtype); !fault.ok()) return fault;
  if (result.size_ != size_) return Fault(FaultCode::kReshapeSize, 0, result.size_, size_);
  if (IsContiguous()) {
    result.FillRowMajorStrides();
  } else if (!FoldAxes(&result)) {
    return Fault(FaultCode::kReshapeNeedsCopy);
  }
  if (Fault fault = result.CheckSpan(dtype); !fault.ok()) return fault;
  *out = static_cast<Layout&&>(result);
  return Fault();
}

// The strides of result, whose shape is set and holds as many elements, or false when strides cannot express them. Both
// shapes are walked from the front and cut into the shortest groups of axes that hold equally many elements. Elements
// of a group follow each other in row-major order on both sides, so the old group has to be one evenly spaced run,
// which the new axes then share out.
bool Layout::FoldAxes(Layout* result) const {
  int64_t extents[kMaxNdim];
  int64_t steps[kMaxNdim];
  int32_t count = 0;
  for (int32_t axis = 0; axis < ndim_; ++axis) {
    if (shape()[axis] == 1) continue;
    extents[count] = shape()[axis];
    steps[count++] = strides()[axis];
  }

  const int32_t ndim = result->ndim_;
  int32_t to = 0;
  int64_t step = 1;
  for (int32_t from = 0; from < count; ++from) {
    int64_t held = extents[from];
    int64_t wanted = 1;
    const int32_t group = to;
    while (held != wanted) {
      if (wanted < held) {
        wanted *= result->shape()[to++];
        continue;
      }
      if (from + 1 == count) return false;  // cannot be: the shapes hold equally many
      int64_t run = 0;
      if (!CheckedMultiply(extents[from + 1], steps[from + 1], &run) || steps[from] != run) return false;
      held *= extents[++from];
    }
    step = steps[from];
    for (int32_t axis = to - 1; axis >= group; --axis) {
      result->mutable_strides()[axis] = step;
      step = MultiplyOrKeep(step, result->shape()[axis]);
    }
    step = steps[from];
  }
  for (; to < ndim; ++to) result->mutable_strides()[to] = step;  // what is left has extent 1
  return true;
}

Fault Layout::Squeeze(int32_t axis, DType dtype, Layout* out) const {
  if (axis < 0 || axis >= ndim_) return Fault(FaultCode::kAxis, axis, 0, ndim_);
  if (shape()[axis] != 1) return Fault(FaultCode::kReshapeSize, axis, 1, shape()[axis]);
  Layout result;
  if (Fault fault = result.Resize(ndim_ - 1); !fault.ok()) return fault;
  for (int32_t from = 0, to = 0; from < ndim_; ++from) {
    if (from == axis) continue;
    result.mutable_shape()[to] = shape()[from];
    result.mutable_strides()[to++] = strides()[from];
  }
  if (Fault fault = result.Seal(dtype); !fault.ok()) return fault;
  *out = static_cast<Layout&&>(result);
  return Fault();
}

Fault Layout::ExpandDims(int32_t axis, DType dtype, Layout* out) const {
  if (axis < 0 || axis > ndim_) return Fault(FaultCode::kAxis, axis, 0, ndim_);
  Layout result;
  if (Fault fault = result.Resize(ndim_ + 1); !fault.ok()) return fault;
  for (int32_t from = 0, to = 0; to <= ndim_; ++to) {
    if (to == axis) {
      // Never used; chosen so that a row-major layout has row-major strides afterwards.
      const int64_t behind = from < ndim_ && shape()[from] > 1 ? shape()[from] : 1;
      result.mutable_shape()[to] = 1;
      result.mutable_strides()[to] = from < ndim_ ? MultiplyOrKeep(strides()[from], behind) : 1;
    } else {
      result.mutable_shape()[to] = shape()[from];
      result.mutable_strides()[to] = strides()[from++];
    }
  }
  if (Fault fault = result.Seal(dtype); !fault.ok()) return fault;
  *out = static_cast<Layout&&>(result);
  return Fault();
}

Fault Layout::BroadcastTo(const int64_t* new_shape, int32_t ndim, DType dtype, Layout* out) const {
  Layout result;
  if (Fault fault = result.Resize(ndim); !fault.ok()) return fault;
  if (ndim < ndim_) return Fault(FaultCode::kBroadcast, -1, ndim_, ndim);
  const int32_t added = ndim - ndim_;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    const int64_t extent = axis < added ? 1 : shape()[axis - added];
    const int64_t stride = axis < added ? 0 : strides()[axis - added];
    if (extent != 1 && extent != new_shape[axis]) return Fault(FaultCode::kBroadcast, axis, extent, new_shape[axis]);
    result.mutable_shape()[axis] = new_shape[axis];
    result.mutable_strides()[axis] = extent == new_shape[axis] ? stride : 0;
  }
  if (Fault fault = result.Seal(dtype); !fault.ok()) return fault;
  *out = static_cast<Layout&&>(result);
  return Fault();
}

Fault Layout::Flip(int32_t axis, DType dtype, Layout* out, int64_t* offset) const {
  if (axis < 0 || axis >= ndim_) return Fault(FaultCode::kAxis, axis, 0, ndim_);
  Layout result;
  if (Fault fault = CopyTo(&result); !fault.ok()) return fault;
  const bool moves = !empty() && shape()[axis] > 1;
  const int64_t first = moves ? (shape()[axis] - 1) * strides()[axis] : 0;
  result.mutable_strides()[axis] = MultiplyOrKeep(strides()[axis], -1);
  if (Fault fault = result.Seal(dtype); !fault.ok()) return fault;
  *offset = first;
  *out = static_cast<Layout&&>(result);
  return Fault();
}

}  // namespace node_dlpack
