// Copies whose target runs along one axis and whose source runs along another.
#ifndef NODE_DLPACK_CORE_TRANSPOSE_H_
#define NODE_DLPACK_CORE_TRANSPOSE_H_

#include <cstdint>

#include "copy_kernels.h"
#include "copy_plan.h"

namespace node_dlpack {

// plan: of kind kTranspose. target, source: the first elements of the layouts. stream: as in copy_kernels.h.
void TransposeCopy(const CopyKernels& kernels, const CopyPlan& plan, uint8_t* target, const uint8_t* source,
                   bool stream);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_TRANSPOSE_H_
