#include "account.h"

#include <new>

#include "memory.h"

namespace node_dlpack {

Account* Account::Create() {
  void* memory = AllocateBytes(sizeof(Account));
  return memory == nullptr ? nullptr : new (memory) Account();
}

void Account::Retain() {
  references_.fetch_add(1, std::memory_order_relaxed);
}

void Account::Release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  this->~Account();
  FreeBytes(this);
}

}  // namespace node_dlpack
