#include "convert.h"

#include <cstring>
#include <type_traits>

#include "bits.h"
#include "convert_blocks.h"
#include "convert_kernels.h"
#include "convert_runs.h"
#include "copy_kernels.h"
#include "copy_parts.h"
#include "scalar.h"
#include "strided_copy.h"
#include "walk.h"

// x * scale + offset must be rounded twice. Compilers may fuse the two into one operation that rounds once, where the
// processor has it; the build forbids that too (-ffp-contract=off).
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

namespace node_dlpack {

namespace {

// Elements converted at a time: few enough to stay in the processor's nearest cache, enough for the calls between not
// to count.
constexpr int64_t kChunk = 512;

// numbers: one for all, or one a channel.
template <typename Work, typename Operation>
void ForEachWithChannel(Work* values, int64_t count, const double* numbers, int64_t number_count, int64_t channel,
                        int64_t channel_step, Operation operation) {
  if (number_count == 1 || channel_step == 0) {
    const auto number = static_cast<Work>(numbers[number_count == 1 ? 0 : channel]);
    for (int64_t i = 0; i < count; ++i) values[i] = operation(values[i], number);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      values[i] = operation(values[i], static_cast<Work>(numbers[channel + i * channel_step]));
    }
  }
}

template <typename Work>
void ApplyAffine(Work* values, int64_t count, const Affine& affine, int64_t channel, int64_t channel_step) {
  // Two passes: the products are stored, and so rounded, before the sums.
  if (affine.scale != nullptr) {
    ForEachWithChannel(values, count, affine.scale, affine.scale_count, channel, channel_step,
                       [](Work value, Work scale) { return static_cast<Work>(value * scale); });
  }
  if (affine.offset != nullptr) {
    ForEachWithChannel(values, count, affine.offset, affine.offset_count, channel, channel_step,
                       [](Work value, Work offset) { return static_cast<Work>(value + offset); });
  }
}

template <typename Work>
void ConvertWalk(const Walk& walk, uint8_t* target, DType target_dtype, const uint8_t* source, DType source_dtype,
                 const Affine& affine) {
  const LoadRun<Work> load = LoadRunFor<Work>(source_dtype);
  const StoreRun<Work> store = StoreRunFor<Work>(target_dtype);
  const WalkAxis run = walk.run();
  Work values[kChunk];
  walk.ForEachRun([&](int64_t to, int64_t from, int64_t channel) {
    for (int64_t done = 0; done < run.extent; done += kChunk) {
      const int64_t left = run.extent - done;
      const int64_t count = left < kChunk ? left : kChunk;
      load(source, from + done * run.source, run.source, count, source_dtype, values);
      if constexpr (std::is_floating_point_v<Work>) {
        ApplyAffine(values, count, affine, channel + done * run.channel, run.channel);
      }
      store(values, target, to + done * run.target, run.target, count, target_dtype);
    }
  });
}

// Does float hold every value of the dtype, and is it wide enough for arithmetic on it?
bool FloatHolds(DType dtype) {
  return dtype.is_float() ? dtype.bits() <= 32 : dtype.bits() <= 16;
}

Fault CheckNumbers(const double* numbers, int64_t count, const Affine& affine, const Layout& layout) {
  if (numbers == nullptr || count == 1) return Fault();
  if (affine.axis < 0 || affine.axis >= layout.ndim()) return Fault(FaultCode::kAxis, affine.axis, 0, layout.ndim());
  const int64_t extent = layout.shape()[affine.axis];
  if (count != extent) return Fault(FaultCode::kIndexCount, affine.axis, count, extent);
  return Fault();
}

// Does it matter along the axis which index a value has?
bool IsByChannel(const Affine& affine) {
  return (affine.scale != nullptr && affine.scale_count > 1) || (affine.offset != nullptr && affine.offset_count > 1);
}

// The type that values take between source and target.
enum class Work : uint8_t { kFloat, kDouble, kSigned, kUnsigned };

Work ChooseWork(DType source, DType target, bool has_affine) {
  if (has_affine) return FloatHolds(source) && FloatHolds(target) ? Work::kFloat : Work::kDouble;
  // Between integers the bits wrap; they never pass through a float, which saturates.
  if (source.is_float() || target.is_float()) {
    if (FloatHolds(source)) return Work::kFloat;
    if (source.is_float()) return Work::kDouble;
  }
  return source.code() == kDLInt ? Work::kSigned : Work::kUnsigned;
}

template <size_t kSize>
void FillRun(uint8_t* target, int64_t step, int64_t count, const uint8_t* element) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(target + i * step, element, kSize);
}

template <>
void FillRun<1>(uint8_t* target, int64_t step, int64_t count, const uint8_t* element) {
  if (step == 1) {
    std::memset(target, *element, static_cast<size_t>(count));
  } else {
    for (int64_t i = 0; i < count; ++i) target[i * step] = *element;
  }
}

using FillRunFunction = void (*)(uint8_t*, int64_t, int64_t, const uint8_t*);

FillRunFunction FillRunFor(uint32_t itemsize) {
  switch (itemsize) {
    case 1:
      return FillRun<1>;
    case 2:
      return FillRun<2>;
    case 4:
      return FillRun<4>;
    case 8:
      return FillRun<8>;
    default:  // the table of dtypes knows no other size
      return FillRun<16>;
  }
}

}  // namespace

Fault ConvertStrided(uint8_t* target, const Layout& target_layout, DType target_dtype, const uint8_t* source,
                     const Layout& source_layout, DType source_dtype, const Affine& affine) {
  const auto convert = [&](uint8_t* to, const Layout& to_layout, const uint8_t* from, const Layout& from_layout) {
    return ConvertStridedWith(BestConvertKernels(), BestCopyKernels(), to, to_layout, target_dtype, from, from_layout,
                              source_dtype, affine);
  };
  const int32_t whole_axis = IsByChannel(affine) ? affine.axis : CopyParts::kNoAxis;
  const CopyParts parts(target_layout, target_dtype, source_layout, source_dtype, whole_axis, CopyThreads());
  // What is wrong with the numbers is wrong in every part, and told by the whole.
  if (parts.count() > 1 && parts.ForEach(target, source, [&](auto&&... part) { return convert(part...).ok(); })) {
    return Fault();
  }
  return convert(target, target_layout, source, source_layout);
}

Fault ConvertStridedWith(const ConvertKernels* convert_kernels, const CopyKernels& copy_kernels, uint8_t* target,
                         const Layout& target_layout, DType target_dtype, const uint8_t* source,
                         const Layout& source_layout, DType source_dtype, const Affine& affine) {
  const bool has_affine = affine.scale != nullptr || affine.offset != nullptr;
  if (!has_affine && source_dtype == target_dtype) {
    StridedCopyWith(copy_kernels, StreamWrites::kBySize, target, target_layout, source, source_layout, source_dtype);
    return Fault();
  }
  if (source_dtype.is_complex() || target_dtype.is_complex()) {
    return Fault(FaultCode::kConversion, static_cast<int32_t>(source_dtype.packed()), target_dtype.packed());
  }
  if (Fault fault = CheckNumbers(affine.scale, affine.scale_count, affine, target_layout); !fault.ok()) return fault;
  if (Fault fault = CheckNumbers(affine.offset, affine.offset_count, affine, target_layout); !fault.ok()) return fault;
  if (target_layout.empty()) return Fault();

  Walk walk(target_layout, target_dtype, source_layout, source_dtype,
            IsByChannel(affine) ? affine.axis : Walk::kNoChannel);
  const Work work = ChooseWork(source_dtype, target_dtype, has_affine);
  if (work == Work::kFloat && convert_kernels != nullptr &&
      ConvertInBlocks(*convert_kernels, copy_kernels, walk, target, target_dtype, source, source_dtype, affine)) {
    return Fault();
  }
  walk.PreferLongRuns();
  switch (work) {
    case Work::kFloat:
      ConvertWalk<float>(walk, target, target_dtype, source, source_dtype, affine);
      break;
    case Work::kDouble:
      ConvertWalk<double>(walk, target, target_dtype, source, source_dtype, affine);
      break;
    case Work::kSigned:
      ConvertWalk<int64_t>(walk, target, target_dtype, source, source_dtype, affine);
      break;
    case Work::kUnsigned:
      ConvertWalk<uint64_t>(walk, target, target_dtype, source, source_dtype, affine);
      break;
  }
  return Fault();
}

void FillStrided(uint8_t* target, const Layout& layout, DType dtype, const Scalar& value) {
  if (layout.empty()) return;
  uint8_t element[16] = {};
  StoreScalar(element, 0, dtype, value);
  const Walk walk(layout, dtype, layout, dtype, Walk::kNoChannel);
  const WalkAxis run = walk.run();
  if (dtype.bit_packed()) {
    walk.ForEachRun([&](int64_t to, int64_t, int64_t) {
      for (int64_t i = 0; i < run.extent; ++i) StoreBits(target, to + i * run.target, dtype.bits(), element[0]);
    });
    return;
  }
  const FillRunFunction fill_run = FillRunFor(dtype.itemsize());
  walk.ForEachRun(
      [&](int64_t to, int64_t, int64_t) { fill_run(target + to / 8, run.target / 8, run.extent, element); });
}

}  // namespace node_dlpack
