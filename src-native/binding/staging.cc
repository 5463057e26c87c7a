#include "staging.h"

#include <cstring>

#include "call.h"

namespace node_dlpack::binding {

namespace {

// The buffer's bytes; nullptr when it was moved elsewhere.
uint8_t* BytesOf(napi_env env, napi_ref staging, size_t wanted) {
  napi_value buffer = nullptr;
  void* data = nullptr;
  size_t bytes = 0;
  if (napi_get_reference_value(env, staging, &buffer) != napi_ok || buffer == nullptr) return nullptr;
  if (napi_get_arraybuffer_info(env, buffer, &data, &bytes) != napi_ok || bytes != wanted) return nullptr;
  return static_cast<uint8_t*>(data);
}

uint8_t* Staged(napi_env env, const Slot& slot, const ByteSpan& span) {
  return slot.staging == nullptr ? nullptr : BytesOf(env, slot.staging, static_cast<size_t>(span.size()));
}

// setStaging(owned, buffer); undefined: there is none any more
napi_value SetStaging(Call& call) {
  Slot* owner = nullptr;
  bool is_buffer = false;
  napi_valuetype type = napi_undefined;
  if (Fault fault = call.Owner(0, &owner); !fault.ok()) return call.Fail(fault);
  if (napi_typeof(call.env(), call.argument(1), &type) == napi_ok && type == napi_undefined) {
    DropStaging(call.env(), *owner);
    return call.Ok();
  }
  if (napi_is_arraybuffer(call.env(), call.argument(1), &is_buffer) != napi_ok || !is_buffer) {
    return call.Fail(Fault(FaultCode::kArgument, 1));
  }
  DropStaging(call.env(), *owner);
  if (napi_status status = napi_create_reference(call.env(), call.argument(1), 1, &owner->staging); status != napi_ok) {
    owner->staging = nullptr;
    return call.Fail(Fault(FaultCode::kNodeApi, 0, status));
  }
  return call.Ok();
}

}  // namespace

uint8_t* OriginOrStaged(napi_env env, const Slot& slot) {
  if (slot.staging == nullptr) return slot.origin;
  const ByteSpan span = slot.layout.byte_span(slot.dtype);
  uint8_t* staged = Staged(env, slot, span);
  // Moved away, what was written there went with it.
  return staged == nullptr ? slot.origin : staged - span.lowest;
}

Fault WriteStagedBack(napi_env env, const Slot& owner) {
  if (owner.staging == nullptr || owner.layout.empty()) return Fault();
  const ByteSpan span = owner.layout.byte_span(owner.dtype);
  const uint8_t* staged = Staged(env, owner, span);
  if (staged == nullptr) return Fault(FaultCode::kMovedAway);
  std::memcpy(owner.origin + span.lowest, staged, static_cast<size_t>(span.size()));
  return Fault();
}

void DetachStaging(napi_env env, const Slot& owner) {
  napi_value buffer = nullptr;
  if (owner.staging == nullptr) return;
  if (napi_get_reference_value(env, owner.staging, &buffer) != napi_ok || buffer == nullptr) return;
  static_cast<void>(napi_detach_arraybuffer(env, buffer));
}

void DropStaging(napi_env env, Slot& slot) {
  if (slot.staging == nullptr) return;
  static_cast<void>(napi_delete_reference(env, slot.staging));
  slot.staging = nullptr;
}

void RegisterStaging(Registration& registration) {
  registration.Function("setStaging", Entry<SetStaging, 2>);
}

}  // namespace node_dlpack::binding
