// Our core's side of the hand-off bench, without Node: a versioned struct over memory that somebody else holds too is
// built and deleted. Reads `<case> <iterations>` lines, answers with nanoseconds (bench/handoff.mjs).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "block.h"
#include "layout.h"
#include "managed_tensor.h"

using namespace node_dlpack;

namespace {

DType Float32() {
  DType dtype;
  if (!DType::Check(DLDataType{kDLFloat, 32, 1}, false, &dtype).ok()) std::abort();
  return dtype;
}

void BuildAndDelete(const BlockRef& block, const Layout& layout, DType dtype) {
  TensorView view;
  view.origin = block->data();
  view.layout = &layout;
  view.dtype = dtype;
  ManagedGuard managed;
  const Fault fault = MakeManaged(block.NewAlias(AliasKind::kExport), view, ManagedKind::kVersioned,
                                  DLPACK_FLAG_BITMASK_READ_ONLY, &managed);
  if (!fault.ok()) std::abort();
}

long long Run(long iterations, const BlockRef& block, const Layout& layout, DType dtype) {
  const auto begin = std::chrono::steady_clock::now();
  for (long i = 0; i < iterations; ++i) BuildAndDelete(block, layout, dtype);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main() {
  const DType dtype = Float32();
  const int64_t shape[] = {2, 3, 4, 5};
  BlockRef block;
  Layout small;
  Layout large;
  if (!Block::Allocate(480, nullptr, AliasKind::kTensor, &block).ok() ||
      !Layout::RowMajor(shape, 2, dtype, &small).ok() || !Layout::RowMajor(shape, 4, dtype, &large).ok()) {
    return 1;
  }
  std::puts("{}");
  std::fflush(stdout);
  char name[64];
  long iterations = 0;
  while (std::scanf("%63s %ld", name, &iterations) == 2) {
    std::printf("%lld\n", Run(iterations, block, std::strcmp(name, "core-2x3") == 0 ? small : large, dtype));
    std::fflush(stdout);
  }
}
