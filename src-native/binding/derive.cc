#include "derive.h"

#include "environment.h"
#include "handles.h"
#include "new_tensor.h"

namespace node_dlpack::binding {

Fault ReadSlices(const Call& call, int32_t count, int32_t ndim, AxisSlice* specs) {
  if (count < 0 || count > ndim) return Fault(FaultCode::kIndexCount, 0, count, ndim);
  for (int32_t axis = 0; axis < count; ++axis) {
    int64_t numbers[4];
    if (Fault fault = call.Integers(4 * axis, 4, numbers); !fault.ok()) return fault;
    specs[axis].is_index = numbers[0] != 0;
    specs[axis].start = numbers[1];
    specs[axis].extent = numbers[2];
    specs[axis].step = numbers[3];
  }
  return Fault();
}

namespace {

// A new alias of `from`, whose layout `derive(layout, &new_layout, &offset)` fills.
template <typename Derive>
napi_value ReturnDerived(Call& call, const Slot& from, Derive derive) {
  NewTensor tensor = NewTensor::AliasOf(from);
  int64_t offset = 0;
  if (Fault fault = derive(from.layout, &tensor.layout, &offset); !fault.ok()) return call.Fail(fault);
  if (Fault fault = tensor.MoveOrigin(offset); !fault.ok()) return call.Fail(fault);
  return ReturnNewTensor(call, static_cast<NewTensor&&>(tensor));
}

napi_value Slice(Call& call) {
  Slot* from = nullptr;
  int32_t count = 0;
  AxisSlice specs[kMaxNdim];
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Int(1, &count); !fault.ok()) return call.Fail(fault);
  if (Fault fault = ReadSlices(call, count, from->layout.ndim(), specs); !fault.ok()) return call.Fail(fault);
  return ReturnDerived(call, *from, [&](const Layout& layout, Layout* out, int64_t* offset) {
    return layout.Slice(specs, count, from->dtype, out, offset);
  });
}

// `count` axes of Input; a number that is no axis at all becomes -1, which every layout refuses.
Fault ReadAxes(const Call& call, int32_t count, int32_t ndim, int32_t* axes) {
  int64_t numbers[kMaxNdim];
  if (count < 0 || count > ndim) return Fault(FaultCode::kIndexCount, 0, count, ndim);
  if (Fault fault = call.Integers(0, count, numbers); !fault.ok()) return fault;
  for (int32_t i = 0; i < count; ++i)
    axes[i] = numbers[i] < 0 || numbers[i] > kMaxNdim ? -1 : static_cast<int32_t>(numbers[i]);
  return Fault();
}

napi_value Permute(Call& call) {
  Slot* from = nullptr;
  int32_t count = 0;
  int32_t axes[kMaxNdim];
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Int(1, &count); !fault.ok()) return call.Fail(fault);
  const int32_t ndim = from->layout.ndim();
  if (count != ndim) return call.Fail(Fault(FaultCode::kIndexCount, 0, count, ndim));
  if (Fault fault = ReadAxes(call, count, ndim, axes); !fault.ok()) return call.Fail(fault);
  return ReturnDerived(
      call, *from, [&](const Layout& layout, Layout* out, int64_t*) { return layout.Permute(axes, from->dtype, out); });
}

// The tensor and the shape that reshape and broadcastTo were given.
Fault ReadShape(const Call& call, Slot** from, int32_t* ndim, int64_t* shape) {
  if (Fault fault = call.Tensor(0, from); !fault.ok()) return fault;
  if (Fault fault = call.Int(1, ndim); !fault.ok()) return fault;
  if (*ndim < 0 || *ndim > kMaxNdim) return Fault(FaultCode::kNdimLimit, 0, *ndim, kMaxNdim);
  return call.Integers(0, *ndim, shape);
}

napi_value Reshape(Call& call) {
  Slot* from = nullptr;
  int32_t ndim = 0;
  int64_t shape[kMaxNdim];
  if (Fault fault = ReadShape(call, &from, &ndim, shape); !fault.ok()) return call.Fail(fault);
  return ReturnDerived(call, *from, [&](const Layout& layout, Layout* out, int64_t*) {
    return layout.Reshape(shape, ndim, from->dtype, out);
  });
}

napi_value BroadcastTo(Call& call) {
  Slot* from = nullptr;
  int32_t ndim = 0;
  int64_t shape[kMaxNdim];
  if (Fault fault = ReadShape(call, &from, &ndim, shape); !fault.ok()) return call.Fail(fault);
  return ReturnDerived(call, *from, [&](const Layout& layout, Layout* out, int64_t*) {
    return layout.BroadcastTo(shape, ndim, from->dtype, out);
  });
}

napi_value Squeeze(Call& call) {
  Slot* from = nullptr;
  int32_t count = 0;
  int32_t axes[kMaxNdim];
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Int(1, &count); !fault.ok()) return call.Fail(fault);
  if (Fault fault = ReadAxes(call, count, from->layout.ndim(), axes); !fault.ok()) return call.Fail(fault);
  return ReturnDerived(call, *from, [&](const Layout& layout, Layout* out, int64_t*) {
    Fault fault = layout.CopyTo(out);
    // From the last axis, so that the numbers of those before it stay true.
    for (int32_t i = count - 1; i >= 0 && fault.ok(); --i) fault = out->Squeeze(axes[i], from->dtype, out);
    return fault;
  });
}

napi_value ExpandDims(Call& call) {
  Slot* from = nullptr;
  int32_t axis = 0;
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Int(1, &axis); !fault.ok()) return call.Fail(fault);
  return ReturnDerived(call, *from, [&](const Layout& layout, Layout* out, int64_t*) {
    return layout.ExpandDims(axis, from->dtype, out);
  });
}

napi_value Flip(Call& call) {
  Slot* from = nullptr;
  int32_t axis = 0;
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Int(1, &axis); !fault.ok()) return call.Fail(fault);
  return ReturnDerived(call, *from, [&](const Layout& layout, Layout* out, int64_t* offset) {
    return layout.Flip(axis, from->dtype, out, offset);
  });
}

}  // namespace

void RegisterDerive(Registration& registration) {
  registration.Function("slice", Entry<Slice, 2, Makes::kHandle>);
  registration.Function("permute", Entry<Permute, 2, Makes::kHandle>);
  registration.Function("reshape", Entry<Reshape, 2, Makes::kHandle>);
  registration.Function("squeeze", Entry<Squeeze, 2, Makes::kHandle>);
  registration.Function("expandDims", Entry<ExpandDims, 2, Makes::kHandle>);
  registration.Function("broadcastTo", Entry<BroadcastTo, 2, Makes::kHandle>);
  registration.Function("flip", Entry<Flip, 2, Makes::kHandle>);
}

}  // namespace node_dlpack::binding
