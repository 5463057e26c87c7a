// The matrix is cut into blocks, and each is transposed square by square in registers. Up to what the caches hold, the
// squares are written straight to the target, down one narrow strip after the other, so that the lines being written
// stay in the nearest cache. Beyond that, a block is gathered in a buffer that the second cache holds and is then
// written out in long runs of whole lines, past the caches, while the next block's lines are being fetched: it is the
// memory's turn from reading to writing that costs, and the lines that are read only to be overwritten.
#include "transpose.h"

#include "memory.h"

#if defined(__GNUC__) || defined(__clang__)
#define NODE_DLPACK_FETCH(address) __builtin_prefetch(address, 0, 2)
#else
#define NODE_DLPACK_FETCH(address) static_cast<void>(address)
#endif

namespace node_dlpack {

namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kBufferBytes = 192 << 10;
// Rows and columns of which the offsets are at hand at a time.
constexpr int64_t kMostIndices = 1024;
// The largest tile: this many rows more may be looked up, to fetch them.
constexpr int64_t kMostTile = 128;
// Neighbouring axes are taken as one until runs have this many bytes.
constexpr int64_t kLongEnough = 1024;

int64_t Least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t RoundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

int64_t BytesToLine(const uint8_t* address) {
  return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(address) & static_cast<uintptr_t>(kLine - 1));
}

// Parts of equal size, but for the last, that are multiples of unit and not much larger than wanted.
int64_t EvenPart(int64_t whole, int64_t wanted, int64_t unit) {
  const int64_t parts = (whole + wanted - 1) / wanted;
  return RoundUp((whole + parts - 1) / parts, unit);
}

// One or more axes taken as one, innermost first: rows follow each other in the target, columns in the source.
struct AxisGroup {
  CopyAxis axes[kMaxNdim];
  int32_t count = 0;
  int64_t extent = 1;

  void Add(const CopyAxis& axis) {
    axes[count++] = axis;
    extent *= axis.extent;
  }

  // The offsets of `number` indices from `first` on; past the last index, that of the last.
  void Offsets(int64_t first, int64_t number, int64_t CopyAxis::* step, int64_t* out) const {
    int64_t index[kMaxNdim];
    int64_t offset = 0;
    for (int32_t place = 0; place < count; ++place) {
      index[place] = first % axes[place].extent;
      first /= axes[place].extent;
      offset += index[place] * (axes[place].*step);
    }
    for (int64_t i = 0; i < number; ++i) {
      out[i] = offset;
      for (int32_t place = 0; place < count; ++place) {
        if (++index[place] < axes[place].extent) {
          offset += axes[place].*step;
          break;
        }
        if (place == count - 1) {
          const int64_t last = out[i];
          for (; i < number; ++i) out[i] = last;
          return;
        }
        index[place] = 0;
        offset -= axes[place].*step * (axes[place].extent - 1);
      }
    }
  }
};

class Transposition {
 public:
  Transposition(const CopyKernels& kernels, const CopyPlan& plan, bool stream) : kernels_(kernels), rest_(plan) {
    rows_.Add(plan.run);
    columns_.Add(plan.column);
    while (rows_.extent * plan.itemsize < kLongEnough && TakeNext(&rows_, &CopyAxis::target)) {
    }
    while (columns_.extent * plan.itemsize < kLongEnough && TakeNext(&columns_, &CopyAxis::source)) {
    }
    SortRest();
    tile_ = kernels.tile_bytes / plan.itemsize;
    dense_ = columns_.count == 1 && columns_.axes[0].target == rows_.extent * plan.itemsize &&
             rows_.extent * plan.itemsize <= kLongEnough;
    // Runs that are short and do not follow each other do not fill lines.
    constexpr int64_t kFewLines = 256;
    if (stream && (dense_ || rows_.extent * plan.itemsize >= kFewLines)) {
      buffer_ = static_cast<uint8_t*>(AllocateBytes(kBufferBytes + kLine));
    }
  }
  ~Transposition() { FreeBytes(buffer_); }
  Transposition(const Transposition&) = delete;
  Transposition& operator=(const Transposition&) = delete;

  void Run(uint8_t* target, const uint8_t* source) {
    if (rows_.extent <= kMostIndices && columns_.extent <= kMostIndices) {
      LookUp(0, rows_.extent, 0, columns_.extent);
      rest_.ForEach([=](int64_t to, int64_t from) { Piece(target + to, source + from); });
      return;
    }
    rest_.ForEach([=](int64_t to, int64_t from) { Pieces(target + to, source + from); });
  }

 private:
  bool TakeNext(AxisGroup* group, int64_t CopyAxis::* step) {
    for (int32_t place = 0; place < rest_.ndim; ++place) {
      if (rest_.axes[place].*step != group->extent * rest_.itemsize) continue;
      group->Add(rest_.axes[place]);
      --rest_.ndim;
      for (; place < rest_.ndim; ++place) rest_.axes[place] = rest_.axes[place + 1];
      return true;
    }
    return false;
  }

  // What is near in either of the two is visited together.
  void SortRest() {
    const auto distance = [](const CopyAxis& axis) {
      const int64_t source = axis.source < 0 ? -axis.source : axis.source;
      return Least(source, axis.target);
    };
    for (int32_t next = 1; next < rest_.ndim; ++next) {
      const CopyAxis axis = rest_.axes[next];
      int32_t place = next;
      for (; place > 0 && distance(rest_.axes[place - 1]) < distance(axis); --place) {
        rest_.axes[place] = rest_.axes[place - 1];
      }
      rest_.axes[place] = axis;
    }
  }

  void LookUp(int64_t first_row, int64_t rows, int64_t first_column, int64_t columns) {
    row_count_ = rows;
    column_count_ = columns;
    rows_.Offsets(first_row, rows + kMostTile, &CopyAxis::source, row_offsets_);
    columns_.Offsets(first_column, columns, &CopyAxis::target, column_offsets_);
  }

  void Pieces(uint8_t* target, const uint8_t* source) {
    const int64_t itemsize = rest_.itemsize;
    const int64_t rows = EvenPart(rows_.extent, kMostIndices - tile_, tile_);
    const int64_t columns = EvenPart(columns_.extent, kMostIndices - tile_, tile_);
    for (int64_t row = 0; row < rows_.extent; row += rows) {
      for (int64_t column = 0; column < columns_.extent; column += columns) {
        LookUp(row, Least(rows, rows_.extent - row), column, Least(columns, columns_.extent - column));
        Piece(target + row * itemsize, source + column * itemsize);
      }
    }
  }

  void Piece(uint8_t* target, const uint8_t* source) {
    if (buffer_ == nullptr) return Straight(target, source);
    Buffered(target, source);
  }

  void Straight(uint8_t* target, const uint8_t* source) {
    const int64_t itemsize = rest_.itemsize;
    const int64_t rows = EvenPart(row_count_, 256, tile_);
    const int64_t strip = Least(tile_, column_count_);
    for (int64_t row = 0; row < row_count_; row += rows) {
      for (int64_t next = 0; next < column_count_; next += strip) {
        const int64_t column = Least(next, column_count_ - strip);
        kernels_.transpose(target + row * itemsize, column_offsets_ + column, strip, source + column * itemsize,
                           row_offsets_ + row, Least(rows, row_count_ - row), itemsize, false);
      }
    }
  }

  struct BlockOf {
    int64_t row, rows, column, columns;
  };

  void Buffered(uint8_t* target, const uint8_t* source) {
    const int64_t itemsize = rest_.itemsize;
    const bool dense = dense_ && row_count_ == rows_.extent;
    const int64_t wanted_rows = itemsize == 1 ? 256 : Least(128, 512 / itemsize);
    const int64_t rows = dense ? row_count_ : EvenPart(row_count_, wanted_rows, tile_);
    // Runs end on a line of the target, up to a line past the block.
    const int64_t step = dense ? rows * itemsize : RunStep(rows * itemsize + kLine);
    const int64_t columns = EvenPart(column_count_, Least(256, kBufferBytes / step - tile_), tile_);
    for (int64_t column = 0; column < columns; ++column) buffer_offsets_[column] = column * step;
    uint8_t* buffer = buffer_ + BytesToLine(buffer_);
    BlockOf block{0, Least(rows, row_count_), 0, Least(columns, column_count_)};
    while (block.row < row_count_) {
      const int64_t read_rows = Least(block.rows + kLine / itemsize, row_count_ - block.row);
      const uint8_t* from = source + block.column * itemsize;
      const int64_t* offsets = row_offsets_ + block.row;
      kernels_.transpose(buffer, buffer_offsets_, block.columns, from, offsets, read_rows, itemsize, itemsize != 1);
      BlockOf next = block;
      next.column += block.columns;
      if (next.column >= column_count_) {
        next.column = 0;
        next.row += block.rows;
      }
      next.rows = Least(rows, row_count_ - next.row);
      next.columns = Least(columns, column_count_ - next.column);
      if (dense) {
        kernels_.copy(target + column_offsets_[block.column], buffer, block.columns * step, true);
      } else {
        Flush(target, buffer, step, block, source, next);
      }
      block = next;
    }
  }

  // An odd number of lines: steps of a power of two would put all columns into one set of the cache.
  static int64_t RunStep(int64_t bytes) {
    const int64_t lines = RoundUp(bytes, kLine) / kLine;
    return (lines | 1) * kLine;
  }

  // Writes the block's columns, cut where the target's lines end: what lies beyond is in the buffer too.
  void Flush(uint8_t* target, const uint8_t* buffer, int64_t step, const BlockOf& block, const uint8_t* source,
             const BlockOf& next) {
    const int64_t itemsize = rest_.itemsize;
    const int64_t begin = block.row * itemsize;
    const int64_t end = (block.row + block.rows) * itemsize;
    const int64_t whole = row_count_ * itemsize;
    const int64_t line_elements = kLine / itemsize;
    const int64_t lines_a_row = (next.columns + line_elements - 1) / line_elements;
    const int64_t fetched_rows = next.row < row_count_ ? next.rows : 0;
    const int64_t lines = (fetched_rows * lines_a_row + block.columns - 1) / block.columns;
    int64_t fetch_row = 0;
    int64_t fetch_line = 0;
    for (int64_t column = 0; column < block.columns; ++column) {
      for (int64_t line = 0; line < lines && fetch_row < fetched_rows; ++line) {
        NODE_DLPACK_FETCH(source + row_offsets_[next.row + fetch_row] +
                          (next.column + fetch_line * line_elements) * itemsize);
        if (++fetch_line == lines_a_row) {
          fetch_line = 0;
          ++fetch_row;
        }
      }
      uint8_t* to = target + column_offsets_[block.column + column];
      const int64_t from = begin == 0 ? 0 : Least(begin + BytesToLine(to + begin), whole);
      const int64_t until = end >= whole ? whole : Least(end + BytesToLine(to + end), whole);
      if (until > from) kernels_.copy(to + from, buffer + column * step + (from - begin), until - from, true);
    }
  }

  const CopyKernels& kernels_;
  CopyPlan rest_;  // the axes that are neither rows nor columns
  AxisGroup rows_;
  AxisGroup columns_;
  int64_t tile_ = 1;
  bool dense_ = false;         // the target's columns follow each other without a gap
  uint8_t* buffer_ = nullptr;  // without memory for it, the squares go straight to the target
  int64_t row_count_ = 0;
  int64_t column_count_ = 0;
  int64_t row_offsets_[kMostIndices + kMostTile];
  int64_t column_offsets_[kMostIndices + kMostTile];
  int64_t buffer_offsets_[kMostIndices];
};

}  // namespace

void TransposeCopy(const CopyKernels& kernels, const CopyPlan& plan, uint8_t* target, const uint8_t* source,
                   bool stream) {
  Transposition transposition(kernels, plan, stream);
  transposition.Run(target, source);
}

}  // namespace node_dlpack
