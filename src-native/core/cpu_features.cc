#include "cpu_features.h"

namespace node_dlpack {

bool HasInstructionSet(InstructionSet set) {
  switch (set) {
    case InstructionSet::kPortable:
      return true;
    case InstructionSet::kNeon:
      return NODE_DLPACK_NEON_KERNELS != 0;
#if NODE_DLPACK_X86_KERNELS
    // These ask for the operating system's consent too: registers that it does not save must not be used.
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    case InstructionSet::kAvx512:
      return HasInstructionSet(InstructionSet::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
#else
    case InstructionSet::kAvx2:
    case InstructionSet::kAvx512:
      return false;
#endif
  }
  return false;
}

}  // namespace node_dlpack
