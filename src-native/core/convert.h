// Conversion while copying: out = convert(round(round(x * scale) + offset)), element by element, from any layout into
// any layout, in one pass.
#ifndef NODE_DLPACK_CORE_CONVERT_H_
#define NODE_DLPACK_CORE_CONVERT_H_

#include <cstdint>

#include "dtype.h"
#include "fault.h"
#include "layout.h"

namespace node_dlpack {

struct Scalar;

// Per-channel numbers: count is 1 (the same everywhere) or the extent of axis. nullptr: none of it.
struct Affine {
  const double* scale = nullptr;
  const double* offset = nullptr;
  int64_t scale_count = 0;
  int64_t offset_count = 0;
  int32_t axis = 0;  // of the common shape; meaningless when both counts are 1
};

// Shapes equal. Real dtypes on both sides (kConversion otherwise, unless equal and without affine: then it is a copy).
// With affine, x * scale is rounded, + offset is rounded (never fused), in float32 where both dtypes are floats of at
// most 32 bits or integers of at most 16 (bool counts as an integer), else in float64; then one conversion as
// StoreScalar says. Spans must not overlap, and the target layout must not overlap itself. Faults, all before anything
// is written: kConversion, kAxis, kIndexCount (value: numbers given, limit: the extent of the axis).
Fault ConvertStrided(uint8_t* target, const Layout& target_layout, DType target_dtype, const uint8_t* source,
                     const Layout& source_layout, DType source_dtype, const Affine& affine);

// The same with a given set of kernels, nullptr for none: for tests and benchmarks.
struct ConvertKernels;
struct CopyKernels;
Fault ConvertStridedWith(const ConvertKernels* convert_kernels, const CopyKernels& copy_kernels, uint8_t* target,
                         const Layout& target_layout, DType target_dtype, const uint8_t* source,
                         const Layout& source_layout, DType source_dtype, const Affine& affine);

// Stores one value in every element of the layout, which may overlap itself.
void FillStrided(uint8_t* target, const Layout& layout, DType dtype, const Scalar& value);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_CONVERT_H_
