#include "lifetime.h"

#include "new_tensor.h"
#include "staging.h"

namespace node_dlpack::binding {

namespace {

// Zeroed, row-major, owned. Input: shape.
double AllocateOwner(Call& call, int32_t ndim, DType dtype) {
  if (ndim < 0 || ndim > kMaxNdim) return call.Failed(Fault(FaultCode::kNdimLimit, 0, ndim, kMaxNdim));
  int64_t shape[kMaxNdim];
  if (Fault fault = call.Integers(0, ndim, shape); !fault.ok()) return call.Failed(fault);
  NewTensor tensor;
  if (Fault fault = Layout::RowMajor(shape, ndim, dtype, &tensor.layout); !fault.ok()) return call.Failed(fault);
  const auto bytes = static_cast<size_t>(tensor.layout.compact_bytes(dtype));
  if (Fault fault = call.environment.Allocate(bytes, &tensor.alias); !fault.ok()) return call.Failed(fault);
  tensor.origin = tensor.alias->data();
  tensor.dtype = dtype;
  tensor.kind = SlotKind::kOwner;
  tensor.new_memory = true;
  return PublishNewTensor(call, static_cast<NewTensor&&>(tensor));
}

napi_value Allocate(Call& call) {
  int32_t ndim = 0;
  DType dtype;
  if (Fault fault = call.Int(0, &ndim); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.DTypeArgument(1, &dtype); !fault.ok()) return call.Fail(fault);
  return call.Double(AllocateOwner(call, ndim, dtype));
}

// Plan: the dtype.
double AllocateHot(Call& call, double count, napi_value*) {
  int32_t ndim = 0;
  int32_t packed = 0;
  DType dtype;
  if (Fault fault = Call::IntOf(count, 0, &ndim); !fault.ok()) return call.Failed(fault);
  if (Fault fault = Call::IntOf(call.scratch().number(slot::kPlan), 1, &packed); !fault.ok()) return call.Failed(fault);
  if (Fault fault = Call::DTypeOf(packed, 1, &dtype); !fault.ok()) return call.Failed(fault);
  return AllocateOwner(call, ndim, dtype);
}

// Another tensor over the same memory.
napi_value Alias(Call& call) {
  Slot* from = nullptr;
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  NewTensor tensor = NewTensor::AliasOf(*from);
  if (Fault fault = from->layout.CopyTo(&tensor.layout); !fault.ok()) return call.Fail(fault);
  return ReturnNewTensor(call, static_cast<NewTensor&&>(tensor));
}

napi_value Describe(Call& call) {
  Slot* of = nullptr;
  if (Fault fault = call.TensorOrOwner(0, &of); !fault.ok()) return call.Fail(fault);
  WriteMetadata(call.scratch(), *of);
  return call.Ok();
}

napi_value IsLive(Call& call) {
  Slot* of = nullptr;
  return call.Boolean(call.TensorOrOwner(0, &of).ok());
}

// 1 or 0.
double IsLiveHot(Call& call, double handle, napi_value*) {
  const Slot* slot = call.environment.handles.Find(handle);
  return slot != nullptr && slot->holds_memory() ? 1 : 0;
}

// What stands in the way of a move, but for aliases: success, or kNeverUnique.
Fault MayBeUnique(const Slot& tensor) {
  const BlockTraits& traits = tensor.alias->traits();
  NeverUniqueReason why_not = traits.why_not;
  if (traits.may_be_unique) {
    if (tensor.has(tensor_flag::kOpaque)) {
      why_not = NeverUniqueReason::kOpaque;
    } else if (tensor.has(tensor_flag::kOverlapping)) {
      why_not = NeverUniqueReason::kOverlapping;
    } else {
      return Fault();
    }
  }
  return Fault(FaultCode::kNeverUnique, 0, static_cast<int64_t>(why_not));
}

// Would move() succeed now? An owner is unique unless it is lent.
napi_value IsUnique(Call& call) {
  Slot* of = nullptr;
  if (!call.TensorOrOwner(0, &of).ok()) return call.Boolean(false);
  if (of->is_owner()) return call.Boolean(call.environment.loans.CheckFree(*of).ok());
  return call.Boolean(of->windows == 0 && MayBeUnique(*of).ok() && of->alias->IsUnique());
}

// The new handle of a slot that goes on as something else. Of the metadata only the flags have changed, and only they
// are written.
double Renewed(Call& call, const Slot& slot) {
  call.scratch().set_number(slot::kFlags, slot.flags);
  return PublishHandle(call, slot, slot.alias->bytes());
}

// Door 2. The same slot, alias and memory go on under a new handle, so there is no moment at which anybody else could
// get in between.
double Move(Call& call, double handle, napi_value*) {
  Slot* tensor = nullptr;
  if (Fault fault = call.TensorOf(handle, 0, &tensor); !fault.ok()) return call.Failed(fault);
  if (tensor->windows > 0) return call.Failed(Fault(FaultCode::kInUse, 0, tensor->windows));
  // Both refusals tell who else holds the memory.
  Fault refusal = MayBeUnique(*tensor);
  if (refusal.ok() && !tensor->alias->IsUnique()) refusal = FaultCode::kNotUnique;
  if (!refusal.ok()) {
    WriteAliasesOfOthers(call.scratch(), *tensor->alias.get());
    return call.Failed(refusal);
  }
  // Unique: a view would be an alias, so at most the record of one that is gone is left.
  call.environment.views.ReleaseAll(*tensor);
  if (Fault fault = call.environment.handles.Renew(&tensor, SlotKind::kOwner); !fault.ok()) return call.Failed(fault);
  tensor->flags = static_cast<uint16_t>((tensor->flags & ~tensor_flag::kReadOnly) | tensor_flag::kOwned);
  tensor->alias->ProtectPages(false);
  return Renewed(call, *tensor);
}

// The way back: nobody can write any more, so everybody may share.
double Freeze(Call& call, double handle, napi_value*) {
  Slot* owner = nullptr;
  if (Fault fault = call.FreeOwnerOf(handle, 0, &owner); !fault.ok()) return call.Failed(fault);
  if (owner->windows > 0) return call.Failed(Fault(FaultCode::kInUse, 0, owner->windows));
  if (Fault fault = call.environment.views.DetachOwned(*owner); !fault.ok()) return call.Failed(fault);
  if (Fault fault = call.environment.handles.Renew(&owner, SlotKind::kTensor); !fault.ok()) return call.Failed(fault);
  DropStaging(call.env(), *owner);
  owner->flags = static_cast<uint16_t>((owner->flags & ~tensor_flag::kOwned) | tensor_flag::kReadOnly);
  owner->alias->ProtectPages(true);
  return Renewed(call, *owner);
}

// The same two for a caller without the tensor's metadata: all of it is written.
template <HotBody kBody>
napi_value WithMetadata(Call& call) {
  double handle = 0;
  if (Fault fault = call.Number(0, &handle); !fault.ok()) return call.Fail(fault);
  const double renewed = kBody(call, handle, nullptr);
  if (renewed > 0) WriteMetadata(call.scratch(), *call.environment.handles.Find(renewed));
  return call.Double(renewed);
}

double ReleaseHandle(Call& call, double handle, napi_value*) {
  Slot* slot = call.environment.handles.Find(handle);
  if (slot == nullptr) return 0;
  if (!slot->holds_memory()) return call.Failed(FaultCode::kArgument);
  if (slot->windows > 0) return call.Failed(Fault(FaultCode::kInUse, 0, slot->windows));
  if (slot->lent) {
    if (Fault fault = call.environment.loans.CheckFree(*slot); !fault.ok()) return call.Failed(fault);
  }
  call.environment.ReleaseSlot(slot);
  return 0;
}

napi_value Release(Call& call) {
  double handle = 0;
  if (Fault fault = call.Number(0, &handle); !fault.ok()) return call.Fail(fault);
  return call.Double(ReleaseHandle(call, handle, nullptr));
}

}  // namespace

void RegisterLifetime(Registration& registration) {
  registration.Function("allocate", Entry<Allocate, 2, Makes::kHandle>);
  registration.Function("allocateHot", Hot<AllocateHot, 0, Makes::kHandle>);
  registration.Function("alias", Entry<Alias, 1, Makes::kHandle>);
  registration.Function("describe", Entry<Describe, 1>);
  registration.Function("isLive", Entry<IsLive, 1>);
  registration.Function("isLiveHot", Hot<IsLiveHot>);
  registration.Function("isUnique", Entry<IsUnique, 1>);
  registration.Function("move", Entry<WithMetadata<Move>, 1, Makes::kHandle>);
  registration.Function("moveHot", Hot<Move, 0, Makes::kHandle>);
  registration.Function("freeze", Entry<WithMetadata<Freeze>, 1, Makes::kHandle>);
  registration.Function("freezeHot", Hot<Freeze, 0, Makes::kHandle>);
  registration.Function("release", Entry<Release, 1>);
  registration.Function("releaseHot", Hot<ReleaseHandle>);
}

}  // namespace node_dlpack::binding
