#include "views.h"

#include <atomic>
#include <new>

#include "../core/block.h"
#include "../core/counters.h"
#include "call.h"
#include "environment.h"
#include "handles.h"
#include "host_access.h"

namespace node_dlpack::binding {

namespace {

// Of the thread that asks; another one than that of any other thread that runs.
const void* CurrentThread() {
  static thread_local char mark;
  return &mark;
}

}  // namespace

std::atomic<uint32_t> Views::finalized_elsewhere_{0};

struct ViewRecord {
  std::atomic<Block*> block{nullptr};  // counted, kind view; nullptr once taken
  napi_ref buffer = nullptr;           // weak
  const void* thread = CurrentThread();
  bool window = false;
  std::atomic<bool> kept{false};  // outlives its environment on purpose; its finalizer does nothing
  // Nobody but the finalizer knows it any more.
  std::atomic<bool> orphan{false};
  // Its finalizer came on another thread, and left all but the block to ours.
  std::atomic<bool> finalized_elsewhere{false};
  bool making = true;      // its buffer is being made: Node runs the finalizer of one that it refuses inside that call
  bool finalized = false;  // ... and did
  // The tensor that made it and that tensor's other records, while the tensor has a say; slot nullptr: left to the
  // finalizer alone.
  Slot* slot = nullptr;
  ViewRecord* sibling = nullptr;
  // All live records of the environment.
  ViewRecord** link = nullptr;  // what points here; nullptr once cut
  ViewRecord* next = nullptr;
};

namespace {

// Records whose bytes another thread may still read after their environment's death: the memory is kept for the rest of
// the process. They stay reachable from here, so that a leak checker tells them from a leak.
std::atomic<ViewRecord*> g_kept{nullptr};

void Keep(ViewRecord* record) {
  record->kept.store(true, std::memory_order_release);
  record->next = g_kept.load(std::memory_order_relaxed);
  while (!g_kept.compare_exchange_weak(record->next, record, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void Give(ViewRecord* record, BlockRef alias) {
  g_counters.views.fetch_add(1, std::memory_order_relaxed);
  record->block.store(alias.Detach(), std::memory_order_release);
}

// Empty when the other party was first.
BlockRef Take(ViewRecord* record) {
  Block* block = record->block.exchange(nullptr, std::memory_order_acq_rel);
  if (block == nullptr) return BlockRef();
  g_counters.views.fetch_sub(1, std::memory_order_relaxed);
  return BlockRef::Attach(block, AliasKind::kView);
}

void Link(ViewRecord* record, ViewRecord** head) {
  record->link = head;
  record->next = *head;
  if (record->next != nullptr) record->next->link = &record->next;
  *head = record;
}

void Cut(ViewRecord* record) {
  if (record->link == nullptr) return;
  *record->link = record->next;
  if (record->next != nullptr) record->next->link = record->link;
  record->link = nullptr;
  record->next = nullptr;
}

void JoinSlot(ViewRecord* record, Slot& slot) {
  record->slot = &slot;
  record->sibling = slot.view;
  slot.view = record;
  if (record->window) ++slot.windows;
}

void LeaveSlot(ViewRecord* record) {
  Slot* slot = record->slot;
  if (slot == nullptr) return;
  ViewRecord** place = &slot->view;
  while (*place != record) place = &(*place)->sibling;
  *place = record->sibling;
  record->slot = nullptr;
  record->sibling = nullptr;
  if (record->window) --slot->windows;
}

void DeleteReference(napi_env env, ViewRecord* record) {
  if (record->buffer != nullptr) napi_delete_reference(env, record->buffer);
  record->buffer = nullptr;
}

}  // namespace

Fault Views::CheckAccess(const Slot& slot, ViewMode mode) {
  if (Fault fault = CheckReadable(slot); !fault.ok()) return fault;
  if (mode != ViewMode::kUnsafe && slot.has(tensor_flag::kProtected)) return FaultCode::kProtectedMemory;
  if (mode == ViewMode::kWritable && !slot.is_owner() && slot.has(tensor_flag::kReadOnly)) return FaultCode::kReadOnly;
  if (slot.layout.empty()) return FaultCode::kArgument;
  return Fault();
}

ViewRecord* Views::Kept(const Slot& slot) {
  ViewRecord* record = slot.view;
  while (record != nullptr && record->window) record = record->sibling;
  return record;
}

// The record's buffer while it is attached, else nullptr.
napi_value Views::Attached(const ViewRecord& record) const {
  napi_env env = environment_.env();
  napi_value buffer = nullptr;
  if (napi_get_reference_value(env, record.buffer, &buffer) != napi_ok || buffer == nullptr) return nullptr;
  bool detached = true;
  if (napi_is_detached_arraybuffer(env, buffer, &detached) != napi_ok || detached) return nullptr;
  return buffer;
}

Fault Views::Open(Slot& slot, napi_value* buffer) {
  if (ViewRecord* record = Kept(slot)) {
    *buffer = Attached(*record);
    if (*buffer != nullptr) return Fault();
    LeaveSlot(record);
  }
  return Make(slot, false, buffer);
}

void Views::Release(Slot& slot) {
  if (ViewRecord* record = Kept(slot)) LetGo(record);
}

Fault Views::OpenWindow(Slot& slot, napi_value* buffer) {
  return Make(slot, true, buffer);
}

Fault Views::CloseWindow(Slot& slot, napi_value buffer) {
  napi_env env = environment_.env();
  for (ViewRecord* record = slot.view; record != nullptr; record = record->sibling) {
    if (!record->window) continue;
    napi_value own = nullptr;
    bool same = false;
    if (napi_get_reference_value(env, record->buffer, &own) != napi_ok || own == nullptr) continue;
    if (napi_strict_equals(env, own, buffer, &same) != napi_ok || !same) continue;
    LetGo(record);
    return Fault();
  }
  return Fault(FaultCode::kArgument, 1);
}

uint32_t Views::CountAttached(Slot& slot) {
  uint32_t count = 0;
  for (ViewRecord* record = slot.view; record != nullptr; record = record->sibling) {
    if (Attached(*record) != nullptr) ++count;
  }
  return count;
}

Fault Views::CheckNotMovedAway(Slot& slot) {
  // An owner is unique but for its own buffers, so any further alias is one whose bytes the user moved away, now or
  // some views ago.
  return slot.alias->IsUniqueBesides(CountAttached(slot)) ? Fault() : Fault(FaultCode::kMovedAway);
}

Fault Views::DetachOwned(Slot& slot) {
  if (Fault fault = CheckNotMovedAway(slot); !fault.ok()) return fault;
  ReleaseAll(slot);
  return Fault();
}

void Views::ReleaseAll(Slot& slot) {
  while (slot.view != nullptr) LetGo(slot.view);
}

void Views::OnCollected(Slot& slot) {
  while (slot.view != nullptr) LeaveSlot(slot.view);
}

// The tensor's last word on a record.
void Views::LetGo(ViewRecord* record) {
  LeaveSlot(record);
  napi_value buffer = Attached(*record);
  if (buffer != nullptr) Detach(record, buffer);
}

// The record is not touched after the detaching: on Bun and Deno its finalizer runs inside, and frees it.
void Views::Detach(ViewRecord* record, napi_value buffer) {
  napi_env env = environment_.env();
  BlockRef alias = Take(record);
  Cut(record);
  DeleteReference(env, record);
  record->orphan.store(true, std::memory_order_release);
  if (napi_detach_arraybuffer(env, buffer) != napi_ok) {
    // Not detached, so its finalizer has not run, and the bytes are still in use: it keeps them.
    Give(record, static_cast<BlockRef&&>(alias));
  }
}

Fault Views::Make(Slot& slot, bool window, napi_value* buffer) {
  const ByteSpan span = slot.layout.byte_span(slot.dtype);
  const auto bytes = static_cast<size_t>(span.size());
  if (environment_.no_external_buffers) return FaultCode::kNoExternalBuffers;
  if (bytes > largest_) return Fault(FaultCode::kTooLarge, 0, span.size(), static_cast<int64_t>(largest_));
  napi_env env = environment_.env();
  auto* record = new (std::nothrow) ViewRecord;
  if (record == nullptr) return Fault(FaultCode::kOutOfMemory, 0, sizeof(ViewRecord));
  record->window = window;
  Give(record, slot.alias.NewAlias(AliasKind::kView));
  napi_status status =
      napi_create_external_arraybuffer(env, slot.origin + span.lowest, bytes, OnFinalized, record, buffer);
  record->making = false;
  if (status != napi_ok) return Refused(record, status, bytes);
  status = napi_create_reference(env, *buffer, 0, &record->buffer);
  Fault fault = status == napi_ok ? Fault() : Fault(FaultCode::kNodeApi, 0, status);
  if (fault.ok()) {
    Link(record, &records_);
    fault = sentinel_.Renew(env, [](void* views) { static_cast<Views*>(views)->OnEnvironmentEnd(); }, this);
  }
  if (!fault.ok()) {
    Detach(record, *buffer);
    return fault;
  }
  JoinSlot(record, slot);
  return Fault();
}

// No buffer was made. Whether a finalizer that has not come yet will come differs by runtime and reason: the record,
// empty, is left to it.
Fault Views::Refused(ViewRecord* record, napi_status status, size_t bytes) {
  napi_env env = environment_.env();
  Take(record).Reset();
  if (record->finalized || status == napi_no_external_buffers_allowed) {
    delete record;
  } else {
    record->orphan.store(true, std::memory_order_release);
  }
  if (status == napi_no_external_buffers_allowed) {
    environment_.no_external_buffers = true;
    return FaultCode::kNoExternalBuffers;
  }
  bool thrown = false;
  napi_value exception = nullptr;
  if (napi_is_exception_pending(env, &thrown) == napi_ok && thrown) napi_get_and_clear_last_exception(env, &exception);
  // 4 GiB is where the engines that bound it (V8 up to Node 20, JavaScriptCore) bound it. Asking them is no risk: they
  // throw.
  constexpr size_t kFourGiB = size_t{1} << 32;
  if (thrown && bytes > kFourGiB) {
    largest_ = kFourGiB;
    return Fault(FaultCode::kTooLarge, 0, static_cast<int64_t>(bytes), static_cast<int64_t>(kFourGiB));
  }
  if (status == napi_pending_exception || status == napi_cannot_run_js) return FaultCode::kEnvironmentEnding;
  return Fault(FaultCode::kNodeApi, 0, status);
}

// Deno drops an ArrayBuffer's memory on whatever thread V8's collector sweeps it: no call of Node-API is allowed there,
// and the lists belong to our thread. The block may go from any thread; the rest waits for Reap.
void Views::OnFinalizedElsewhere(ViewRecord* record) {
  Take(record).Reset();
  if (record->orphan.load(std::memory_order_acquire)) {
    delete record;
    return;
  }
  record->finalized_elsewhere.store(true, std::memory_order_release);
  finalized_elsewhere_.fetch_add(1, std::memory_order_release);
}

// Every record is looked at, but only after finalizers came elsewhere: once a collection at most.
void Views::Reap() {
  reaped_ = finalized_elsewhere_.load(std::memory_order_acquire);
  for (ViewRecord* record = records_; record != nullptr;) {
    ViewRecord* next = record->next;
    if (record->finalized_elsewhere.load(std::memory_order_acquire)) {
      LeaveSlot(record);
      Cut(record);
      DeleteReference(environment_.env(), record);
      delete record;
    }
    record = next;
  }
}

// In the environment's life: the buffer is gone, and with it every use of the bytes. In its death: OnEnvironmentEnd has
// cut the record off.
void Views::OnFinalized(napi_env env, void*, void* hint) {
  auto* record = static_cast<ViewRecord*>(hint);
  if (record->kept.load(std::memory_order_acquire)) return;
  if (record->thread != CurrentThread()) {
    OnFinalizedElsewhere(record);
    return;
  }
  if (record->making) {
    record->finalized = true;
    return;
  }
  LeaveSlot(record);
  Cut(record);
  DeleteReference(env, record);
  Take(record).Reset();
  delete record;
}

void Views::OnEnvironmentEnd() {
  napi_env env = environment_.env();
  napi_handle_scope scope = nullptr;
  // Where values cannot be seen, it cannot be seen either which buffers are attached: all are kept.
  const bool scoped = environment_.hooks_may_see_values && napi_open_handle_scope(env, &scope) == napi_ok;
  sentinel_.Dismiss(env, scoped);
  while (records_ != nullptr) {
    ViewRecord* record = records_;
    LeaveSlot(record);
    napi_value buffer = scoped ? Attached(*record) : nullptr;
    if (buffer != nullptr) {
      Detach(record, buffer);
    } else {
      Cut(record);
      DeleteReference(env, record);
      Keep(record);
    }
  }
  if (scoped) napi_close_handle_scope(env, scope);
}

}  // namespace node_dlpack::binding
