#include "elements.h"

#include <cstring>

#include "../core/checked_math.h"
#include "../core/convert.h"
#include "../core/scalar.h"
#include "../core/strided_copy.h"
#include "bytes_argument.h"
#include "call.h"
#include "environment.h"
#include "handles.h"
#include "host_access.h"
#include "new_tensor.h"

namespace node_dlpack::binding {

namespace {

void WriteScalar(Scratch& scratch, DType dtype, const Scalar& value) {
  const bool exact = value.kind != Scalar::Kind::kFloat && dtype.bits() == 64;
  switch (value.kind) {
    case Scalar::Kind::kInt:
      if (exact) return scratch.set_bits(slot::kElement, value.i);
      return scratch.set_number(slot::kElement, static_cast<double>(value.i));
    case Scalar::Kind::kUInt:
      if (exact) return scratch.set_bits(slot::kElement, static_cast<int64_t>(value.u));
      return scratch.set_number(slot::kElement, static_cast<double>(value.u));
    case Scalar::Kind::kFloat:
      scratch.set_number(slot::kElement, value.f);
      scratch.set_number(slot::kElement + 1, value.imag);
  }
}

Scalar ReadScalar(const Scratch& scratch, ScalarKind kind) {
  Scalar value;
  switch (kind) {
    case ScalarKind::kInt:
      value.kind = Scalar::Kind::kInt;
      value.i = scratch.bits(slot::kElement);
      break;
    case ScalarKind::kUInt:
      value.kind = Scalar::Kind::kUInt;
      value.u = static_cast<uint64_t>(scratch.bits(slot::kElement));
      break;
    case ScalarKind::kComplex:
      value.imag = scratch.number(slot::kElement + 1);
      [[fallthrough]];
    case ScalarKind::kFloat:
      value.f = scratch.number(slot::kElement);
  }
  return value;
}

// Of a lent owner too: reading one element disturbs nobody.
napi_value ReadElement(Call& call) {
  Slot* slot = nullptr;
  int32_t count = 0;
  int64_t index[kMaxNdim];
  int64_t offset = 0;
  if (Fault fault = call.TensorOrOwner(0, &slot); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Int(1, &count); !fault.ok()) return call.Fail(fault);
  const int32_t ndim = slot->layout.ndim();
  if (count != ndim) return call.Fail(Fault(FaultCode::kIndexCount, 0, count, ndim));
  if (Fault fault = call.Integers(0, count, index); !fault.ok()) return call.Fail(fault);
  if (Fault fault = CheckReadable(*slot); !fault.ok()) return call.Fail(fault);
  if (Fault fault = slot->layout.OffsetOf(index, count, &offset); !fault.ok()) return call.Fail(fault);
  const int64_t bits = offset * static_cast<int64_t>(slot->dtype.stride_bits());
  WriteScalar(call.scratch(), slot->dtype, LoadScalar(slot->origin, bits, slot->dtype));
  return call.Ok();
}

napi_value CopyOut(Call& call) {
  Slot* slot = nullptr;
  BytesArgument target;
  if (Fault fault = call.TensorOrFreeOwner(0, &slot); !fault.ok()) return call.Fail(fault);
  if (Fault fault = CheckReadable(*slot); !fault.ok()) return call.Fail(fault);
  if (Fault fault = BytesArgument::Read(call, 1, &target); !fault.ok()) return call.Fail(fault);
  const DType dtype = slot->dtype;
  const int64_t bytes = slot->layout.compact_bytes(dtype);
  if (target.bytes != static_cast<size_t>(bytes)) {
    return call.Fail(Fault(FaultCode::kOutsideBlock, 1, static_cast<int64_t>(target.bytes), bytes));
  }
  if (slot->layout.empty()) return call.Ok();
  Layout compact;
  if (Fault fault = Layout::RowMajor(slot->layout.shape(), slot->layout.ndim(), dtype, &compact); !fault.ok())
    return call.Fail(fault);
  if (!SpansOverlap(target.data, compact, dtype, slot->origin, slot->layout, dtype)) {
    StridedCopy(target.data, compact, slot->origin, slot->layout, dtype);
    return call.Ok();
  }
  // The target is a view of this very memory.
  NewTensor staged;
  if (Fault fault = CopyFresh(call.environment, slot->origin, slot->layout, dtype, &staged); !fault.ok())
    return call.Fail(fault);
  std::memcpy(target.data, staged.origin, target.bytes);
  return call.Ok();
}

napi_value Fill(Call& call) {
  Slot* owner = nullptr;
  ScalarKind kind = ScalarKind::kFloat;
  if (Fault fault = call.FreeOwner(0, &owner); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Choice(1, ScalarKind::kComplex, &kind); !fault.ok()) return call.Fail(fault);
  if (!owner->layout.empty()) FillStrided(owner->origin, owner->layout, owner->dtype, ReadScalar(call.scratch(), kind));
  return call.Ok();
}

// The address of the first element, `offset` elements from the start of the source, if everything the layout reaches
// lies within the source.
Fault Locate(const BytesArgument& source, int64_t offset, const Layout& layout, DType dtype, const uint8_t** origin) {
  *origin = nullptr;
  if (layout.empty()) return Fault();
  const BitSpan span = layout.bit_span(dtype);
  const auto available = static_cast<int64_t>(source.bytes);
  int64_t first = 0;
  int64_t lowest = 0;
  int64_t highest = 0;
  if (!CheckedMultiply(offset, static_cast<int64_t>(dtype.stride_bits()), &first) ||
      !CheckedAdd(first, span.lowest, &lowest) || !CheckedAdd(first, span.highest, &highest)) {
    return Fault(FaultCode::kSpanOverflow, 0, offset);
  }
  if (lowest < 0) return Fault(FaultCode::kOutsideBlock, 0, BytesBelow(lowest), available);
  if (BytesAbove(highest) > available) return Fault(FaultCode::kOutsideBlock, 0, BytesAbove(highest), available);
  if (first % 8 != 0) return Fault(FaultCode::kSubByteOffset, 0, first);
  *origin = source.data + first / 8;
  return Fault();
}

// Input: shape, strides where there are any, offset.
napi_value FromBytes(Call& call) {
  BytesArgument source;
  NewTensor tensor;
  DType dtype;
  int32_t ndim = 0;
  bool has_strides = false;
  bool owned = false;
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
  int64_t offset = 0;
  if (Fault fault = call.Int(1, &ndim); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.DTypeArgument(2, &dtype); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(3, &has_strides); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(4, &owned); !fault.ok()) return call.Fail(fault);
  if (ndim < 0 || ndim > kMaxNdim) return call.Fail(Fault(FaultCode::kNdimLimit, 0, ndim, kMaxNdim));
  if (Fault fault = call.Integers(0, ndim, shape); !fault.ok()) return call.Fail(fault);
  if (has_strides) {
    if (Fault fault = call.Integers(ndim, ndim, strides); !fault.ok()) return call.Fail(fault);
  }
  if (Fault fault = call.Integers(has_strides ? 2 * ndim : ndim, 1, &offset); !fault.ok()) return call.Fail(fault);
  if (Fault fault = BytesArgument::Read(call, 0, &source); !fault.ok()) return call.Fail(fault);

  Layout layout;
  const uint8_t* origin = nullptr;
  if (Fault fault = Layout::Strided(shape, has_strides ? strides : nullptr, ndim, dtype, &layout); !fault.ok())
    return call.Fail(fault);
  if (Fault fault = Locate(source, offset, layout, dtype, &origin); !fault.ok()) return call.Fail(fault);
  if (Fault fault = CopyFresh(call.environment, origin, layout, dtype, &tensor); !fault.ok()) return call.Fail(fault);
  if (owned) tensor.kind = SlotKind::kOwner;
  return ReturnNewTensor(call, static_cast<NewTensor&&>(tensor));
}

napi_value Copy(Call& call) {
  Slot* from = nullptr;
  NewTensor tensor;
  bool owned = false;
  if (Fault fault = call.TensorOrFreeOwner(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(1, &owned); !fault.ok()) return call.Fail(fault);
  if (Fault fault = CheckReadable(*from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = CopyFresh(call.environment, from->origin, from->layout, from->dtype, &tensor); !fault.ok())
    return call.Fail(fault);
  if (owned) tensor.kind = SlotKind::kOwner;
  return ReturnNewTensor(call, static_cast<NewTensor&&>(tensor));
}

}  // namespace

void RegisterElements(Registration& registration) {
  registration.Function("readElement", Entry<ReadElement, 2>);
  registration.Function("copyOut", Entry<CopyOut, 2>);
  registration.Function("fill", Entry<Fill, 2>);
  registration.Function("fromBytes", Entry<FromBytes, 5, Makes::kHandle>);
  registration.Function("copy", Entry<Copy, 2, Makes::kHandle>);
}

}  // namespace node_dlpack::binding
