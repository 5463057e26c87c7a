// The loops that move bytes, one set for each kind of processor, all with the same meaning. What to do is decided
// elsewhere, once, in portable code; how fast a run of it goes is decided here.
//
// stream: write past the caches, in whole cache lines. Right for more than the caches hold, since the lines then need
// not be read before they are written; wrong for less, since whoever reads next would have to fetch them. A request,
// not a command: without full lines to write, or without such an instruction, plain stores serve. Call finish after the
// last such write.
#ifndef NODE_DLPACK_CORE_COPY_KERNELS_H_
#define NODE_DLPACK_CORE_COPY_KERNELS_H_

#include <cstdint>

#include "cpu_features.h"

namespace node_dlpack {

// Elements of 1, 2, 4, 8 or 16 bytes, at any address. Targets and sources do not overlap; nothing outside the elements
// named is read or written.
struct CopyKernels {
  InstructionSet set;
  // The edge of a square of elements that transpose takes in one go, in bytes.
  int64_t tile_bytes;

  void (*copy)(uint8_t* target, const uint8_t* source, int64_t bytes, bool stream);
  // One element, count times, side by side.
  void (*fill)(uint8_t* target, const uint8_t* element, int64_t itemsize, int64_t count, bool stream);
  // source: the element that comes first in the target; the others lie below it.
  void (*reverse)(uint8_t* target, const uint8_t* source, int64_t itemsize, int64_t count, bool stream);
  // Pixels of `channels` elements, 2 to 4. The first `kept` of each (all, one, or three of four) go to rows,
  // target_step bytes apart. Behind the last pixel's kept elements nothing is read.
  void (*deinterleave)(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t itemsize, int64_t pixels,
                       int channels, int kept, bool stream);
  // The way back: rows source_step bytes apart.
  void (*interleave)(uint8_t* target, const uint8_t* source, int64_t source_step, int64_t itemsize, int64_t pixels,
                     int channels, bool stream);
  // Element (row, column) of a matrix: read at source + row_offsets[row] + column * itemsize, written at target +
  // column_offsets[column] + row * itemsize. fetch: each row's successor, one tile further down, will be needed soon,
  // and row_offsets goes on that far.
  void (*transpose)(uint8_t* target, const int64_t* column_offsets, int64_t columns, const uint8_t* source,
                    const int64_t* row_offsets, int64_t rows, int64_t itemsize, bool fetch);
  void (*finish)();
};

// nullptr: not on this processor, or not in this binary.
const CopyKernels* CopyKernelsFor(InstructionSet set);
// The fastest there are.
const CopyKernels& BestCopyKernels();

// Each in a file of its own; only where the platform has them.
extern const CopyKernels kPortableCopyKernels;
#if NODE_DLPACK_X86_KERNELS
extern const CopyKernels kAvx2CopyKernels;
extern const CopyKernels kAvx512CopyKernels;
#endif
#if NODE_DLPACK_NEON_KERNELS
extern const CopyKernels kNeonCopyKernels;
#endif

}  // namespace node_dlpack

#endif  // NODE_DLPACK_CORE_COPY_KERNELS_H_
