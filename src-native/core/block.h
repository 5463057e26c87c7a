// Block: the only owner of bytes. Counted by one atomic word, process-wide; outlives every environment; knows how to
// free itself, on any thread.
//
// The word holds two counts: tensors in the low half, all other aliases (exports, views, tokens) in the high half. One
// word, because uniqueness must be read in one go: with two counters, an alias that turns from export into tensor on
// another thread could be missed by both reads. An alias can only be made from an alias, so "one tensor, nothing else",
// seen by the thread that holds that tensor, stays true until that thread acts.
#ifndef NODE_DLPACK_CORE_BLOCK_H_
#define NODE_DLPACK_CORE_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "account.h"
#include "dlpack/dlpack.h"
#include "fault.h"
#include "memory.h"

namespace node_dlpack {

enum class AliasKind : uint8_t { kTensor, kExport, kView, kToken };

struct AliasCounts {
  int64_t tensors, exports, views, tokens;
};

enum class ManagedKind : uint8_t { kLegacy = 1, kVersioned = 2 };

// May the memory ever belong to one holder alone, and may a view be opened without being asked to?
struct BlockTraits {
  bool may_be_unique = true;  // foreign: only IS_COPIED without READ_ONLY; adopted and pointer memory: never
  NeverUniqueReason why_not = NeverUniqueReason::kForeignLegacy;  // read when may_be_unique is false
  bool may_be_protected = false;      // foreign and not lent writable: its pages may refuse writes, so no view()
  bool foreign = false;               // owns a managed tensor that another library made
  bool foreign_legacy = false;        // ... of the legacy kind: it may leave as legacy again without a lie
  bool bound_to_environment = false;  // JS-backed: released by its environment's queue, refused by share()
};

class BlockRef;

class alignas(kAllocationAlignment) Block {
 public:
  // The outcome of every maker below: one alias of the kind asked for, or a fault. account (may be nullptr) is retained
  // by the block.

  // Zeroed memory, aligned to 256 bytes; large sizes come from the system without touching pages. bytes 0: a block with
  // data nullptr. Counts in the process counters. With SetProtectMode(true) every block has pages of its own and
  // ProtectPages works on it.
  static Fault Allocate(size_t bytes, Account* account, AliasKind kind, BlockRef* out);
  // As Allocate, but the contents are undefined: for callers that overwrite all of it.
  static Fault AllocateUninitialized(size_t bytes, Account* account, AliasKind kind, BlockRef* out);
  // Owns a foreign managed tensor from here on (also on a fault: then its deleter has run). data/bytes: the span its
  // layout covers.
  static Fault AdoptManaged(void* managed, ManagedKind managed_kind, uint8_t* data, size_t bytes, DLDevice device,
                            const BlockTraits& traits, Account* account, AliasKind kind, BlockRef* out);
  // Memory owned by someone who is told through release(context), once, on whichever thread drops the last alias. On a
  // fault release has run.
  static Fault Wrap(uint8_t* data, size_t bytes, void (*release)(void* context), void* context,
                    const BlockTraits& traits, Account* account, AliasKind kind, BlockRef* out);

  static void SetProtectMode(bool on);  // NODE_DLPACK_DEBUG=protect; read before the first allocation

  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  DLDevice device() const { return device_; }
  const BlockTraits& traits() const { return traits_; }

  bool IsUnique() const { return aliases_.load(std::memory_order_acquire) == kOneTensor; }
  // Exactly one tensor and `others` further aliases (the owner's own view while it decides).
  bool IsUniqueBesides(uint32_t others) const {
    return aliases_.load(std::memory_order_acquire) == (kOneTensor + others * kOneOther);
  }
  AliasCounts Aliases() const;

  // The environment of the memory's new holder answers for it from now on; nullptr: nobody does. Only for whoever holds
  // the block alone: a token was claimed, and the sender is gone. Without this a thread that receives all of its memory
  // from others would report none of it, and its engine would never collect.
  void MoveToAccount(Account* account);

  // Did this library copy bytes to make the block (Tensor.from, copy, a copy at import)? Set by the maker, before
  // anyone else holds the block.
  bool made_by_copy() const { return made_by_copy_; }
  void set_made_by_copy() { made_by_copy_ = true; }

  // Loans (OwnedTensor.lend): what an import of our own struct must know. Written by the owning thread only.
  enum class Loan : uint8_t { kNone, kReadOnly, kWritable };
  Loan loan() const { return loan_.load(std::memory_order_acquire); }
  void set_loan(Loan loan) { loan_.store(loan, std::memory_order_release); }

  // Read-only or writable pages; does nothing for blocks without pages of their own.
  void ProtectPages(bool read_only);

 private:
  friend class BlockRef;
  Block() = default;
  ~Block() = default;
  static Fault Make(size_t bytes, bool zeroed, Account* account, AliasKind kind, BlockRef* out);
  static Fault MakeAround(uint8_t* data, size_t bytes, DLDevice device, const BlockTraits& traits,
                          void (*free_memory)(Block*), void* context, Account* account, AliasKind kind, BlockRef* out);
  BlockRef Begin(Account* account, AliasKind kind);  // counts the finished block, with its first alias
  void End();                                        // after the last alias

  void AddAlias(AliasKind kind) {
    if (IsDiagnosed(kind)) Diagnostic(kind)->fetch_add(1, std::memory_order_relaxed);
    aliases_.fetch_add(InWord(kind), std::memory_order_relaxed);
  }
  // Ends the block with the last one.
  void DropAlias(AliasKind kind) {
    // First, because nothing of the block may be touched after the word has been let go: another thread may then drop
    // the last alias.
    if (IsDiagnosed(kind)) Diagnostic(kind)->fetch_sub(1, std::memory_order_relaxed);
    // Releases what this holder did with the memory; whoever ends the block, or finds itself alone with it, acquires
    // that.
    if (aliases_.fetch_sub(InWord(kind), std::memory_order_acq_rel) == InWord(kind)) End();
  }
  void ChangeAlias(AliasKind from, AliasKind to);
  static constexpr bool IsDiagnosed(AliasKind kind) { return kind == AliasKind::kView || kind == AliasKind::kToken; }
  std::atomic<uint32_t>* Diagnostic(AliasKind kind) { return kind == AliasKind::kView ? &views_ : &tokens_; }

  // Neither half can run over: an alias costs its holder dozens of bytes, so 2^32 of one block do not fit into a
  // machine's memory.
  static constexpr uint64_t kOneTensor = 1;
  static constexpr uint64_t kOneOther = uint64_t{1} << 32;
  static constexpr uint64_t InWord(AliasKind kind) { return kind == AliasKind::kTensor ? kOneTensor : kOneOther; }

  std::atomic<uint64_t> aliases_{0};
  // Only to tell the user what stands in the way. Exports, the busiest kind, have no counter: they are the others less
  // views and tokens.
  std::atomic<uint32_t> views_{0};
  std::atomic<uint32_t> tokens_{0};
  std::atomic<Loan> loan_{Loan::kNone};
  bool guarded_pages_ = false;  // made in protect mode: ProtectPages works
  bool made_by_copy_ = false;
  BlockTraits traits_;
  DLDevice device_{kDLCPU, 0};
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
  Account* account_ = nullptr;
  void (*free_memory_)(Block*) = nullptr;  // nullptr: the memory is of one allocation with the Block
  // What free_memory_ needs: the managed pointer, or what Wrap was given. Without it the allocation.
  void* context_ = nullptr;
  void (*release_)(void*) = nullptr;  // Wrap's
};

// One alias of a block, of one kind, owned. Raw Block pointers do not travel. All of it is inline: a hand-off is hardly
// more than this.
class BlockRef {
 public:
  BlockRef() = default;
  BlockRef(BlockRef&& other) noexcept : block_(other.block_), kind_(other.kind_) { other.block_ = nullptr; }
  BlockRef& operator=(BlockRef&& other) noexcept {
    if (this == &other) return *this;
    Reset();
    block_ = other.block_;
    kind_ = other.kind_;
    other.block_ = nullptr;
    return *this;
  }
  BlockRef(const BlockRef&) = delete;
  BlockRef& operator=(const BlockRef&) = delete;
  ~BlockRef() { Reset(); }

  explicit operator bool() const { return block_ != nullptr; }
  Block* operator->() const { return block_; }
  Block* get() const { return block_; }
  AliasKind kind() const { return kind_; }

  BlockRef NewAlias(AliasKind kind) const {
    if (block_ == nullptr) return BlockRef();
    block_->AddAlias(kind);
    return Attach(block_, kind);
  }
  // Atomically: the alias is never uncounted in between.
  void ChangeKind(AliasKind kind) {
    if (block_ != nullptr && kind_ != kind) block_->ChangeAlias(kind_, kind);
    kind_ = kind;
  }
  void Reset() {
    // Forgotten before it is dropped: the last drop may run a foreign deleter that comes back to this object.
    Block* block = block_;
    block_ = nullptr;
    if (block != nullptr) block->DropAlias(kind_);
  }
  // For records that keep the alias in an atomic pointer: gives up, and takes back, the counted pointer.
  Block* Detach() {
    Block* block = block_;
    block_ = nullptr;
    return block;
  }
  static BlockRef Attach(Block* counted, AliasKind kind) {
    BlockRef alias;
    alias.block_ = counted;
    alias.kind_ = kind;
    return alias;
  }

 private:
  friend class Block;
  Block* block_ = nullptr;
  AliasKind kind_ = AliasKind::kTensor;
};

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_BLOCK_H_
