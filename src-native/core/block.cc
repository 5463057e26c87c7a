#include "block.h"

#include <cstring>
#include <new>

#include "counters.h"
#include "managed_tensor.h"
#include "memory.h"

namespace node_dlpack {

namespace {

constexpr size_t kDataAlignment = 256;
// From here on memory is mapped, in large pages where there are some: the system hands out zeroed pages, and only those
// that are used cost anything. Below, the allocator hands out memory again that was used before, which saves the first
// touch of each page altogether.
constexpr size_t kMapFrom = size_t{32} << 20;
constexpr size_t kLargePagesFrom = size_t{4} << 20;
// Up to here memset after malloc is faster than calloc, which does not use the allocator's quick lists.
constexpr size_t kClearByHandUpTo = size_t{32} << 10;

// Set once, before the first allocation.
std::atomic<bool> g_protect_mode{false};

}  // namespace

void Block::SetProtectMode(bool on) {
  g_protect_mode.store(on, std::memory_order_relaxed);
}

Fault Block::Allocate(size_t bytes, Account* account, AliasKind kind, BlockRef* out) {
  return Make(bytes, true, account, kind, out);
}

Fault Block::AllocateUninitialized(size_t bytes, Account* account, AliasKind kind, BlockRef* out) {
  return Make(bytes, false, account, kind, out);
}

Fault Block::Make(size_t bytes, bool zeroed, Account* account, AliasKind kind, BlockRef* out) {
  const Fault out_of_memory(FaultCode::kOutOfMemory, 0, static_cast<int64_t>(bytes));
  const bool guarded = g_protect_mode.load(std::memory_order_relaxed);
  if (bytes >= kMapFrom || (guarded && bytes > 0)) {
    void* memory = AllocateBytes(sizeof(Block));
    if (memory == nullptr) return out_of_memory;
    void* pages = MapPages(bytes);
    if (pages == nullptr) {
      FreeBytes(memory);
      return out_of_memory;
    }
    Block* block = new (memory) Block();
    block->data_ = static_cast<uint8_t*>(pages);
    block->bytes_ = bytes;
    block->guarded_pages_ = guarded;
    block->free_memory_ = [](Block* self) { UnmapPages(self->data_, self->bytes_); };
    *out = block->Begin(account, kind);
    return Fault();
  }

  // One allocation. The bytes begin on its first multiple of 256, and the Block lies in the gap before them if that is
  // large enough, behind them otherwise: either way together they need no more than the greatest gap, or two Blocks.
  constexpr size_t kGreatestGap = kDataAlignment - kAllocationAlignment;
  constexpr size_t kTwoBlocks = 2 * sizeof(Block) - kAllocationAlignment;
  static_assert(sizeof(Block) % kAllocationAlignment == 0, "a gap that is too small is too small by an alignment");
  if (bytes > PTRDIFF_MAX) return out_of_memory;
  const size_t room = (bytes + kAllocationAlignment - 1) / kAllocationAlignment * kAllocationAlignment;
  const size_t whole = bytes == 0 ? sizeof(Block) : room + (kGreatestGap > kTwoBlocks ? kGreatestGap : kTwoBlocks);
  const bool clear_by_hand = zeroed && whole <= kClearByHandUpTo;
  void* memory = zeroed && !clear_by_hand ? AllocateZeroedBytes(whole) : AllocateBytes(whole);
  if (memory == nullptr) return out_of_memory;
  if (whole >= kLargePagesFrom) PreferLargePages(memory, whole);
  const size_t gap = (kDataAlignment - reinterpret_cast<uintptr_t>(memory) % kDataAlignment) % kDataAlignment;
  uint8_t* data = static_cast<uint8_t*>(memory) + gap;
  const bool before = bytes == 0 || gap >= sizeof(Block);
  Block* block = new (before ? memory : data + room) Block();
  block->context_ = memory;
  if (bytes > 0) {
    block->data_ = data;
    block->bytes_ = bytes;
    if (clear_by_hand) std::memset(data, 0, bytes);
  }
  *out = block->Begin(account, kind);
  return Fault();
}

Fault Block::AdoptManaged(void* managed, ManagedKind managed_kind, uint8_t* data, size_t bytes, DLDevice device,
                          const BlockTraits& traits, Account* account, AliasKind kind, BlockRef* out) {
  void (*free_memory)(Block*) = managed_kind == ManagedKind::kLegacy
                                    ? +[](Block* self) { DeleteManaged(self->context_, ManagedKind::kLegacy); }
                                    : +[](Block* self) { DeleteManaged(self->context_, ManagedKind::kVersioned); };
  Fault fault = MakeAround(data, bytes, device, traits, free_memory, managed, account, kind, out);
  if (!fault.ok()) DeleteManaged(managed, managed_kind);
  return fault;
}

Fault Block::Wrap(uint8_t* data, size_t bytes, void (*release)(void* context), void* context, const BlockTraits& traits,
                  Account* account, AliasKind kind, BlockRef* out) {
  Fault fault = MakeAround(
      data, bytes, DLDevice{kDLCPU, 0}, traits, [](Block* self) { self->release_(self->context_); }, context, account,
      kind, out);
  if (!fault.ok()) {
    release(context);
    return fault;
  }
  (*out)->release_ = release;
  return fault;
}

Fault Block::MakeAround(uint8_t* data, size_t bytes, DLDevice device, const BlockTraits& traits,
                        void (*free_memory)(Block*), void* context, Account* account, AliasKind kind, BlockRef* out) {
  void* memory = AllocateBytes(sizeof(Block));
  if (memory == nullptr) return Fault(FaultCode::kOutOfMemory, 0, sizeof(Block));
  Block* block = new (memory) Block();
  block->traits_ = traits;
  block->device_ = device;
  block->data_ = data;
  block->bytes_ = bytes;
  block->free_memory_ = free_memory;
  block->context_ = context;
  *out = block->Begin(account, kind);
  return Fault();
}

BlockRef Block::Begin(Account* account, AliasKind kind) {
  account_ = account;
  if (account != nullptr) {
    account->Retain();
    account->Add(static_cast<int64_t>(bytes_));
  }
  g_counters.blocks.fetch_add(1, std::memory_order_relaxed);
  g_counters.bytes.fetch_add(static_cast<int64_t>(bytes_), std::memory_order_relaxed);
  AddAlias(kind);
  return BlockRef::Attach(this, kind);
}

void Block::MoveToAccount(Account* account) {
  if (account == account_) return;
  Account* before = account_;
  account_ = account;
  if (account != nullptr) {
    account->Retain();
    account->Add(static_cast<int64_t>(bytes_));
  }
  if (before != nullptr) {
    before->Add(-static_cast<int64_t>(bytes_));
    before->Release();
  }
}

void Block::End() {
  g_counters.blocks.fetch_sub(1, std::memory_order_relaxed);
  g_counters.bytes.fetch_sub(static_cast<int64_t>(bytes_), std::memory_order_relaxed);
  if (account_ != nullptr) {
    account_->Add(-static_cast<int64_t>(bytes_));
    account_->Release();
  }
  void* memory = this;
  if (free_memory_ != nullptr) {
    free_memory_(this);
  } else {
    memory = context_;
  }
  this->~Block();
  FreeBytes(memory);
}

void Block::ChangeAlias(AliasKind from, AliasKind to) {
  if (from == to) return;
  if (IsDiagnosed(to)) Diagnostic(to)->fetch_add(1, std::memory_order_relaxed);
  // One step, so that no other thread sees the alias missing, or there twice. The difference may be negative: the word
  // wraps back.
  if (InWord(from) != InWord(to)) aliases_.fetch_add(InWord(to) - InWord(from), std::memory_order_acq_rel);
  if (IsDiagnosed(from)) Diagnostic(from)->fetch_sub(1, std::memory_order_relaxed);
}

AliasCounts Block::Aliases() const {
  const uint64_t word = aliases_.load(std::memory_order_acquire);
  AliasCounts counts;
  counts.tensors = static_cast<int64_t>(word % kOneOther);
  counts.views = views_.load(std::memory_order_relaxed);
  counts.tokens = tokens_.load(std::memory_order_relaxed);
  const auto others = static_cast<int64_t>(word / kOneOther);
  // Three words are read one after the other: while other threads are at work the difference can be off.
  counts.exports = others > counts.views + counts.tokens ? others - counts.views - counts.tokens : 0;
  return counts;
}

void Block::ProtectPages(bool read_only) {
  if (guarded_pages_) SetPagesReadOnly(data_, bytes_, read_only);
}

}  // namespace node_dlpack
