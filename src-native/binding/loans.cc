#include "loans.h"

#include <new>

#include "../core/block.h"
#include "call.h"
#include "capsule.h"
#include "environment.h"
#include "handles.h"
#include "new_tensor.h"

namespace node_dlpack::binding {

struct Loan {
  Slot* owner = nullptr;
  Slot* members = nullptr;  // by loan_previous, loan_next
  bool returned = false;    // the callback has ended; only others' aliases keep the owner locked
  Loan* next = nullptr;
};

namespace {

void Join(Loan* loan, Slot& slot) {
  slot.loan = loan;
  slot.loan_previous = nullptr;
  slot.loan_next = loan->members;
  if (slot.loan_next != nullptr) slot.loan_next->loan_previous = &slot;
  loan->members = &slot;
}

void Leave(Loan* loan, Slot& slot) {
  if (slot.loan_previous != nullptr) {
    slot.loan_previous->loan_next = slot.loan_next;
  } else {
    loan->members = slot.loan_next;
  }
  if (slot.loan_next != nullptr) slot.loan_next->loan_previous = slot.loan_previous;
  slot.loan = nullptr;
  slot.loan_previous = nullptr;
  slot.loan_next = nullptr;
}

}  // namespace

Fault Loans::Begin(Slot& owner, bool writable, Slot** lent) {
  // An owner is unique, so an alias besides its own buffers is one whose bytes the user moved away. The loan could
  // never end.
  if (!owner.alias->IsUniqueBesides(environment_.views.CountAttached(owner))) return FaultCode::kMovedAway;
  NewTensor tensor = NewTensor::AliasOf(owner);
  if (Fault fault = owner.layout.CopyTo(&tensor.layout); !fault.ok()) return fault;
  tensor.read_only = !writable;
  auto* loan = new (std::nothrow) Loan;
  if (loan == nullptr) return Fault(FaultCode::kOutOfMemory, 0, sizeof(Loan));
  loan->owner = &owner;
  loan->next = loans_;
  loans_ = loan;
  owner.loan = loan;
  owner.lent = true;
  owner.alias->set_loan(writable ? Block::Loan::kWritable : Block::Loan::kReadOnly);
  // Joins by OnNewHandle, as everything that comes of it will.
  Fault fault = MakeTensorSlot(environment_, static_cast<NewTensor&&>(tensor), lent);
  if (!fault.ok()) Dissolve(loan);
  return fault;
}

Fault Loans::End(Slot& owner) {
  if (!owner.lent) return Fault();
  owner.loan->returned = true;
  return Finish(owner);
}

Fault Loans::CheckFree(Slot& owner) {
  if (!owner.lent) return Fault();
  if (owner.loan->returned) return Finish(owner);
  WriteAliases(owner, environment_.views.CountAttached(owner));
  return FaultCode::kLent;
}

uint32_t Loans::ReleaseMembers(Loan* loan) {
  uint32_t windows = 0;
  Slot* next = nullptr;
  for (Slot* slot = loan->members; slot != nullptr; slot = next) {
    next = slot->loan_next;
    if (slot->kind == SlotKind::kCapsule) {
      Leave(loan, *slot);
      EmptyCapsule(*slot);
    } else if (slot->windows > 0) {
      windows += slot->windows;
    } else {
      environment_.ReleaseSlot(slot);
    }
  }
  return windows;
}

Fault Loans::Finish(Slot& owner) {
  const uint32_t windows = ReleaseMembers(owner.loan);
  if (windows > 0) return Fault(FaultCode::kInUse, 0, windows);
  const uint32_t own = environment_.views.CountAttached(owner);
  if (!owner.alias->IsUniqueBesides(own)) {
    WriteAliases(owner, own);
    return FaultCode::kLent;
  }
  Dissolve(owner.loan);
  return Fault();
}

void Loans::WriteAliases(const Slot& owner, uint32_t own) const {
  WriteAliasesOfOthers(environment_.scratch, *owner.alias.get());
  constexpr int kViews = slot::kAliases + 2;
  environment_.scratch.set_number(kViews, environment_.scratch.number(kViews) - own);
}

// The owner is free again, or gone; members that remain are tensors like any other.
void Loans::Dissolve(Loan* loan) {
  while (loan->members != nullptr) Leave(loan, *loan->members);
  Slot& owner = *loan->owner;
  owner.alias->set_loan(Block::Loan::kNone);
  owner.lent = false;
  owner.loan = nullptr;
  Loan** place = &loans_;
  while (*place != loan) place = &(*place)->next;
  *place = loan->next;
  delete loan;
}

Loan* Loans::Find(const Block& block) const {
  Loan* loan = loans_;
  while (loan != nullptr && loan->owner->alias.get() != &block) loan = loan->next;
  return loan;
}

void Loans::OnNewHandle(Slot& slot) {
  Loan* loan = Find(*slot.alias.get());
  if (loan == nullptr || loan->owner == &slot) return;
  Join(loan, slot);
  slot.flags = static_cast<uint16_t>(slot.flags | tensor_flag::kLoan);
}

void Loans::OnNewCapsule(Slot& capsule, const Block& block) {
  if (Loan* loan = Find(block)) Join(loan, capsule);
}

void Loans::OnReleased(Slot& slot) {
  Loan* loan = slot.loan;
  if (loan == nullptr) return;
  if (loan->owner == &slot) {
    Dissolve(loan);
  } else {
    Leave(loan, slot);
  }
}

void Loans::OnEnvironmentEnd() {
  while (loans_ != nullptr) Dissolve(loans_);
}

}  // namespace node_dlpack::binding
