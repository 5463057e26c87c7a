// Copies elements between any two layouts of one shape and dtype. One function, so that it can be made fast without
// anyone noticing.
#ifndef NODE_DLPACK_CORE_STRIDED_COPY_H_
#define NODE_DLPACK_CORE_STRIDED_COPY_H_

#include <cstdint>

#include "dtype.h"
#include "fault.h"
#include "layout.h"

namespace node_dlpack {

// target and source: addresses of the first logical elements; shapes must be equal. Addresses need no alignment. The
// element spans must not overlap (the caller stages through fresh memory where they do), and the target layout must not
// overlap itself.
void StridedCopy(uint8_t* target, const Layout& target_layout, const uint8_t* source, const Layout& source_layout,
                 DType dtype);

// The same with a given set of kernels, and with the choice of writing past the caches made: for tests and benchmarks.
struct CopyKernels;
enum class StreamWrites : uint8_t { kNever, kAlways, kBySize };
void StridedCopyWith(const CopyKernels& kernels, StreamWrites stream_writes, uint8_t* target,
                     const Layout& target_layout, const uint8_t* source, const Layout& source_layout, DType dtype);

// Do the two spans share a byte?
bool SpansOverlap(const uint8_t* a, const Layout& a_layout, DType a_dtype, const uint8_t* b, const Layout& b_layout,
                  DType b_dtype);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_STRIDED_COPY_H_
