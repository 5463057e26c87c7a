// The handle table of the binding is plain C++ over the core, so its rules are tested here, where 2^29 handles take a
// second.
#include "../../src-native/binding/handles.cc"  // NOLINT(bugprone-suspicious-include): the table without its room

#include <limits>

#include "counters.h"
#include "harness.h"

using namespace node_dlpack;
using binding::Handles;
using binding::Slot;
using binding::SlotKind;

namespace {

constexpr uint64_t kGenerations = uint64_t{1} << Handles::kGenerationBits;

Slot* MakeSlot(Handles* handles, SlotKind kind) {
  Slot* slot = nullptr;
  CHECK_OK(handles->Make(kind, &slot));
  return slot;
}

}  // namespace

TEST("a handle is found as long as it lives, and never again") {
  Handles handles;
  Slot* slot = MakeSlot(&handles, SlotKind::kTensor);
  const double handle = Handles::HandleOf(*slot);
  CHECK_EQUAL(handles.Find(handle), slot);
  handles.Free(slot);
  CHECK(handles.Find(handle) == nullptr);
  Slot* again = MakeSlot(&handles, SlotKind::kTensor);
  CHECK_EQUAL(again, slot);
  CHECK(Handles::HandleOf(*again) != handle);
  CHECK(handles.Find(handle) == nullptr);
  handles.Free(again);
}

TEST("the next handle of a free slot is not live yet") {
  Handles handles;
  Slot* slot = MakeSlot(&handles, SlotKind::kTensor);
  handles.Free(slot);
  CHECK(handles.Find(Handles::HandleOf(*slot)) == nullptr);
}

TEST("no number that is not exactly a live handle is found") {
  Handles handles;
  Slot* slot = MakeSlot(&handles, SlotKind::kOwner);
  const double handle = Handles::HandleOf(*slot);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const double forged[] = {handle + 0.5,
                           -handle,
                           0.0,
                           -0.0,
                           1.0,
                           handle + 1.0,
                           handle * 2.0,
                           kInfinity,
                           -kInfinity,
                           kNaN,
                           4294967296.0,
                           handle + 4503599627370496.0,
                           9007199254740991.0,
                           9007199254740992.0,
                           9223372036854775808.0,
                           1e300};
  for (const double number : forged) CHECK(handles.Find(number) == nullptr);
  CHECK_EQUAL(handles.Find(handle), slot);
  handles.Free(slot);
}

TEST("slots keep their addresses and their handles while the table grows") {
  Handles handles;
  constexpr int kCount = 1000;
  Slot* slots[kCount];
  for (Slot*& slot : slots) slot = MakeSlot(&handles, SlotKind::kTensor);
  CHECK_EQUAL(g_counters.tensors.load(), kCount);
  for (Slot* slot : slots) CHECK_EQUAL(handles.Find(Handles::HandleOf(*slot)), slot);
  int live = 0;
  handles.ForEachLive([&](Slot* slot) {
    ++live;
    handles.Free(slot);
  });
  CHECK_EQUAL(live, kCount);
  CHECK_EQUAL(g_counters.tensors.load(), 0);
}

TEST("capsules have handles, and are not counted as tensors") {
  Handles handles;
  Slot* slot = MakeSlot(&handles, SlotKind::kCapsule);
  CHECK_EQUAL(g_counters.tensors.load(), 0);
  CHECK_EQUAL(handles.Find(Handles::HandleOf(*slot)), slot);
  handles.Free(slot);
}

TEST("renewing gives the same thing a new handle, without a moment in which its memory has no holder") {
  Handles handles;
  Slot* slot = MakeSlot(&handles, SlotKind::kTensor);
  CHECK_OK(Block::Allocate(64, nullptr, AliasKind::kTensor, &slot->alias));
  const double before = Handles::HandleOf(*slot);
  CHECK_OK(handles.Renew(&slot, SlotKind::kOwner));
  CHECK(handles.Find(before) == nullptr);
  CHECK_EQUAL(handles.Find(Handles::HandleOf(*slot)), slot);
  CHECK(slot->is_owner());
  CHECK(slot->alias->IsUnique());
  handles.Free(slot);
}

TEST("a slot whose generations are used up is retired: its first handles never come to life again") {
  Handles handles;
  Slot* slot = MakeSlot(&handles, SlotKind::kTensor);
  CHECK_OK(Block::Allocate(64, nullptr, AliasKind::kTensor, &slot->alias));
  slot->origin = slot->alias->data();
  const Block* block = slot->alias.get();
  Slot* const first = slot;
  const double first_handle = Handles::HandleOf(*slot);
  double handle = first_handle;
  uint64_t renewals = 0;
  while (slot == first && renewals <= kGenerations) {
    handle = Handles::HandleOf(*slot);
    if (!handles.Renew(&slot, SlotKind::kTensor).ok()) break;
    ++renewals;
  }
  CHECK_EQUAL(renewals, kGenerations - 1);
  CHECK(slot != first);
  CHECK_EQUAL(slot->alias.get(), block);
  CHECK_EQUAL(slot->origin, block->data());
  CHECK(handles.Find(handle) == nullptr);
  CHECK(handles.Find(first_handle) == nullptr);
  CHECK_EQUAL(g_counters.tensors.load(), 1);
  // The retired slot is on no list: the next ones are others.
  Slot* other = MakeSlot(&handles, SlotKind::kTensor);
  CHECK(other != first && other != slot);
  CHECK(handles.Find(first_handle) == nullptr);
  handles.Free(other);
  handles.Free(slot);
}

TEST("bytes follow the handles that live") {
  Handles handles;
  CHECK_EQUAL(handles.bytes(), 0);
  Slot* tensor = MakeSlot(&handles, SlotKind::kTensor);
  const int64_t one = handles.bytes();
  CHECK(one >= static_cast<int64_t>(sizeof(Slot)));
  Slot* capsule = MakeSlot(&handles, SlotKind::kCapsule);
  CHECK_EQUAL(handles.bytes(), 2 * one);
  CHECK_OK(handles.Renew(&tensor, SlotKind::kOwner));
  CHECK_EQUAL(handles.bytes(), 2 * one);
  handles.Free(capsule);
  handles.Free(tensor);
  CHECK_EQUAL(handles.bytes(), 0);
}
