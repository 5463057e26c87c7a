// The loops of a conversion that people run most, between contiguous elements and an array of float, for processors
// that have instructions for it. They give, bit for bit, what the portable loops of convert_runs.h give.
#ifndef NODE_DLPACK_CORE_CONVERT_KERNELS_H_
#define NODE_DLPACK_CORE_CONVERT_KERNELS_H_

#include <cstdint>

#include "cpu_features.h"
#include "dtype.h"

namespace node_dlpack {

// value * scale, rounded, + offset, rounded. The numbers of a fresh one stand for none: neither changes a value, a
// zero's sign included.
struct LinearMap {
  float scale = 1.0F;
  float offset = -0.0F;
};

// count: any number of elements. Elements and floats lie side by side at any address.
struct ConvertKernels {
  InstructionSet set;
  // map: nullptr for none.
  using Load = void (*)(const uint8_t* source, int64_t count, const LinearMap* map, uint8_t* out);
  using Store = void (*)(const uint8_t* in, uint8_t* target, int64_t count);
  Load load_uint8, load_int8, load_float16, load_bfloat16, load_float32;
  Store store_uint8, store_int8, store_float16, store_bfloat16;

  // nullptr: the dtype has no loop of its own; as a target, float32 needs none.
  Load LoadFor(DType dtype) const;
  Store StoreFor(DType dtype) const;
};

// nullptr: not on this processor, or not in this binary.
const ConvertKernels* ConvertKernelsFor(InstructionSet set);
// The fastest there are; nullptr when there are none.
const ConvertKernels* BestConvertKernels();

#if NODE_DLPACK_X86_KERNELS
extern const ConvertKernels kAvx2ConvertKernels;
extern const ConvertKernels kAvx512ConvertKernels;
#endif

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_CONVERT_KERNELS_H_
