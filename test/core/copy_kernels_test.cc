#include "copy_kernels.h"

#include <initializer_list>

#include "harness.h"
#include "memory_of.h"
#include "strided_copy.h"
#include "support.h"

using namespace node_dlpack;
using support::Make;
using support::MemoryOf;
using support::TypeOf;

namespace {

constexpr int kSizes = 5;

DType DTypeOfSize(int index) {
  static const DType dtypes[kSizes] = {TypeOf(kDLUInt, 8), TypeOf(kDLUInt, 16), TypeOf(kDLFloat, 32),
                                       TypeOf(kDLFloat, 64), TypeOf(kDLComplex, 128)};
  return dtypes[index];
}

constexpr InstructionSet kSets[] = {InstructionSet::kPortable, InstructionSet::kNeon, InstructionSet::kAvx2,
                                    InstructionSet::kAvx512};

// With every set of kernels that runs here, past the caches and not.
void CheckAll(const Layout& target_layout, const Layout& source_layout, DType dtype, harness::Random* random) {
  const uint64_t seed = random->Next();
  const MemoryOf source(source_layout, dtype, random->Between(0, 63), seed);
  // Often where elements are aligned, or whole lines are: other paths are taken there.
  const int64_t kind = random->Between(0, 2);
  const int64_t misalignment = kind == 0 ? 0 : kind == 1 ? random->Between(0, 3) * 16 : random->Between(0, 63);
  const MemoryOf expected(target_layout, dtype, misalignment, seed + 1);
  support::NaiveCopy(expected.origin(), target_layout, source.origin(), source_layout, dtype);
  for (const InstructionSet set : kSets) {
    const CopyKernels* kernels = CopyKernelsFor(set);
    if (kernels == nullptr) continue;
    for (const StreamWrites stream : {StreamWrites::kNever, StreamWrites::kAlways}) {
      const MemoryOf target(target_layout, dtype, misalignment, seed + 1);
      StridedCopyWith(*kernels, stream, target.origin(), target_layout, source.origin(), source_layout, dtype);
      // The elements, and every byte between them.
      CHECK(target.SameAs(expected));
    }
  }
}

// Extents around the widths of registers and blocks, in any order, at most `most` elements.
int32_t RandomShape(harness::Random* random, int64_t most, int64_t* shape) {
  static constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 8, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129, 257, 530};
  const auto ndim = static_cast<int32_t>(random->Between(1, 5));
  int64_t size = 1;
  for (int32_t axis = 0; axis < ndim; ++axis) {
    shape[axis] = kExtents[random->Between(0, 19)];
    if (size * shape[axis] > most) shape[axis] = random->Between(1, 4);
    size *= shape[axis];
  }
  for (int32_t axis = ndim - 1; axis > 0; --axis) {
    const int64_t other = random->Between(0, axis);
    const int64_t extent = shape[axis];
    shape[axis] = shape[other];
    shape[other] = extent;
  }
  return ndim;
}

// The axes in a random order, at times with gaps between, reversed, or (of a source) repeated.
Layout RandomStrides(harness::Random* random, const int64_t* shape, int32_t ndim, DType dtype, bool may_repeat) {
  int32_t order[kMaxNdim];
  for (int32_t axis = 0; axis < ndim; ++axis) order[axis] = axis;
  for (int32_t axis = ndim - 1; axis > 0; --axis) {
    const auto other = static_cast<int32_t>(random->Between(0, axis));
    const int32_t before = order[axis];
    order[axis] = order[other];
    order[other] = before;
  }
  int64_t strides[kMaxNdim];
  int64_t step = random->Between(0, 4) == 0 ? random->Between(2, 5) : 1;
  for (int32_t place = 0; place < ndim; ++place) {
    const int32_t axis = order[place];
    const int64_t kind = random->Between(0, 11);
    strides[axis] = kind == 0 ? -step : kind == 1 && may_repeat ? 0 : step;
    if (strides[axis] == 0) continue;
    step *= shape[axis];
    if (kind == 2) step += random->Between(1, 9);
    if (kind == 3 && dtype.itemsize() < 64) step = (step * dtype.itemsize() + 63) / 64 * 64 / dtype.itemsize();
  }
  return Make(shape, strides, ndim, dtype);
}

}  // namespace

TEST("every set of kernels copies as a naive loop does, on random layouts of every element size") {
  harness::Random random(61);
  for (int i = 0; i < 4000; ++i) {
    const DType dtype = DTypeOfSize(i % kSizes);
    int64_t shape[kMaxNdim];
    const int32_t ndim = RandomShape(&random, i % 40 == 0 ? 60000 : 3000, shape);
    const bool compact = random.Between(0, 2) != 0;
    const Layout target =
        compact ? Make(shape, nullptr, ndim, dtype) : RandomStrides(&random, shape, ndim, dtype, false);
    const Layout source = RandomStrides(&random, shape, ndim, dtype, true);
    CheckAll(target, source, dtype, &random);
  }
}

TEST("matrices of every size around a register's, transposed") {
  harness::Random random(62);
  for (int size = 0; size < kSizes; ++size) {
    const DType dtype = DTypeOfSize(size);
    for (int i = 0; i < 150; ++i) {
      const int64_t rows = random.Between(1, 150);
      const int64_t columns = random.Between(1, 150);
      CheckAll(Make({rows, columns}, dtype), Make({rows, columns}, {1, rows}, dtype), dtype, &random);
    }
  }
}

TEST("matrices of more rows, or more columns, than are looked up at a time") {
  harness::Random random(63);
  for (int size = 0; size < kSizes; ++size) {
    const DType dtype = DTypeOfSize(size);
    for (const int64_t rows : {int64_t{5}, int64_t{40}, int64_t{1024}, int64_t{1025}, int64_t{2600}}) {
      const int64_t columns = rows > 100 ? 37 : 2100;
      CheckAll(Make({rows, columns}, dtype), Make({rows, columns}, {1, rows + 3}, dtype), dtype, &random);
      CheckAll(Make({3, rows, columns}, dtype), Make({3, rows, columns}, {1, 3, 3 * rows}, dtype), dtype, &random);
      CheckAll(Make({rows, columns}, {columns + 1, 1}, dtype), Make({rows, columns}, {-1, rows}, dtype), dtype,
               &random);
    }
  }
}

TEST("channels of pixels are taken apart and put together, for every number of them and every width") {
  harness::Random random(64);
  for (int size = 0; size < kSizes; ++size) {
    const DType dtype = DTypeOfSize(size);
    for (int64_t channels = 1; channels <= 6; ++channels) {
      for (int i = 0; i < 25; ++i) {
        const int64_t pixels = random.Between(1, 400);
        const int64_t padded = pixels + (i % 3 == 0 ? random.Between(0, 70) : (64 - pixels % 64) % 64);
        CheckAll(Make({channels, pixels}, {padded, 1}, dtype), Make({channels, pixels}, {1, channels}, dtype), dtype,
                 &random);
        CheckAll(Make({channels, pixels}, {padded, 1}, dtype), Make({channels, pixels}, {-1, channels}, dtype), dtype,
                 &random);
        CheckAll(Make({pixels, channels}, dtype), Make({pixels, channels}, {1, padded}, dtype), dtype, &random);
        // Three of four.
        if (channels == 3) {
          CheckAll(Make({channels, pixels}, {padded, 1}, dtype), Make({channels, pixels}, {1, 4}, dtype), dtype,
                   &random);
        }
        CheckAll(Make({pixels}, dtype), Make({pixels}, {channels}, dtype), dtype, &random);
        CheckAll(Make({pixels}, dtype), Make({pixels}, {-channels}, dtype), dtype, &random);
      }
    }
  }
}

TEST("rows of channels that are longer than the buffer they go through, at every distance from a line") {
  harness::Random random(66);
  for (int size = 0; size < kSizes; ++size) {
    const DType dtype = DTypeOfSize(size);
    for (int i = 0; i < 12; ++i) {
      const int64_t share = 4096 / dtype.itemsize();
      const int64_t pixels =
          share * random.Between(1, 3) + (i % 2 == 0 ? random.Between(0, 20) : random.Between(0, 99));
      for (int64_t channels = 2; channels <= 4; ++channels) {
        CheckAll(Make({channels, pixels}, {pixels + i % 3, 1}, dtype), Make({channels, pixels}, {1, channels}, dtype),
                 dtype, &random);
      }
    }
  }
}

TEST("pixels of three, six and twelve bytes, turned") {
  harness::Random random(67);
  for (int size = 0; size < 3; ++size) {
    const DType dtype = DTypeOfSize(size);
    for (int i = 0; i < 20; ++i) {
      const int64_t rows = random.Between(1, 150);
      const int64_t columns = random.Between(1, 150);
      CheckAll(Make({columns, rows, 3}, dtype), Make({columns, rows, 3}, {3, 3 * columns, 1}, dtype), dtype, &random);
      CheckAll(Make({columns, rows, 3}, dtype), Make({columns, rows, 3}, {-3, 3 * columns, 1}, dtype), dtype, &random);
    }
  }
}

TEST("long runs, past the caches or not, at every distance from a line") {
  harness::Random random(65);
  for (int size = 0; size < kSizes; ++size) {
    const DType dtype = DTypeOfSize(size);
    for (int i = 0; i < 60; ++i) {
      const int64_t count = random.Between(1, 2000);
      CheckAll(Make({3, count}, {count + i % 5, 1}, dtype), Make({3, count}, {count + 2, 1}, dtype), dtype, &random);
      CheckAll(Make({3, count}, dtype), Make({3, count}, {1, 0}, dtype), dtype, &random);
      CheckAll(Make({3, count}, dtype), Make({3, count}, {count, -1}, dtype), dtype, &random);
    }
  }
}
