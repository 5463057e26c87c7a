#include "environment.h"

#include <cstring>
#include <new>

#include "../core/fault.h"
#include "capsule.h"
#include "exchange_table.h"
#include "runtime.h"
#include "staging.h"

namespace node_dlpack::binding {

Environment::Environment(napi_env env, Account* account, ReleaseQueue* queue)
    : hooks_may_see_values(HooksMaySeeValues(env)),
      release_queue(queue),
      collector(*this),
      views(*this),
      loans(*this),
      env_(env),
      account_(account) {}

Environment::~Environment() {
  release_queue->Release();
  account_->Release();
}

Environment* Environment::Create(napi_env env) {
  Account* account = Account::Create();
  ReleaseQueue* queue = ReleaseQueue::Create();
  auto* environment =
      account != nullptr && queue != nullptr ? new (std::nothrow) Environment(env, account, queue) : nullptr;
  if (environment == nullptr) {
    if (account != nullptr) account->Release();
    if (queue != nullptr) queue->Release();
    return nullptr;
  }
  if (napi_set_instance_data(env, environment, OnInstanceDataGone, nullptr) != napi_ok) {
    delete environment;
    return nullptr;
  }
  // From here on the instance data owns it.
  if (napi_add_env_cleanup_hook(env, OnCleanup, environment) != napi_ok) return nullptr;
  return environment;
}

void Environment::OnCleanup(void* data) {
  auto& environment = *static_cast<Environment*>(data);
  environment.ending_ = true;
  if (environment.exchange_table != nullptr) environment.exchange_table->Close();
  environment.loans.OnEnvironmentEnd();
  environment.views.OnEnvironmentEnd();
  environment.handles.ForEachLive([&](Slot* slot) {
    if (slot->kind == SlotKind::kCapsule)
      EmptyCapsule(*slot);  // its record stays, for whoever still holds the External
    DropStaging(environment.env_, *slot);
    environment.handles.Free(slot);
  });
  environment.release_queue->Close();
  environment.collector.Stop();
  if (environment.scratch_buffer != nullptr)
    static_cast<void>(napi_delete_reference(environment.env_, environment.scratch_buffer));
  environment.scratch_buffer = nullptr;
}

void Environment::OnInstanceDataGone(napi_env, void* data, void*) {
  delete static_cast<Environment*>(data);
}

void Environment::LetGoOfHangersOn(Slot* slot) {
  views.ReleaseAll(*slot);
  DropStaging(env_, *slot);
  if (slot->loan != nullptr) loans.OnReleased(*slot);
}

void Environment::CollectSlot(Slot* slot) {
  if (slot->kind == SlotKind::kUsedCapsules) return collector.FreeUsedCapsules(slot);
  if (slot->kind == SlotKind::kCapsule) {
    FreeCapsules(*this, slot);
  } else {
    views.OnCollected(*slot);
    DropStaging(env_, *slot);
  }
  if (slot->loan != nullptr) loans.OnReleased(*slot);
  handles.Free(slot);
}

// What they held may be the last alias of foreign memory, whose deleter may be anything, code of the caller's included.
void Environment::DropExpiredTokens() {
  const Interlude interlude(*this);
  SweepTokens();
}

void Environment::DrainReleases() {
  const Interlude interlude(*this);
  release_queue->Drain(env_);
}

Interlude::Interlude(Environment& environment) : environment_(environment) {
  std::memcpy(kept_, environment.scratch.memory(), sizeof kept_);
  if (napi_open_handle_scope(environment.env(), &scope_) != napi_ok) scope_ = nullptr;
}

Interlude::~Interlude() {
  napi_env env = environment_.env();
  bool pending = false;
  napi_value error;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending) {
    static_cast<void>(napi_get_and_clear_last_exception(env, &error));
  }
  if (scope_ != nullptr) static_cast<void>(napi_close_handle_scope(env, scope_));
  std::memcpy(environment_.scratch.memory(), kept_, sizeof kept_);
}

}  // namespace node_dlpack::binding
