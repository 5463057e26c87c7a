#include "block.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <utility>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif

#include "counters.h"
#include "harness.h"
#include "support.h"

using namespace node_dlpack;

namespace {

BlockRef Allocate(size_t bytes, AliasKind kind = AliasKind::kTensor, Account* account = nullptr) {
  BlockRef block;
  CHECK_OK(Block::Allocate(bytes, account, kind, &block));
  return block;
}

void CheckCounts(const BlockRef& block, int64_t tensors, int64_t exports, int64_t views, int64_t tokens) {
  const AliasCounts counts = block->Aliases();
  CHECK_EQUAL(counts.tensors, tensors);
  CHECK_EQUAL(counts.exports, exports);
  CHECK_EQUAL(counts.views, views);
  CHECK_EQUAL(counts.tokens, tokens);
}

constexpr size_t kSizes[] = {1, 7, 255, 256, 257, 4095, 4096, 32767, 32768, 40000, 1048575, 1048576, 1048577, 9000000};

}  // namespace

TEST("memory is zeroed, 256-byte aligned and writable over all its bytes, at every size") {
  for (size_t bytes : kSizes) {
    BlockRef block = Allocate(bytes);
    CHECK_EQUAL(block->bytes(), bytes);
    CHECK_EQUAL(reinterpret_cast<uintptr_t>(block->data()) % 256, 0U);
    bool zero = true;
    for (size_t i = 0; i < bytes; ++i) zero = zero && block->data()[i] == 0;
    CHECK(zero);
    std::memset(block->data(), 0xff, bytes);
    CHECK_EQUAL(g_counters.blocks.load(), 1);
    CHECK_EQUAL(g_counters.bytes.load(), static_cast<int64_t>(bytes));
  }
}

TEST("memory that was used before comes zeroed again") {
  for (int round = 0; round < 50; ++round) {
    for (size_t bytes : {size_t{24}, size_t{600}, size_t{5000}, size_t{40000}, size_t{300000}}) {
      BlockRef block = Allocate(bytes);
      bool zero = true;
      for (size_t i = 0; i < bytes; ++i) zero = zero && block->data()[i] == 0;
      CHECK(zero);
      std::memset(block->data(), 0xab, bytes);
    }
  }
}

TEST("uninitialised memory is aligned and counted like any other") {
  for (size_t bytes : kSizes) {
    BlockRef block;
    CHECK_OK(Block::AllocateUninitialized(bytes, nullptr, AliasKind::kTensor, &block));
    CHECK_EQUAL(reinterpret_cast<uintptr_t>(block->data()) % 256, 0U);
    std::memset(block->data(), 0xff, bytes);
    CHECK_EQUAL(g_counters.bytes.load(), static_cast<int64_t>(bytes));
  }
}

TEST("a block of no bytes has no address and counts as a block") {
  BlockRef block = Allocate(0);
  CHECK(block->data() == nullptr);
  CHECK_EQUAL(g_counters.blocks.load(), 1);
  CHECK(block->IsUnique());
}

TEST("the device of native memory is the CPU, and it may be unique") {
  BlockRef block = Allocate(4);
  CHECK_EQUAL(static_cast<int>(block->device().device_type), static_cast<int>(kDLCPU));
  CHECK_EQUAL(block->device().device_id, 0);
  CHECK(block->traits().may_be_unique);
  CHECK(!block->traits().may_be_protected);
}

TEST("more memory than there is makes a fault that says how much was asked for") {
  BlockRef block;
  for (size_t bytes : {size_t{1} << 60, SIZE_MAX, SIZE_MAX - 300, SIZE_MAX / 2}) {
    const Fault fault = Block::Allocate(bytes, nullptr, AliasKind::kTensor, &block);
    CHECK_EQUAL(fault.code, FaultCode::kOutOfMemory);
    CHECK_EQUAL(fault.value, static_cast<int64_t>(bytes));
    CHECK(!block);
  }
}

#ifdef __linux__
TEST("large memory costs nothing until it is touched") {
  const auto resident = [] {
    char text[128] = {};
    if (FILE* statm = std::fopen("/proc/self/statm", "r"); CHECK(statm != nullptr)) {
      CHECK(std::fgets(text, sizeof(text), statm) != nullptr);
      CHECK_EQUAL(std::fclose(statm), 0);
    }
    // The second number, in pages.
    const char* second = std::strchr(text, ' ');
    if (!CHECK(second != nullptr)) return int64_t{0};
    return int64_t{std::strtol(second, nullptr, 10)} * sysconf(_SC_PAGESIZE);
  };
  const int64_t before = resident();
  BlockRef block = Allocate(size_t{1} << 30);
  block->data()[size_t{700} << 20] = 1;
  CHECK(resident() - before < (int64_t{32} << 20));
}
#endif

TEST("aliases are counted by kind, and the block ends with the last one") {
  BlockRef tensor = Allocate(16);
  CheckCounts(tensor, 1, 0, 0, 0);
  BlockRef other = tensor.NewAlias(AliasKind::kTensor);
  BlockRef exported = tensor.NewAlias(AliasKind::kExport);
  BlockRef view = tensor.NewAlias(AliasKind::kView);
  BlockRef token = tensor.NewAlias(AliasKind::kToken);
  CheckCounts(tensor, 2, 1, 1, 1);
  CHECK_EQUAL(exported.kind(), AliasKind::kExport);
  other.Reset();
  CheckCounts(tensor, 1, 1, 1, 1);
  view.Reset();
  token.Reset();
  CheckCounts(tensor, 1, 1, 0, 0);
  tensor.Reset();
  CheckCounts(exported, 0, 1, 0, 0);
  CHECK_EQUAL(g_counters.blocks.load(), 1);
  exported.Reset();
  CHECK_EQUAL(g_counters.blocks.load(), 0);
}

TEST("unique means one tensor and nothing else, of whatever kind") {
  BlockRef tensor = Allocate(16);
  CHECK(tensor->IsUnique());
  for (AliasKind kind : {AliasKind::kTensor, AliasKind::kExport, AliasKind::kView, AliasKind::kToken}) {
    BlockRef other = tensor.NewAlias(kind);
    CHECK(!tensor->IsUnique());
    CHECK_EQUAL(tensor->IsUniqueBesides(1), kind != AliasKind::kTensor);
    CHECK(!tensor->IsUniqueBesides(2));
    other.Reset();
    CHECK(tensor->IsUnique());
  }
  BlockRef alone = tensor.NewAlias(AliasKind::kExport);
  tensor.Reset();
  CHECK(!alone->IsUnique());
}

TEST("an alias changes its kind without being uncounted in between") {
  const AliasKind kinds[] = {AliasKind::kTensor, AliasKind::kExport, AliasKind::kView, AliasKind::kToken};
  for (AliasKind from : kinds) {
    for (AliasKind to : kinds) {
      BlockRef alias = Allocate(16, from);
      alias.ChangeKind(to);
      CHECK_EQUAL(alias.kind(), to);
      CheckCounts(alias, to == AliasKind::kTensor, to == AliasKind::kExport, to == AliasKind::kView,
                  to == AliasKind::kToken);
      CHECK_EQUAL(alias->IsUnique(), to == AliasKind::kTensor);
    }
  }
}

TEST("an alias moves, and leaves nothing where it was") {
  BlockRef first = Allocate(16);
  Block* block = first.get();
  BlockRef second(std::move(first));
  CHECK(!first);  // NOLINT(bugprone-use-after-move)
  CHECK(second.get() == block);
  BlockRef third = Allocate(8);
  third = std::move(second);
  CHECK(third.get() == block);
  CHECK_EQUAL(g_counters.blocks.load(), 1);
  CheckCounts(third, 1, 0, 0, 0);
}

TEST("an alias can be kept as a bare pointer and taken back, counted all the while") {
  BlockRef view = Allocate(16, AliasKind::kView);
  Block* counted = view.Detach();
  CHECK(!view);
  CHECK_EQUAL(g_counters.blocks.load(), 1);
  BlockRef back = BlockRef::Attach(counted, AliasKind::kView);
  CheckCounts(back, 0, 0, 1, 0);
}

TEST("an empty alias can be reset, copied and changed without effect") {
  BlockRef none;
  none.Reset();
  CHECK(!none.NewAlias(AliasKind::kTensor));
  none.ChangeKind(AliasKind::kView);
  CHECK(none.Detach() == nullptr);
}

TEST("wrapped memory is released once, with its context, by the last alias") {
  struct Released {
    int count = 0;
  } released;
  uint8_t memory[8];
  BlockTraits traits;
  traits.may_be_unique = false;
  traits.why_not = NeverUniqueReason::kPointer;
  traits.bound_to_environment = true;
  BlockRef block;
  CHECK_OK(Block::Wrap(
      memory, sizeof(memory), [](void* context) { ++static_cast<Released*>(context)->count; }, &released, traits,
      nullptr, AliasKind::kTensor, &block));
  CHECK(block->data() == memory);
  CHECK_EQUAL(block->bytes(), sizeof(memory));
  CHECK(!block->traits().may_be_unique);
  CHECK(block->traits().bound_to_environment);
  BlockRef other = block.NewAlias(AliasKind::kExport);
  block.Reset();
  CHECK_EQUAL(released.count, 0);
  other.Reset();
  CHECK_EQUAL(released.count, 1);
}

TEST("an adopted managed tensor is deleted once, by the last alias, of either kind and without a deleter too") {
  for (bool versioned : {false, true}) {
    for (bool has_deleter : {true, false}) {
      support::Foreign foreign;
      if (!has_deleter) {
        foreign.legacy.deleter = nullptr;
        foreign.versioned.deleter = nullptr;
      }
      BlockRef block;
      CHECK_OK(Block::AdoptManaged(foreign.managed(versioned),
                                   versioned ? ManagedKind::kVersioned : ManagedKind::kLegacy, foreign.memory, 24,
                                   DLDevice{kDLCUDA, 3}, BlockTraits(), nullptr, AliasKind::kTensor, &block));
      CHECK_EQUAL(block->device().device_id, 3);
      CHECK_EQUAL(g_counters.bytes.load(), 24);
      BlockRef other = block.NewAlias(AliasKind::kTensor);
      block.Reset();
      CHECK_EQUAL(foreign.deleted, 0);
      other.Reset();
      CHECK_EQUAL(foreign.deleted, has_deleter ? 1 : 0);
    }
  }
}

TEST("an account answers for the bytes of its blocks until they end, and outlives whoever made it") {
  Account* account = Account::Create();
  if (!CHECK(account != nullptr)) return;
  BlockRef first = Allocate(100, AliasKind::kTensor, account);
  BlockRef second = Allocate(size_t{2} << 20, AliasKind::kTensor, account);
  CHECK_EQUAL(account->bytes(), 100 + (2 << 20));
  second.Reset();
  CHECK_EQUAL(account->bytes(), 100);
  account->Retain();
  account->Release();  // an environment that ends
  CHECK_EQUAL(account->bytes(), 100);
  account->Release();
  first.Reset();  // frees the account with the block
}

TEST("what a maker notes on a block is seen through every alias") {
  BlockRef tensor = Allocate(16);
  CHECK(!tensor->made_by_copy());
  tensor->set_made_by_copy();
  CHECK_EQUAL(tensor->loan(), Block::Loan::kNone);
  BlockRef other = tensor.NewAlias(AliasKind::kExport);
  if (!CHECK(tensor && other)) return;
  tensor->set_loan(Block::Loan::kWritable);
  CHECK_EQUAL(other->loan(), Block::Loan::kWritable);
  CHECK(other->made_by_copy());
}

#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__)
namespace {

// Is it possible to write to this address? Tried in a child, which may die of it.
bool WriteSucceeds(uint8_t* address) {
  const pid_t child = fork();
  if (child == 0) {
    static_cast<void>(std::signal(SIGSEGV, SIG_DFL));
    static_cast<void>(std::signal(SIGBUS, SIG_DFL));
    *static_cast<volatile uint8_t*>(address) = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST("in protect mode a write to memory made read-only is a fault, and reading is not") {
  Block::SetProtectMode(true);
  for (size_t bytes : {size_t{1}, size_t{5000}, size_t{2} << 20, size_t{6} << 20, size_t{33} << 20}) {
    BlockRef block = Allocate(bytes);
    uint8_t* last = block->data() + bytes - 1;
    CHECK(WriteSucceeds(last));
    *last = 7;
    block->ProtectPages(true);
    CHECK(!WriteSucceeds(last));
    CHECK(!WriteSucceeds(block->data()));
    CHECK_EQUAL(*last, 7);
    block->ProtectPages(false);
    CHECK(WriteSucceeds(last));
    block->ProtectPages(true);  // ends while protected
  }
  BlockRef empty = Allocate(0);
  empty->ProtectPages(true);
  Block::SetProtectMode(false);
}

TEST("outside protect mode pages stay writable, also where a block has its own") {
  for (size_t bytes : {size_t{16}, size_t{33} << 20}) {
    BlockRef block = Allocate(bytes);
    block->ProtectPages(true);
    CHECK(WriteSucceeds(block->data()));
  }
}
#endif

TEST("threads that turn exports into tensors and back never look like a sole owner") {
  constexpr int64_t kThreads = 4;
  constexpr int kRounds = 20000;
  BlockRef tensor = Allocate(kThreads * 64);
  std::atomic<int64_t> running{kThreads};
  // On a busy machine the threads could be through before this one has looked once.
  std::atomic<bool> has_looked{false};
  std::thread threads[kThreads];
  for (int64_t i = 0; i < kThreads; ++i) {
    Block* counted = tensor.NewAlias(AliasKind::kExport).Detach();
    threads[i] = std::thread([counted, i, &running, &has_looked] {
      BlockRef alias = BlockRef::Attach(counted, AliasKind::kExport);
      for (int round = 0; round < kRounds || !has_looked.load(std::memory_order_relaxed); ++round) {
        alias.ChangeKind(AliasKind::kTensor);
        BlockRef passing = alias.NewAlias(round % 2 == 0 ? AliasKind::kView : AliasKind::kToken);
        alias.ChangeKind(AliasKind::kExport);
      }
      // Not atomic: whoever finds itself alone must see it.
      std::memset(alias->data() + i * 64, static_cast<int>(i + 1), 64);
      running.fetch_sub(1, std::memory_order_relaxed);
      while (running.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
    });
  }
  // While one of them still works, all of them hold an alias.
  int64_t looked = 0;
  int64_t mistaken = 0;
  for (;;) {
    const bool unique = tensor->IsUnique();
    if (running.load(std::memory_order_relaxed) == 0) break;
    mistaken += unique ? 1 : 0;
    ++looked;
    has_looked.store(true, std::memory_order_relaxed);
    const AliasCounts counts = tensor->Aliases();
    mistaken += counts.tensors < 1 || counts.tensors > 1 + kThreads || counts.exports < 0 ? 1 : 0;
  }
  while (!tensor->IsUnique()) std::this_thread::yield();
  for (int64_t i = 0; i < kThreads; ++i) {
    CHECK_EQUAL(int{tensor->data()[i * 64]}, i + 1);
    CHECK_EQUAL(int{tensor->data()[i * 64 + 63]}, i + 1);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(mistaken, 0);
  CHECK(looked > 0);
  CheckCounts(tensor, 1, 0, 0, 0);
}

TEST("whichever thread drops the last alias ends the block, once") {
  constexpr int kThreads = 4;
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> released{0};
    uint8_t memory[8] = {};
    BlockRef block;
    CHECK_OK(Block::Wrap(
        memory, sizeof(memory), [](void* context) { static_cast<std::atomic<int>*>(context)->fetch_add(1); }, &released,
        BlockTraits(), nullptr, AliasKind::kTensor, &block));
    std::thread threads[kThreads];
    for (int i = 0; i < kThreads; ++i) {
      const auto kind = static_cast<AliasKind>(i);
      Block* counted = block.NewAlias(kind).Detach();
      threads[i] = std::thread([counted, kind] { BlockRef::Attach(counted, kind).Reset(); });
    }
    block.Reset();
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(released.load(), 1);
  }
}
