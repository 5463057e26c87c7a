#include "export.h"

#include "../core/foreign.h"
#include "../core/managed_tensor.h"
#include "capsule.h"
#include "host_access.h"
#include "new_tensor.h"

// Plain C Node-API throughout: this is the hand-off path.

namespace node_dlpack::binding {

namespace {

// What negotiation.ts planned: the struct to make.
struct Plan {
  ManagedKind kind = ManagedKind::kVersioned;
  uint64_t flags = 0;
  bool as_cpu = false;
};

// The numbers are the caller's: kArgument names the place where each stood.
Fault CheckPlan(int32_t kind, int kind_argument, int32_t flags, int flags_argument, Plan* out) {
  if (kind != static_cast<int32_t>(ManagedKind::kLegacy) && kind != static_cast<int32_t>(ManagedKind::kVersioned)) {
    return Fault(FaultCode::kArgument, kind_argument, kind);
  }
  constexpr int32_t kFlags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  // Whether elements are padded is the dtype's to say: MakeManaged writes that flag, so it is accepted here and not
  // passed on.
  constexpr int32_t kAccepted = kFlags | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED | kExportAsCpu;
  if ((flags & ~kAccepted) != 0) return Fault(FaultCode::kArgument, flags_argument, flags);
  out->kind = static_cast<ManagedKind>(kind);
  out->flags = static_cast<uint64_t>(flags & kFlags);
  out->as_cpu = (flags & kExportAsCpu) != 0;
  return Fault();
}

Fault ReadPlan(const Call& call, int kind_argument, int flags_argument, Plan* out) {
  int32_t kind = 0;
  int32_t flags = 0;
  if (Fault fault = call.Int(kind_argument, &kind); !fault.ok()) return fault;
  if (Fault fault = call.Int(flags_argument, &flags); !fault.ok()) return fault;
  return CheckPlan(kind, kind_argument, flags, flags_argument, out);
}

TensorView ViewOf(const Slot& from, const Plan& plan) {
  TensorView view;
  view.origin = from.origin;
  view.layout = &from.layout;
  view.dtype = from.dtype;
  view.byte_offset = from.byte_offset;
  view.as_cpu = from.as_cpu || plan.as_cpu;
  view.note = static_cast<uint64_t>(Handles::HandleOf(from));  // for the import, should it come back
  return view;
}

napi_value ExportCopy(Call& call, const Slot& from, const Plan& plan) {
  if (Fault fault = CheckReadable(from); !fault.ok()) return call.Fail(fault);
  NewTensor fresh;
  if (Fault fault = CopyFresh(call.environment, from.origin, from.layout, from.dtype, &fresh); !fault.ok())
    return call.Fail(fault);
  const size_t bytes = fresh.alias->bytes();
  TensorView view;
  view.origin = fresh.origin;
  view.layout = &fresh.layout;
  view.dtype = fresh.dtype;
  ManagedGuard managed;
  if (Fault fault = MakeManaged(static_cast<BlockRef&&>(fresh.alias), view, plan.kind, plan.flags, &managed);
      !fault.ok())
    return call.Fail(fault);
  napi_value external = nullptr;
  Slot* made = nullptr;
  if (Fault fault = MakeCapsule(call.environment, &managed, &external, &made); !fault.ok()) return call.Fail(fault);
  PublishCapsule(call, *made, bytes);
  return external;
}

// A capsule that shares the memory of `from`. Nothing has changed on a fault.
Fault ShareInCapsule(Call& call, const Slot& from, const Plan& plan, napi_value* external, Slot** made) {
  ManagedGuard managed;
  BlockRef alias = from.alias.NewAlias(AliasKind::kExport);
  if (Fault fault = MakeManaged(static_cast<BlockRef&&>(alias), ViewOf(from, plan), plan.kind, plan.flags, &managed);
      !fault.ok()) {
    return fault;
  }
  return MakeCapsule(call.environment, &managed, external, made);
}

Fault ExportShared(Call& call, const Slot& from, const Plan& plan, napi_value* external) {
  Slot* made = nullptr;
  if (Fault fault = ShareInCapsule(call, from, plan, external, &made); !fault.ok()) return fault;
  if (from.alias->loan() != Block::Loan::kNone) call.environment.loans.OnNewCapsule(*made, *from.alias.get());
  PublishCapsule(call, *made, 0);
  return Fault();
}

napi_value ExportTensor(Call& call) {
  Slot* from = nullptr;
  Plan plan;
  bool copy = false;
  if (Fault fault = call.Tensor(0, &from); !fault.ok()) return call.Fail(fault);
  if (Fault fault = ReadPlan(call, 1, 3, &plan); !fault.ok()) return call.Fail(fault);
  if (Fault fault = call.Bool(2, &copy); !fault.ok()) return call.Fail(fault);
  if (copy) return ExportCopy(call, *from, plan);
  napi_value external = nullptr;
  if (Fault fault = ExportShared(call, *from, plan, &external); !fault.ok()) return call.Fail(fault);
  return external;
}

Fault PlanInScratch(const Call& call, int flags_argument, Plan* out) {
  const auto number = static_cast<int32_t>(call.scratch().number(slot::kPlan));
  return CheckPlan(number >> 16, 1, number & 0xffff, flags_argument, out);
}

double ExportHot(Call& call, double handle, napi_value* external) {
  Slot* from = nullptr;
  Plan plan;
  if (Fault fault = call.TensorOf(handle, 0, &from); !fault.ok()) return call.Failed(fault);
  if (Fault fault = PlanInScratch(call, 3, &plan); !fault.ok()) return call.Failed(fault);
  const Fault fault = ExportShared(call, *from, plan, external);
  return fault.ok() ? 0 : call.Failed(fault);
}

// One shot: the owner's handle dies and its memory leaves with the struct. Its data is detached last, when nothing can
// fail any more, so that whatever is refused leaves the owner as it was.
Fault GiveAway(Call& call, Slot* owner, const Plan& plan, napi_value* external) {
  if (owner->windows > 0) return Fault(FaultCode::kInUse, 0, owner->windows);
  if (Fault fault = call.environment.views.CheckNotMovedAway(*owner); !fault.ok()) return fault;
  Slot* made = nullptr;
  if (Fault fault = ShareInCapsule(call, *owner, plan, external, &made); !fault.ok()) return fault;
  PublishCapsule(call, *made, owner->alias->bytes());
  call.environment.ReleaseSlot(owner);
  return Fault();
}

napi_value ExportOwned(Call& call) {
  Slot* owner = nullptr;
  Plan plan;
  napi_value external = nullptr;
  if (Fault fault = call.FreeOwner(0, &owner); !fault.ok()) return call.Fail(fault);
  if (Fault fault = ReadPlan(call, 1, 2, &plan); !fault.ok()) return call.Fail(fault);
  if (Fault fault = GiveAway(call, owner, plan, &external); !fault.ok()) return call.Fail(fault);
  return external;
}

double ExportOwnedHot(Call& call, double handle, napi_value* external) {
  Slot* owner = nullptr;
  Plan plan;
  if (Fault fault = call.FreeOwnerOf(handle, 0, &owner); !fault.ok()) return call.Failed(fault);
  if (Fault fault = PlanInScratch(call, 2, &plan); !fault.ok()) return call.Failed(fault);
  const Fault fault = GiveAway(call, owner, plan, external);
  return fault.ok() ? 0 : call.Failed(fault);
}

}  // namespace

void RegisterExport(Registration& registration) {
  registration.Function("exportTensor", Entry<ExportTensor, 4, Makes::kHandle>);
  registration.Function("exportHot", Hot<ExportHot, 0, Makes::kHandle>);
  registration.Function("exportOwned", Entry<ExportOwned, 3, Makes::kHandle>);
  registration.Function("exportOwnedHot", Hot<ExportOwnedHot, 0, Makes::kHandle>);
}

}  // namespace node_dlpack::binding
