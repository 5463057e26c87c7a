// Each allocation of the core fails in turn: the caller gets kOutOfMemory, nothing leaks, and what was handed in is
// released exactly once.
#include <initializer_list>
#include <utility>

#include "account.h"
#include "block.h"
#include "counters.h"
#include "foreign.h"
#include "harness.h"
#include "layout.h"
#include "managed_tensor.h"
#include "memory.h"
#include "support.h"

using namespace node_dlpack;
using support::Uint8;

namespace {

// Runs attempt() with the first, the second, … allocation failing, until it gets through without one. attempt returns
// the fault it met.
template <typename Attempt>
void FailEachAllocation(int expected_sites, Attempt attempt) {
  const int64_t live = LiveAllocations();
  const int64_t blocks = g_counters.blocks;
  const int64_t exports = g_counters.exports;
  int sites = 0;
  for (;; ++sites) {
    FailAllocation(sites);
    const Fault fault = attempt();
    const bool failed = AllocationFailed();
    FailAllocation(-1);
    CHECK_EQUAL(LiveAllocations(), live);
    CHECK_EQUAL(g_counters.blocks.load(), blocks);
    CHECK_EQUAL(g_counters.exports.load(), exports);
    if (!failed) {
      CHECK_OK(fault);
      break;
    }
    CHECK_EQUAL(fault.code, FaultCode::kOutOfMemory);
    CHECK(fault.value > 0);
  }
  CHECK_EQUAL(sites, expected_sites);
}

}  // namespace

TEST("a block that gets no memory is a fault: small, large and on pages of its own") {
  for (size_t bytes : {size_t{10}, size_t{100000}}) {
    FailEachAllocation(1, [=] {
      BlockRef block;
      return Block::Allocate(bytes, nullptr, AliasKind::kTensor, &block);
    });
  }
  FailEachAllocation(2, [] {
    BlockRef block;
    return Block::Allocate(size_t{64} << 20, nullptr, AliasKind::kTensor, &block);
  });
  Block::SetProtectMode(true);
  FailEachAllocation(2, [] {
    BlockRef block;
    return Block::AllocateUninitialized(10, nullptr, AliasKind::kTensor, &block);
  });
  Block::SetProtectMode(false);
}

TEST("an account is charged only for blocks that came to be") {
  Account* account = Account::Create();
  if (!CHECK(account != nullptr)) return;
  FailEachAllocation(2, [=] {
    BlockRef block;
    const Fault fault = Block::Allocate(size_t{64} << 20, account, AliasKind::kTensor, &block);
    CHECK_EQUAL(account->bytes(), fault.ok() ? 64 << 20 : 0);
    return fault;
  });
  CHECK_EQUAL(account->bytes(), 0);
  account->Release();
  FailAllocation(0);
  CHECK(Account::Create() == nullptr);
  FailAllocation(-1);
}

TEST("a managed tensor that cannot be adopted is deleted, once") {
  for (bool versioned : {false, true}) {
    int attempts = 0;
    support::Foreign foreign;
    FailEachAllocation(1, [&] {
      ++attempts;
      BlockRef block;
      return Block::AdoptManaged(foreign.managed(versioned), versioned ? ManagedKind::kVersioned : ManagedKind::kLegacy,
                                 foreign.memory, 24, DLDevice{kDLCPU, 0}, BlockTraits(), nullptr, AliasKind::kTensor,
                                 &block);
    });
    CHECK_EQUAL(foreign.deleted, attempts);
  }
}

TEST("memory that cannot be wrapped is released, once") {
  int released = 0;
  int attempts = 0;
  FailEachAllocation(1, [&] {
    ++attempts;
    uint8_t memory[4];
    BlockRef block;
    return Block::Wrap(
        memory, sizeof(memory), [](void* context) { ++*static_cast<int*>(context); }, &released, BlockTraits(), nullptr,
        AliasKind::kTensor, &block);
  });
  CHECK_EQUAL(released, attempts);
}

TEST("an export that gets no memory drops its alias and makes nothing") {
  BlockRef block;
  CHECK_OK(Block::Allocate(24, nullptr, AliasKind::kTensor, &block));
  const Layout layout = support::Make({2, 3}, support::Float32());
  for (ManagedKind kind : {ManagedKind::kLegacy, ManagedKind::kVersioned}) {
    FailEachAllocation(1, [&] {
      TensorView view;
      view.origin = block->data();
      view.layout = &layout;
      view.dtype = support::Float32();
      ManagedGuard managed;
      const Fault fault = MakeManaged(block.NewAlias(AliasKind::kExport), view, kind, 0, &managed);
      CHECK_EQUAL(managed.get() != nullptr, fault.ok());
      CHECK_EQUAL(block->IsUnique(), !fault.ok());
      return fault;
    });
    CHECK(block->IsUnique());
  }
}

TEST("every way to make a layout of many axes reports missing memory and leaves its target alone") {
  const int64_t shape[] = {1, 2, 3, 4, 5, 1};
  const Layout source = support::Make(shape, nullptr, 6, Uint8());
  const int32_t axes[] = {5, 4, 3, 2, 1, 0};
  const int64_t reshaped[] = {5, 4, 3, 2, 1};
  const int64_t broadcast[] = {2, 1, 2, 3, 4, 5, 1};
  const AxisSlice specs[] = {AxisSlice{true, 0, 0, 1}};
  int64_t offset = 0;
  const auto fail = [&](auto derive) {
    FailEachAllocation(1, [&] {
      Layout target;
      const Fault fault = derive(&target);
      if (!fault.ok()) CHECK_EQUAL(target.ndim(), 0);
      return fault;
    });
  };
  fail([&](Layout* out) { return Layout::RowMajor(shape, 6, Uint8(), out); });
  fail([&](Layout* out) { return Layout::Strided(shape, source.strides(), 6, Uint8(), out); });
  fail([&](Layout* out) { return source.CopyTo(out); });
  fail([&](Layout* out) { return source.Permute(axes, Uint8(), out); });
  fail([&](Layout* out) { return source.Reshape(reshaped, 5, Uint8(), out); });
  fail([&](Layout* out) { return source.Squeeze(0, Uint8(), out); });
  fail([&](Layout* out) { return source.ExpandDims(0, Uint8(), out); });
  fail([&](Layout* out) { return source.BroadcastTo(broadcast, 7, Uint8(), out); });
  fail([&](Layout* out) { return source.Slice(specs, 1, Uint8(), out, &offset); });
  fail([&](Layout* out) { return source.Flip(0, Uint8(), out, &offset); });
}

TEST("few axes need no memory at all") {
  FailAllocation(0);
  Layout layout = support::Make({2, 3, 4, 5}, Uint8());
  Layout copy;
  CHECK_OK(layout.CopyTo(&copy));
  const Layout moved(std::move(copy));
  CHECK_EQUAL(moved.ndim(), 4);
  CHECK(!AllocationFailed());
  FailAllocation(-1);
}

TEST("a foreign struct of many axes that cannot be remembered is a fault, and its deleter still runs once") {
  support::Foreign foreign;
  foreign.tensor.ndim = 5;
  for (int axis = 0; axis < 5; ++axis) foreign.shape[axis] = foreign.strides[axis] = 1;
  foreign.Fill();
  int attempts = 0;
  FailEachAllocation(1, [&] {
    ++attempts;
    ManagedGuard guard(&foreign.versioned, ManagedKind::kVersioned);
    CheckedTensor checked;
    return CheckedTensor::Check(guard.get(), guard.kind(), &checked);
  });
  CHECK_EQUAL(foreign.deleted, attempts);
}
