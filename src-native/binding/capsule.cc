#include "capsule.h"

#include "call.h"
#include "type_tags.h"

// Plain C Node-API throughout: this is the hand-off path.

namespace node_dlpack::binding {

namespace {

ManagedKind KindOf(const node_dlpack_capsule& record) {
  return record.kind == NODE_DLPACK_KIND_LEGACY ? ManagedKind::kLegacy : ManagedKind::kVersioned;
}

}  // namespace

Fault MakeCapsule(Environment& environment, ManagedGuard* managed, napi_value* external, Slot** slot) {
  napi_env env = environment.env();
  if (Fault fault = environment.handles.Make(SlotKind::kCapsule, slot); !fault.ok()) return fault;
  CapsuleRecord* record = environment.capsule_records.Take();
  if (record == nullptr) {
    environment.handles.Free(*slot);
    return Fault(FaultCode::kOutOfMemory, 0, sizeof(CapsuleRecord));
  }
  record->shared.abi = NODE_DLPACK_CAPSULE_ABI;
  record->shared.kind = static_cast<uint32_t>(managed->kind());
  record->shared.managed = managed->get();
  napi_status status = napi_create_external(env, record, nullptr, nullptr, external);
  if (status == napi_ok) status = napi_type_tag_object(env, *external, CapsuleTag());
  if (status != napi_ok) {
    // An External without its tag is believed by nobody, and nobody was given it.
    environment.capsule_records.Give(record);
    environment.handles.Free(*slot);
    return Fault(FaultCode::kNodeApi, 0, status);
  }
  (*slot)->capsule = record;
  static_cast<void>(managed->Detach());
  return Fault();
}

Fault FindCapsule(napi_env env, napi_value value, node_dlpack_capsule** out) {
  void* pointer = nullptr;
  if (node_dlpack_tagged_external(env, value, CapsuleTag(), &pointer) != napi_ok || pointer == nullptr) {
    return FaultCode::kNotACapsule;
  }
  auto* record = static_cast<node_dlpack_capsule*>(pointer);
  if (record->abi != NODE_DLPACK_CAPSULE_ABI)
    return Fault(FaultCode::kCapsuleAbi, 0, record->abi, NODE_DLPACK_CAPSULE_ABI);
  if (record->kind != NODE_DLPACK_KIND_LEGACY && record->kind != NODE_DLPACK_KIND_VERSIONED)
    return FaultCode::kNotACapsule;
  *out = record;
  return Fault();
}

Fault TakeCapsule(napi_env env, napi_value value, ManagedGuard* out) {
  node_dlpack_capsule* record = nullptr;
  if (Fault fault = FindCapsule(env, value, &record); !fault.ok()) return fault;
  void* managed = node_dlpack_record_take(record);
  if (managed == nullptr) return Fault(FaultCode::kCapsuleUsed, 0, record->kind);
  *out = ManagedGuard(managed, KindOf(*record));
  return Fault();
}

void EmptyCapsule(Slot& slot) {
  node_dlpack_capsule& record = slot.capsule->shared;
  const ManagedGuard managed(node_dlpack_record_take(&record), KindOf(record));
}

bool IsUsedCapsule(const Slot& slot) {
  return node_dlpack_record_used(&slot.capsule->shared) != 0;
}

void MoveUsedCapsule(Slot* from, Slot* used_capsules) {
  from->capsule->next = used_capsules->capsule;
  used_capsules->capsule = from->capsule;
  from->capsule = nullptr;
}

int64_t FreeCapsules(Environment& environment, Slot* slot) {
  if (slot->kind == SlotKind::kCapsule) EmptyCapsule(*slot);
  int64_t count = 0;
  for (; slot->capsule != nullptr; ++count) {
    CapsuleRecord* record = slot->capsule;
    slot->capsule = record->next;
    environment.capsule_records.Give(record);
  }
  return count;
}

namespace {

napi_value CapsuleState(Call& call) {
  node_dlpack_capsule* record = nullptr;
  if (!FindCapsule(call.env(), call.argument(0), &record).ok()) return call.Double(0);
  return call.Double(record->kind + (node_dlpack_record_used(record) ? 2 : 0));
}

napi_value ReleaseCapsule(Call& call) {
  ManagedGuard managed;
  const Fault fault = TakeCapsule(call.env(), call.argument(0), &managed);
  return call.Answer(fault.code == FaultCode::kCapsuleUsed ? Fault() : fault);
}

// Ownership passes to the caller, who owes one deleter call.
napi_value TakePointer(Call& call) {
  ManagedGuard managed;
  if (Fault fault = TakeCapsule(call.env(), call.argument(0), &managed); !fault.ok()) return call.Fail(fault);
  call.scratch().set_number(slot::kElement + 1, static_cast<double>(managed.kind()));
  call.scratch().set_bits(slot::kElement, static_cast<int64_t>(reinterpret_cast<uintptr_t>(managed.Detach())));
  return call.Ok();
}

// Ownership of whatever stands at the address passes to the capsule; on a fault it stays with the caller.
napi_value MakeCapsuleOf(Call& call) {
  int32_t kind = 0;
  if (Fault fault = call.Int(0, &kind); !fault.ok()) return call.Fail(fault);
  if (kind != static_cast<int32_t>(ManagedKind::kLegacy) && kind != static_cast<int32_t>(ManagedKind::kVersioned)) {
    return call.Fail(Fault(FaultCode::kArgument, 0, kind));
  }
  const auto address = static_cast<uint64_t>(call.scratch().bits(slot::kElement));
  if (address == 0) return call.Fail(FaultCode::kNullAddress);
  ManagedGuard managed(reinterpret_cast<void*>(static_cast<uintptr_t>(address)), static_cast<ManagedKind>(kind));
  napi_value external = nullptr;
  Slot* made = nullptr;
  if (Fault fault = MakeCapsule(call.environment, &managed, &external, &made); !fault.ok()) {
    static_cast<void>(managed.Detach());
    return call.Fail(fault);
  }
  PublishCapsule(call, *made, 0);
  return external;
}

}  // namespace

void PublishCapsule(Call& call, const Slot& made, size_t new_bytes) {
  call.scratch().set_number(slot::kRing, call.environment.collector.Add(Handles::HandleOf(made), new_bytes));
}

void RegisterCapsule(Registration& registration) {
  registration.Function("capsuleState", Entry<CapsuleState, 1>);
  registration.Function("releaseCapsule", Entry<ReleaseCapsule, 1>);
  registration.Function("takePointer", Entry<TakePointer, 1>);
  registration.Function("makeCapsule", Entry<MakeCapsuleOf, 1, Makes::kHandle>);
}

}  // namespace node_dlpack::binding
