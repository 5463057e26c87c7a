// What a managed tensor says of itself about the memory it hands over, and how far that is believed: a foreign struct
// by its flags, a struct of ours by the block it stands for.
//
// Rule: zero-copy and writable needs unique ownership, and the only words that claim it are IS_COPIED without
// READ_ONLY. Whoever imports a struct, from a capsule or through a token, asks here, so that both ways give the same
// tensor.
#ifndef NODE_DLPACK_CORE_PROVENANCE_H_
#define NODE_DLPACK_CORE_PROVENANCE_H_

#include <cstdint>

#include "block.h"
#include "dlpack/dlpack.h"
#include "fault.h"
#include "foreign.h"

namespace node_dlpack {

// Does the struct say that nobody else uses the memory, and that it may be written?
inline bool IsSoleCopy(bool versioned, uint64_t flags) {
  constexpr uint64_t kBoth = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  return versioned && (flags & kBoth) == DLPACK_FLAG_BITMASK_IS_COPIED;
}

// Did its producer lend the memory as writable?
inline bool IsWritableLoan(bool versioned, uint64_t flags) {
  return versioned && (flags & (DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED)) == 0;
}

// May a tensor over the block of a struct of ours be written? Own memory is shared memory, whatever the flags say,
// unless its owner lends it as writable right now.
inline bool IsOwnReadOnly(const Block& block, bool versioned, uint64_t made_with_flags) {
  return block.loan() != Block::Loan::kWritable || !IsWritableLoan(versioned, made_with_flags);
}

// Of a block that will own this foreign struct.
BlockTraits ForeignTraits(const CheckedTensor& checked);

// The fields of a struct of ours, which a consumer may have overwritten, against the block it stands for: kDeviceType,
// kOutsideBlock.
Fault CheckAgainst(const Block& block, const CheckedTensor& checked);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_PROVENANCE_H_
