// The strided copy, with every set of kernels that this processor has and with and without writes past the caches,
// against an element loop: the elements, and every byte and bit between them.
#include "strided_copy.h"

#include <initializer_list>

#include "copy_kernels.h"
#include "input.h"
#include "memory_of.h"

using namespace node_dlpack;

void RunOne(fuzz::Input* input) {
  const DType dtype = input->DType();
  int64_t shape[kMaxNdim];
  int32_t ndim = 0;
  fuzz::SmallShape(input, 1024, shape, &ndim);
  const Layout to = fuzz::Apart(input, shape, ndim, dtype);
  const Layout from = input->Bool() ? fuzz::Anyhow(input, shape, ndim, dtype) : fuzz::Apart(input, shape, ndim, dtype);
  const int64_t misalignment = input->Between(0, 63);
  const int64_t other_misalignment = input->Between(0, 63);
  const support::MemoryOf source(from, dtype, misalignment, 1);
  const support::MemoryOf source_before(from, dtype, 0, 1);
  const support::MemoryOf reference(to, dtype, 0, 2);
  support::NaiveCopy(reference.origin(), to, source.origin(), from, dtype);

  for (InstructionSet set :
       {InstructionSet::kPortable, InstructionSet::kNeon, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    const CopyKernels* kernels = CopyKernelsFor(set);
    if (kernels == nullptr) continue;
    for (StreamWrites stream : {StreamWrites::kNever, StreamWrites::kAlways}) {
      const support::MemoryOf target(to, dtype, other_misalignment, 2);
      StridedCopyWith(*kernels, stream, target.origin(), to, source.origin(), from, dtype);
      CHECK(target.SameAs(reference));
    }
  }
  CHECK(source.SameAs(source_before));
}
