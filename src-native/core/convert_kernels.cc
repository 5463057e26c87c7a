#include "convert_kernels.h"

namespace node_dlpack {

ConvertKernels::Load ConvertKernels::LoadFor(DType dtype) const {
  if (dtype.code() == kDLUInt && dtype.bits() == 8) return load_uint8;
  if (dtype.code() == kDLInt && dtype.bits() == 8) return load_int8;
  if (dtype.code() == kDLFloat && dtype.bits() == 16) return load_float16;
  if (dtype.code() == kDLBfloat) return load_bfloat16;
  if (dtype.code() == kDLFloat && dtype.bits() == 32) return load_float32;
  return nullptr;
}

ConvertKernels::Store ConvertKernels::StoreFor(DType dtype) const {
  if (dtype.code() == kDLUInt && dtype.bits() == 8) return store_uint8;
  if (dtype.code() == kDLInt && dtype.bits() == 8) return store_int8;
  if (dtype.code() == kDLFloat && dtype.bits() == 16) return store_float16;
  if (dtype.code() == kDLBfloat) return store_bfloat16;
  return nullptr;
}

const ConvertKernels* ConvertKernelsFor(InstructionSet set) {
#if NODE_DLPACK_X86_KERNELS
  if (set == InstructionSet::kAvx512 && HasInstructionSet(set)) return &kAvx512ConvertKernels;
  if (set == InstructionSet::kAvx2 && HasInstructionSet(set)) return &kAvx2ConvertKernels;
#endif
  static_cast<void>(set);
  return nullptr;
}

const ConvertKernels* BestConvertKernels() {
  static const ConvertKernels* const widest = ConvertKernelsFor(InstructionSet::kAvx512);
  static const ConvertKernels* const best = widest != nullptr ? widest : ConvertKernelsFor(InstructionSet::kAvx2);
  return best;
}

}  // namespace node_dlpack
