#include "conversion.h"

#include "../core/convert.h"
#include "../core/strided_copy.h"
#include "bytes_argument.h"
#include "call.h"
#include "derive.h"
#include "environment.h"
#include "handles.h"
#include "host_access.h"
#include "new_tensor.h"

namespace node_dlpack::binding {

namespace {

// Arguments axis, scale, offset, beginning with argument `first`. Whether the counts fit the axis is asked by
// ConvertStrided.
Fault ReadAffine(const Call& call, int first, Affine* out) {
  NumbersArgument scale;
  NumbersArgument offset;
  if (Fault fault = call.Int(first, &out->axis); !fault.ok()) return fault;
  if (Fault fault = NumbersArgument::Read(call, first + 1, &scale); !fault.ok()) return fault;
  if (Fault fault = NumbersArgument::Read(call, first + 2, &offset); !fault.ok()) return fault;
  out->scale = scale.data;
  out->scale_count = scale.count;
  out->offset = offset.data;
  out->offset_count = offset.count;
  return Fault();
}

// Assigns the source, broadcast to the region's shape.
Fault AssignRegion(Environment& environment, uint8_t* target, const Layout& region, DType target_dtype,
                   const Slot& source, const Affine& affine) {
  Layout broadcast;
  const uint8_t* origin = source.origin;
  NewTensor staged;
  const Layout* layout = &source.layout;
  if (SpansOverlap(target, region, target_dtype, origin, *layout, source.dtype)) {
    // Before broadcasting, so that staging costs no more than the source has.
    if (Fault fault = CopyFresh(environment, origin, *layout, source.dtype, &staged); !fault.ok()) return fault;
    origin = staged.origin;
    layout = &staged.layout;
  }
  if (Fault fault = layout->BroadcastTo(region.shape(), region.ndim(), source.dtype, &broadcast); !fault.ok())
    return fault;
  return ConvertStrided(target, region, target_dtype, origin, broadcast, source.dtype, affine);
}

napi_value Assign(Call& call) {
  Slot* owner = nullptr;
  Slot* source = nullptr;
  int32_t count = 0;
  AxisSlice specs[kMaxNdim];
  if (Fault fault = call.FreeOwner(0, &owner); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.TensorOrFreeOwner(1, &source); !fault.ok()) return call.Fail(fault);
  if (Fault fault = CheckReadable(*source); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Int(2, &count); !fault.ok()) return call.Fail(fault);
  if (Fault fault = ReadSlices(call, count, owner->layout.ndim(), specs); !fault.ok()) return call.Fail(fault);

  Layout region;
  int64_t offset = 0;
  Affine affine;
  const DType dtype = owner->dtype;
  if (Fault fault = owner->layout.Slice(specs, count, dtype, &region, &offset); !fault.ok()) return call.Fail(fault);
  if (Fault fault = ReadAffine(call, 3, &affine); !fault.ok()) return call.Fail(fault);
  const int64_t bits = offset * static_cast<int64_t>(dtype.stride_bits());
  if (bits % 8 != 0) return call.Fail(Fault(FaultCode::kSubByteOffset, 0, bits));
  uint8_t* target = region.empty() ? nullptr : owner->origin + bits / 8;
  return call.Answer(AssignRegion(call.environment, target, region, dtype, *source, affine));
}

// The whole of a tensor into the whole of an owner, nothing to multiply by and nothing to add: what assign does without
// options, through the scratch memory.
double AssignWhole(Call& call, double handle, napi_value*) {
  Slot* owner = nullptr;
  Slot* source = nullptr;
  if (Fault fault = call.FreeOwnerOf(handle, 0, &owner); !fault.ok()) return call.Failed(fault);
  if (Fault fault = call.TensorOrFreeOwnerOf(call.scratch().number(slot::kPlan), 1, &source); !fault.ok())
    return call.Failed(fault);
  if (Fault fault = CheckReadable(*source); !fault.ok()) return call.Failed(fault);
  if (Fault fault = AssignRegion(call.environment, owner->origin, owner->layout, owner->dtype, *source, Affine{});
      !fault.ok()) {
    return call.Failed(fault);
  }
  return 0;
}

napi_value Convert(Call& call) {
  Slot* source = nullptr;
  DType dtype;
  Affine affine;
  NewTensor tensor;
  if (Fault fault = call.TensorOrFreeOwner(0, &source); !fault.ok()) return call.Fail(fault);
  if (Fault fault = CheckReadable(*source); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.DTypeArgument(1, &dtype); !fault.ok()) return call.Fail(fault);
  const Layout& layout = source->layout;
  if (Fault fault = ReadAffine(call, 2, &affine); !fault.ok()) return call.Fail(fault);
  if (Fault fault = Layout::RowMajor(layout.shape(), layout.ndim(), dtype, &tensor.layout); !fault.ok())
    return call.Fail(fault);
  const auto bytes = static_cast<size_t>(tensor.layout.compact_bytes(dtype));
  // Packed elements may leave bits of the last byte unwritten; what is handed out has no accidental contents.
  Fault made = dtype.bit_packed() ? call.environment.Allocate(bytes, &tensor.alias)
                                  : call.environment.AllocateUninitialized(bytes, &tensor.alias);
  if (!made.ok()) return call.Fail(made);
  tensor.alias->set_made_by_copy();
  tensor.origin = tensor.alias->data();
  tensor.dtype = dtype;
  tensor.kind = SlotKind::kOwner;
  tensor.new_memory = true;
  if (Fault fault = ConvertStrided(tensor.origin, tensor.layout, dtype, source->origin, layout, source->dtype, affine);
      !fault.ok()) {
    return call.Fail(fault);
  }
  return ReturnNewTensor(call, static_cast<NewTensor&&>(tensor));
}

}  // namespace

void RegisterConversion(Registration& registration) {
  registration.Function("assign", Entry<Assign, 6>);
  registration.Function("assignHot", Hot<AssignWhole>);
  registration.Function("convert", Entry<Convert, 5, Makes::kHandle>);
}

}  // namespace node_dlpack::binding
