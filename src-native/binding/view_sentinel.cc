#include "view_sentinel.h"

#include <cstdint>
#include <new>

namespace node_dlpack::binding {

struct ViewSentinel::Guard {
  ViewSentinel* sentinel = nullptr;  // nullptr before it guards, and once replaced or dismissed
  void (*on_death)(void*) = nullptr;
  void* context = nullptr;
  napi_ref buffer = nullptr;  // strong
  bool making = true;         // a buffer that is refused may be finalized inside the call that refuses it
  bool finalized = false;     // ... and was
  uint8_t byte = 0;           // what the buffer shows
};

Fault ViewSentinel::Renew(napi_env env, void (*on_death)(void*), void* context) {
  auto* guard = new (std::nothrow) Guard;
  if (guard == nullptr) return Fault(FaultCode::kOutOfMemory, 0, sizeof(Guard));
  napi_value buffer = nullptr;
  napi_status status = napi_create_external_arraybuffer(env, &guard->byte, 1, OnFinalized, guard, &buffer);
  guard->making = false;
  if (guard->finalized) {
    delete guard;
    return Fault(FaultCode::kNodeApi, 0, status == napi_ok ? napi_generic_failure : status);
  }
  // Whether a finalizer will still come after a refusal is not known: the guard is left to it.
  if (status == napi_ok) status = napi_create_reference(env, buffer, 1, &guard->buffer);
  if (status != napi_ok) return Fault(FaultCode::kNodeApi, 0, status);
  Dismiss(env, true);
  guard->sentinel = this;
  guard->on_death = on_death;
  guard->context = context;
  guard_ = guard;
  return Fault();
}

void ViewSentinel::Dismiss(napi_env env, bool may_see_values) {
  Guard* guard = guard_;
  if (guard == nullptr) return;
  guard_ = nullptr;
  guard->sentinel = nullptr;
  napi_ref reference = guard->buffer;
  guard->buffer = nullptr;
  napi_value buffer = nullptr;
  // Detached, so that its finalizer comes soon and not with a collection. On Bun and Deno it comes inside this very
  // call and frees the guard. The statuses do not matter: undetached, the buffer is collected like any other.
  const bool found =
      may_see_values && napi_get_reference_value(env, reference, &buffer) == napi_ok && buffer != nullptr;
  napi_delete_reference(env, reference);
  if (found) napi_detach_arraybuffer(env, buffer);
}

void ViewSentinel::OnFinalized(napi_env env, void*, void* hint) {
  auto* guard = static_cast<Guard*>(hint);
  if (guard->making) {
    guard->finalized = true;
    return;
  }
  if (guard->sentinel != nullptr) {
    guard->sentinel->guard_ = nullptr;
    napi_delete_reference(env, guard->buffer);
    guard->on_death(guard->context);
  }
  delete guard;
}

}  // namespace node_dlpack::binding
