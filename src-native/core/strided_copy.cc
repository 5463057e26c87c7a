#include "strided_copy.h"

#include <cstring>

#include "bits.h"
#include "copy_kernels.h"
#include "copy_parts.h"
#include "copy_plan.h"
#include "transpose.h"
#include "walk.h"

namespace node_dlpack {

namespace {

// From here on what is written is not kept in the caches: they do not hold it, and the next reader finds none of it
// there either way. Plain runs, where reading ahead costs nothing, gain from it later than the others.
constexpr int64_t kStreamFrom = int64_t{8} << 20;
constexpr int64_t kStreamRunsFrom = int64_t{16} << 20;

template <size_t kSize>
void GatherRun(uint8_t* target, const uint8_t* source, const CopyAxis& run) {
  // memcpy of a constant size is one load and one store, aligned or not.
  for (int64_t i = 0; i < run.extent; ++i) std::memcpy(target + i * run.target, source + i * run.source, kSize);
}

void Gather(uint8_t* target, const uint8_t* source, const CopyAxis& run, int64_t itemsize) {
  switch (itemsize) {
    case 1:
      return GatherRun<1>(target, source, run);
    case 2:
      return GatherRun<2>(target, source, run);
    case 3:  // pixels of three bytes
      return GatherRun<3>(target, source, run);
    case 4:
      return GatherRun<4>(target, source, run);
    case 6:
      return GatherRun<6>(target, source, run);
    case 8:
      return GatherRun<8>(target, source, run);
    case 12:
      return GatherRun<12>(target, source, run);
    case 16:
      return GatherRun<16>(target, source, run);
    default:
      for (int64_t i = 0; i < run.extent; ++i) {
        std::memcpy(target + i * run.target, source + i * run.source, static_cast<size_t>(itemsize));
      }
  }
}

// In squares, so that lines of the source are still in the cache when the next run comes for its part of them.
void GatherSquares(uint8_t* target, const uint8_t* source, const CopyAxis& run, const CopyAxis& column,
                   int64_t itemsize) {
  constexpr int64_t kSide = 64;
  for (int64_t row = 0; row < run.extent; row += kSide) {
    const CopyAxis part{run.extent - row < kSide ? run.extent - row : kSide, run.target, run.source};
    uint8_t* to = target + row * run.target;
    const uint8_t* from = source + row * run.source;
    // Runs of all columns before the next rows: the rows' lines are read on along the columns.
    for (int64_t i = 0; i < column.extent; ++i) {
      Gather(to + i * column.target, from + i * column.source, part, itemsize);
    }
  }
}

// Is it worth writing the runs past the caches? Short ones must be made of whole lines: what is left over at their ends
// is written in the usual way, and to do both in one line is slower than either.
bool RunsFillLines(const CopyPlan& plan, const uint8_t* target) {
  constexpr int64_t kLine = 64;
  constexpr int64_t kShort = 256;
  constexpr int64_t kLong = 2048;
  const int64_t bytes = plan.run.extent * plan.itemsize;
  if (bytes >= kLong) return true;
  const auto first = reinterpret_cast<uintptr_t>(target) + static_cast<uintptr_t>(plan.target_start);
  return bytes >= kShort && first % kLine == 0 && plan.AxesKeep(kLine);
}

void CopyWholeBytes(const CopyKernels& kernels, StreamWrites stream_writes, uint8_t* target, const uint8_t* source,
                    int64_t itemsize, const Walk& walk) {
  const CopyPlan plan(walk, itemsize);
  const bool large = stream_writes == StreamWrites::kAlways ||
                     (stream_writes == StreamWrites::kBySize &&
                      plan.bytes >= (plan.kind == CopyKind::kRun ? kStreamRunsFrom : kStreamFrom));
  const bool stream = large && RunsFillLines(plan, target);
  const CopyAxis run = plan.run;
  const CopyAxis column = plan.column;
  const int64_t size = plan.itemsize;
  switch (plan.kind) {
    case CopyKind::kRun:
      plan.ForEach(
          [&](int64_t to, int64_t from) { kernels.copy(target + to, source + from, run.extent * size, stream); });
      break;
    case CopyKind::kFill:
      plan.ForEach(
          [&](int64_t to, int64_t from) { kernels.fill(target + to, source + from, size, run.extent, stream); });
      break;
    case CopyKind::kReverse:
      plan.ForEach(
          [&](int64_t to, int64_t from) { kernels.reverse(target + to, source + from, size, run.extent, stream); });
      break;
    case CopyKind::kPick:
      plan.ForEach([&](int64_t to, int64_t from) {
        kernels.deinterleave(target + to, 0, source + from, size, run.extent, static_cast<int>(run.source / size), 1,
                             stream);
      });
      break;
    case CopyKind::kDeinterleave:
      plan.ForEach([&](int64_t to, int64_t from) {
        kernels.deinterleave(target + to, column.target, source + from, size, run.extent,
                             static_cast<int>(run.source / size), static_cast<int>(column.extent), stream);
      });
      break;
    case CopyKind::kInterleave:
      plan.ForEach([&](int64_t to, int64_t from) {
        kernels.interleave(target + to, source + from, run.source, size, column.extent, static_cast<int>(run.extent),
                           large);
      });
      break;
    case CopyKind::kTranspose:
      TransposeCopy(kernels, plan, target, source, large);
      break;
    case CopyKind::kGather:
      plan.ForEach([&](int64_t to, int64_t from) { GatherSquares(target + to, source + from, run, column, size); });
      break;
  }
  if (large) kernels.finish();
}

void CopyPackedRun(uint8_t* target, int64_t to, int64_t to_step, const uint8_t* source, int64_t from, int64_t from_step,
                   uint32_t width, int64_t count) {
  if (to_step == width && from_step == width && (to & 7) == 0 && (from & 7) == 0) {
    const int64_t whole_bytes = count * width / 8;
    if (whole_bytes > 0) std::memcpy(target + to / 8, source + from / 8, static_cast<size_t>(whole_bytes));
    // The last byte may be shared with bits that are not ours. What is left is less than a byte: at most one element
    // has begun before it.
    const int64_t copied = whole_bytes * 8 / width;
    to += copied * to_step;
    from += copied * from_step;
    count -= copied;
  }
  for (int64_t i = 0; i < count; ++i) {
    StoreBits(target, to + i * to_step, width, LoadBits(source, from + i * from_step, width));
  }
}

}  // namespace

void StridedCopy(uint8_t* target, const Layout& target_layout, const uint8_t* source, const Layout& source_layout,
                 DType dtype) {
  const CopyKernels& kernels = BestCopyKernels();
  const CopyParts parts(target_layout, dtype, source_layout, dtype, CopyParts::kNoAxis, CopyThreads());
  if (parts.count() > 1) {
    // A part is small, but what the caches hold is asked of all of them together.
    const bool large = target_layout.compact_bytes(dtype) >= kStreamRunsFrom;
    const StreamWrites stream = large ? StreamWrites::kAlways : StreamWrites::kBySize;
    const auto copy = [&](uint8_t* to, const Layout& to_layout, const uint8_t* from, const Layout& from_layout) {
      StridedCopyWith(kernels, stream, to, to_layout, from, from_layout, dtype);
      return true;
    };
    if (parts.ForEach(target, source, copy)) return;
  }
  StridedCopyWith(kernels, StreamWrites::kBySize, target, target_layout, source, source_layout, dtype);
}

void StridedCopyWith(const CopyKernels& kernels, StreamWrites stream_writes, uint8_t* target,
                     const Layout& target_layout, const uint8_t* source, const Layout& source_layout, DType dtype) {
  if (target_layout.empty()) return;
  const Walk walk(target_layout, dtype, source_layout, dtype, Walk::kNoChannel);
  if (!dtype.bit_packed()) {
    return CopyWholeBytes(kernels, stream_writes, target, source, dtype.itemsize(), walk);
  }
  const WalkAxis run = walk.run();
  walk.ForEachRun([=](int64_t to, int64_t from, int64_t) {
    CopyPackedRun(target, to, run.target, source, from, run.source, dtype.bits(), run.extent);
  });
}

bool SpansOverlap(const uint8_t* a, const Layout& a_layout, DType a_dtype, const uint8_t* b, const Layout& b_layout,
                  DType b_dtype) {
  if (a_layout.empty() || b_layout.empty()) return false;
  const ByteSpan a_span = a_layout.byte_span(a_dtype);
  const ByteSpan b_span = b_layout.byte_span(b_dtype);
  const auto begin = [](const uint8_t* origin, const ByteSpan& span) {
    return reinterpret_cast<uintptr_t>(origin) - static_cast<uintptr_t>(-span.lowest);
  };
  const uintptr_t a_begin = begin(a, a_span);
  const uintptr_t b_begin = begin(b, b_span);
  return a_begin < b_begin ? b_begin - a_begin < static_cast<uintptr_t>(a_span.size())
                           : a_begin - b_begin < static_cast<uintptr_t>(b_span.size());
}

}  // namespace node_dlpack
