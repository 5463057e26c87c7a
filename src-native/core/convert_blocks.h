// Conversion a block of elements at a time, through float: each block is read into the nearest cache, taken apart if
// its channels lie interleaved, converted, put together if they shall be interleaved, and written out. Memory is passed
// over once, whatever the conversion does on the way.
#ifndef NODE_DLPACK_CORE_CONVERT_BLOCKS_H_
#define NODE_DLPACK_CORE_CONVERT_BLOCKS_H_

#include <cstdint>

#include "convert.h"
#include "convert_kernels.h"
#include "copy_kernels.h"
#include "dtype.h"
#include "walk.h"

namespace node_dlpack {

// Both dtypes are floats of at most 32 bits or integers of at most 16; the numbers are checked. False, and nothing
// done, where the dtypes or the layouts have no such way: the caller goes element by element then.
bool ConvertInBlocks(const ConvertKernels& convert, const CopyKernels& copy, const Walk& walk, uint8_t* target,
                     DType target_dtype, const uint8_t* source, DType source_dtype, const Affine& affine);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_CONVERT_BLOCKS_H_
