#include "collector.h"

#include <cmath>
#include <cstring>
#include <initializer_list>

#include "capsule.h"
#include "collector_script.h"
#include "environment.h"

// Plain C Node-API: the start runs while the addon is loaded (call.h), and every new tensor passes through the rest.

namespace node_dlpack::binding {

namespace {

napi_ref Keep(napi_env env, napi_value value) {
  napi_ref reference = nullptr;
  return napi_create_reference(env, value, 1, &reference) == napi_ok ? reference : nullptr;
}

napi_value Kept(napi_env env, napi_ref reference) {
  napi_value value = nullptr;
  if (reference == nullptr || napi_get_reference_value(env, reference, &value) != napi_ok) return nullptr;
  return value;
}

bool IsFunction(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  return napi_typeof(env, value, &type) == napi_ok && type == napi_function;
}

void ClearException(napi_env env) {
  napi_value error;
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) == napi_ok && pending) {
    static_cast<void>(napi_get_and_clear_last_exception(env, &error));
  }
}

}  // namespace

napi_value Collector::Start() {
  napi_env env = environment_.env();
  napi_value global = nullptr;
  napi_value source = nullptr;
  napi_value start = nullptr;
  napi_value flush = nullptr;
  napi_value on_immediate = nullptr;
  napi_value arguments[3] = {};  // collected, ring, buffer
  void* memory = nullptr;
  if (napi_get_global(env, &global) != napi_ok ||
      napi_create_function(env, "onCollected", NAPI_AUTO_LENGTH, OnCollected, &environment_, &arguments[0]) !=
          napi_ok ||
      napi_create_function(env, "onImmediate", NAPI_AUTO_LENGTH, OnImmediate, &environment_, &on_immediate) !=
          napi_ok ||
      napi_create_array(env, &arguments[1]) != napi_ok ||
      napi_create_arraybuffer(env, (kEntries + kSpare) * sizeof(double), &memory, &arguments[2]) != napi_ok ||
      napi_create_string_utf8(env, kCollectorScript, sizeof kCollectorScript - 1, &source) != napi_ok ||
      napi_run_script(env, source, &start) != napi_ok ||
      napi_call_function(env, global, start, 3, arguments, &flush) != napi_ok) {
    ClearException(env);
    return nullptr;
  }
  numbers_ = static_cast<double*>(memory);
  on_immediate_ = Keep(env, on_immediate);
  ring_ = Keep(env, arguments[1]);
  buffer_ = Keep(env, arguments[2]);
  flush_ = Keep(env, flush);
  if (on_immediate_ == nullptr || ring_ == nullptr || buffer_ == nullptr || flush_ == nullptr) return nullptr;

  napi_value set_immediate = nullptr;
  const napi_status status = napi_get_named_property(env, global, "setImmediate", &set_immediate);
  ClearException(env);
  if (status == napi_ok && IsFunction(env, set_immediate)) set_immediate_ = Keep(env, set_immediate);
  return arguments[1];
}

void Collector::Stop() {
  for (napi_ref* reference : {&ring_, &flush_, &buffer_, &set_immediate_, &on_immediate_}) {
    if (*reference != nullptr) static_cast<void>(napi_delete_reference(environment_.env(), *reference));
    *reference = nullptr;
  }
}

bool Collector::Place(double handle, napi_value object) {
  napi_env env = environment_.env();
  napi_value ring = Kept(env, ring_);
  const auto position = static_cast<uint32_t>(Add(handle, 0));
  if (ring != nullptr && napi_set_element(env, ring, position, object) == napi_ok) return true;
  ClearException(env);
  return false;
}

void Collector::MakeRoomSlowly() {
  if (IsDue()) {
    const Interlude interlude(environment_);
    Flush();
  }
  Schedule();
}

void Collector::Schedule() {
  if (scheduled_ || set_immediate_ == nullptr) return;
  const Interlude interlude(environment_);
  napi_env env = environment_.env();
  napi_value function = Kept(env, set_immediate_);
  napi_value callback = Kept(env, on_immediate_);
  napi_value global;
  napi_value immediate;
  if (function == nullptr || callback == nullptr || napi_get_global(env, &global) != napi_ok) return;
  if (napi_call_function(env, global, function, 1, &callback, &immediate) != napi_ok) return;
  scheduled_ = true;
  napi_value unref;
  napi_valuetype type;
  if (napi_typeof(env, immediate, &type) != napi_ok || type != napi_object) return;  // browsers' kind: a number
  if (napi_get_named_property(env, immediate, "unref", &unref) != napi_ok) return;
  if (napi_typeof(env, unref, &type) != napi_ok || type != napi_function) return;
  static_cast<void>(napi_call_function(env, immediate, unref, 0, nullptr, nullptr));
}

void Collector::Flush() {
  const int count = count_;
  if (count <= 0 || environment_.ending()) return;
  count_ = 0;
  pending_bytes_ = 0;

  // What is there to do? Noted here too, since the script overwrites what it has done.
  double noted[kEntries + kSpare];
  bool any_used = false;
  for (int position = 0; position < count; ++position) {
    const Slot* slot = environment_.handles.Find(numbers_[position]);
    const bool used = slot != nullptr && slot->kind == SlotKind::kCapsule && IsUsedCapsule(*slot);
    any_used = any_used || used;
    noted[position] = slot == nullptr ? 0 : used ? -numbers_[position] : numbers_[position];
  }
  Slot* used_capsules = nullptr;
  if (any_used && !environment_.handles.Make(SlotKind::kUsedCapsules, &used_capsules).ok()) {
    // Without memory for what they share they are registered like everything else.
    for (int position = 0; position < count; ++position) noted[position] = std::abs(noted[position]);
  }
  std::memcpy(numbers_, noted, static_cast<size_t>(count) * sizeof(double));

  const double shared = used_capsules == nullptr ? 0 : Handles::HandleOf(*used_capsules);
  const bool done = CallScript(count, shared);
  // The ring is free before anything is released: a deleter may be anything, code that makes tensors included, and they
  // wait in it from its start.
  for (int position = 0; position < count; ++position) {
    const bool placed = numbers_[position] == 0;
    numbers_[position] = 0;
    if (!done || (placed && noted[position] > 0)) noted[position] = 0;
    if (!placed) noted[position] = std::abs(noted[position]);
  }
  Settle(noted, count, used_capsules);
}

// False: out of memory, or terminating. Then the handles stay until their environment ends.
bool Collector::CallScript(int count, double used_capsules) {
  napi_env env = environment_.env();
  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return false;
  napi_value flush = Kept(env, flush_);
  napi_value global = nullptr;
  napi_value arguments[2] = {};
  const bool done = flush != nullptr && napi_get_global(env, &global) == napi_ok &&
                    napi_create_int32(env, count, &arguments[0]) == napi_ok &&
                    napi_create_double(env, used_capsules, &arguments[1]) == napi_ok &&
                    napi_call_function(env, global, flush, 2, arguments, nullptr) == napi_ok;
  if (!done) ClearException(env);
  static_cast<void>(napi_close_handle_scope(env, scope));
  return done;
}

// What is left to do: minus a handle, a capsule that was used; a handle, one that nobody holds, since nobody placed an
// object.
void Collector::Settle(const double* left, int count, Slot* used_capsules) {
  bool any_shared = false;
  for (int position = 0; position < count; ++position) {
    if (left[position] >= 0) continue;
    Slot* slot = environment_.handles.Find(-left[position]);
    if (slot == nullptr) continue;
    MoveUsedCapsule(slot, used_capsules);
    if (slot->loan != nullptr) environment_.loans.OnReleased(*slot);
    environment_.handles.Free(slot);
    ++used_capsules_;
    any_shared = true;
  }
  if (used_capsules != nullptr && !any_shared) environment_.handles.Free(used_capsules);

  // Deleters run here: each slot is found when its turn comes.
  for (int position = 0; position < count; ++position) {
    if (left[position] <= 0) continue;
    if (Slot* slot = environment_.handles.Find(left[position]); slot != nullptr) environment_.CollectSlot(slot);
  }
}

void Collector::FreeUsedCapsules(Slot* slot) {
  used_capsules_ -= FreeCapsules(environment_, slot);
  environment_.handles.Free(slot);
}

napi_value Collector::OnCollected(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value held;
  void* data = nullptr;
  double handle = 0;
  if (napi_get_cb_info(env, info, &count, &held, nullptr, &data) != napi_ok) return nullptr;
  napi_valuetype type = napi_undefined;
  if (napi_typeof(env, held, &type) != napi_ok) return nullptr;
  // What used capsules share is registered with its handle and with what keeps it alive.
  if (type == napi_object && napi_get_element(env, held, 0, &held) != napi_ok) return nullptr;
  if (napi_get_value_double(env, held, &handle) != napi_ok) return nullptr;
  auto& environment = *static_cast<Environment*>(data);
  if (Slot* slot = environment.handles.Find(handle); slot != nullptr) environment.CollectSlot(slot);
  return nullptr;
}

napi_value Collector::OnImmediate(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  if (napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data) != napi_ok) return nullptr;
  auto& environment = *static_cast<Environment*>(data);
  environment.collector.scheduled_ = false;
  if (environment.ending()) return nullptr;
  environment.Upkeep();
  environment.ReportMemory();
  environment.collector.Flush();
  return nullptr;
}

}  // namespace node_dlpack::binding
