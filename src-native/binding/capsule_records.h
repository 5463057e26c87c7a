// CapsuleRecords: memory for the records behind capsules. There is one record for each exchange, of a few bytes, and it
// lives until its External is collected, so records come and go in thousands and out of order, which is what a general
// allocator does worst.
//
// Records come in chunks and are used again. An environment that ends while Externals may still be seen (finalizers of
// other addons run later) leaves its chunks to the process, reachable from here, so that a leak checker can tell them
// from a leak.
#ifndef NODE_DLPACK_BINDING_CAPSULE_RECORDS_H_
#define NODE_DLPACK_BINDING_CAPSULE_RECORDS_H_

#include <cstdint>

#include "napi_setup.h"
#include "node_dlpack.h"

namespace node_dlpack::binding {

struct CapsuleRecord {
  node_dlpack_capsule shared;     // what every addon sees; first, since the External points here
  CapsuleRecord* next = nullptr;  // among free ones, or used ones of one flush (collector.h)
};

class CapsuleRecords {
 public:
  CapsuleRecords() = default;
  CapsuleRecords(const CapsuleRecords&) = delete;
  CapsuleRecords& operator=(const CapsuleRecords&) = delete;
  // The end of the environment. Records that were not given back stay.
  ~CapsuleRecords();

  // nullptr: no memory.
  CapsuleRecord* Take() {
    if (free_ == nullptr && !Grow()) return nullptr;
    CapsuleRecord* record = free_;
    free_ = record->next;
    record->next = nullptr;
    ++taken_;
    return record;
  }
  void Give(CapsuleRecord* record) {
    record->next = free_;
    free_ = record;
    --taken_;
  }

 private:
  struct Chunk;
  bool Grow();

  CapsuleRecord* free_ = nullptr;
  Chunk* chunks_ = nullptr;
  int64_t taken_ = 0;
};

}  // namespace node_dlpack::binding

#endif  // NODE_DLPACK_BINDING_CAPSULE_RECORDS_H_
