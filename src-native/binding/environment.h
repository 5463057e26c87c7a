// Environment: everything that belongs to one load of the addon into one JavaScript environment (the main thread, a
// worker, and each once more where the module is loaded twice). There is nothing else: what is shared between
// environments is counted and process-wide (blocks, counters), and no realm's constructors or symbols are kept but
// those of this instance.
//
// Teardown. One cleanup hook, OnCleanup, on the environment's thread:
//   1. ending() becomes true: every call from here on answers kEnvironmentEnding; nothing can be made any more.
//      The exchange table closes: whoever kept its address is told so.
//   2. loans end, views let go (views.h, loans.h).
//   3. every capsule is emptied: deleter run, record left for whoever may still hold the External. Handles go.
//   4. the release queue closes: jobs that come later, from any thread, free their own memory alone.
//   5. references to JavaScript values are given back; a runtime does not free those of a dying environment.
// The object itself goes with the instance data, after JavaScript can no longer call in. Finalizers of ArrayBuffers run
// before the hook on Node, after it on Bun, and after the instance data on Deno: they own what they need and never
// touch this object. On the main thread process.exit() runs none of this, and nothing depends on it.
#ifndef NODE_DLPACK_BINDING_ENVIRONMENT_H_
#define NODE_DLPACK_BINDING_ENVIRONMENT_H_

#include "../core/account.h"
#include "../core/block.h"
#include "../core/tokens.h"
#include "capsule_records.h"
#include "collector.h"
#include "handles.h"
#include "loans.h"
#include "memory_report.h"
#include "napi_setup.h"
#include "release_queue.h"
#include "scratch.h"
#include "views.h"

namespace node_dlpack::binding {

class ExchangeTable;

class Environment {
 public:
  // Makes the environment's state, with its instance data and its hook. nullptr: no memory, or an environment that ends
  // already.
  static Environment* Create(napi_env env);

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  napi_env env() const { return env_; }
  bool ending() const { return ending_; }
  Account* account() const { return account_; }

  // Before every call: drops expired tokens, then gives back what other threads released. May run JavaScript, so it
  // comes before anything is resolved. Every allocation stands in a call, so one that fails has had its sweep and its
  // drain.
  void Upkeep() {
    if (AnyTokenHasExpired()) DropExpiredTokens();
    if (release_queue->pending()) DrainReleases();
    views.Upkeep();
  }
  // Before every call that will make a handle or a capsule.
  void UpkeepBeforeMaking() {
    Upkeep();
    ReportMemory();
    collector.MakeRoom();
  }

  // Handles count too. A capsule that was consumed holds nothing but its record, yet a million of those between two
  // collections are hundreds of megabytes: without their report the engine collects ever more rarely.
  void ReportMemory() { memory_report.Check(env_, account_->bytes() + handles.bytes() + collector.bytes()); }

  // Fresh memory on this environment's account, one alias of kind kTensor.
  Fault Allocate(size_t bytes, BlockRef* out) { return Block::Allocate(bytes, account_, AliasKind::kTensor, out); }
  Fault AllocateUninitialized(size_t bytes, BlockRef* out) {
    return Block::AllocateUninitialized(bytes, account_, AliasKind::kTensor, out);
  }

  // The end of a handle, whatever it is: views detached, loan left, alias dropped, capsule emptied. The caller has
  // asked whether it may.
  void ReleaseSlot(Slot* slot) {
    if (slot->view != nullptr || slot->staging != nullptr || slot->loan != nullptr) LetGoOfHangersOn(slot);
    handles.Free(slot);
  }
  // The same for a handle whose JavaScript object was collected: views stay attached to their typed arrays; a capsule's
  // record is freed.
  void CollectSlot(Slot* slot);

  // See runtime.h.
  const bool hooks_may_see_values;
  // Behave as a runtime that forbids external ArrayBuffers (Electron): set by configure, read by views.
  bool no_external_buffers = false;

  // Members in reverse order of teardown: the last is torn down first.
  Scratch scratch;
  napi_ref scratch_buffer =
      nullptr;  // keeps the scratch memory, whatever becomes of the exports: native writes there at every call
  ReleaseQueue* release_queue;  // counted; closed last in the hook, released with this object
  MemoryReport memory_report;
  CapsuleRecords capsule_records;
  Handles handles;
  Collector collector;  // holds handles as numbers only: a callback that comes too late finds nothing
  Views views;
  Loans loans;
  ExchangeTable* exchange_table = nullptr;  // never freed; closed first

 private:
  Environment(napi_env env, Account* account, ReleaseQueue* queue);
  ~Environment();

  void LetGoOfHangersOn(Slot* slot);
  void DropExpiredTokens();
  void DrainReleases();
  static void OnCleanup(void* environment);
  static void OnInstanceDataGone(napi_env env, void* environment, void* hint);

  napi_env env_;
  Account* account_;  // counted; shared with every block made here
  bool ending_ = false;
};

// Keeps the scratch memory and the absence of a pending exception across something that may run JavaScript in the
// middle of a call: an async hook or a release callback that uses this library must not disturb the call it interrupts.
class Interlude {
 public:
  explicit Interlude(Environment& environment);
  ~Interlude();
  Interlude(const Interlude&) = delete;
  Interlude& operator=(const Interlude&) = delete;

 private:
  Environment& environment_;
  napi_handle_scope scope_ = nullptr;
  char kept_[Scratch::kBytes];
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_ENVIRONMENT_H_
