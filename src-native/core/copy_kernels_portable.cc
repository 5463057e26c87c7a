// The kernels in plain C++: what every processor runs when there is nothing faster, and what the faster ones are tested
// against.
#include <cstring>

#include "copy_kernels.h"

namespace node_dlpack {

namespace {

// memcpy of a constant size is one load and one store, aligned or not.
template <size_t kSize>
struct Element {
  static void Fill(uint8_t* target, const uint8_t* element, int64_t count) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * kStep, element, kSize);
  }
  static void Gather(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t source_step, int64_t count) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * target_step, source + i * source_step, kSize);
  }
  // In squares that the nearest cache holds: along one of the two sides each element lies in a line of its own.
  static void Transpose(uint8_t* target, const int64_t* column_offsets, int64_t columns, const uint8_t* source,
                        const int64_t* row_offsets, int64_t rows) {
    constexpr int64_t kSide = 32;
    for (int64_t row_block = 0; row_block < rows; row_block += kSide) {
      const int64_t row_end = row_block + kSide < rows ? row_block + kSide : rows;
      for (int64_t column_block = 0; column_block < columns; column_block += kSide) {
        const int64_t column_end = column_block + kSide < columns ? column_block + kSide : columns;
        for (int64_t column = column_block; column < column_end; ++column) {
          uint8_t* to = target + column_offsets[column];
          const uint8_t* from = source + column * kStep;
          for (int64_t row = row_block; row < row_end; ++row) {
            std::memcpy(to + row * kStep, from + row_offsets[row], kSize);
          }
        }
      }
    }
  }
  static constexpr auto kStep = static_cast<int64_t>(kSize);
};

void Copy(uint8_t* target, const uint8_t* source, int64_t bytes, bool) {
  std::memcpy(target, source, static_cast<size_t>(bytes));
}

void Fill(uint8_t* target, const uint8_t* element, int64_t itemsize, int64_t count, bool) {
  switch (itemsize) {
    case 1:
      std::memset(target, *element, static_cast<size_t>(count));
      return;
    case 2:
      return Element<2>::Fill(target, element, count);
    case 4:
      return Element<4>::Fill(target, element, count);
    case 8:
      return Element<8>::Fill(target, element, count);
    default:
      return Element<16>::Fill(target, element, count);
  }
}

void Gather(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t source_step, int64_t itemsize,
            int64_t count) {
  switch (itemsize) {
    case 1:
      return Element<1>::Gather(target, target_step, source, source_step, count);
    case 2:
      return Element<2>::Gather(target, target_step, source, source_step, count);
    case 4:
      return Element<4>::Gather(target, target_step, source, source_step, count);
    case 8:
      return Element<8>::Gather(target, target_step, source, source_step, count);
    default:
      return Element<16>::Gather(target, target_step, source, source_step, count);
  }
}

void Reverse(uint8_t* target, const uint8_t* source, int64_t itemsize, int64_t count, bool) {
  Gather(target, itemsize, source, -itemsize, itemsize, count);
}

void Deinterleave(uint8_t* target, int64_t target_step, const uint8_t* source, int64_t itemsize, int64_t pixels,
                  int channels, int kept, bool) {
  for (int channel = 0; channel < kept; ++channel) {
    Gather(target + channel * target_step, itemsize, source + channel * itemsize, channels * itemsize, itemsize,
           pixels);
  }
}

void Interleave(uint8_t* target, const uint8_t* source, int64_t source_step, int64_t itemsize, int64_t pixels,
                int channels, bool) {
  for (int channel = 0; channel < channels; ++channel) {
    Gather(target + channel * itemsize, channels * itemsize, source + channel * source_step, itemsize, itemsize,
           pixels);
  }
}

void Transpose(uint8_t* target, const int64_t* column_offsets, int64_t columns, const uint8_t* source,
               const int64_t* row_offsets, int64_t rows, int64_t itemsize, bool) {
  switch (itemsize) {
    case 1:
      return Element<1>::Transpose(target, column_offsets, columns, source, row_offsets, rows);
    case 2:
      return Element<2>::Transpose(target, column_offsets, columns, source, row_offsets, rows);
    case 4:
      return Element<4>::Transpose(target, column_offsets, columns, source, row_offsets, rows);
    case 8:
      return Element<8>::Transpose(target, column_offsets, columns, source, row_offsets, rows);
    default:
      return Element<16>::Transpose(target, column_offsets, columns, source, row_offsets, rows);
  }
}

void Finish() {}

}  // namespace

const CopyKernels kPortableCopyKernels = {
    InstructionSet::kPortable, 128, Copy, Fill, Reverse, Deinterleave, Interleave, Transpose, Finish,
};

}  // namespace node_dlpack
