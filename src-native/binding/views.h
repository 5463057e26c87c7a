// Views: external ArrayBuffers over a block's memory. A tensor has at most one that it keeps (view, data), and any
// number of windows (withView).
//
// Rules, and what breaks without them:
// - A view record has two parties, the tensor that made the buffer and the buffer's finalizer, and one block reference
//   (an alias of kind view) between them, taken by an atomic exchange: whoever comes first drops it. With the reference
//   in the finalizer alone, a loop that makes, views and disposes without yielding would grow, since finalizers run a
//   turn later (300 x 4 MiB reached 1.24 GB).
// - dispose: detach, take the reference, drop it, in this order and at once.
// - A buffer that is found detached, or gone, before we detached it was moved by the user (transfer, postMessage): its
//   bytes now live in a buffer that we do not know. The reference then stays with the finalizer alone and counts as an
//   alias until it runs. Dropping it would free memory that someone reads.
// - Collecting the tensor does not detach: a typed array alone keeps its bytes. That is why release and collection
//   differ here.
// - The record holds its buffer weakly: a strong reference would take two collections to free what nobody holds.
// - The record itself belongs to its finalizer. The finalizer touches the record and its neighbours only; the
//   environment cuts all of those ties before it goes (view_sentinel.h says when), so it is right after the
//   environment's death as well. One that comes on another thread than its environment's (Deno) drops the reference and
//   leaves the record to the next call: the lists are our thread's, as is every call of Node-API.
#ifndef NODE_DLPACK_BINDING_VIEWS_H_
#define NODE_DLPACK_BINDING_VIEWS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../core/fault.h"
#include "napi_setup.h"
#include "scratch.h"
#include "view_sentinel.h"

namespace node_dlpack::binding {

class Environment;
class Registration;
struct Slot;
struct ViewRecord;

class Views {
 public:
  explicit Views(Environment& environment) : environment_(environment) {}
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  // Before every call: what finalizers on other threads left to this one. Hardly ever anything.
  void Upkeep() {
    if (finalized_elsewhere_.load(std::memory_order_acquire) != reaped_) Reap();
  }

  // May this tensor or owner be seen through an ArrayBuffer in this way? kOpaqueDevice, kProtectedMemory, kReadOnly;
  // kArgument when empty.
  static Fault CheckAccess(const Slot& slot, ViewMode mode);
  // The slot's one buffer, made on demand. kTooLarge, kNoExternalBuffers, kOutOfMemory, kEnvironmentEnding.
  Fault Open(Slot& slot, napi_value* buffer);
  // Detaches it; nothing when there is none.
  void Release(Slot& slot);
  // A buffer of its own; counts in slot.windows until it is closed or gone. Faults as Open.
  Fault OpenWindow(Slot& slot, napi_value* buffer);
  // kArgument when the buffer is no open window of the slot.
  Fault CloseWindow(Slot& slot, napi_value buffer);

  // Buffers of the slot that are attached: aliases of its own. One whose bytes the user moved away is an alias of
  // somebody else's.
  uint32_t CountAttached(Slot& slot);
  // Has the user moved the bytes of one of the owner's buffers elsewhere? kMovedAway; changes nothing.
  Fault CheckNotMovedAway(Slot& slot);
  // Before an owner's memory moves on (freeze): detaches its data. kMovedAway, and nothing has changed, when the user
  // moved the buffer's bytes elsewhere. Success when there is no buffer.
  Fault DetachOwned(Slot& slot);
  // Dispose: detaches every buffer of the slot and drops its alias at once. What the user moved away stays with its
  // finalizer. Never fails.
  void ReleaseAll(Slot& slot);
  // The tensor was collected: its half of the view records goes; a typed array that is still held keeps its bytes.
  void OnCollected(Slot& slot);
  // The environment is ending: frees what is provably attached still, keeps the rest for good. The first caller (the
  // sentinel, or the cleanup hook before handles are released) does it; the others find nothing.
  void OnEnvironmentEnd();

 private:
  Fault Make(Slot& slot, bool window, napi_value* buffer);
  Fault Refused(ViewRecord* record, napi_status status, size_t bytes);
  void LetGo(ViewRecord* record);
  void Detach(ViewRecord* record, napi_value buffer);
  napi_value Attached(const ViewRecord& record) const;
  static ViewRecord* Kept(const Slot& slot);
  void Reap();
  static void OnFinalized(napi_env env, void* data, void* hint);
  static void OnFinalizedElsewhere(ViewRecord* record);

  // How often a finalizer came on another thread than its environment's; of the process.
  static std::atomic<uint32_t> finalized_elsewhere_;

  Environment& environment_;
  ViewRecord* records_ = nullptr;  // all that are live, newest first
  ViewSentinel sentinel_;
  uint32_t reaped_ = 0;        // finalizers that had come on other threads when the records were looked at last
  size_t largest_ = SIZE_MAX;  // bytes of the largest ArrayBuffer, as far as the engine has refused one
};

void RegisterViews(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_VIEWS_H_
