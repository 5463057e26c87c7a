// Loans: OwnedTensor.lend. A loan is a tensor over an owner's memory for the time of a callback, and all that came of
// it on this thread.
//
// Rules, and what breaks without them:
// - While it is lent the owner is locked, until no alias but its own is left: a write through the owner would change
//   what a consumer was promised to be read-only, and a freeze or an export would hand out memory that somebody else
//   may write.
// - The members of a loan are known, so that its end releases them without asking every handle: the lent tensor,
//   tensors derived from it, tensors that an import of its export made, and capsules. All of them join when they are
//   made, since while a block is lent every new alias of it on this thread can only come from the loan.
// - A member with an open window is left alone: a promise still reads through it. The owner stays locked, with kInUse.
// - What members of other threads and consumers hold cannot be released from here. The owner stays locked, with kLent
//   and their counts, and unlocks by itself at the first call that finds them gone.
// - The owner's own data and windows are not aliases of others: memory does not move, so frames can be lent for ever
//   without a new data.
#ifndef NODE_DLPACK_BINDING_LOANS_H_
#define NODE_DLPACK_BINDING_LOANS_H_

#include <cstdint>

#include "../core/fault.h"

namespace node_dlpack {
class Block;
}

namespace node_dlpack::binding {

class Environment;
class Registration;
struct Loan;
struct Slot;

class Loans {
 public:
  explicit Loans(Environment& environment) : environment_(environment) {}
  Loans(const Loans&) = delete;
  Loans& operator=(const Loans&) = delete;

  // Locks the owner, which must be free, and answers with the lent tensor's slot. kMovedAway, kOutOfMemory,
  // kHandlesExhausted.
  Fault Begin(Slot& owner, bool writable, Slot** lent);
  // The callback has returned: releases the members and unlocks the owner. kInUse, kLent (the aliases in scratch):
  // locked still. Success when the owner is not lent.
  Fault End(Slot& owner);
  // For every call that needs the owner: kLent while the callback runs; after it, tries again what End left undone.
  Fault CheckFree(Slot& owner);

  // A tensor handle was made over a block whose loan() is not kNone. When this environment lent it, the slot joins the
  // loan (slot.loan and the list) and gets TensorFlag Loan; else nothing.
  void OnNewHandle(Slot& slot);
  // A capsule was made whose struct shares such a block.
  void OnNewCapsule(Slot& capsule, const Block& block);
  // A slot with slot.loan is about to be freed: leaves its loan; a lent owner (collected, or at environment end) ends
  // it for good.
  void OnReleased(Slot& slot);
  // The cleanup hook, before handles are released.
  void OnEnvironmentEnd();

 private:
  Loan* Find(const Block& block) const;
  // Releases what may be released; the windows that stand in the way.
  uint32_t ReleaseMembers(Loan* loan);
  Fault Finish(Slot& owner);
  void WriteAliases(const Slot& owner, uint32_t own) const;
  void Dissolve(Loan* loan);

  Environment& environment_;
  Loan* loans_ = nullptr;  // open ones; as many as there are lend calls under way
};

void RegisterLoans(Registration& registration);

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_LOANS_H_
