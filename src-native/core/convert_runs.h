// The two halves of a conversion: a run of elements of any real dtype into an array of one working type, and such an
// array into a run of any real dtype. With n dtypes this takes n + n loops a working type instead of n x n, and each is
// simple enough for the compiler to vectorise.
#ifndef NODE_DLPACK_CORE_CONVERT_RUNS_H_
#define NODE_DLPACK_CORE_CONVERT_RUNS_H_

#include <cstdint>

#include "dtype.h"

namespace node_dlpack {

// offset and step are in bits from address. Working types:
//   float, double       values; float only from dtypes that it holds exactly
//   int64_t, uint64_t   from signed and from unsigned integers (bool too)
template <typename Work>
using LoadRun = void (*)(const uint8_t* address, int64_t offset, int64_t step, int64_t count, DType dtype, Work* out);
// Converts as StoreScalar does.
template <typename Work>
using StoreRun = void (*)(const Work* in, uint8_t* address, int64_t offset, int64_t step, int64_t count, DType dtype);

// nullptr for dtypes that the working type does not hold.
template <typename Work>
LoadRun<Work> LoadRunFor(DType source);
template <typename Work>
StoreRun<Work> StoreRunFor(DType target);

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_CONVERT_RUNS_H_
