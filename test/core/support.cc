#include "support.h"

#include <cstring>

#include "bits.h"

namespace support {

using namespace node_dlpack;

namespace {

struct TableRow {
  uint8_t code;
  uint8_t bits;
  bool padded;
};

constexpr TableRow kTable[kDTypeCount] = {
    {kDLInt, 8, false},
    {kDLInt, 16, false},
    {kDLInt, 32, false},
    {kDLInt, 64, false},
    {kDLUInt, 8, false},
    {kDLUInt, 16, false},
    {kDLUInt, 32, false},
    {kDLUInt, 64, false},
    {kDLFloat, 16, false},
    {kDLFloat, 32, false},
    {kDLFloat, 64, false},
    {kDLBfloat, 16, false},
    {kDLBool, 8, false},
    {kDLFloat8_e3m4, 8, false},
    {kDLFloat8_e4m3, 8, false},
    {kDLFloat8_e4m3b11fnuz, 8, false},
    {kDLFloat8_e4m3fn, 8, false},
    {kDLFloat8_e4m3fnuz, 8, false},
    {kDLFloat8_e5m2, 8, false},
    {kDLFloat8_e5m2fnuz, 8, false},
    {kDLFloat8_e8m0fnu, 8, false},
    {kDLFloat6_e2m3fn, 6, false},
    {kDLFloat6_e3m2fn, 6, true},
    {kDLFloat4_e2m1fn, 4, false},
    {kDLFloat4_e2m1fn, 4, true},
    {kDLComplex, 64, false},
    {kDLComplex, 128, false},
};

}  // namespace

DType TypeOf(uint8_t code, uint8_t bits, bool padded) {
  DType dtype;
  CHECK_OK(DType::Check(DLDataType{code, bits, 1}, padded, &dtype));
  return dtype;
}

DType DTypeAt(int index) {
  return TypeOf(kTable[index].code, kTable[index].bits, kTable[index].padded);
}

Layout Make(const int64_t* shape, const int64_t* strides, int32_t ndim, DType dtype) {
  Layout layout;
  CHECK_OK(Layout::Strided(shape, strides, ndim, dtype, &layout));
  return layout;
}

void RandomShape(harness::Random* random, int64_t* shape, int32_t* ndim) {
  *ndim = static_cast<int32_t>(random->Between(0, 5));
  for (int32_t axis = 0; axis < *ndim; ++axis) {
    shape[axis] = random->Between(0, 11) == 0 ? 0 : random->Between(1, 4);
  }
}

Layout RandomLayout(harness::Random* random, DType dtype) {
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
  int32_t ndim = 0;
  RandomShape(random, shape, &ndim);
  for (int32_t axis = 0; axis < ndim; ++axis) strides[axis] = random->Between(-7, 7);
  // Row-major ones, and such with few changes, would be rare otherwise.
  const int64_t kind = random->Between(0, 3);
  if (kind == 0) return Make(shape, nullptr, ndim, dtype);
  if (kind == 1) {
    const Layout row_major = Make(shape, nullptr, ndim, dtype);
    for (int32_t axis = 0; axis < ndim; ++axis) {
      if (random->Between(0, 3) != 0) strides[axis] = row_major.strides()[axis];
    }
  }
  return Make(shape, strides, ndim, dtype);
}

void Shuffle(harness::Random* random, int32_t* numbers, int32_t count) {
  for (int32_t left = count; left > 1; --left) {
    const int64_t other = random->Between(0, left - 1);
    const int32_t before = numbers[left - 1];
    numbers[left - 1] = numbers[other];
    numbers[other] = before;
  }
}

Layout RandomLayoutOf(harness::Random* random, const int64_t* shape, int32_t ndim, DType dtype) {
  // Memory axes in random order, each with room to spare; the layout picks every step-th element of it, forwards or
  // backwards.
  int32_t order[kMaxNdim];
  for (int32_t axis = 0; axis < ndim; ++axis) order[axis] = axis;
  if (random->Between(0, 2) != 0) Shuffle(random, order, ndim);
  const bool spaced = random->Between(0, 2) == 0;
  int64_t strides[kMaxNdim];
  int64_t room = 1;
  for (int32_t left = ndim; left > 0; --left) {
    const int32_t axis = order[left - 1];
    const int64_t step = spaced ? random->Between(1, 3) : 1;
    strides[axis] = random->Between(0, 4) == 0 ? -room * step : room * step;
    room *= (shape[axis] > 0 ? shape[axis] : 1) * step + (spaced ? random->Between(0, 2) : 0);
  }
  return Make(shape, strides, ndim, dtype);
}

Offsets::Offsets(const Layout& layout) {
  ForEachElement(layout, [this](const int64_t*, int64_t offset) { values[count++] = offset; });
}

bool SameLayout(const Layout& a, const Layout& b) {
  const size_t bytes = 2 * static_cast<size_t>(a.ndim()) * sizeof(int64_t);
  return a.ndim() == b.ndim() && a.size() == b.size() && std::memcmp(a.shape(), b.shape(), bytes) == 0;
}

bool StridesExist(const Offsets& offsets, const int64_t* shape, int32_t ndim) {
  int64_t strides[kMaxNdim] = {};
  int64_t inner = 1;
  for (int32_t left = ndim; left > 0; --left) {
    const int64_t extent = shape[left - 1];
    // Within the offsets, since the shape holds as many. NOLINTNEXTLINE(clang-analyzer-security.ArrayBound)
    if (extent > 1) strides[left - 1] = offsets.values[inner] - offsets.values[0];
    inner *= extent;
  }
  const Layout candidate = Make(shape, strides, ndim, Uint8());
  int next = 0;
  bool same = true;
  ForEachElement(candidate, [&](const int64_t*, int64_t offset) {
    same = same && offset + offsets.values[0] == offsets.values[next++];
  });
  return same;
}

void NaiveCopy(uint8_t* target, const Layout& target_layout, const uint8_t* source, const Layout& source_layout,
               DType dtype) {
  const auto width = static_cast<int64_t>(dtype.stride_bits());
  ForEachElement(target_layout, [&](const int64_t* index, int64_t to) {
    int64_t from = 0;
    for (int32_t axis = 0; axis < source_layout.ndim(); ++axis) from += index[axis] * source_layout.strides()[axis];
    if (width % 8 == 0) {
      std::memcpy(target + to * (width / 8), source + from * (width / 8), static_cast<size_t>(width / 8));
      return;
    }
    for (int64_t bit = 0; bit < width; ++bit) {
      StoreBits(target, to * width + bit, 1, LoadBits(source, from * width + bit, 1));
    }
  });
}

Foreign::Foreign() : Foreign(Float32()) {}

Foreign::Foreign(DType dtype) {
  tensor = DLTensor{memory, DLDevice{kDLCPU, 0}, 2, dtype.raw(), shape, strides, 0};
  legacy =
      DLManagedTensor{tensor, this, [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; }};
  versioned = DLManagedTensorVersioned{
      DLPackVersion{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, this,
      [](DLManagedTensorVersioned* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; }, 0, tensor};
  Fill();
}

void Foreign::Fill() {
  legacy.dl_tensor = tensor;
  versioned.dl_tensor = tensor;
}

}  // namespace support
