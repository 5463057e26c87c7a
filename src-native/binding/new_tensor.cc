#include "new_tensor.h"

#include "../core/foreign.h"
#include "../core/strided_copy.h"

namespace node_dlpack::binding {

NewTensor NewTensor::AliasOf(const Slot& from) {
  NewTensor tensor;
  tensor.alias = from.alias.NewAlias(AliasKind::kTensor);
  tensor.origin = from.origin;
  tensor.byte_offset = from.byte_offset;
  tensor.dtype = from.dtype;
  tensor.read_only = from.has(tensor_flag::kReadOnly);
  tensor.as_cpu = from.as_cpu;
  return tensor;
}

Fault NewTensor::MoveOrigin(int64_t elements) {
  // The elements lie in the span of a sound layout, so this product fits.
  const int64_t bits = elements * static_cast<int64_t>(dtype.stride_bits());
  if (bits % 8 != 0) return Fault(FaultCode::kSubByteOffset, 0, bits);
  const int64_t bytes = bits / 8;
  if (origin == nullptr) return Fault();
  if (!alias || IsHostReadable(alias->device().device_type)) {
    origin += bytes;
    return Fault();
  }
  if (bytes < 0 && byte_offset < static_cast<uint64_t>(-bytes)) return Fault(FaultCode::kByteOffset, 0, bytes);
  byte_offset += static_cast<uint64_t>(bytes);
  return Fault();
}

Fault MakeTensorSlot(Environment& environment, NewTensor&& tensor, Slot** out) {
  Slot* made = nullptr;
  if (Fault fault = environment.handles.Make(tensor.kind, &made); !fault.ok()) return fault;
  const Block& block = *tensor.alias.get();
  const BlockTraits& traits = block.traits();
  const bool contiguous = tensor.layout.IsContiguous();
  const bool overlapping = !contiguous && tensor.layout.MayOverlap();
  int flags = 0;
  if (tensor.kind == SlotKind::kOwner) {
    flags |= tensor_flag::kOwned;
  } else if (tensor.read_only || overlapping) {
    flags |= tensor_flag::kReadOnly;
  }
  if (contiguous) flags |= tensor_flag::kContiguous;
  if (overlapping) flags |= tensor_flag::kOverlapping;
  if (block.made_by_copy()) flags |= tensor_flag::kMadeByCopy;
  if (!IsHostReadable(block.device().device_type)) flags |= tensor_flag::kOpaque;
  if (traits.may_be_protected) flags |= tensor_flag::kProtected;
  if (traits.foreign) flags |= tensor_flag::kForeign;
  if (traits.foreign_legacy) flags |= tensor_flag::kLegacy;

  made->flags = static_cast<uint16_t>(flags);
  made->dtype = tensor.dtype;
  made->as_cpu = tensor.as_cpu;
  made->origin = tensor.layout.empty() ? nullptr : tensor.origin;
  made->byte_offset = tensor.layout.empty() ? 0 : tensor.byte_offset;
  made->layout = static_cast<Layout&&>(tensor.layout);
  made->alias = static_cast<BlockRef&&>(tensor.alias);
  if (tensor.kind == SlotKind::kTensor && block.loan() != Block::Loan::kNone) {
    environment.loans.OnNewHandle(*made);
  } else if (tensor.kind == SlotKind::kTensor && block.IsUnique()) {
    // The first Tensor over its memory: from now on the bytes are shared and do not change (the protect debug mode
    // holds everyone to it).
    made->alias->ProtectPages(true);
  }
  *out = made;
  return Fault();
}

void WriteMetadata(Scratch& scratch, const Slot& from) {
  const Layout& layout = from.layout;
  const DLDevice device = from.as_cpu ? DLDevice{kDLCPU, 0} : from.alias->device();
  const int32_t ndim = layout.ndim();
  const ByteSpan span = layout.byte_span(from.dtype);
  scratch.set_number(slot::kNdim, ndim);
  scratch.set_number(slot::kFlags, from.flags);
  scratch.set_number(slot::kDType, from.dtype.packed());
  scratch.set_number(slot::kDeviceType, device.device_type);
  scratch.set_number(slot::kDeviceId, device.device_id);
  scratch.set_number(slot::kSize, static_cast<double>(layout.size()));
  scratch.set_number(slot::kByteLength, static_cast<double>(layout.compact_bytes(from.dtype)));
  // Spans are whole bytes, so for packed elements this may count one that lies before the first that belongs to the
  // tensor.
  const int64_t before = span.lowest == 0 ? 0 : -span.lowest * 8 / static_cast<int64_t>(from.dtype.stride_bits());
  scratch.set_number(slot::kSpanOffset, static_cast<double>(before));
  scratch.set_number(slot::kSpanBytes, static_cast<double>(span.size()));
  const int64_t* shape = layout.shape();
  const int64_t* strides = layout.strides();
  for (int32_t axis = 0; axis < ndim; ++axis) {
    scratch.set_number(slot::kDims + axis, static_cast<double>(shape[axis]));
    scratch.set_number(slot::kDims + ndim + axis, static_cast<double>(strides[axis]));
  }
}

void WriteAliasesOfOthers(Scratch& scratch, const Block& block) {
  const AliasCounts counts = block.Aliases();
  scratch.set_number(slot::kAliases, static_cast<double>(counts.tensors - 1));
  scratch.set_number(slot::kAliases + 1, static_cast<double>(counts.exports));
  scratch.set_number(slot::kAliases + 2, static_cast<double>(counts.views));
  scratch.set_number(slot::kAliases + 3, static_cast<double>(counts.tokens));
}

double PublishSlot(Call& call, const Slot& made, size_t new_bytes) {
  WriteMetadata(call.scratch(), made);
  return PublishHandle(call, made, new_bytes);
}

napi_value ReturnSlot(Call& call, const Slot& made, size_t new_bytes) {
  return call.Double(PublishSlot(call, made, new_bytes));
}

double PublishNewTensor(Call& call, NewTensor&& tensor) {
  const size_t new_bytes = tensor.new_memory ? tensor.alias->bytes() : 0;
  Slot* made = nullptr;
  if (Fault fault = MakeTensorSlot(call.environment, static_cast<NewTensor&&>(tensor), &made); !fault.ok()) {
    tensor.alias.Reset();  // before the fault is told: a deleter that runs now may use the scratch memory
    return call.Failed(fault);
  }
  return PublishSlot(call, *made, new_bytes);
}

napi_value ReturnNewTensor(Call& call, NewTensor&& tensor) {
  return call.Double(PublishNewTensor(call, static_cast<NewTensor&&>(tensor)));
}

Fault CopyFresh(Environment& environment, const uint8_t* origin, const Layout& layout, DType dtype, NewTensor* out) {
  if (Fault fault = Layout::RowMajor(layout.shape(), layout.ndim(), dtype, &out->layout); !fault.ok()) return fault;
  const auto bytes = static_cast<size_t>(out->layout.compact_bytes(dtype));
  // Packed elements may leave bits of the last byte unwritten; what is handed out has no accidental contents.
  Fault fault = dtype.bit_packed() ? environment.Allocate(bytes, &out->alias)
                                   : environment.AllocateUninitialized(bytes, &out->alias);
  if (!fault.ok()) return fault;
  out->alias->set_made_by_copy();
  out->origin = out->alias->data();
  out->dtype = dtype;
  out->new_memory = true;
  if (!layout.empty()) StridedCopy(out->origin, out->layout, origin, layout, dtype);
  return Fault();
}

}  // namespace node_dlpack::binding
