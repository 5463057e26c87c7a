#include "managed_tensor.h"

#include <atomic>
#include <cstring>
#include <initializer_list>
#include <thread>
#include <utility>

#include "counters.h"
#include "harness.h"
#include "memory.h"
#include "support.h"

using namespace node_dlpack;
using support::Float32;
using support::Make;

namespace {

constexpr ManagedKind kKinds[] = {ManagedKind::kLegacy, ManagedKind::kVersioned};

BlockRef Allocate(size_t bytes) {
  BlockRef block;
  CHECK_OK(Block::Allocate(bytes, nullptr, AliasKind::kTensor, &block));
  return block;
}

ManagedGuard Export(const BlockRef& block, const Layout& layout, DType dtype, ManagedKind kind, uint64_t flags = 0) {
  ManagedGuard managed;
  TensorView view;
  view.origin = block->data();
  view.layout = &layout;
  view.dtype = dtype;
  CHECK_OK(MakeManaged(block.NewAlias(AliasKind::kExport), view, kind, flags, &managed));
  return managed;
}

DLTensor* TensorOf(const ManagedGuard& managed) {
  if (managed.kind() == ManagedKind::kLegacy) return &static_cast<DLManagedTensor*>(managed.get())->dl_tensor;
  return &static_cast<DLManagedTensorVersioned*>(managed.get())->dl_tensor;
}

DLManagedTensorVersioned* Versioned(const ManagedGuard& managed) {
  return static_cast<DLManagedTensorVersioned*>(managed.get());
}

// All that a consumer can reach, gone.
void Overwrite(const ManagedGuard& managed) {
  DLTensor* tensor = TensorOf(managed);
  const size_t dims = static_cast<size_t>(tensor->ndim) * sizeof(int64_t);
  if (dims > 0) {
    std::memset(tensor->shape, 0x5a, dims);
    std::memset(tensor->strides, 0x5a, dims);
  }
  if (managed.kind() == ManagedKind::kLegacy) {
    auto* legacy = static_cast<DLManagedTensor*>(managed.get());
    auto* deleter = legacy->deleter;
    std::memset(static_cast<void*>(legacy), 0xa5, sizeof(*legacy));
    legacy->deleter = deleter;
  } else {
    auto* deleter = Versioned(managed)->deleter;
    std::memset(static_cast<void*>(Versioned(managed)), 0xa5, sizeof(DLManagedTensorVersioned));
    Versioned(managed)->deleter = deleter;
  }
}

}  // namespace

TEST("a struct describes the block's memory in fields that stand for themselves") {
  BlockRef block = Allocate(96);
  const Layout layout = Make({2, 3, 4}, Float32());
  for (ManagedKind kind : kKinds) {
    ManagedGuard managed = Export(block, layout, Float32(), kind);
    const DLTensor* tensor = TensorOf(managed);
    CHECK(tensor->data == block->data());
    CHECK_EQUAL(tensor->byte_offset, 0U);
    CHECK_EQUAL(static_cast<int>(tensor->device.device_type), static_cast<int>(kDLCPU));
    CHECK_EQUAL(tensor->device.device_id, 0);
    CHECK_EQUAL(tensor->ndim, 3);
    CHECK_EQUAL(int{tensor->dtype.code}, int{kDLFloat});
    CHECK_EQUAL(int{tensor->dtype.bits}, 32);
    CHECK_EQUAL(int{tensor->dtype.lanes}, 1);
    const int64_t strides[] = {12, 4, 1};
    for (int axis = 0; axis < 3; ++axis) {
      CHECK_EQUAL(tensor->shape[axis], layout.shape()[axis]);
      CHECK_EQUAL(tensor->strides[axis], strides[axis]);
    }
    // The struct's own: the layout may go.
    CHECK(tensor->shape != layout.shape());
  }
}

TEST("a versioned struct carries the header's version and exactly the flags it was made with") {
  BlockRef block = Allocate(4);
  const Layout layout;
  for (uint64_t flags :
       {uint64_t{0}, uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY}, uint64_t{DLPACK_FLAG_BITMASK_IS_COPIED}}) {
    ManagedGuard managed = Export(block, layout, Float32(), ManagedKind::kVersioned, flags);
    CHECK_EQUAL(Versioned(managed)->version.major, 1U);
    CHECK_EQUAL(Versioned(managed)->version.minor, 3U);
    CHECK_EQUAL(Versioned(managed)->flags, flags);
  }
}

TEST("sub-byte elements stored one a byte are flagged; a legacy struct cannot say so and is refused") {
  BlockRef block = Allocate(8);
  const DType padded = support::TypeOf(kDLFloat4_e2m1fn, 4, true);
  const DType packed = support::TypeOf(kDLFloat4_e2m1fn, 4, false);
  const Layout layout = Make({8}, padded);
  ManagedGuard managed = Export(block, layout, padded, ManagedKind::kVersioned, DLPACK_FLAG_BITMASK_READ_ONLY);
  CHECK_EQUAL(Versioned(managed)->flags,
              uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED});
  managed = Export(block, layout, packed, ManagedKind::kVersioned);
  CHECK_EQUAL(Versioned(managed)->flags, 0U);
  managed = Export(block, layout, packed, ManagedKind::kLegacy);
  TensorView view;
  view.origin = block->data();
  view.layout = &layout;
  view.dtype = padded;
  CHECK_FAULT(MakeManaged(block.NewAlias(AliasKind::kExport), view, ManagedKind::kLegacy, 0, &managed), kDTypeBits,
              kDLFloat4_e2m1fn, 4, 0);
  managed.Reset();
  CHECK(block->IsUnique());
}

TEST("a 0-d struct has neither shape nor strides, but an address; an empty one has both, but no address") {
  BlockRef block = Allocate(4);
  for (ManagedKind kind : kKinds) {
    const Layout scalar;
    ManagedGuard managed = Export(block, scalar, Float32(), kind);
    CHECK_EQUAL(TensorOf(managed)->ndim, 0);
    CHECK(TensorOf(managed)->shape == nullptr);
    CHECK(TensorOf(managed)->strides == nullptr);
    CHECK(TensorOf(managed)->data == block->data());
    const Layout empty = Make({2, 0, 7}, {9, 9, 9}, Float32());
    managed = Export(block, empty, Float32(), kind);
    CHECK(TensorOf(managed)->data == nullptr);
    CHECK_EQUAL(TensorOf(managed)->byte_offset, 0U);
    CHECK_EQUAL(TensorOf(managed)->shape[2], 7);
    CHECK_EQUAL(TensorOf(managed)->strides[1], 9);
  }
}

TEST("strides leave as they are: size-1 axes, negative and zero ones too; 64 axes fit") {
  BlockRef block = Allocate(400);
  const Layout odd = Make({1, 2, 3}, {77, -3, 0}, Float32());
  int64_t ones[kMaxNdim];
  for (int64_t& extent : ones) extent = 1;
  const Layout many = Make(ones, nullptr, kMaxNdim, Float32());
  for (ManagedKind kind : kKinds) {
    ManagedGuard managed = Export(block, odd, Float32(), kind);
    const int64_t strides[] = {77, -3, 0};
    for (int axis = 0; axis < 3; ++axis) CHECK_EQUAL(TensorOf(managed)->strides[axis], strides[axis]);
    managed = Export(block, many, Float32(), kind);
    CHECK_EQUAL(TensorOf(managed)->ndim, 64);
    CHECK_EQUAL(TensorOf(managed)->strides[63], 1);
  }
}

TEST("a byte offset is handed on for memory that the host cannot address") {
  support::Foreign foreign;
  BlockRef block;
  CHECK_OK(Block::AdoptManaged(foreign.managed(true), ManagedKind::kVersioned, foreign.memory, 24,
                               DLDevice{kDLOpenCL, 2}, BlockTraits(), nullptr, AliasKind::kTensor, &block));
  const Layout layout = Make({2, 3}, Float32());
  TensorView view;
  view.origin = foreign.memory;
  view.layout = &layout;
  view.dtype = Float32();
  view.byte_offset = 40;
  ManagedGuard managed;
  CHECK_OK(MakeManaged(block.NewAlias(AliasKind::kExport), view, ManagedKind::kVersioned, 0, &managed));
  CHECK(TensorOf(managed)->data == foreign.memory);
  CHECK_EQUAL(TensorOf(managed)->byte_offset, 40U);
  CHECK_EQUAL(static_cast<int>(TensorOf(managed)->device.device_type), static_cast<int>(kDLOpenCL));
  CHECK_EQUAL(TensorOf(managed)->device.device_id, 2);
}

TEST("one allocation makes a struct and one call of its deleter gives everything back") {
  BlockRef block = Allocate(24);
  const Layout layout = Make({1, 1, 1, 1, 2, 3}, Float32());
  const int64_t before = LiveAllocations();
  for (ManagedKind kind : kKinds) {
    ManagedGuard managed = Export(block, layout, Float32(), kind);
    CHECK_EQUAL(LiveAllocations(), before + 1);
    CHECK_EQUAL(g_counters.exports.load(), 1);
    CHECK_EQUAL(block->Aliases().exports, 1);
    CHECK(!block->IsUnique());
    DeleteManaged(managed.Detach(), kind);
    CHECK_EQUAL(LiveAllocations(), before);
    CHECK_EQUAL(g_counters.exports.load(), 0);
    CHECK(block->IsUnique());
  }
}

TEST("an export keeps the memory after everyone else has gone") {
  for (ManagedKind kind : kKinds) {
    BlockRef block = Allocate(8);
    block->data()[5] = 42;
    const Layout layout = Make({8}, support::Uint8());
    ManagedGuard managed = Export(block, layout, support::Uint8(), kind);
    block.Reset();
    CHECK_EQUAL(int{static_cast<uint8_t*>(TensorOf(managed)->data)[5]}, 42);
    CHECK_EQUAL(g_counters.blocks.load(), 1);
  }
}

TEST("two exports of one block are independent of each other") {
  BlockRef block = Allocate(8);
  const Layout layout = Make({2}, Float32());
  ManagedGuard first = Export(block, layout, Float32(), ManagedKind::kVersioned);
  ManagedGuard second = Export(block, layout, Float32(), ManagedKind::kVersioned);
  CHECK(first.get() != second.get());
  first.Reset();
  CHECK_EQUAL(TensorOf(second)->shape[0], 2);
  CHECK_EQUAL(block->Aliases().exports, 1);
}

TEST("the deleter is right after a consumer overwrote every field, shape and strides included") {
  for (ManagedKind kind : kKinds) {
    for (int32_t ndim : {0, 1, 6}) {
      const int64_t shape[] = {1, 1, 1, 1, 1, 2};
      BlockRef block = Allocate(8);
      const Layout layout = Make(shape, nullptr, ndim, Float32());
      ManagedGuard managed = Export(block, layout, Float32(), kind, DLPACK_FLAG_BITMASK_READ_ONLY);
      Overwrite(managed);
      uint64_t flags = 99;
      CHECK(BlockOfOwn(managed.get(), kind, &flags) == block.get());
      CHECK_EQUAL(flags, kind == ManagedKind::kLegacy ? 0U : uint64_t{DLPACK_FLAG_BITMASK_READ_ONLY});
      managed.Reset();
      CHECK(block->IsUnique());
    }
  }
}

TEST("deleters may be called by any thread, the block's last alias included") {
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  const Layout layout = Make({2}, Float32());
  BlockRef block = Allocate(8);
  void* structs[kThreads][kEach];
  for (auto& row : structs) {
    for (auto*& managed : row) managed = Export(block, layout, Float32(), ManagedKind::kVersioned).Detach();
  }
  block.Reset();
  std::thread threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    threads[i] = std::thread([&row = structs[i]] {
      for (void* managed : row) DeleteManaged(managed, ManagedKind::kVersioned);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(g_counters.blocks.load(), 0);
  CHECK_EQUAL(g_counters.exports.load(), 0);
}

TEST("our own structs are known by their deleter, foreign ones are not") {
  BlockRef block = Allocate(8);
  const Layout layout = Make({2}, Float32());
  for (ManagedKind kind : kKinds) {
    ManagedGuard managed = Export(block, layout, Float32(), kind);
    CHECK(BlockOfOwn(managed.get(), kind, nullptr) == block.get());
    support::Foreign foreign;
    CHECK(BlockOfOwn(foreign.managed(kind == ManagedKind::kVersioned), kind, nullptr) == nullptr);
    CHECK(BlockOfOwn(nullptr, kind, nullptr) == nullptr);
  }
}

TEST("a copy of our struct elsewhere is not ours, and calling its deleter damages nothing") {
  BlockRef block = Allocate(8);
  const Layout layout = Make({2}, Float32());
  ManagedGuard managed = Export(block, layout, Float32(), ManagedKind::kVersioned);
  struct {
    uint64_t before[8] = {};
    DLManagedTensorVersioned copy;
  } elsewhere;
  elsewhere.copy = *Versioned(managed);
  CHECK(BlockOfOwn(&elsewhere.copy, ManagedKind::kVersioned, nullptr) == nullptr);
  DeleteManaged(&elsewhere.copy, ManagedKind::kVersioned);
  CHECK_EQUAL(block->Aliases().exports, 1);
  // The words before the struct copied along: still another address.
  uint64_t whole[32];
  constexpr size_t kBefore = 24;
  std::memcpy(whole, static_cast<char*>(managed.get()) - kBefore, kBefore + sizeof(DLManagedTensorVersioned));
  void* copy = reinterpret_cast<char*>(whole) + kBefore;
  CHECK(BlockOfOwn(copy, ManagedKind::kVersioned, nullptr) == nullptr);
  DeleteManaged(copy, ManagedKind::kVersioned);
  CHECK_EQUAL(block->Aliases().exports, 1);
}

TEST("our deleters accept NULL") {
  BlockRef block = Allocate(8);
  const Layout layout = Make({2}, Float32());
  ManagedGuard legacy = Export(block, layout, Float32(), ManagedKind::kLegacy);
  static_cast<DLManagedTensor*>(legacy.get())->deleter(nullptr);
  ManagedGuard versioned = Export(block, layout, Float32(), ManagedKind::kVersioned);
  Versioned(versioned)->deleter(nullptr);
}

TEST("unwrapping frees the struct and hands over its alias, never uncounted in between") {
  for (ManagedKind kind : kKinds) {
    BlockRef block = Allocate(8);
    const Layout layout = Make({2}, Float32());
    ManagedGuard managed = Export(block, layout, Float32(), kind);
    Block* expected = block.get();
    block.Reset();
    BlockRef alias = UnwrapOwn(std::move(managed));
    CHECK(alias.get() == expected);
    CHECK_EQUAL(alias.kind(), AliasKind::kExport);
    CHECK_EQUAL(g_counters.exports.load(), 0);
    alias.ChangeKind(AliasKind::kTensor);
    CHECK(alias->IsUnique());
  }
}

TEST("a struct found to be ours is unwrapped whatever has become of its deleter field since") {
  for (ManagedKind kind : kKinds) {
    BlockRef block = Allocate(8);
    const Layout layout = Make({2}, Float32());
    ManagedGuard managed = Export(block, layout, Float32(), kind);
    CHECK(BlockOfOwn(managed.get(), kind, nullptr) == block.get());
    if (kind == ManagedKind::kLegacy) {
      static_cast<DLManagedTensor*>(managed.get())->deleter = nullptr;
    } else {
      Versioned(managed)->deleter = nullptr;
    }
    BlockRef alias = UnwrapOwn(std::move(managed));
    CHECK(alias.get() == block.get());
    CHECK_EQUAL(g_counters.exports.load(), 0);
  }
}

TEST("a guard calls the deleter exactly once on every way out of its scope") {
  for (bool versioned : {false, true}) {
    const ManagedKind kind = versioned ? ManagedKind::kVersioned : ManagedKind::kLegacy;
    support::Foreign foreign;
    support::Foreign other;
    {
      ManagedGuard guard(foreign.managed(versioned), kind);
      ManagedGuard moved(std::move(guard));
      CHECK(guard.get() == nullptr);  // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
      guard = std::move(moved);
      CHECK_EQUAL(foreign.deleted, 0);
      ManagedGuard second(other.managed(versioned), kind);
      second = std::move(guard);
      CHECK_EQUAL(other.deleted, 1);
      CHECK_EQUAL(foreign.deleted, 0);
    }
    CHECK_EQUAL(foreign.deleted, 1);
    CHECK_EQUAL(other.deleted, 1);
    ManagedGuard kept(foreign.managed(versioned), kind);
    CHECK(kept.Detach() == foreign.managed(versioned));
    kept.Reset();
    CHECK_EQUAL(foreign.deleted, 1);
  }
}

TEST("a guard over nothing, or over a struct without deleter, does nothing") {
  ManagedGuard nothing;
  nothing.Reset();
  support::Foreign foreign;
  foreign.versioned.deleter = nullptr;
  ManagedGuard guard(&foreign.versioned, ManagedKind::kVersioned);
  guard.Reset();
  CHECK(guard.get() == nullptr);
}

TEST("an alias of another kind given to an export is counted as an export") {
  BlockRef block = Allocate(8);
  const Layout layout = Make({2}, Float32());
  TensorView view;
  view.origin = block->data();
  view.layout = &layout;
  view.dtype = Float32();
  ManagedGuard managed;
  CHECK_OK(MakeManaged(block.NewAlias(AliasKind::kTensor), view, ManagedKind::kVersioned, 0, &managed));
  CHECK_EQUAL(block->Aliases().tensors, 1);
  CHECK_EQUAL(block->Aliases().exports, 1);
}
