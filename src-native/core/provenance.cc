#include "provenance.h"

namespace node_dlpack {

BlockTraits ForeignTraits(const CheckedTensor& checked) {
  const bool read_only = (checked.flags() & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  BlockTraits traits;
  traits.foreign = true;
  traits.foreign_legacy = !checked.versioned();
  traits.may_be_protected = !checked.versioned() || read_only;
  traits.may_be_unique = IsSoleCopy(checked.versioned(), checked.flags()) && checked.host_readable();
  if (traits.may_be_unique) return traits;
  if (!checked.host_readable()) {
    traits.why_not = NeverUniqueReason::kOpaque;
  } else if (!checked.versioned()) {
    traits.why_not = NeverUniqueReason::kForeignLegacy;
  } else if (read_only) {
    traits.why_not = NeverUniqueReason::kForeignReadOnly;
  } else {
    traits.why_not = NeverUniqueReason::kForeignShared;
  }
  return traits;
}

Fault CheckAgainst(const Block& block, const CheckedTensor& checked) {
  const DLDevice device = checked.device();
  if (IsHostReadable(device.device_type) != IsHostReadable(block.device().device_type)) {
    return Fault(FaultCode::kDeviceType, 0, device.device_type);
  }
  if (checked.layout().empty()) return Fault();
  const auto begin = reinterpret_cast<uintptr_t>(block.data());
  const auto lowest = reinterpret_cast<uintptr_t>(checked.lowest());
  const auto bytes = static_cast<int64_t>(block.bytes());
  if (!checked.host_readable()) {
    // A handle that cannot be added to: the block's own, and no more of it than was imported.
    if (lowest != begin) return Fault(FaultCode::kOutsideBlock, 0, 0, bytes);
  } else if (lowest < begin) {
    return Fault(FaultCode::kOutsideBlock, 0, -static_cast<int64_t>(begin - lowest), bytes);
  }
  const uint64_t end = (lowest - begin) + static_cast<uint64_t>(checked.span_bytes());
  if (end > block.bytes()) return Fault(FaultCode::kOutsideBlock, 0, static_cast<int64_t>(end), bytes);
  return Fault();
}

}  // namespace node_dlpack
