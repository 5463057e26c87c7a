// Collection: the safety net for what nobody disposes. A dropped tensor or capsule is found by one FinalizationRegistry
// per environment.
//
// Rules, and what breaks without them:
// - The registry is made natively, from the environment's own global, and held by a strong reference. One made in
//   TypeScript dies with its realm (jest, vm contexts), and everything registered there leaks.
// - Registration is deferred: a new object waits in a ring and is registered only if its handle still lives when the
//   ring is flushed. What is disposed before then, nearly everything in a hot loop, never pays for registration.
// - The ring is flushed at 1,024 entries, at 16 MiB of new memory waiting (a bound on the count alone would pin 1,024
//   large tensors), and from one unref'd setImmediate (a microtask never runs in a synchronous loop, and a referenced
//   immediate would keep the process alive).
// - A capsule that was used by then is not registered: it holds nothing but its record, and there is one for each
//   exchange. All those of one flush share one registration, and their records are freed with the last of them
//   (collector_script.h).
// - Nothing is ever unregistered: the held value is a generation-checked handle, so a late callback finds nothing.
//   Unregistering costs more.
// - setImmediate is taken from the global once, at load: the user may replace or remove it later. FinalizationRegistry
//   and register too.
#ifndef NODE_DLPACK_BINDING_COLLECTOR_H_
#define NODE_DLPACK_BINDING_COLLECTOR_H_

#include <cstddef>
#include <cstdint>

#include "napi_setup.h"

namespace node_dlpack::binding {

class Environment;
struct Slot;

class Collector {
 public:
  explicit Collector(Environment& environment) : environment_(environment) {}
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // At load. The JavaScript array that TypeScript fills; nullptr when the runtime has no FinalizationRegistry, or is
  // ending.
  napi_value Start();

  // Before a call that will make a handle: flushes when due and sees to it that a flush will come. May run JavaScript
  // (async hooks), which is why it happens before anything is resolved; the scratch memory is kept.
  void MakeRoom() {
    if (!scheduled_ || IsDue()) MakeRoomSlowly();
  }
  // The ring position for a new handle, to be published as slot::kRing. new_bytes: memory that this handle brought into
  // being.
  int Add(double handle, size_t new_bytes) {
    // MakeRoom left at least the spare positions, which is more than one call makes.
    const int position = count_ < kEntries + kSpare - 1 ? count_++ : count_;
    numbers_[position] = handle;
    pending_bytes_ += new_bytes;
    return position;
  }
  // Add, and places the object in the ring too: for what is not returned to TypeScript. False: nothing would find it.
  bool Place(double handle, napi_value object);
  // The cleanup hook: gives the references back (a runtime does not free those of a dying environment). What is called
  // later finds nothing.
  void Stop();
  // Registers everything that waits.
  void Flush();
  // The last of the used capsules of a flush is gone.
  void FreeUsedCapsules(Slot* slot);
  // Native memory of used capsules.
  int64_t bytes() const { return used_capsules_ * kBytesOfUsedCapsule; }

 private:
  static constexpr int kEntries = 1024;
  static constexpr size_t kPendingBytes = size_t{16} << 20;
  // The record, what the engine keeps for an External, and a place in a weak map.
  static constexpr int64_t kBytesOfUsedCapsule = 128;

  // Positions beyond the bound, for a call that makes more than one handle.
  static constexpr int kSpare = 8;

  bool IsDue() const { return count_ >= kEntries || pending_bytes_ >= kPendingBytes; }
  void MakeRoomSlowly();
  void Schedule();
  bool CallScript(int count, double used_capsules);
  void Settle(const double* left, int count, Slot* used_capsules);
  static napi_value OnCollected(napi_env env, napi_callback_info info);
  static napi_value OnImmediate(napi_env env, napi_callback_info info);

  Environment& environment_;
  // Strong references, for the environment's life.
  napi_ref ring_ = nullptr;
  napi_ref flush_ = nullptr;          // of the script
  napi_ref buffer_ = nullptr;         // the memory of numbers_
  napi_ref set_immediate_ = nullptr;  // nullptr where the runtime has none
  napi_ref on_immediate_ = nullptr;
  bool scheduled_ = false;
  int count_ = 0;
  size_t pending_bytes_ = 0;
  int64_t used_capsules_ = 0;
  // Parallel to the ring: the handle made for each position. The script sees this memory too.
  double* numbers_ = nullptr;
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_COLLECTOR_H_
