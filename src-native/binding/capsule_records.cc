#include "capsule_records.h"

#include <atomic>
#include <new>

namespace node_dlpack::binding {

struct CapsuleRecords::Chunk {
  static constexpr int kRecords = 170;  // a page
  Chunk* next = nullptr;
  CapsuleRecord records[kRecords];
};

bool CapsuleRecords::Grow() {
  auto* chunk = new (std::nothrow) Chunk;
  if (chunk == nullptr) return false;
  chunk->next = chunks_;
  chunks_ = chunk;
  for (CapsuleRecord& record : chunk->records) {
    record.next = free_;
    free_ = &record;
  }
  return true;
}

CapsuleRecords::~CapsuleRecords() {
  static std::atomic<Chunk*> left{nullptr};
  while (chunks_ != nullptr) {
    Chunk* chunk = chunks_;
    chunks_ = chunk->next;
    if (taken_ == 0) {
      delete chunk;
      continue;
    }
    chunk->next = left.load(std::memory_order_relaxed);
    while (!left.compare_exchange_weak(chunk->next, chunk, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
}

}  // namespace node_dlpack::binding
