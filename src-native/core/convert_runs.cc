#include "convert_runs.h"

#include <cstring>
#include <type_traits>

#include "bits.h"
#include "float_format.h"
#include "rounding.h"

namespace node_dlpack {

namespace {

struct Float16 {
  static constexpr FloatFormat kFormat = kFloat16Format;
};
struct Bfloat16 {
  static constexpr FloatFormat kFormat = kBfloat16Format;
};

template <typename T>
T At(const uint8_t* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

// fetch(address of one element) for a run of elements of kSize bytes. Elements side by side get a loop of their own:
// there the compiler knows the step, and can take many at once.
template <size_t kSize, typename Work, typename Fetch>
void LoadBytes(const uint8_t* address, int64_t offset, int64_t step, int64_t count, Work* out, Fetch fetch) {
  const uint8_t* first = address + offset / 8;
  if (step == 8 * static_cast<int64_t>(kSize)) {
    for (int64_t i = 0; i < count; ++i) out[i] = fetch(first + i * static_cast<int64_t>(kSize));
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = fetch(first + i * (step / 8));
  }
}

template <typename Work, typename Source>
void LoadPlain(const uint8_t* address, int64_t offset, int64_t step, int64_t count, DType, Work* out) {
  LoadBytes<sizeof(Source)>(address, offset, step, count, out,
                            [](const uint8_t* at) { return static_cast<Work>(At<Source>(at)); });
}

template <typename Work>
void LoadBool(const uint8_t* address, int64_t offset, int64_t step, int64_t count, DType, Work* out) {
  LoadBytes<1>(address, offset, step, count, out,
               [](const uint8_t* at) { return static_cast<Work>(*at != 0 ? 1 : 0); });
}

template <typename Work, typename Float>
void LoadFloat16(const uint8_t* address, int64_t offset, int64_t step, int64_t count, DType, Work* out) {
  LoadBytes<2>(address, offset, step, count, out,
               [](const uint8_t* at) { return static_cast<Work>(DecodeFloat(At<uint16_t>(at), Float::kFormat)); });
}

// 8 bits and fewer, packed or not.
template <typename Work>
void LoadSmallFloat(const uint8_t* address, int64_t offset, int64_t step, int64_t count, DType dtype, Work* out) {
  const FloatFormat format = *FormatOf(dtype);
  const uint32_t width = dtype.bits();
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<Work>(DecodeFloat(LoadBits(address, offset + i * step, width), format));
  }
}

template <typename Target, typename Work>
Target ToInteger(Work value) {
  if constexpr (std::is_floating_point_v<Work>) {
    return SaturateToInteger<Target>(static_cast<double>(value));
  } else {
    return static_cast<Target>(value);
  }
}

template <typename Work>
double ToDoubleForEncoding(Work value) {
  if constexpr (std::is_floating_point_v<Work>) {
    return static_cast<double>(value);
  } else {
    return ToDoubleForRounding(value);
  }
}

template <typename Target, typename Work, typename Convert>
void StoreBytes(const Work* in, uint8_t* address, int64_t offset, int64_t step, int64_t count, Convert convert) {
  uint8_t* first = address + offset / 8;
  const auto put = [=](uint8_t* at, Work value) {
    const Target target = convert(value);
    std::memcpy(at, &target, sizeof(Target));
  };
  if (step == 8 * static_cast<int64_t>(sizeof(Target))) {
    for (int64_t i = 0; i < count; ++i) put(first + i * static_cast<int64_t>(sizeof(Target)), in[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) put(first + i * (step / 8), in[i]);
  }
}

template <typename Work, typename Target>
void StorePlain(const Work* in, uint8_t* address, int64_t offset, int64_t step, int64_t count, DType) {
  StoreBytes<Target>(in, address, offset, step, count, [](Work value) {
    if constexpr (std::is_integral_v<Target>) {
      return ToInteger<Target>(value);
    } else {
      return static_cast<Target>(value);
    }
  });
}

template <typename Work>
void StoreBool(const Work* in, uint8_t* address, int64_t offset, int64_t step, int64_t count, DType) {
  StoreBytes<uint8_t>(in, address, offset, step, count,
                      [](Work value) { return static_cast<uint8_t>(value != Work{0} ? 1 : 0); });
}

template <typename Work, typename Float>
void StoreFloat16(const Work* in, uint8_t* address, int64_t offset, int64_t step, int64_t count, DType) {
  StoreBytes<uint16_t>(in, address, offset, step, count, [](Work value) {
    return static_cast<uint16_t>(EncodeFloat(ToDoubleForEncoding(value), Float::kFormat));
  });
}

template <typename Work>
void StoreSmallFloat(const Work* in, uint8_t* address, int64_t offset, int64_t step, int64_t count, DType dtype) {
  const FloatFormat format = *FormatOf(dtype);
  const uint32_t width = dtype.stride_bits();  // a padded element fills its byte
  for (int64_t i = 0; i < count; ++i) {
    StoreBits(address, offset + i * step, width, EncodeFloat(ToDoubleForEncoding(in[i]), format));
  }
}

}  // namespace

template <typename Work>
LoadRun<Work> LoadRunFor(DType source) {
  constexpr bool kReal = std::is_floating_point_v<Work>;
  constexpr bool kWide = sizeof(Work) == 8;  // all but float
  if (source.is_bool()) {
    if constexpr (!std::is_same_v<Work, int64_t>) return LoadBool<Work>;
  } else if (source.code() == kDLInt) {
    if constexpr (!std::is_same_v<Work, uint64_t>) {
      if (source.bits() == 8) return LoadPlain<Work, int8_t>;
      if (source.bits() == 16) return LoadPlain<Work, int16_t>;
      if constexpr (kWide) return source.bits() == 32 ? LoadPlain<Work, int32_t> : LoadPlain<Work, int64_t>;
    }
  } else if (source.code() == kDLUInt) {
    if constexpr (!std::is_same_v<Work, int64_t>) {
      if (source.bits() == 8) return LoadPlain<Work, uint8_t>;
      if (source.bits() == 16) return LoadPlain<Work, uint16_t>;
      if constexpr (kWide) return source.bits() == 32 ? LoadPlain<Work, uint32_t> : LoadPlain<Work, uint64_t>;
    }
  } else if (source.is_float()) {
    if constexpr (kReal) {
      if (source.code() == kDLBfloat) return LoadFloat16<Work, Bfloat16>;
      if (source.code() != kDLFloat) return LoadSmallFloat<Work>;
      if (source.bits() == 16) return LoadFloat16<Work, Float16>;
      if (source.bits() == 32) return LoadPlain<Work, float>;
      if constexpr (kWide) return LoadPlain<Work, double>;
    }
  }
  return nullptr;
}

template <typename Work>
StoreRun<Work> StoreRunFor(DType target) {
  if (target.is_complex()) return nullptr;
  switch (target.code()) {
    case kDLBool:
      return StoreBool<Work>;
    case kDLInt:
      if (target.bits() == 8) return StorePlain<Work, int8_t>;
      if (target.bits() == 16) return StorePlain<Work, int16_t>;
      return target.bits() == 32 ? StorePlain<Work, int32_t> : StorePlain<Work, int64_t>;
    case kDLUInt:
      if (target.bits() == 8) return StorePlain<Work, uint8_t>;
      if (target.bits() == 16) return StorePlain<Work, uint16_t>;
      return target.bits() == 32 ? StorePlain<Work, uint32_t> : StorePlain<Work, uint64_t>;
    case kDLBfloat:
      return StoreFloat16<Work, Bfloat16>;
    case kDLFloat:
      if (target.bits() == 16) return StoreFloat16<Work, Float16>;
      return target.bits() == 32 ? StorePlain<Work, float> : StorePlain<Work, double>;
    default:
      return StoreSmallFloat<Work>;
  }
}

template LoadRun<float> LoadRunFor(DType);
template LoadRun<double> LoadRunFor(DType);
template LoadRun<int64_t> LoadRunFor(DType);
template LoadRun<uint64_t> LoadRunFor(DType);
template StoreRun<float> StoreRunFor(DType);
template StoreRun<double> StoreRunFor(DType);
template StoreRun<int64_t> StoreRunFor(DType);
template StoreRun<uint64_t> StoreRunFor(DType);

}  // namespace node_dlpack
