// What all targets share: libFuzzer's entry, a failed CHECK as the end of the process, and the counters, which every
// input must leave as it found them.
#include <cstdio>
#include <cstdlib>

#include "counters.h"
#include "input.h"
#include "memory.h"

using namespace node_dlpack;

namespace harness {

void Fail(const char* file, int line, const char* what) {
  static_cast<void>(std::fprintf(stderr, "%s:%d: %s\n", file, line, what));
  std::abort();
}

}  // namespace harness

namespace fuzz {

void SmallShape(Input* input, int64_t most, int64_t* shape, int32_t* ndim) {
  *ndim = static_cast<int32_t>(input->Between(0, 5));
  int64_t size = 1;
  for (int32_t axis = 0; axis < *ndim; ++axis) {
    int64_t extent = input->Between(0, 39);
    if (extent > 12) extent = extent % 4 + 1;
    if (size * (extent == 0 ? 1 : extent) > most) extent = 1;
    shape[axis] = extent;
    size *= extent == 0 ? 1 : extent;
  }
  // One long axis, so that kernels reach their main loops.
  if (*ndim > 0 && input->Between(0, 3) == 0) {
    const auto axis = static_cast<int32_t>(input->Between(0, *ndim - 1));
    const int64_t others = shape[axis] == 0 ? size : size / shape[axis];
    shape[axis] = 1 + input->Any<uint16_t>() % (most / others);
  }
}

Layout Apart(Input* input, const int64_t* shape, int32_t ndim, DType dtype) {
  int32_t order[kMaxNdim];
  for (int32_t axis = 0; axis < ndim; ++axis) order[axis] = axis;
  for (int32_t left = ndim; left > 1; --left) {
    const int64_t other = input->Between(0, left - 1);
    const int32_t before = order[left - 1];
    order[left - 1] = order[other];
    order[other] = before;
  }
  int64_t strides[kMaxNdim];
  int64_t room = 1;
  // Elements that lie apart on every axis would be few in much memory, and filling it all that an input does.
  constexpr int64_t kMostRoom = 1 << 12;
  for (int32_t place = 0; place < ndim; ++place) {
    const int32_t axis = order[place];
    const uint8_t how = input->Any<uint8_t>();
    int64_t step = (how & 3) == 3 ? 1 + (how >> 2 & 3) : 1;
    if (room * (shape[axis] > 0 ? shape[axis] : 1) * step > kMostRoom) step = 1;
    strides[axis] = (how & 16) != 0 ? -room * step : room * step;
    room *= (shape[axis] > 0 ? shape[axis] : 1) * step;
    room += how >> 6;
  }
  return support::Make(shape, strides, ndim, dtype);
}

Layout Anyhow(Input* input, const int64_t* shape, int32_t ndim, DType dtype) {
  int64_t strides[kMaxNdim];
  for (int32_t axis = 0; axis < ndim; ++axis) strides[axis] = input->Between(-7, 7);
  return support::Make(shape, strides, ndim, dtype);
}

}  // namespace fuzz

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::Input input(bytes, size);
  RunOne(&input);
  CHECK_EQUAL(g_counters.tensors.load(), 0);
  CHECK_EQUAL(g_counters.exports.load(), 0);
  CHECK_EQUAL(g_counters.views.load(), 0);
  CHECK_EQUAL(g_counters.tokens.load(), 0);
  CHECK_EQUAL(g_counters.blocks.load(), 0);
  CHECK_EQUAL(g_counters.bytes.load(), 0);
  CHECK_EQUAL(LiveAllocations(), 0);
  return 0;
}
