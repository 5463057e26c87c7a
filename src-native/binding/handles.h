// Handles: what a JavaScript tensor or capsule is natively. The JavaScript object carries one number; the number
// indexes this table.
//
// Rule: a handle is generation * 2^24 + index of the slot, an exact integer in a double. Both halves are checked at
// every crossing, so a forged or stale number is a fault and never a crash. A slot's generation moves on when its
// handle dies; a slot whose generation would wrap is retired. (An int32 would wrap modulo 2^32 in the engine and accept
// forged values; ten generation bits came round within 1,024 reuses.) No External, no wrapped object and no finalizer
// for each tensor: those cost ten times what the whole hand-off costs.
//
// A Slot* stays valid until the handle dies. Anything that may run JavaScript may kill handles: resolve again after it.
#ifndef NODE_DLPACK_BINDING_HANDLES_H_
#define NODE_DLPACK_BINDING_HANDLES_H_

#include <cstdint>

#include "../core/block.h"
#include "../core/counters.h"
#include "../core/dtype.h"
#include "../core/layout.h"

struct napi_ref__;  // Node-API's reference; this file and its source are tested without Node

namespace node_dlpack::binding {

struct CapsuleRecord;
struct Loan;
struct ViewRecord;

// kUsedCapsules: what is left of capsules that were used (collector.h).
enum class SlotKind : uint8_t { kFree, kTensor, kOwner, kCapsule, kUsedCapsules };

struct Slot {
  // --- identity ---
  uint32_t index = 0;
  uint32_t generation = 1;
  SlotKind kind = SlotKind::kFree;
  // An owner whose loan has not ended: nothing but metadata and single elements may be asked of it.
  bool lent = false;
  // TensorFlag bits (scratch.h), written when the handle is made.
  uint16_t flags = 0;
  DType dtype;
  // Host memory of another device type (CUDAHost, ROCMHost) that was exchanged as the CPU's: metadata and exports say
  // [1, 0].
  bool as_cpu = false;
  // Windows (withView) still open: release and moves are refused.
  uint32_t windows = 0;

  // --- memory: the authority. A layout that comes from JavaScript is checked against it ---
  BlockRef alias;  // kind kTensor; empty for a capsule
  uint8_t* origin =
      nullptr;  // first logical element; nullptr when empty; opaque memory: the producer's data, never added to
  uint64_t byte_offset = 0;  // opaque memory only: from there to the first logical element
  Layout layout;

  // --- hangers-on ---
  union {
    ViewRecord* view = nullptr;  // tensor, owner: the one cached ArrayBuffer (views.h)
    CapsuleRecord* capsule;      // capsule; used capsules: all of them
    uint32_t next_free;          // free slot
  };
  napi_ref__* staging = nullptr;  // owner: the buffer that stands in for its data (staging.h)
  // The loan that this tensor or capsule was made from, or, for a lent owner, its own loan (loans.h); the members of a
  // loan form a list.
  Loan* loan = nullptr;
  Slot* loan_previous = nullptr;
  Slot* loan_next = nullptr;

  bool holds_memory() const { return kind == SlotKind::kTensor || kind == SlotKind::kOwner; }
  bool is_tensor() const { return kind == SlotKind::kTensor; }
  bool is_owner() const { return kind == SlotKind::kOwner; }
  bool has(int tensor_flag) const { return (flags & tensor_flag) != 0; }
};

class Handles {
 public:
  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles();

  static constexpr uint32_t kIndexBits = 24;
  static constexpr uint32_t kGenerationBits = 29;
  static constexpr uint32_t kCapacity = uint32_t{1} << kIndexBits;

  // A fresh slot, empty but for its kind. kHandlesExhausted, kOutOfMemory. Tensors and owners count in the process
  // counters.
  Fault Make(SlotKind kind, Slot** out) {
    Slot* slot = nullptr;
    if (first_free_ != kNoSlot) {
      slot = At(first_free_);
      first_free_ = slot->next_free;
    } else if (Fault fault = MakeFresh(&slot); !fault.ok()) {
      return fault;
    }
    slot->kind = kind;
    slot->view = nullptr;
    ++live_;
    if (slot->holds_memory()) g_counters.tensors.fetch_add(1, std::memory_order_relaxed);
    *out = slot;
    return Fault();
  }
  // The live slot of a handle; nullptr when it is stale, forged or not an integer.
  Slot* Find(double handle) const {
    constexpr double kEnd = 9007199254740992.0;  // 2^53: exact integers end here
    if (!(handle > 0 && handle < kEnd)) return nullptr;
    const auto number = static_cast<int64_t>(handle);  // signed: one instruction
    if (static_cast<double>(number) != handle) return nullptr;
    const auto index = static_cast<uint32_t>(number) & (kCapacity - 1);
    if (index >= used_) return nullptr;
    Slot* slot = At(index);
    if (slot->generation != number >> kIndexBits || slot->kind == SlotKind::kFree) return nullptr;
    return slot;
  }
  static double HandleOf(const Slot& slot) {
    return static_cast<double>(static_cast<int64_t>(slot.generation) << kIndexBits | slot.index);
  }
  // The handle dies; the alias is dropped. What hangs on the slot must be gone already.
  void Free(Slot* slot);
  // The handle dies and its slot, contents untouched, gets a new handle of the given kind: how a move changes what a
  // thing is without a moment in which the memory has no holder. Can fail only where the slot has to be retired and
  // another is not to be had; then nothing changes.
  Fault Renew(Slot** slot, SlotKind kind);

  // Native memory of what is live, besides the blocks: slots, and about as much as hangs on one (a capsule's record and
  // struct, a block's head).
  int64_t bytes() const { return static_cast<int64_t>(live_) * kBytesOfEach; }

  // Every live slot, in any order. The callback may free the slot that it is given.
  template <typename Callback>
  void ForEachLive(Callback callback) {
    for (uint32_t index = 0; index < used_; ++index) {
      Slot* slot = At(index);
      if (slot->kind != SlotKind::kFree) callback(slot);
    }
  }

 private:
  static constexpr uint32_t kChunkBits = 7;
  static constexpr uint32_t kChunkSlots = uint32_t{1} << kChunkBits;
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  static constexpr int64_t kBytesOfEach = sizeof(Slot) + 128;
  static constexpr uint32_t kGenerationEnd = uint32_t{1} << kGenerationBits;

  Slot* At(uint32_t index) const { return &chunks_[index >> kChunkBits][index & (kChunkSlots - 1)]; }
  Fault Grow();
  Fault MakeFresh(Slot** out);  // one that was never handed out

  // Chunks, so that a slot keeps its address as the table grows.
  Slot** chunks_ = nullptr;
  uint32_t chunk_count_ = 0;
  uint32_t used_ = 0;  // slots ever handed out
  uint32_t live_ = 0;
  uint32_t first_free_ = kNoSlot;
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_HANDLES_H_
