#include "handles.h"

#include <cstdlib>
#include <new>

#include "../core/counters.h"

namespace node_dlpack::binding {

static_assert(sizeof(Slot) <= 192, "a live tensor costs this much natively, besides its block");

Handles::~Handles() {
  for (uint32_t chunk = 0; chunk < chunk_count_; ++chunk) delete[] chunks_[chunk];
  std::free(static_cast<void*>(chunks_));
}

Fault Handles::Grow() {
  auto** chunks = static_cast<Slot**>(std::realloc(static_cast<void*>(chunks_), (chunk_count_ + 1) * sizeof(Slot*)));
  if (chunks == nullptr)
    return Fault(FaultCode::kOutOfMemory, 0, static_cast<int64_t>((chunk_count_ + 1) * sizeof(Slot*)));
  chunks_ = chunks;
  auto* chunk = new (std::nothrow) Slot[kChunkSlots];
  if (chunk == nullptr) return Fault(FaultCode::kOutOfMemory, 0, static_cast<int64_t>(kChunkSlots * sizeof(Slot)));
  chunks_[chunk_count_++] = chunk;
  return Fault();
}

Fault Handles::MakeFresh(Slot** out) {
  if (used_ == kCapacity) return Fault(FaultCode::kHandlesExhausted, 0, 0, kCapacity);
  if (used_ == chunk_count_ * kChunkSlots) {
    if (Fault fault = Grow(); !fault.ok()) return fault;
  }
  *out = At(used_);
  (*out)->index = used_++;
  return Fault();
}

void Handles::Free(Slot* slot) {
  if (slot->holds_memory()) g_counters.tensors.fetch_sub(1, std::memory_order_relaxed);
  // Dropped last, when the handle is dead and the table whole again: with the last alias a foreign deleter runs, which
  // may be anything, code that calls this library again included.
  const BlockRef alias = static_cast<BlockRef&&>(slot->alias);
  slot->layout.Clear();
  slot->kind = SlotKind::kFree;
  slot->lent = false;
  slot->as_cpu = false;
  slot->flags = 0;
  slot->windows = 0;
  slot->origin = nullptr;
  slot->byte_offset = 0;
  slot->staging = nullptr;
  slot->loan = nullptr;
  slot->loan_previous = nullptr;
  slot->loan_next = nullptr;
  --live_;
  ++slot->generation;
  // A generation that came round would make old handles live again: such a slot is never used again.
  if (slot->generation == kGenerationEnd) return;
  slot->next_free = first_free_;
  first_free_ = slot->index;
}

Fault Handles::Renew(Slot** slot, SlotKind kind) {
  Slot* old = *slot;
  if (old->generation + 1 < kGenerationEnd) {
    ++old->generation;
    old->kind = kind;
    return Fault();
  }
  Slot* fresh = nullptr;
  if (Fault fault = Make(kind, &fresh); !fault.ok()) return fault;
  fresh->flags = old->flags;
  fresh->dtype = old->dtype;
  fresh->as_cpu = old->as_cpu;
  fresh->alias = static_cast<BlockRef&&>(old->alias);
  fresh->origin = old->origin;
  fresh->byte_offset = old->byte_offset;
  fresh->layout = static_cast<Layout&&>(old->layout);
  fresh->staging = old->staging;
  Free(old);
  *slot = fresh;
  return Fault();
}

}  // namespace node_dlpack::binding
