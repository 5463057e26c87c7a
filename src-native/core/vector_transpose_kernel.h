// Transposing over vector registers, written once for every width. Included as vector_copy_kernels.h is.

// A lane holds kGroup elements, so kGroup registers hold one square of them in each lane. After log2(kGroup) rounds of
// unpacking, register i holds in every lane what was element i of each row.
template <typename V, int kSize>
inline void TransposeInLanes(typename V::Type* rows) {
  constexpr int kGroup = 16 / kSize;
  NODE_DLPACK_UNROLL
  for (int width = 1; width < kGroup; width *= 2) {
    typename V::Type next[kGroup];
    NODE_DLPACK_UNROLL
    for (int i = 0; i < kGroup / 2; ++i) {
      next[2 * i] = V::template UnpackLow<kSize>(rows[i], rows[i + kGroup / 2]);
      next[2 * i + 1] = V::template UnpackHigh<kSize>(rows[i], rows[i + kGroup / 2]);
    }
    NODE_DLPACK_UNROLL
    for (int i = 0; i < kGroup; ++i) rows[i] = next[i];
  }
}

// One square: as many rows as a register has elements. Rows are read by whole registers, never by lanes: rows a power
// of two apart share one set of the cache, and a line would be gone before its next lane is asked for.
template <typename V, int kSize>
inline void TransposeTile(uint8_t* target, const int64_t* column_offsets, const uint8_t* source,
                          const int64_t* row_offsets) {
  constexpr int kGroup = 16 / kSize;
  constexpr int kLanes = V::kBytes / 16;
  typename V::Type block[kLanes][kGroup];
  NODE_DLPACK_UNROLL
  for (int lane = 0; lane < kLanes; ++lane) {
    NODE_DLPACK_UNROLL
    for (int i = 0; i < kGroup; ++i) block[lane][i] = V::Load(source + row_offsets[lane * kGroup + i]);
    TransposeInLanes<V, kSize>(block[lane]);
  }
  NODE_DLPACK_UNROLL
  for (int i = 0; i < kGroup; ++i) {
    typename V::Type lanes[kLanes];
    NODE_DLPACK_UNROLL
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = block[lane][i];
    V::TransposeLanes(lanes);
    NODE_DLPACK_UNROLL
    for (int lane = 0; lane < kLanes; ++lane) V::Store(target + column_offsets[lane * kGroup + i], lanes[lane]);
  }
}

template <int kSize>
void TransposeElements(uint8_t* target, const int64_t* column_offsets, int64_t columns, const uint8_t* source,
                       const int64_t* row_offsets, int64_t rows) {
  for (int64_t column = 0; column < columns; ++column) {
    uint8_t* to = target + column_offsets[column];
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(to + row * kSize, source + row_offsets[row] + column * kSize, kSize);
    }
  }
}

// Where the tiles do not come out even, the last one reaches back over elements that were written already.
template <typename V, int kSize, bool kFetch>
void TransposeTiles(uint8_t* target, const int64_t* column_offsets, int64_t columns, const uint8_t* source,
                    const int64_t* row_offsets, int64_t rows) {
  constexpr int64_t kTile = V::kBytes / kSize;
  for (int64_t next_row = 0; next_row < rows; next_row += kTile) {
    const int64_t row = next_row < rows - kTile ? next_row : rows - kTile;
    for (int64_t next_column = 0; next_column < columns; next_column += kTile) {
      const int64_t column = next_column < columns - kTile ? next_column : columns - kTile;
      if constexpr (kFetch) {
        for (int64_t i = 0; i < kTile; ++i) Prefetch(source + row_offsets[row + kTile + i] + column * kSize);
      }
      TransposeTile<V, kSize>(target + row * kSize, column_offsets + column, source + column * kSize,
                              row_offsets + row);
    }
  }
}

template <int kSize>
void TransposeSize(uint8_t* target, const int64_t* column_offsets, int64_t columns, const uint8_t* source,
                   const int64_t* row_offsets, int64_t rows, bool fetch) {
  const int64_t side = rows < columns ? rows : columns;
  if (side * kSize < SmallVector::kBytes) {
    TransposeElements<kSize>(target, column_offsets, columns, source, row_offsets, rows);
  } else if (side * kSize < Vector::kBytes) {
    TransposeTiles<SmallVector, kSize, false>(target, column_offsets, columns, source, row_offsets, rows);
  } else if (fetch) {
    TransposeTiles<Vector, kSize, true>(target, column_offsets, columns, source, row_offsets, rows);
  } else {
    TransposeTiles<Vector, kSize, false>(target, column_offsets, columns, source, row_offsets, rows);
  }
}

void Transpose(uint8_t* target, const int64_t* column_offsets, int64_t columns, const uint8_t* source,
               const int64_t* row_offsets, int64_t rows, int64_t itemsize, bool fetch) {
  switch (itemsize) {
    case 1:
      return TransposeSize<1>(target, column_offsets, columns, source, row_offsets, rows, fetch);
    case 2:
      return TransposeSize<2>(target, column_offsets, columns, source, row_offsets, rows, fetch);
    case 4:
      return TransposeSize<4>(target, column_offsets, columns, source, row_offsets, rows, fetch);
    case 8:
      return TransposeSize<8>(target, column_offsets, columns, source, row_offsets, rows, fetch);
    default:
      return TransposeSize<16>(target, column_offsets, columns, source, row_offsets, rows, fetch);
  }
}
