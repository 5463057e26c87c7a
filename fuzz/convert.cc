// Conversion between any two dtypes and layouts, with scale and offset, with every set of kernels, against the rule for
// one element; and filling.
#include "convert.h"

#include <initializer_list>

#include "convert_kernels.h"
#include "convert_reference.h"
#include "copy_kernels.h"
#include "input.h"
#include "memory_of.h"
#include "scalar.h"

using namespace node_dlpack;

namespace {

constexpr int64_t kMost = 600;

Scalar Load(const support::MemoryOf& memory, int64_t offset, DType dtype) {
  return LoadScalar(memory.origin(), offset * dtype.stride_bits(), dtype);
}

// Values on edges are rare among random bits: some elements get numbers of the fuzzer's.
void Plant(fuzz::Input* input, const support::MemoryOf& memory, const Layout& layout, DType dtype) {
  support::ForEachElement(layout, [&](const int64_t*, int64_t offset) {
    if (input->done()) return;
    Scalar value;
    const uint8_t kind = input->Any<uint8_t>();
    if (kind >= 192) return;
    value.f = kind < 96 ? kind - 40.5 : kind < 128 ? static_cast<double>(input->Any<float>()) : input->Any<double>();
    StoreScalar(memory.origin(), offset * dtype.stride_bits(), dtype, value);
  });
}

struct Numbers {
  double scale[kMost];
  double offset[kMost];
};

Affine AnyAffine(fuzz::Input* input, const int64_t* shape, int32_t ndim, Numbers* numbers) {
  Affine affine;
  const uint8_t how = input->Any<uint8_t>();
  if (ndim == 0 || (how & 3) == 0) return affine;
  affine.axis = static_cast<int32_t>(how >> 4) % ndim;
  const int64_t channels = shape[affine.axis];
  for (int64_t i = 0; i < channels; ++i) numbers->scale[i] = input->done() ? 1.25 : input->Any<int16_t>() / 96.0;
  for (int64_t i = 0; i < channels; ++i) numbers->offset[i] = input->done() ? -3 : input->Any<int8_t>() / 8.0;
  if ((how & 1) != 0) affine.scale = numbers->scale;
  if ((how & 2) != 0) affine.offset = numbers->offset;
  if (affine.scale != nullptr) affine.scale_count = (how & 4) != 0 ? channels : 1;
  if (affine.offset != nullptr) affine.offset_count = (how & 8) != 0 ? channels : 1;
  return affine;
}

}  // namespace

void RunOne(fuzz::Input* input) {
  const DType to_dtype = input->DType();
  const DType from_dtype = input->DType();
  int64_t shape[kMaxNdim];
  int32_t ndim = 0;
  fuzz::SmallShape(input, kMost, shape, &ndim);
  const Layout to = fuzz::Apart(input, shape, ndim, to_dtype);
  const Layout from =
      input->Bool() ? fuzz::Anyhow(input, shape, ndim, from_dtype) : fuzz::Apart(input, shape, ndim, from_dtype);
  Numbers numbers;
  const Affine affine = AnyAffine(input, shape, ndim, &numbers);
  const int64_t misalignment = input->Between(0, 15);
  const support::MemoryOf source(from, from_dtype, misalignment, 1);
  Plant(input, source, from, from_dtype);

  const bool real = !to_dtype.is_complex() && !from_dtype.is_complex();
  const bool plain = affine.scale == nullptr && affine.offset == nullptr;
  const bool possible = real || (plain && to_dtype == from_dtype);

  // What must come of it, and what lies between the elements.
  const support::MemoryOf wanted(to, to_dtype, 0, 2);
  if (possible) {
    support::ForEachElement(to, [&](const int64_t* index, int64_t offset) {
      int64_t from_offset = 0;
      for (int32_t axis = 0; axis < ndim; ++axis) from_offset += index[axis] * from.strides()[axis];
      const int64_t channel = ndim == 0 ? 0 : index[affine.axis];
      const Scalar value = Load(source, from_offset, from_dtype);
      StoreScalar(wanted.origin(), offset * to_dtype.stride_bits(), to_dtype,
                  support::Apply(value, from_dtype, to_dtype, affine, channel));
    });
  }

  for (InstructionSet set :
       {InstructionSet::kPortable, InstructionSet::kNeon, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    const CopyKernels* copy_kernels = CopyKernelsFor(set);
    const ConvertKernels* convert_kernels = ConvertKernelsFor(set);
    if (copy_kernels == nullptr) continue;
    const support::MemoryOf target(to, to_dtype, misalignment, 2);
    const Fault fault = ConvertStridedWith(convert_kernels, *copy_kernels, target.origin(), to, to_dtype,
                                           source.origin(), from, from_dtype, affine);
    CHECK_EQUAL(fault.ok(), possible);
    if (!fault.ok()) CHECK_EQUAL(fault.code, FaultCode::kConversion);
    if (target.SameAs(wanted)) continue;
    // The bits of one NaN are as good as another's, but those between the elements are not ours to touch.
    CHECK(possible && !to_dtype.is_integer());
    support::ForEachElement(to, [&](const int64_t*, int64_t offset) {
      const Scalar got = Load(target, offset, to_dtype);
      CHECK(support::SameNumber(got, Load(wanted, offset, to_dtype)));
      StoreScalar(target.origin(), offset * to_dtype.stride_bits(), to_dtype, Load(wanted, offset, to_dtype));
    });
    CHECK(target.SameAs(wanted));
  }

  // Filling takes layouts that meet themselves, too.
  const support::MemoryOf filled(from, from_dtype, misalignment, 3);
  const support::MemoryOf reference(from, from_dtype, misalignment, 3);
  Scalar value;
  value.f = static_cast<double>(input->Any<int16_t>()) / 8;
  FillStrided(filled.origin(), from, from_dtype, value);
  support::ForEachElement(from, [&](const int64_t*, int64_t offset) {
    StoreScalar(reference.origin(), offset * from_dtype.stride_bits(), from_dtype, value);
  });
  CHECK(filled.SameAs(reference));
}
