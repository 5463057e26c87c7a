#include "copy_kernels.h"

#include <initializer_list>

namespace node_dlpack {

const CopyKernels* CopyKernelsFor(InstructionSet set) {
  if (!HasInstructionSet(set)) return nullptr;
  switch (set) {
    case InstructionSet::kPortable:
      return &kPortableCopyKernels;
#if NODE_DLPACK_X86_KERNELS
    case InstructionSet::kAvx2:
      return &kAvx2CopyKernels;
    case InstructionSet::kAvx512:
      return &kAvx512CopyKernels;
#endif
#if NODE_DLPACK_NEON_KERNELS
    case InstructionSet::kNeon:
      return &kNeonCopyKernels;
#endif
    default:
      return nullptr;
  }
}

const CopyKernels& BestCopyKernels() {
  static const CopyKernels* const best = [] {
    for (const InstructionSet set : {InstructionSet::kAvx512, InstructionSet::kAvx2, InstructionSet::kNeon}) {
      if (const CopyKernels* kernels = CopyKernelsFor(set); kernels != nullptr) return kernels;
    }
    return &kPortableCopyKernels;
  }();
  return *best;
}

}  // namespace node_dlpack
